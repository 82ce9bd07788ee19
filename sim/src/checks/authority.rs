//! The authority that a request gives to the messages that it shows (law A2).

use holon_facts::MessageId;
use holon_facts::frame::Part;
use holon_facts::model::{Item, ModelRequest};

/// The messages that a request names in text rendered by the core, and the authority that it gives them. Other text may
/// claim anything.
pub(super) fn classes(request: &ModelRequest) -> Vec<(MessageId, String)> {
    let blocks = request.frame.context_blocks.iter().flat_map(|block| &block.parts);
    let items = request.conversation.iter().filter_map(|item| match item {
        Item::User { parts } => Some(parts),
        Item::Assistant { .. } | Item::ToolResults { .. } => None,
    });
    blocks.chain(items.flatten()).filter_map(heading).collect()
}

fn heading(part: &Part) -> Option<(MessageId, String)> {
    let Part::Rendered(text) = part else { return None };
    let text = text.strip_prefix('[')?;
    let text = text.strip_prefix("earlier ").unwrap_or(text);
    let (message, rest) = text.strip_prefix("message msg_")?.split_once(" | ")?;
    let class = rest.split_once("class ")?.1.split([' ', ']']).next()?;
    Some((MessageId(message.parse().ok()?), class.into()))
}
