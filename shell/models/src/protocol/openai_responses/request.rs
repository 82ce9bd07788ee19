//! From the runtime's request to the wire.

use std::borrow::Borrow;

use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::model::{Block, CallResult, Item};
use holon_text::{TextError, hash};
use serde_json::{Value, json};

use super::freeform;
use crate::exchange::{Body, Lowering};
use crate::images::{Images, Piece, data_url, pieces};
use crate::lower::{Calls, arguments, conversation, instructions, offered, reasoning};
use crate::model_options::ModelOptions;
use crate::options::ProviderOptions;
use crate::tools::Offered;

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
    let Lowering { request, spec, .. } = *lowering;
    let options = &spec.options;
    let conversation = conversation(lowering);
    let mut body = json!({
        "model": request.model.model(),
        "instructions": instructions(lowering)?,
        "input": input(lowering, &conversation)?,
        "max_output_tokens": request.max_output_tokens,
        "store": options.incremental_responses,
        "stream": options.stream,
    });
    if spec.sends_prompt_cache_key() {
        body["prompt_cache_key"] = request.frame.cache.prompt_cache_key.clone().into();
    }
    let tools = offered(lowering, |offered| tool(offered, options), None)?;
    // Nothing is stored at the provider, so what the model has thought is asked for, to be sent back. Models that don't
    // think refuse that.
    if spec.reasons(&request.model) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(model) = lowering.model() {
        configured(&mut body, model, tools.is_some());
    }
    Ok(Body::new(body, tools))
}

/// These elements of the conversation, or of its rest.
pub(super) fn input<T: Borrow<Item>>(lowering: &Lowering<'_>, items: &[T]) -> Result<Vec<Value>, TextError> {
    let Lowering { texts, request, spec, .. } = *lowering;
    let names = Calls::of(request);
    let mut input: Vec<Value> = Vec::new();
    for item in items {
        match item.borrow() {
            Item::User { parts } => input.push(user(lowering, parts)?),
            Item::Assistant { blocks } => {
                for at in 0..blocks.len() {
                    let said = said(lowering, blocks, at, input.len())?;
                    input.extend(said);
                }
            }
            Item::ToolResults { results } => {
                for one in results {
                    let images = Images::of(lowering, one, u64::MAX)?;
                    let said = names.result(texts, one)? + &images.named;
                    input.push(result(&spec.options, one, &names, outcome(said, &images)));
                }
            }
        }
    }
    Ok(input)
}

fn configured(body: &mut Value, model: &ModelOptions, has_tools: bool) {
    if let Some(effort) = &model.reasoning_effort {
        body["reasoning"] = json!({"effort": effort});
    }
    if let Some(verbosity) = &model.verbosity {
        body["text"] = json!({"verbosity": verbosity});
    }
    if let Some(temperature) = model.temperature {
        body["temperature"] = temperature.value();
    }
    if let (Some(parallel), true) = (model.parallel_tool_calls, has_tools) {
        body["parallel_tool_calls"] = parallel.into();
    }
}

fn user(lowering: &Lowering<'_>, parts: &[Part]) -> Result<Value, TextError> {
    let pieces = pieces(lowering, parts, u64::MAX)?;
    let only = pieces.len() == 1;
    let content = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() && !only => None,
        Piece::Text(text) => Some(json!({"type": "input_text", "text": text})),
        Piece::Image(shown, base64) => Some(image(shown, base64)),
    });
    Ok(json!({"type": "message", "role": "user", "content": content.collect::<Value>()}))
}

/// A message as the model gave it. Nothing is stored at the provider, so any id of the right form is good; the same
/// conversation has the same ones.
fn assistant(text: &str, place: usize) -> Value {
    let id =
        format!("msg_{}", hash(format!("{place} {text}").as_bytes())).chars().take(36).collect::<String>();
    json!({
        "type": "message",
        "id": id,
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

/// What the model said; nothing for a text without characters.
fn said(
    lowering: &Lowering<'_>,
    blocks: &[Block],
    at: usize,
    place: usize,
) -> Result<Option<Value>, TextError> {
    let texts = lowering.texts;
    Ok(match &blocks[at] {
        Block::Reasoning { .. } => reasoning(lowering, blocks, at)?,
        Block::Text { text } if text.is_empty() => None,
        Block::Text { text } => Some(assistant(&texts.resolve(text)?, place)),
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

/// What the model reads of a result, and what it sees.
fn outcome(said: String, images: &Images<'_>) -> Value {
    if images.shown.is_empty() {
        return said.into();
    }
    let said = json!({"type": "input_text", "text": said});
    core::iter::once(said).chain(images.shown.iter().map(|(shown, base64)| image(shown, base64))).collect()
}

fn image(image: &Image, base64: &str) -> Value {
    json!({"type": "input_image", "image_url": data_url(image, base64), "detail": "auto"})
}

fn is_freeform(lowering: &Lowering<'_>, name: &str) -> bool {
    lowering.spec.options.freeform_tools && freeform::is_freeform(name)
}

fn result(options: &ProviderOptions, result: &CallResult, names: &Calls<'_>, output: Value) -> Value {
    let freeform = options.freeform_tools && freeform::is_freeform(names.name(result));
    let kind = if freeform { "custom_tool_call_output" } else { "function_call_output" };
    json!({"type": kind, "call_id": result.call_id, "output": output})
}

fn tool(offered: &Offered, options: &ProviderOptions) -> Value {
    if options.freeform_tools && freeform::is_freeform(offered.spec.name.as_str()) {
        return freeform::tool(&offered.spec);
    }
    json!({
        "type": "function",
        "name": offered.spec.name,
        "description": offered.spec.description,
        "parameters": offered.parameters(options),
        "strict": offered.is_strict(options),
    })
}
