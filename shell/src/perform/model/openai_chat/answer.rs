//! From the wire to the runtime's answer. Lenient about what servers leave out, strict about types that
//! would change the meaning.

use holon_core::model::{AnswerBlock, StopReason, TokenUsage};
use serde_json::Value;

use super::super::exchange::Malformed;
use super::super::exchange::usage::{count, usage};
use super::super::{Reply, arguments, proposed};
use crate::text::Texts;

pub(super) fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
    let choice = root.pointer("/choices/0").ok_or_else(|| Malformed::shape("it has no choices"))?;
    let message = choice
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| Malformed::shape("its first choice has no message"))?;
    let mut blocks = Vec::new();
    let mut text = content(message.get("content"))?;
    if text.is_empty() {
        text = message.get("refusal").and_then(Value::as_str).unwrap_or_default().to_owned();
    }
    if !text.is_empty() {
        blocks.push(AnswerBlock::Text { text: texts.take(&text) });
    }
    let before = blocks.len();
    match message.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(calls)) => {
            for one in calls {
                blocks.push(call(texts, one)?);
            }
        }
        Some(_) => return Err(Malformed::shape("its tool_calls are not a list")),
    }
    let stop = stop(choice.get("finish_reason").and_then(Value::as_str), blocks.len() > before);
    Ok(Reply { blocks, stop, usage: tokens(root.get("usage")) })
}

/// The text of a message, whole or in parts.
pub(super) fn content(value: Option<&Value>) -> Result<String, Malformed> {
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| {
                let inner = ["text", "refusal"].iter().find_map(|key| part.get(key)?.as_str());
                part.as_str().or(inner).map(ToOwned::to_owned)
            };
            Ok(parts.iter().filter_map(text).collect())
        }
        Some(_) => Err(Malformed::shape("its content is neither text nor a list of parts")),
    }
}

fn call(texts: &Texts, value: &Value) -> Result<AnswerBlock, Malformed> {
    let function =
        value.get("function").ok_or_else(|| Malformed::shape("one of its tool calls has no function"))?;
    let name = function
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| Malformed::shape("one of its tool calls has no name"))?;
    let arguments = arguments(function.get("arguments"));
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok(proposed(texts, id.to_owned(), name.to_owned(), &arguments))
}

fn stop(reason: Option<&str>, calls: bool) -> StopReason {
    match (reason, calls) {
        (Some("length"), _) => StopReason::MaxOutput,
        (Some("content_filter"), _) => StopReason::ContentFilter,
        (_, true) => StopReason::ToolUse,
        (Some("stop"), false) => StopReason::EndTurn,
        (Some("tool_calls" | "function_call"), false) => StopReason::ToolUse,
        (Some(_) | None, false) => StopReason::Other,
    }
}

fn tokens(reported: Option<&Value>) -> TokenUsage {
    let count = |path: &str| count(reported, path);
    let cached = count("/prompt_tokens_details/cached_tokens");
    usage(count("/prompt_tokens"), count("/completion_tokens"), count("/total_tokens"), cached)
}
