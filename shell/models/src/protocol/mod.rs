//! The wire protocols: one folder and one row for each.

pub(crate) mod anthropic;
pub(crate) mod openai_chat;
pub(crate) mod openai_codex;
pub(crate) mod openai_responses;
pub(crate) mod scripted;
#[cfg(test)]
mod tests;

use super::provider::Transport;

/// Every transport that this version speaks.
pub const TRANSPORTS: [Transport; 5] = [
    openai_responses::TRANSPORT,
    openai_codex::TRANSPORT,
    openai_chat::TRANSPORT,
    anthropic::TRANSPORT,
    scripted::TRANSPORT,
];

/// The transport of this name; none that this version does not speak.
pub fn transport(name: &str) -> Option<Transport> {
    TRANSPORTS.into_iter().find(|known| known.name() == name)
}
