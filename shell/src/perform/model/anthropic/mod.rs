//! `anthropic_messages`: `POST {base}/v1/messages` (contract: providers.md, Transports). Thinking is never
//! asked for.

mod answer;
mod request;
mod stream;

use holon_text::{TextError, Texts};
use http::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::Reply;
use super::exchange::{Lowering, Malformed, Protocol};

const VERSION: &str = "2023-06-01";

pub(super) struct AnthropicMessages;

impl Protocol for AnthropicMessages {
    const NAME: &'static str = "the messages protocol";
    type Fold = stream::Blocks;

    fn lower(lowering: &Lowering<'_>) -> Result<Value, TextError> {
        request::lower(lowering)
    }

    fn sign(headers: &mut HeaderMap, key: Option<HeaderValue>) {
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        if let Some(key) = key {
            headers.insert("x-api-key", key);
        }
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }
}
