//! From the wire to the runtime's answer. Lenient about what servers leave out, strict about types that
//! would change the meaning.

use holon_core::model::{AnswerBlock, StopReason, TokenUsage};
use serde_json::Value;

use super::super::{Reply, proposed};
use crate::text::Texts;

/// What is wrong with a body that came with status 200.
#[derive(Debug)]
pub(super) enum Malformed {
    /// The server reports an error although it answered; its own status where it names one.
    Reported(Option<u16>),
    Shape(String),
}

pub(super) fn read(texts: &Texts, body: &[u8]) -> Result<Reply, Malformed> {
    let shape = |problem: &str| Malformed::Shape(problem.to_owned());
    let root: Value = serde_json::from_slice(body).map_err(|_| shape("it is not JSON"))?;
    if let Some(error) = root.get("error").filter(|error| !error.is_null()) {
        let code = ["code", "status"].iter().find_map(|key| error.get(key)?.as_u64());
        return Err(Malformed::Reported(code.and_then(|code| u16::try_from(code).ok())));
    }
    let choice = root.pointer("/choices/0").ok_or_else(|| shape("it has no choices"))?;
    let message = choice
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| shape("its first choice has no message"))?;
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
        Some(_) => return Err(shape("its tool_calls are not a list")),
    }
    let stop = stop(choice.get("finish_reason").and_then(Value::as_str), blocks.len() > before);
    Ok(Reply { blocks, stop, usage: usage(root.get("usage")) })
}

fn content(value: Option<&Value>) -> Result<String, Malformed> {
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
        Some(_) => Err(Malformed::Shape("its content is neither text nor a list of parts".into())),
    }
}

fn call(texts: &Texts, value: &Value) -> Result<AnswerBlock, Malformed> {
    let shape = |problem: &str| Malformed::Shape(problem.to_owned());
    let function = value.get("function").ok_or_else(|| shape("one of its tool calls has no function"))?;
    let name = function
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| shape("one of its tool calls has no name"))?;
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(json)) => json.clone(),
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(_) => {
            return Err(shape("the arguments of one of its tool calls are neither text nor an object"));
        }
    };
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

fn usage(value: Option<&Value>) -> TokenUsage {
    let count = |key: &str| value.and_then(|usage| usage.get(key)).map_or(0, tokens);
    let (input_tokens, output_tokens) = (count("prompt_tokens"), count("completion_tokens"));
    let total_tokens = count("total_tokens").max(input_tokens.saturating_add(output_tokens));
    TokenUsage { input_tokens, output_tokens, total_tokens }
}

/// A number of tokens; negative ones are none, huge ones the largest.
fn tokens(value: &Value) -> u64 {
    match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => count,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "such a cast saturates, which is what is wanted"
        )]
        (None, Some(count)) => count as u64,
        (None, None) => 0,
    }
}
