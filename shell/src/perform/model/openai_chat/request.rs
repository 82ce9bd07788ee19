//! From the runtime's request to the wire.

use std::collections::BTreeMap;

use holon_core::Text;
use holon_core::model::{Block, CallResult, Item, ModelRequest};
use holon_core::prompt::PromptFrame;
use holon_core::tool::Tool;
use holon_core::tool::schema::{SchemaMode, schema};
use serde_json::{Value, json};

use crate::perform::model::parts::joined;
use crate::text::{TextError, Texts};

/// The body as JSON, with keys in a fixed order: equal requests are equal bytes.
pub(super) fn lower(texts: &Texts, request: &ModelRequest) -> Result<String, TextError> {
    let mut messages = vec![json!({"role": "system", "content": system(texts, &request.frame)?})];
    let mut names = BTreeMap::new();
    for item in &request.conversation {
        match item {
            Item::User { parts } => {
                messages.push(json!({"role": "user", "content": joined(texts, parts)?}));
            }
            Item::Assistant { blocks } => messages.push(assistant(texts, blocks, &mut names)?),
            Item::ToolResults { results } => {
                for result in results {
                    let content = result_text(texts, result, &names)?;
                    let id = &result.call_id;
                    messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                }
            }
        }
    }
    let mut body = json!({
        "model": request.model.model(),
        "messages": messages,
        "max_tokens": request.max_output_tokens,
        "stream": false,
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().copied().map(tool).collect();
    }
    Ok(body.to_string())
}

fn system(texts: &Texts, frame: &PromptFrame) -> Result<String, TextError> {
    let mut pieces = vec![frame.system_prompt.clone()];
    for block in frame.system_blocks.iter().chain(&frame.context_blocks) {
        pieces.push(joined(texts, &block.parts)?);
    }
    Ok(pieces.join("\n\n"))
}

fn assistant<'a>(
    texts: &Texts,
    blocks: &'a [Block],
    names: &mut BTreeMap<&'a str, &'a str>,
) -> Result<Value, TextError> {
    let (mut content, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text { text } => content.push_str(&texts.resolve(text)?),
            Block::ToolCall { call_id, tool_name, arguments } => {
                names.insert(call_id, tool_name);
                let arguments = arguments_text(texts, arguments)?;
                calls.push(json!({
                    "id": call_id,
                    "type": "function",
                    "function": {"name": tool_name, "arguments": arguments},
                }));
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        if content.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = calls.into();
    }
    Ok(message)
}

/// The arguments as a JSON object. Several servers refuse a conversation with anything else in it, so that
/// one malformed call would end every later round.
fn arguments_text(texts: &Texts, arguments: &Text) -> Result<String, TextError> {
    let raw = texts.resolve(arguments)?;
    if raw.trim().is_empty() {
        return Ok("{}".to_owned());
    }
    match serde_json::from_str::<Value>(&raw) {
        Ok(Value::Object(_)) => Ok(raw.to_string()),
        Ok(_) | Err(_) => Ok(json!({"invalid_arguments": &*raw}).to_string()),
    }
}

/// What the model reads of a result.
fn result_text(
    texts: &Texts,
    result: &CallResult,
    names: &BTreeMap<&str, &str>,
) -> Result<String, TextError> {
    let receipt = &result.receipt;
    if let Some(error) = &receipt.error {
        let message = texts.resolve(&error.message)?;
        let name = names.get(result.call_id.as_str()).copied().unwrap_or("unknown");
        return Ok(error.render(name, &message));
    }
    match &receipt.content {
        Some(content) => Ok(texts.resolve(content)?.to_string()),
        None => Ok(String::new()),
    }
}

fn tool(tool: Tool) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name(),
            "description": tool.description(),
            "parameters": schema(tool, SchemaMode::Relaxed),
            "strict": false,
        },
    })
}
