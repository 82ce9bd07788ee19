//! What the model is shown: a pure projection of recorded facts, so that its stable beginning is the same
//! bytes after a restart.

pub(crate) mod changes;
pub(crate) mod conversation;
pub(crate) mod digest;
pub(crate) mod extended;
pub mod fence;
mod fitting;
pub(crate) mod framed;
#[cfg(test)]
mod hostile_tests;
pub(crate) mod images;
pub(crate) mod incoming;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod policy;
pub(crate) mod recap;
pub(crate) mod reminders;
pub(crate) mod request_record;
#[cfg(test)]
pub(crate) mod reworded;
pub(crate) mod sections;
pub mod skills;
pub(crate) mod work;

use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::frame;
use holon_facts::model::{Item, ModelRequest};
use holon_facts::tool::ServerTools;

use crate::tool::Tool;

pub use frame::{Part, PromptBlock, PromptCache, PromptFrame, Stability};

/// The last thing that happens to a text that leaves this module. A test rewords every sentence here, and so shows what
/// depends on the wording.
#[cfg(not(test))]
fn worded(text: alloc::string::String) -> alloc::string::String {
    text
}

#[cfg(test)]
use reworded::worded;

fn worded_parts(parts: Vec<Part>) -> Vec<Part> {
    let one = |part| match part {
        Part::Rendered(text) => Part::Rendered(worded(text)),
        Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => part,
        Part::Quoted { tag, parts } => Part::Quoted { tag, parts: worded_parts(parts) },
    };
    parts.into_iter().map(one).collect()
}

/// What a request takes of a model's window, estimated.
pub fn est_tokens(request: &ModelRequest) -> u64 {
    let conversation: u64 = request.conversation.iter().map(Item::est_tokens).sum();
    tokens_around(request).saturating_add(conversation)
}

/// What it takes beside the conversation.
pub(crate) fn tokens_around(request: &ModelRequest) -> u64 {
    request.frame.est_tokens().saturating_add(tool_tokens(&request.tools, request.server_tools.as_deref()))
}

/// What these tools take of a request.
pub(crate) fn tool_tokens(offered: &[ToolName], servers: Option<&ServerTools>) -> u64 {
    let tokens = |name: &ToolName| match Tool::named(name.as_str()) {
        Some(tool) => Some(tool.est_tokens()),
        None => servers?.get(name.as_str()).map(|tool| tool.est_tokens),
    };
    offered.iter().filter_map(tokens).sum()
}
