//! From the runtime's request to the wire.

use std::borrow::Cow;

use holon_facts::frame::Stability;
use holon_facts::model::{self, CallResult, Item};
use holon_text::TextError;
use serde_json::{Value, json};

use super::message::{Block, CacheControl, Content, Message, Output, Role};
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
    let cached = CacheControl::of(options);
    let conversation = conversation(lowering);
    let mut messages = messages(lowering, &conversation)?;
    // Wherever the conversation goes on from here, its beginning up to here is the same.
    if let Some(last) = messages.last_mut().and_then(|message| message.content.last_mut()) {
        last.mark(cached);
    }
    let mut body = json!({
        "model": request.model.model(),
        "max_tokens": request.max_output_tokens,
        "stream": options.stream,
    });
    let mark = |last: &mut Value| last["cache_control"] = json!(cached);
    let tools = offered(lowering, |offered| tool(offered, options), Some(&mark))?;
    if let Some(model) = lowering.model() {
        configured(&mut body, model, (request.max_output_tokens, tools.is_some()), &messages);
    }
    let thinks = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    if let Some(editing) = editing::asked(&options.context_editing, thinks) {
        body["context_management"] = editing;
    }
    let system = system(lowering, cached)?.iter().collect();
    let lists = [("system", system), ("messages", messages.iter().collect())];
    Ok(Body::new(body, lists.into_iter().chain(tools.map(|tools| ("tools", tools)))))
}

fn configured(
    body: &mut Value,
    model: &ModelOptions,
    (most, has_tools): (u64, bool),
    messages: &[Message<'_>],
) {
    if let Some(thinking) = thinking::asked(model, most, messages) {
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
fn system(lowering: &Lowering<'_>, cached: CacheControl) -> Result<Vec<Content<'static>>, TextError> {
    let frame = &lowering.request.frame;
    let mut blocks = vec![(frame.system_prompt.clone(), Stability::Stable)];
    for block in frame.system() {
        blocks.push((block_text(lowering.texts, block)?, block.stability));
    }
    // The provider refuses text blocks without words.
    blocks.retain(|(text, _)| !text.trim().is_empty());
    let last = |wanted| blocks.iter().rposition(|(_, stability)| *stability == wanted);
    let marked = [last(Stability::Stable), last(Stability::AgentScoped)];
    let mut system: Vec<Content<'_>> =
        blocks.into_iter().filter_map(|(text, _)| Content::text(text.into())).collect();
    for at in marked.into_iter().flatten() {
        system[at].mark(cached);
    }
    Ok(system)
}

/// Roles alternate: what stands side by side becomes one message. The results of calls come first in theirs,
/// as the provider demands, since they follow the calls at once.
fn messages<'a>(
    lowering: &Lowering<'_>,
    conversation: &'a [Cow<'_, Item>],
) -> Result<Vec<Message<'a>>, TextError> {
    let names = Calls::of(lowering.request);
    let mut messages: Vec<Message<'a>> = Vec::new();
    for item in conversation {
        let mut content = Vec::new();
        let role = match &**item {
            Item::User { parts } => {
                content.extend(pieces(lowering, parts, IMAGE)?.into_iter().filter_map(piece));
                Role::User
            }
            Item::Assistant { blocks } => {
                for at in 0..blocks.len() {
                    content.extend(said(lowering, blocks, at)?);
                }
                Role::Assistant
            }
            Item::ToolResults { results } => {
                for result in results {
                    content.push(Content::new(Block::ToolResult {
                        tool_use_id: result.call_id.as_str(),
                        content: outcome(lowering, &names, result)?,
                        is_error: result.receipt.error.is_some(),
                    }));
                }
                Role::User
            }
        };
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut content),
            Some(_) | None if content.is_empty() => {}
            Some(_) | None => messages.push(Message { role, content }),
        }
    }
    Ok(messages)
}

/// What the model reads of a result, and what it sees.
fn outcome(lowering: &Lowering<'_>, names: &Calls<'_>, result: &CallResult) -> Result<Output, TextError> {
    let images = Images::of(lowering, result, IMAGE)?;
    let said = names.result(lowering.texts, result, &images.named)?;
    if images.shown.is_empty() {
        return Ok(Output::Text(said));
    }
    let shown = images.shown.into_iter().map(|(image, base64)| Content::image(image, base64));
    Ok(Output::Content(Content::text(said).into_iter().chain(shown).collect()))
}

fn piece<'a>(piece: Piece<'_>) -> Option<Content<'a>> {
    match piece {
        Piece::Text(given) => Content::text(given.into()),
        Piece::Image(shown, base64) => Some(Content::image(shown, base64)),
    }
}

fn said<'a>(
    lowering: &Lowering<'_>,
    blocks: &'a [model::Block],
    at: usize,
) -> Result<Option<Content<'a>>, TextError> {
    Ok(match &blocks[at] {
        model::Block::Reasoning { .. } => {
            reasoning(lowering, blocks, at)?.map(|thought| Content::new(Block::Thought(thought)))
        }
        model::Block::Text { text } => Content::text(lowering.texts.resolve(text)?),
        model::Block::ToolCall { call_id, tool_name, arguments: given } => {
            let input = serde_json::from_str(&arguments(lowering.texts, given)?).unwrap_or_default();
            let (id, name) = (call_id.as_str(), tool_name.as_str());
            Some(Content::new(Block::ToolUse { id, name, input }))
        }
    })
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
