//! `anthropic_messages`: `POST {base}/v1/messages` (contract: providers.md, Transports). Thinking is asked for where a
//! setting of the model says so.

mod answer;
mod editing;
mod message;
mod request;
mod stream;
mod thinking;

use holon_facts::usage::TokenUsage;
use holon_text::{TextError, Texts};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::answer::Reply;
use crate::context_editing::ContextEditing;
use crate::exchange::{Body, Lowering, Malformed, Protocol, transport};
use crate::options::ProviderOptions;
use crate::provider::Transport;

const VERSION: &str = "2023-06-01";

pub(crate) const TRANSPORT: Transport = transport::<AnthropicMessages>("anthropic_messages");

pub(crate) struct AnthropicMessages;

impl Protocol for AnthropicMessages {
    const NAME: &'static str = "the messages protocol";
    const SETTINGS: &'static [&'static str] =
        &["reasoning_effort", "thinking", "thinking_budget_tokens", "temperature", "parallel_tool_calls"];
    const OPTIONS: &'static [&'static str] = &["context_management"];
    type Fold = stream::Blocks;

    /// The base is without the version; who writes it all the same is understood.
    fn path(base: &str) -> &'static str {
        if base.ends_with("/v1") { "/messages" } else { "/v1/messages" }
    }

    fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
        request::lower(lowering)
    }

    fn credential(key: &str) -> String {
        key.to_owned()
    }

    fn sign(headers: &mut HeaderMap, key: Option<HeaderValue>) {
        headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
        if let Some(key) = key {
            headers.insert("x-api-key", key);
        }
    }

    fn features(options: &ProviderOptions) -> Option<(HeaderName, HeaderValue)> {
        let name = HeaderName::from_static("anthropic-beta");
        (options.context_editing != ContextEditing::default())
            .then(|| (name, HeaderValue::from_static(editing::FEATURE)))
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        answer::read(texts, root)
    }

    fn usage(reported: Option<&Value>) -> TokenUsage {
        answer::tokens(reported)
    }
}
