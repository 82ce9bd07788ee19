//! From the runtime's request to the wire.

use holon_core::model::{Block, CallResult, Item};
use holon_core::tool::Tool;
use serde_json::{Value, json};

use super::super::exchange::Lowering;
use super::super::lower::{Calls, arguments, conversation, instructions, parameters};
use super::super::parts::joined;
use super::super::provider::ProviderOptions;
use super::freeform;
use crate::text::TextError;

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Value, TextError> {
    let Lowering { texts, request, spec } = *lowering;
    let options = &spec.options;
    let names = Calls::of(request);
    let mut input = Vec::new();
    for item in &conversation(lowering) {
        match &**item {
            Item::User { parts } => input.push(message("user", "input_text", &joined(texts, parts)?)),
            Item::Assistant { blocks } => {
                for block in &**blocks {
                    input.extend(said(lowering, block)?);
                }
            }
            Item::ToolResults { results } => {
                for one in results {
                    input.push(result(options, one, &names, names.result(texts, one)?));
                }
            }
        }
    }
    let mut body = json!({
        "model": request.model.model(),
        "instructions": instructions(lowering)?,
        "input": input,
        "max_output_tokens": request.max_output_tokens,
        "prompt_cache_key": request.frame.cache.prompt_cache_key,
        "store": false,
        "stream": options.stream,
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|offered| tool(*offered, options)).collect();
    }
    Ok(body)
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

/// What the model said; nothing for a text without characters.
fn said(lowering: &Lowering<'_>, block: &Block) -> Result<Option<Value>, TextError> {
    let texts = lowering.texts;
    Ok(match block {
        Block::Text { text } if text.is_empty() => None,
        Block::Text { text } => Some(message("assistant", "output_text", &texts.resolve(text)?)),
        Block::ToolCall { call_id, tool_name, arguments: given } if is_freeform(lowering, tool_name) => {
            let input = freeform::input(texts, given)?;
            Some(json!({
                "type": "custom_tool_call", "call_id": call_id, "name": tool_name, "input": input,
            }))
        }
        Block::ToolCall { call_id, tool_name, arguments: given } => Some(json!({
            "type": "function_call",
            "call_id": call_id,
            "name": tool_name,
            "arguments": arguments(texts, given)?,
        })),
    })
}

fn is_freeform(lowering: &Lowering<'_>, name: &str) -> bool {
    lowering.spec.options.freeform_tools && freeform::is_freeform(name)
}

fn result(options: &ProviderOptions, result: &CallResult, names: &Calls<'_>, output: String) -> Value {
    let freeform = options.freeform_tools && freeform::is_freeform(names.name(result));
    let kind = if freeform { "custom_tool_call_output" } else { "function_call_output" };
    json!({"type": kind, "call_id": result.call_id, "output": output})
}

fn tool(tool: Tool, options: &ProviderOptions) -> Value {
    if options.freeform_tools && freeform::is_freeform(tool.name()) {
        return freeform::tool(tool);
    }
    json!({
        "type": "function",
        "name": tool.name(),
        "description": tool.description(),
        "parameters": parameters(tool, options),
        "strict": options.strict_tools,
    })
}
