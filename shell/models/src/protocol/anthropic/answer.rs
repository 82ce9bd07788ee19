//! From the wire to the runtime's answer. Blocks that the runtime has no use for are skipped.

use holon_facts::model::{AnswerBlock, StopReason};
use holon_facts::usage::TokenUsage;
use holon_text::Texts;
use serde_json::Value;

use super::editing;
use crate::answer::{Reply, arguments, proposed};
use crate::exchange::Malformed;
use crate::exchange::usage::{count, usage};

pub(super) fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
    let Some(Value::Array(content)) = root.get("content") else {
        return Err(Malformed::shape("it has no list of content"));
    };
    let (mut blocks, mut calls) = (Vec::new(), false);
    for block in content {
        match block.get("type").and_then(Value::as_str) {
            Some("text") => match block.get("text") {
                Some(Value::String(text)) if text.is_empty() => {}
                Some(Value::String(text)) => blocks.push(AnswerBlock::Text { text: texts.take(text) }),
                Some(_) | None => return Err(Malformed::shape("one of its texts is none")),
            },
            Some("tool_use") => {
                calls = true;
                blocks.push(call(texts, block)?);
            }
            // Signed: it comes back to the provider as it is.
            Some("thinking" | "redacted_thinking") => {
                let content = texts.take_opaque(&block.to_string());
                blocks.extend(content.map(|content| AnswerBlock::Reasoning { content }));
            }
            Some(_) | None => {}
        }
    }
    let (reason, usage) = (root.get("stop_reason").and_then(Value::as_str), tokens(root.get("usage")));
    if reason == Some("model_context_window_exceeded") {
        return Err(Malformed::TooLong(usage));
    }
    let mut reply = Reply::new(blocks, stop(reason, calls), usage);
    reply.edits = editing::applied(root.get("context_management"));
    Ok(reply)
}

fn call(texts: &Texts, block: &Value) -> Result<AnswerBlock, Malformed> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        return Err(Malformed::shape("one of its tool calls has no name"));
    }
    Ok(proposed(texts, text("id"), name, &arguments(block.get("input"))))
}

fn stop(reason: Option<&str>, calls: bool) -> StopReason {
    match (reason, calls) {
        (Some("max_tokens"), _) => StopReason::MaxOutput,
        (Some("refusal"), _) => StopReason::Refusal,
        (_, true) | (Some("tool_use"), false) => StopReason::ToolUse,
        (Some("end_turn" | "stop_sequence"), false) => StopReason::EndTurn,
        (Some("pause_turn"), false) => StopReason::Pause,
        (Some(_) | None, false) => StopReason::Other,
    }
}

/// The provider counts as input only what was neither read from its cache nor written to it.
pub(super) fn tokens(reported: Option<&Value>) -> TokenUsage {
    let count = |path: &str| count(reported, path);
    let cached = count("/cache_read_input_tokens");
    let written = count("/cache_creation_input_tokens");
    let input = count("/input_tokens").saturating_add(cached).saturating_add(written);
    usage(input, count("/output_tokens"), 0, cached)
}
