//! From the runtime's request to the wire.

use std::sync::Arc;

use holon_facts::frame::Stability;
use holon_facts::image::Image;
use holon_facts::model::{Block, CallResult, Item};
use holon_text::TextError;
use serde_json::{Value, json};

use super::{editing, thinking};
use crate::exchange::{Body, Lowering};
use crate::images::{Images, Piece, pieces};
use crate::lower::{Calls, arguments, block_text, conversation, offered, reasoning};
use crate::model_options::ModelOptions;
use crate::options::ProviderOptions;
use crate::tools::Offered;

/// Characters of base64 that the provider takes of one image: 5 MB.
const IMAGE: u64 = 5 << 20;

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
    let Lowering { request, spec, .. } = *lowering;
    let options = &spec.options;
    let mut messages = messages(lowering)?;
    // Wherever the conversation goes on from here, its beginning up to here is the same.
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut())
    {
        mark(last, options);
    }
    let mut body = json!({
        "model": request.model.model(),
        "max_tokens": request.max_output_tokens,
        "system": system(lowering)?,
        "messages": messages,
        "stream": options.stream,
    });
    let tools =
        offered(lowering, |offered| tool(offered, options), Some(&|last: &mut Value| mark(last, options)))?;
    if let Some(model) = lowering.model() {
        configured(&mut body, model, (request.max_output_tokens, tools.is_some()));
    }
    let thinks = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    if let Some(editing) = editing::asked(&options.context_editing, thinks) {
        body["context_management"] = editing;
    }
    Ok(Body::new(body, tools))
}

fn configured(body: &mut Value, model: &ModelOptions, (most, has_tools): (u64, bool)) {
    if let Some(thinking) = thinking::asked(model, most, &body["messages"]) {
        body["thinking"] = thinking;
    }
    if let Some(effort) = &model.reasoning_effort {
        body["output_config"] = json!({"effort": effort});
    }
    if let Some(temperature) = model.temperature {
        body["temperature"] = temperature.value();
    }
    if let (Some(parallel), true) = (model.parallel_tool_calls, has_tools) {
        body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": !parallel});
    }
}

/// What comes before a marked block is kept by the provider. There are the four markers that it allows: the last tool,
/// here the last stable block and the last block of the agent, then the conversation's.
fn system(lowering: &Lowering<'_>) -> Result<Vec<Value>, TextError> {
    let frame = &lowering.request.frame;
    let mut blocks = vec![(frame.system_prompt.clone(), Stability::Stable)];
    for block in frame.system() {
        blocks.push((block_text(lowering.texts, block)?, block.stability));
    }
    // The provider refuses text blocks without words.
    blocks.retain(|(text, _)| !text.trim().is_empty());
    let last = |wanted| blocks.iter().rposition(|(_, stability)| *stability == wanted);
    let marked = [last(Stability::Stable), last(Stability::AgentScoped)];
    Ok(blocks
        .iter()
        .enumerate()
        .map(|(at, (text, _))| {
            let mut block = json!({"type": "text", "text": text});
            if marked.contains(&Some(at)) {
                mark(&mut block, &lowering.spec.options);
            }
            block
        })
        .collect())
}

fn mark(block: &mut Value, options: &ProviderOptions) {
    block["cache_control"] = json!({"type": "ephemeral"});
    if options.cache_for_an_hour {
        block["cache_control"]["ttl"] = "1h".into();
    }
}

/// Roles alternate: what stands side by side becomes one message. The results of calls come first in theirs,
/// as the provider demands, since they follow the calls at once.
fn messages(lowering: &Lowering<'_>) -> Result<Vec<Value>, TextError> {
    let names = Calls::of(lowering.request);
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for item in &conversation(lowering) {
        let mut content = Vec::new();
        let role = match &**item {
            Item::User { parts } => {
                content.extend(pieces(lowering, parts, IMAGE)?.iter().filter_map(piece));
                "user"
            }
            Item::Assistant { blocks } => {
                for at in 0..blocks.len() {
                    content.extend(said(lowering, blocks, at)?);
                }
                "assistant"
            }
            Item::ToolResults { results } => {
                for result in results {
                    let mut block = json!({
                        "type": "tool_result",
                        "tool_use_id": result.call_id,
                        "content": outcome(lowering, &names, result)?,
                    });
                    if result.receipt.error.is_some() {
                        block["is_error"] = true.into();
                    }
                    content.push(block);
                }
                "user"
            }
        };
        match messages.last_mut() {
            Some((last, blocks)) if *last == role => blocks.append(&mut content),
            Some(_) | None if content.is_empty() => {}
            Some(_) | None => messages.push((role, content)),
        }
    }
    Ok(messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect())
}

/// What the model reads of a result, and what it sees.
fn outcome(lowering: &Lowering<'_>, names: &Calls<'_>, result: &CallResult) -> Result<Value, TextError> {
    let images = Images::of(lowering, result, IMAGE)?;
    let said = names.result(lowering.texts, result)? + &images.named;
    if images.shown.is_empty() {
        return Ok(said.into());
    }
    Ok(text(&said).into_iter().chain(images.shown.iter().map(image)).collect())
}

fn piece(piece: &Piece<'_>) -> Option<Value> {
    match piece {
        Piece::Text(given) => text(given),
        Piece::Image(shown, base64) => Some(image(&(*shown, base64.clone()))),
    }
}

fn image((image, base64): &(&Image, Arc<str>)) -> Value {
    let source = json!({"type": "base64", "media_type": image.format.media_type(), "data": &**base64});
    json!({"type": "image", "source": source})
}

fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn said(lowering: &Lowering<'_>, blocks: &[Block], at: usize) -> Result<Option<Value>, TextError> {
    match &blocks[at] {
        Block::Reasoning { .. } => reasoning(lowering, blocks, at),
        Block::Text { text: given } => Ok(text(&lowering.texts.resolve(given)?)),
        Block::ToolCall { call_id, tool_name, arguments: given } => {
            let input: Value = serde_json::from_str(&arguments(lowering.texts, given)?).unwrap_or_default();
            Ok(Some(json!({"type": "tool_use", "id": call_id, "name": tool_name, "input": input})))
        }
    }
}

fn tool(offered: &Offered, options: &ProviderOptions) -> Value {
    let mut tool = json!({
        "name": offered.spec.name,
        "description": offered.spec.description,
        "input_schema": offered.parameters(options),
    });
    if offered.is_strict(options) {
        tool["strict"] = true.into();
    }
    tool
}
