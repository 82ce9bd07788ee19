//! From the runtime's request to the wire.

use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::model::{Block, Item};
use holon_text::{TextError, Texts};
use serde_json::{Value, json};

use crate::exchange::{Body, Lowering};
use crate::images::{Images, Piece, data_url, pieces};
use crate::lower::{Calls, arguments, conversation, instructions, offered};
use crate::model_options::ModelOptions;
use crate::options::ProviderOptions;
use crate::tools::Offered;

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
    let Lowering { texts, request, spec, .. } = *lowering;
    let options = &spec.options;
    let mut messages = vec![json!({"role": "system", "content": instructions(lowering)?})];
    let names = Calls::of(request);
    for item in &conversation(lowering) {
        match &**item {
            Item::User { parts } => {
                messages.push(json!({"role": "user", "content": heard(lowering, parts)?}));
            }
            Item::Assistant { blocks } => messages.extend(assistant(texts, blocks)?),
            Item::ToolResults { results } => {
                // A message of a tool has text alone: what it shows follows, in the role of the user.
                let mut seen = Vec::new();
                for result in results {
                    let images = Images::of(lowering, result, u64::MAX)?;
                    let content = names.result(texts, result)? + &images.named;
                    let id = &result.call_id;
                    messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
                    for (shown, base64) in &images.shown {
                        let tool = names.name(result);
                        let label = format!("[result of {tool} ({id}): the image {}]", shown.line());
                        seen.extend([json!({"type": "text", "text": label}), image(shown, base64)]);
                    }
                }
                if !seen.is_empty() {
                    messages.push(json!({"role": "user", "content": seen}));
                }
            }
        }
    }
    let mut body = json!({
        "model": request.model.model(),
        "messages": messages,
        "stream": options.stream,
    });
    if options.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    body[spec.max_tokens_field().name()] = request.max_output_tokens.into();
    if spec.sends_prompt_cache_key() {
        body["prompt_cache_key"] = request.frame.cache.prompt_cache_key.clone().into();
    }
    let tools = offered(lowering, |offered| tool(offered, options), None)?;
    if let Some(model) = lowering.model() {
        configured(&mut body, model, tools.is_some());
    }
    Ok(Body::new(body, tools))
}

/// One text, unless there are images.
fn heard(lowering: &Lowering<'_>, parts: &[Part]) -> Result<Value, TextError> {
    let mut pieces = pieces(lowering, parts, u64::MAX)?;
    if let [Piece::Text(text)] = &mut pieces[..] {
        return Ok(std::mem::take(text).into());
    }
    let content = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(json!({"type": "text", "text": text})),
        Piece::Image(shown, base64) => Some(image(shown, base64)),
    });
    Ok(content.collect())
}

fn image(image: &Image, base64: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": data_url(image, base64)}})
}

fn configured(body: &mut Value, model: &ModelOptions, has_tools: bool) {
    if let Some(effort) = &model.reasoning_effort {
        body["reasoning_effort"] = effort.clone().into();
    }
    if let Some(verbosity) = &model.verbosity {
        body["verbosity"] = verbosity.clone().into();
    }
    if let Some(temperature) = model.temperature {
        body["temperature"] = temperature.value();
    }
    // Without tools it is refused.
    if let (Some(parallel), true) = (model.parallel_tool_calls, has_tools) {
        body["parallel_tool_calls"] = parallel.into();
    }
}

/// Nothing for an answer that was thought alone: several servers refuse a message without content.
fn assistant(texts: &Texts, blocks: &[Block]) -> Result<Option<Value>, TextError> {
    let (mut content, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Reasoning { .. } => {}
            Block::Text { text } => content.push_str(&texts.resolve(text)?),
            Block::ToolCall { call_id, tool_name, arguments: given } => calls.push(json!({
                "id": call_id,
                "type": "function",
                "function": {"name": tool_name, "arguments": arguments(texts, given)?},
            })),
        }
    }
    if content.is_empty() && calls.is_empty() {
        return Ok(None);
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        if content.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = calls.into();
    }
    Ok(Some(message))
}

fn tool(offered: &Offered, options: &ProviderOptions) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": offered.spec.name,
            "description": offered.spec.description,
            "parameters": offered.parameters(options),
            "strict": offered.is_strict(options),
        },
    })
}
