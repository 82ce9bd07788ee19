//! From the runtime's request to the wire.

use std::borrow::Borrow;
use std::sync::Arc;

use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::model::{Block, CallResult, Item};
use holon_text::{TextError, hash};
use serde::Serialize;
use serde_json::{Value, json};

use super::freeform;
use crate::exchange::{Body, List, Lowering};
use crate::images::{Images, Piece, data_url, pieces};
use crate::lower::{Calls, arguments, conversation, instructions, offered, reasoning};
use crate::model_options::ModelOptions;
use crate::options::ProviderOptions;
use crate::tools::Offered;

/// The list of what goes to the model.
pub(super) const INPUT: &str = "input";

/// An element of it. What the model has thought is one, too, as its provider gave it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Element<'a> {
    #[serde(rename = "message")]
    User {
        role: &'static str,
        content: Vec<Content>,
    },
    #[serde(rename = "message")]
    Assistant {
        id: String,
        role: &'static str,
        status: &'static str,
        content: [Content; 1],
    },
    FunctionCall {
        call_id: &'a str,
        name: &'a str,
        arguments: Arc<str>,
    },
    CustomToolCall {
        call_id: &'a str,
        name: &'a str,
        input: String,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output,
    },
    CustomToolCallOutput {
        call_id: &'a str,
        output: Output,
    },
}

/// A text, unless there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum Output {
    Text(Arc<str>),
    Content(Vec<Content>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content {
    InputText { text: Arc<str> },
    InputImage { image_url: String, detail: &'static str },
    OutputText { text: Arc<str>, annotations: [(); 0] },
}

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
    let Lowering { request, spec, .. } = *lowering;
    let options = &spec.options;
    let mut body = json!({
        "model": request.model.model(),
        "instructions": instructions(lowering)?,
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
    let input = input(lowering, &conversation(lowering))?;
    Ok(Body::new(body, [(INPUT, input)].into_iter().chain(tools.map(|tools| ("tools", tools)))))
}

/// These items of the conversation, or of its rest.
pub(super) fn input<T: Borrow<Item>>(lowering: &Lowering<'_>, items: &[T]) -> Result<List, TextError> {
    let Lowering { texts, request, spec, .. } = *lowering;
    let names = Calls::of(request);
    let mut input = List::default();
    for item in items {
        match item.borrow() {
            Item::User { parts } => input.push(&user(lowering, parts)?),
            Item::Assistant { blocks } => {
                for at in 0..blocks.len() {
                    said(lowering, blocks, at, &mut input)?;
                }
            }
            Item::ToolResults { results } => {
                for one in results {
                    let images = Images::of(lowering, one, u64::MAX)?;
                    let said = names.result(texts, one, &images.named)?;
                    input.push(&result(&spec.options, one, &names, outcome(said, &images)));
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

fn user(lowering: &Lowering<'_>, parts: &[Part]) -> Result<Element<'static>, TextError> {
    let pieces = pieces(lowering, parts, u64::MAX)?;
    let only = pieces.len() == 1;
    let content = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() && !only => None,
        Piece::Text(text) => Some(Content::InputText { text: text.into() }),
        Piece::Image(shown, base64) => Some(image(shown, &base64)),
    });
    Ok(Element::User { role: "user", content: content.collect() })
}

/// A message as the model gave it. Nothing is stored at the provider, so any id of the right form is good; the same
/// conversation has the same ones.
fn assistant(text: Arc<str>, place: usize) -> Element<'static> {
    let mut id = format!("msg_{}", hash(format!("{place} {text}").as_bytes()));
    id.truncate(36);
    let content = [Content::OutputText { text, annotations: [] }];
    Element::Assistant { id, role: "assistant", status: "completed", content }
}

/// What the model said; nothing for a text without characters.
fn said(lowering: &Lowering<'_>, blocks: &[Block], at: usize, input: &mut List) -> Result<(), TextError> {
    let texts = lowering.texts;
    match &blocks[at] {
        Block::Reasoning { .. } => {
            if let Some(thought) = reasoning(lowering, blocks, at)? {
                input.push(&thought);
            }
        }
        Block::Text { text } if text.is_empty() => {}
        Block::Text { text } => input.push(&assistant(texts.resolve(text)?, input.len())),
        Block::ToolCall { call_id, tool_name, arguments: given } => {
            let (call_id, name) = (call_id.as_str(), tool_name.as_str());
            input.push(&if is_freeform(lowering, name) {
                Element::CustomToolCall { call_id, name, input: freeform::input(texts, given)? }
            } else {
                Element::FunctionCall { call_id, name, arguments: arguments(texts, given)? }
            });
        }
    }
    Ok(())
}

/// What the model reads of a result, and what it sees.
fn outcome(said: Arc<str>, images: &Images<'_>) -> Output {
    if images.shown.is_empty() {
        return Output::Text(said);
    }
    let said = Content::InputText { text: said };
    let shown = images.shown.iter().map(|(shown, base64)| image(shown, base64));
    Output::Content(core::iter::once(said).chain(shown).collect())
}

fn image(image: &Image, base64: &str) -> Content {
    Content::InputImage { image_url: data_url(image, base64), detail: "auto" }
}

fn is_freeform(lowering: &Lowering<'_>, name: &str) -> bool {
    lowering.spec.options.freeform_tools && freeform::is_freeform(name)
}

fn result<'a>(
    options: &ProviderOptions,
    result: &'a CallResult,
    names: &Calls<'_>,
    output: Output,
) -> Element<'a> {
    let call_id = result.call_id.as_str();
    if options.freeform_tools && freeform::is_freeform(names.name(result)) {
        Element::CustomToolCallOutput { call_id, output }
    } else {
        Element::FunctionCallOutput { call_id, output }
    }
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
