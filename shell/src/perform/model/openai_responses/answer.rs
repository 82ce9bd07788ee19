//! From the wire to the runtime's answer. Items that the runtime has no use for, reasoning among them, are
//! skipped; so are kinds of items that are not known yet.

use holon_core::model::{AnswerBlock, StopReason, TokenUsage};
use serde_json::Value;

use super::super::exchange::usage::{count, usage};
use super::super::exchange::{Malformed, Said};
use super::super::{Reply, arguments, proposed};
use super::freeform;
use crate::text::Texts;

pub(super) fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
    let status = root.get("status").and_then(Value::as_str);
    if let Some(status @ ("failed" | "cancelled" | "queued" | "in_progress")) = status {
        // A failure without an error of its own: the server's, as far as anybody knows.
        return Err(match status {
            "failed" => Malformed::Reported(Said::of(&serde_json::json!({"code": "server_error"}))),
            _ => Malformed::Shape(format!("its status is {status}")),
        });
    }
    let Some(Value::Array(items)) = root.get("output") else {
        return Err(Malformed::shape("it has no list of output"));
    };
    let (mut blocks, mut calls) = (Vec::new(), false);
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                let text = text(item)?;
                if !text.is_empty() {
                    blocks.push(AnswerBlock::Text { text: texts.take(&text) });
                }
            }
            Some("function_call") => {
                calls = true;
                blocks.push(proposed(texts, id(item), name(item)?, &arguments(item.get("arguments"))));
            }
            Some("custom_tool_call") => {
                calls = true;
                let name = name(item)?;
                let input = item.get("input").and_then(Value::as_str).unwrap_or_default();
                let json = freeform::arguments(&name, input);
                blocks.push(proposed(texts, id(item), name, &json));
            }
            Some(_) | None => {}
        }
    }
    let reason = root.pointer("/incomplete_details/reason").and_then(Value::as_str);
    Ok(Reply { blocks, stop: stop(status, reason, calls), usage: tokens(root.get("usage")) })
}

/// The text of a message, a refusal included.
fn text(item: &Value) -> Result<String, Malformed> {
    match item.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| {
                let inner = ["text", "refusal"].iter().find_map(|key| part.get(key)?.as_str());
                inner.map(ToOwned::to_owned)
            };
            Ok(parts.iter().filter_map(text).collect())
        }
        Some(_) => Err(Malformed::shape("the content of one of its messages is not a list")),
    }
}

fn id(item: &Value) -> String {
    item.get("call_id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn name(item: &Value) -> Result<String, Malformed> {
    let name = item.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map(ToOwned::to_owned).ok_or_else(|| Malformed::shape("one of its tool calls has no name"))
}

fn stop(status: Option<&str>, reason: Option<&str>, calls: bool) -> StopReason {
    match (status, reason) {
        (_, Some("max_output_tokens" | "max_tokens")) => StopReason::MaxOutput,
        (_, Some("content_filter")) => StopReason::ContentFilter,
        (Some("incomplete"), _) => StopReason::Other,
        (_, _) if calls => StopReason::ToolUse,
        (Some("completed") | None, _) => StopReason::EndTurn,
        (_, _) => StopReason::Other,
    }
}

fn tokens(reported: Option<&Value>) -> TokenUsage {
    let count = |path: &str| count(reported, path);
    let cached = count("/input_tokens_details/cached_tokens");
    usage(count("/input_tokens"), count("/output_tokens"), count("/total_tokens"), cached)
}
