//! Messages, as the wire has them.

use std::sync::Arc;

use holon_facts::image::Image;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::options::ProviderOptions;

#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: Role,
    pub(super) content: Vec<Content<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

/// A block of a message.
#[derive(Serialize)]
pub(super) struct Content<'a> {
    #[serde(flatten)]
    pub(super) block: Block<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Arc<str>,
    },
    Image {
        source: Source,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: Output,
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        is_error: bool,
    },
    /// As the provider gave it.
    #[serde(untagged)]
    Thought(Map<String, Value>),
}

#[derive(Serialize)]
pub(super) struct Source {
    r#type: &'static str,
    media_type: &'static str,
    data: Arc<str>,
}

/// What a tool has returned: a text, unless there are images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output {
    Text(Arc<str>),
    Content(Vec<Content<'static>>),
}

/// The mark of a block up to which the provider keeps what it has read.
#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl<'a> Content<'a> {
    pub(super) fn new(block: Block<'a>) -> Self {
        Self { block, cache_control: None }
    }

    /// None of a text without words: the provider refuses it.
    pub(super) fn text(text: Arc<str>) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self::new(Block::Text { text }))
    }

    pub(super) fn image(image: &Image, base64: Arc<str>) -> Self {
        let source = Source { r#type: "base64", media_type: image.format.media_type(), data: base64 };
        Self::new(Block::Image { source })
    }

    pub(super) fn mark(&mut self, mark: CacheControl) {
        self.cache_control = Some(mark);
    }
}

impl CacheControl {
    pub(super) fn of(options: &ProviderOptions) -> Self {
        Self { r#type: "ephemeral", ttl: options.cache_for_an_hour.then_some("1h") }
    }
}
