//! How commands are ended, and how much of their output is shown: the keys below `command`.

use holon_facts::Millis;

/// How commands are ended, and how much of their output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSettings {
    /// Between the request to end and the end.
    pub grace: Millis,
    /// Shown when a call asks for no bound of its own, in estimated tokens.
    pub default_tokens: u64,
    /// Shown at most.
    pub max_tokens: u64,
    /// Most bytes of a log: past it head and tail are kept.
    pub log_bytes: u64,
    /// How long a supervisor waits for a next command; who rests has no process.
    pub next_within: Millis,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self {
            grace: Millis::seconds(5),
            default_tokens: 8_000,
            max_tokens: 64_000,
            log_bytes: holon_supervise::protocol::LOG_BYTES,
            next_within: Millis::seconds(60),
        }
    }
}
