//! From the wire to the runtime's answer. Items that the runtime has no use for are skipped; so are kinds of items that
//! are not known yet.

use holon_facts::model::{AnswerBlock, StopReason};
use holon_facts::usage::TokenUsage;
use holon_text::Texts;
use serde_json::{Map, Value};

use super::freeform;
use super::incremental::ID_BYTES;
use crate::answer::{Reply, arguments, proposed};
use crate::exchange::usage::{count, usage};
use crate::exchange::{Malformed, ReportedError};

pub(super) fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
    let status = root.get("status").and_then(Value::as_str);
    if let Some(status @ ("failed" | "cancelled" | "queued" | "in_progress")) = status {
        // A failure without an error of its own: the server's, as far as anybody knows.
        return Err(match status {
            "failed" => Malformed::Reported(ReportedError::of(&serde_json::json!({"code": "server_error"}))),
            _ => Malformed::Shape(format!("its status is {status}")),
        });
    }
    let Some(Value::Array(items)) = root.get("output") else {
        return Err(Malformed::shape("it has no list of output"));
    };
    let (mut blocks, mut calls, mut refused) = (Vec::new(), false, false);
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                let text = text(item, &mut refused)?;
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
            Some("reasoning") => blocks.extend(reasoning(texts, item)),
            Some(_) | None => {}
        }
    }
    let reason = root.pointer("/incomplete_details/reason").and_then(Value::as_str);
    let stop = stop(status, reason, calls);
    let stop = if refused && stop == StopReason::EndTurn { StopReason::Refusal } else { stop };
    let mut reply = Reply::new(blocks, stop, tokens(root.get("usage")));
    // What is not complete is not gone on from.
    if matches!(status, Some("completed") | None) {
        reply.response_id =
            root.get("id").and_then(Value::as_str).filter(|id| is_id(texts, id)).map(ToOwned::to_owned);
    }
    Ok(reply)
}

/// Whether it can be sent back, and kept on record.
fn is_id(texts: &Texts, id: &str) -> bool {
    let fits = (1..=ID_BYTES).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    fits && texts.redact(id) == id
}

/// What the model thought, in the fields that it is sent back with; nothing where it is only named, since nothing is
/// stored at the provider.
fn reasoning(texts: &Texts, item: &Value) -> Option<AnswerBlock> {
    item.get("encrypted_content").and_then(Value::as_str).filter(|content| !content.is_empty())?;
    let kept = ["type", "id", "summary", "content", "encrypted_content"].into_iter().filter_map(|field| {
        let value = item.get(field).filter(|value| !value.is_null())?;
        Some((field.to_owned(), value.clone()))
    });
    let mut kept: Map<String, Value> = kept.collect();
    kept.entry("summary").or_insert_with(|| Value::Array(Vec::new()));
    let content = texts.take_opaque(&Value::Object(kept).to_string())?;
    Some(AnswerBlock::Reasoning { content })
}

/// The text of a message, a refusal included.
fn text(item: &Value, refused: &mut bool) -> Result<String, Malformed> {
    match item.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let mut whole = String::new();
            for part in parts {
                let refusal = part.get("refusal").and_then(Value::as_str);
                *refused |= refusal.is_some() || part.get("type").is_some_and(|kind| kind == "refusal");
                whole.push_str(part.get("text").and_then(Value::as_str).or(refusal).unwrap_or_default());
            }
            Ok(whole)
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

pub(super) fn tokens(reported: Option<&Value>) -> TokenUsage {
    let count = |path: &str| count(reported, path);
    let cached = count("/input_tokens_details/cached_tokens");
    usage(count("/input_tokens"), count("/output_tokens"), count("/total_tokens"), cached)
}
