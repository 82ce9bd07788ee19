//! From the wire to the runtime's answer. Lenient about what servers leave out, strict about types that
//! would change the meaning.

use holon_facts::model::{AnswerBlock, StopReason};
use holon_facts::usage::TokenUsage;
use holon_text::Texts;
use serde_json::Value;

use crate::answer::{Reply, arguments, proposed};
use crate::exchange::Malformed;
use crate::exchange::usage::{count, usage};

pub(super) fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
    let choice = root.pointer("/choices/0").ok_or_else(|| Malformed::shape("it has no choices"))?;
    let message = choice
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| Malformed::shape("its first choice has no message"))?;
    let mut blocks = Vec::new();
    let said = content(message.get("content"))?;
    let refusal = message.get("refusal").and_then(Value::as_str).unwrap_or_default();
    for text in [said.text.as_str(), refusal].into_iter().filter(|text| !text.is_empty()) {
        blocks.push(AnswerBlock::Text { text: texts.take(text) });
    }
    let refused = said.refused || !refusal.is_empty();
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
    let stop = stop(choice.get("finish_reason").and_then(Value::as_str), blocks.len() > before, refused);
    Ok(Reply::new(blocks, stop, tokens(root.get("usage"))))
}

/// What a message says, and whether any of it is a refusal.
#[derive(Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) refused: bool,
}

/// The text of a message, whole or in parts.
pub(super) fn content(value: Option<&Value>) -> Result<Content, Malformed> {
    match value {
        None | Some(Value::Null) => Ok(Content::default()),
        Some(Value::String(text)) => Ok(Content { text: text.clone(), refused: false }),
        Some(Value::Array(parts)) => {
            let mut content = Content::default();
            for part in parts {
                let refusal = part.get("refusal").and_then(Value::as_str);
                content.refused |= refusal.is_some();
                let text = part.as_str().or_else(|| part.get("text")?.as_str()).or(refusal);
                content.text.push_str(text.unwrap_or_default());
            }
            Ok(content)
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

/// Servers that only speak the protocol keep the reasons of what stands behind them, in any case of letters.
fn stop(reason: Option<&str>, calls: bool, refused: bool) -> StopReason {
    let reason = reason.map(str::to_ascii_lowercase);
    match (reason.as_deref(), calls) {
        (Some("length" | "max_tokens" | "model_length"), _) => StopReason::MaxOutput,
        (Some("content_filter" | "content_filtered" | "safety" | "guardrail_intervened"), _) => {
            StopReason::ContentFilter
        }
        (_, true) => StopReason::ToolUse,
        (Some("refusal"), false) => StopReason::Refusal,
        (_, false) if refused => StopReason::Refusal,
        (Some("stop" | "end_turn" | "stop_sequence" | "eos"), false) => StopReason::EndTurn,
        (Some("tool_calls" | "tool_use" | "function_call"), false) => StopReason::ToolUse,
        (Some("pause_turn"), false) => StopReason::Pause,
        (Some(_) | None, false) => StopReason::Other,
    }
}

pub(super) fn tokens(reported: Option<&Value>) -> TokenUsage {
    let count = |path: &str| count(reported, path);
    let cached = count("/prompt_tokens_details/cached_tokens");
    usage(count("/prompt_tokens"), count("/completion_tokens"), count("/total_tokens"), cached)
}
