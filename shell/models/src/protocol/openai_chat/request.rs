//! From the runtime's request to the wire.

use std::sync::Arc;

use holon_facts::frame::Part;
use holon_facts::image::Image;
use holon_facts::model::{Block, Item};
use holon_text::{TextError, Texts};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exchange::{Body, List, Lowering};
use crate::images::{Images, Piece, data_url, pieces};
use crate::lower::{Calls, arguments, conversation, instructions, offered};
use crate::model_options::ModelOptions;
use crate::options::ProviderOptions;
use crate::tools::Offered;

/// A message, in the role of whoever it is of.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: Content,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Arc<str>,
    },
}

/// One text, unless there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Arc<str>,
}

pub(super) fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
    let Lowering { request, spec, .. } = *lowering;
    let options = &spec.options;
    let mut body = json!({
        "model": request.model.model(),
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
    let tools = tools.map(|tools| ("tools", tools));
    Ok(Body::new(body, [("messages", messages(lowering)?)].into_iter().chain(tools)))
}

fn messages(lowering: &Lowering<'_>) -> Result<List, TextError> {
    let Lowering { texts, request, .. } = *lowering;
    let mut messages = List::default();
    messages.push(&Message::System { content: instructions(lowering)? });
    let names = Calls::of(request);
    for item in &conversation(lowering) {
        match &**item {
            Item::User { parts } => messages.push(&Message::User { content: heard(lowering, parts)? }),
            Item::Assistant { blocks } => {
                if let Some(message) = assistant(texts, blocks)? {
                    messages.push(&message);
                }
            }
            Item::ToolResults { results } => {
                // A message of a tool has text alone: what it shows follows, in the role of the user.
                let mut seen = Vec::new();
                for result in results {
                    let images = Images::of(lowering, result, u64::MAX)?;
                    let content = names.result(texts, result, &images.named)?;
                    let id = result.call_id.as_str();
                    messages.push(&Message::Tool { tool_call_id: id, content });
                    for (shown, base64) in &images.shown {
                        let tool = names.name(result);
                        let text = format!("[result of {tool} ({id}): the image {}]", shown.line());
                        seen.extend([ContentPart::Text { text }, image(shown, base64)]);
                    }
                }
                if !seen.is_empty() {
                    messages.push(&Message::User { content: Content::Parts(seen) });
                }
            }
        }
    }
    Ok(messages)
}

fn heard(lowering: &Lowering<'_>, parts: &[Part]) -> Result<Content, TextError> {
    let mut pieces = pieces(lowering, parts, u64::MAX)?;
    if let [Piece::Text(text)] = &mut pieces[..] {
        return Ok(Content::Text(std::mem::take(text)));
    }
    let parts = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(ContentPart::Text { text }),
        Piece::Image(shown, base64) => Some(image(shown, &base64)),
    });
    Ok(Content::Parts(parts.collect()))
}

fn image(image: &Image, base64: &str) -> ContentPart {
    ContentPart::ImageUrl { image_url: ImageUrl { url: data_url(image, base64) } }
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
fn assistant<'a>(texts: &Texts, blocks: &'a [Block]) -> Result<Option<Message<'a>>, TextError> {
    let (mut content, mut tool_calls) = (String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Reasoning { .. } => {}
            Block::Text { text } => content.push_str(&texts.resolve(text)?),
            Block::ToolCall { call_id, tool_name, arguments: given } => tool_calls.push(ToolCall {
                id: call_id.as_str(),
                r#type: "function",
                function: Function { name: tool_name.as_str(), arguments: arguments(texts, given)? },
            }),
        }
    }
    let content = (!content.is_empty()).then_some(content);
    let empty = content.is_none() && tool_calls.is_empty();
    Ok((!empty).then_some(Message::Assistant { content, tool_calls }))
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
