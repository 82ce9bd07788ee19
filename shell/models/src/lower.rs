//! What all protocols do with a request: texts in full, arguments that every server accepts, results as the
//! model reads them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use holon_facts::Text;
use holon_facts::call::ToolName;
use holon_facts::frame::{Part, PromptBlock};
use holon_facts::model::{Block, CallResult, Item, ModelRequest};
use holon_text::{TextError, Texts};
use serde_json::{Map, Value, json};

use super::exchange::{List, Lowering};
use super::parts::joined;
use super::tools::{Offered, Tools};

/// The tools of a request as a list in JSON, each in the form of its protocol; none where it has none. The last one
/// is marked where its protocol does that.
pub(super) fn offered(
    lowering: &Lowering<'_>,
    form: impl Fn(&Offered) -> Value,
    mark: Option<&dyn Fn(&mut Value)>,
) -> Result<Option<List>, TextError> {
    let Lowering { texts, request, spec, tools, .. } = *lowering;
    if request.tools.is_empty() {
        return Ok(None);
    }
    // Where they are found and not offered, nobody reads what they are.
    let of_servers = request.tools.iter().any(|name| tools.get(name).is_none());
    let others = match request.server_tools.as_ref().filter(|_| of_servers) {
        Some(servers) => Tools::of_servers(&texts.resolve(&servers.definitions)?),
        None => Tools::default(),
    };
    let text = |name: &ToolName| match (tools.get(name), others.get(name)) {
        (Some(own), _) => Some(tools.text(&spec.id, own, &form)),
        (None, Some(other)) => Some(form(other).to_string().into()),
        (None, None) => None,
    };
    let mut offered: Vec<Arc<str>> = request.tools.iter().filter_map(text).collect();
    if let (Some(mark), Some(last)) = (mark, offered.last_mut())
        && let Ok(mut marked) = serde_json::from_str(last)
    {
        mark(&mut marked);
        *last = marked.to_string().into();
    }
    let mut list = List::default();
    offered.iter().for_each(|tool| list.push_text(tool));
    Ok(Some(list))
}

/// Names of the tools that were called, by the id of the call: a result carries only the id.
pub(super) struct Calls<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Calls<'a> {
    pub(super) fn of(request: &'a ModelRequest) -> Self {
        let blocks = request.conversation.iter().flat_map(|item| match item {
            Item::Assistant { blocks } => &blocks[..],
            Item::User { .. } | Item::ToolResults { .. } => &[],
        });
        Self(
            blocks
                .filter_map(|block| match block {
                    Block::ToolCall { call_id, tool_name, .. } => {
                        Some((call_id.as_str(), tool_name.as_str()))
                    }
                    Block::Text { .. } | Block::Reasoning { .. } => None,
                })
                .collect(),
        )
    }

    pub(super) fn name(&self, result: &CallResult) -> &'a str {
        self.0.get(result.call_id.as_str()).copied().unwrap_or("unknown")
    }

    /// What the model reads of a result, and of what is not shown with it.
    pub(super) fn result(
        &self,
        texts: &Texts,
        result: &CallResult,
        unshown: &str,
    ) -> Result<Arc<str>, TextError> {
        let receipt = &result.receipt;
        let read: Arc<str> = match (&receipt.error, &receipt.content) {
            (Some(error), _) => error.render(self.name(result), &texts.resolve(&error.message)?).into(),
            (None, Some(content)) => texts.resolve(content)?,
            (None, None) => "".into(),
        };
        Ok(if unshown.is_empty() { read } else { [&read, unshown].concat().into() })
    }
}

/// What the model has thought, as its provider gave it. It means nothing to another model, and at the end of an answer,
/// behind which nothing else is sent, providers refuse it.
pub(super) fn reasoning(
    lowering: &Lowering<'_>,
    blocks: &[Block],
    at: usize,
) -> Result<Option<Map<String, Value>>, TextError> {
    let Some(Block::Reasoning { model, content }) = blocks.get(at) else { return Ok(None) };
    let more = blocks.iter().skip(at).any(|block| match block {
        Block::Text { text } => !text.is_empty(),
        Block::ToolCall { .. } => true,
        Block::Reasoning { .. } => false,
    });
    if *model != lowering.request.model || !more || !lowering.thoughts {
        return Ok(None);
    }
    Ok(serde_json::from_str(&lowering.texts.resolve(content)?).ok())
}

/// What stands in the system role, as one text.
pub(super) fn instructions(lowering: &Lowering<'_>) -> Result<String, TextError> {
    let frame = &lowering.request.frame;
    let mut pieces = vec![frame.system_prompt.clone()];
    for block in frame.system() {
        pieces.push(block_text(lowering.texts, block)?);
    }
    pieces.retain(|piece| !piece.is_empty());
    Ok(pieces.join("\n\n"))
}

/// The conversation with what the turn begins with at its head, in the role of the user.
pub(super) fn conversation<'a>(lowering: &Lowering<'a>) -> Vec<Cow<'a, Item>> {
    let request = lowering.request;
    let end = || Part::Rendered("\n".into());
    let blocks = request.frame.turn().map(|block| block.parts.iter().cloned().chain([end()]));
    let head: Vec<Part> = blocks.flatten().collect();
    let mut items: Vec<Cow<'a, Item>> = request.conversation.iter().map(Cow::Borrowed).collect();
    if head.is_empty() {
        return items;
    }
    match items.first_mut() {
        Some(first) if matches!(&**first, Item::User { .. }) => {
            if let Item::User { parts } = first.to_mut() {
                parts.splice(0..0, head);
            }
        }
        Some(_) | None => items.insert(0, Cow::Owned(Item::User { parts: head })),
    }
    items
}

pub(super) fn block_text(texts: &Texts, block: &PromptBlock) -> Result<String, TextError> {
    joined(texts, &block.parts)
}

/// The arguments as a JSON object. Several servers refuse a conversation with anything else in it, so that
/// one malformed call would end every later round.
pub(super) fn arguments(texts: &Texts, arguments: &Text) -> Result<Arc<str>, TextError> {
    let raw = texts.resolve(arguments)?;
    if raw.trim().is_empty() {
        return Ok("{}".into());
    }
    match serde_json::from_str::<Value>(&raw) {
        Ok(Value::Object(_)) => Ok(raw),
        Ok(_) | Err(_) => Ok(json!({"invalid_arguments": &*raw}).to_string().into()),
    }
}
