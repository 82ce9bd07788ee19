//! Providers: which exist, what they need, and one attempt at a request (contract: providers.md).

mod anthropic;
pub mod built_in;
mod endpoint;
mod exchange;
mod http;
mod lower;
mod openai_chat;
mod openai_responses;
mod parts;
pub mod provider;
pub mod registry;
pub mod scripted;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod wire;

use holon_core::Wall;
use holon_core::model::{
    AnswerBlock, FailureKind, ModelRequest, ProposedCall, StopReason, TokenUsage, TransportDiagnostics,
};
use holon_text::Texts;
use serde_json::Value;

pub use built_in::built_in;
pub use parts::joined;
pub(super) use parts::joined_answer;
pub use registry::{ProviderError, Providers};

use crate::live::LiveText;
use anthropic::AnthropicMessages;
use openai_chat::OpenaiChat;
use openai_responses::OpenaiResponses;
use registry::Transport;

/// Longest arguments that come along with a call, in bytes.
const INLINE_ARGUMENTS: u64 = 64 << 10;

/// What an attempt brought.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) blocks: Vec<AnswerBlock>,
    pub(super) stop: StopReason,
    pub(super) usage: TokenUsage,
}

/// Why an attempt brought nothing. Not redacted yet.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
    /// When a quota says that it will be full again.
    pub(super) resets_at: Option<Wall>,
    /// What it took all the same, where the server says so.
    pub(super) usage: Option<TokenUsage>,
    pub(super) diagnostics: Option<Box<TransportDiagnostics>>,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message, retry_after_ms: None, resets_at: None, usage: None, diagnostics: None }
    }
}

impl Providers {
    /// One attempt, without retry.
    pub(super) async fn attempt(
        &self,
        texts: &Texts,
        request: &ModelRequest,
        live: LiveText,
    ) -> Result<Reply, Failure> {
        let transport = self.transport(&request.model).map_err(|problem| {
            let kind = match &problem {
                ProviderError::Unknown { .. } | ProviderError::Unusable { .. } => {
                    FailureKind::UnsupportedTransport
                }
                ProviderError::MissingKey { .. } | ProviderError::BadKey { .. } => FailureKind::Auth,
                ProviderError::BadUrl { .. }
                | ProviderError::BadOption { .. }
                | ProviderError::Scenario(_) => FailureKind::Client,
            };
            Failure::new(kind, problem.to_string())
        })?;
        let client = &*self.client;
        match transport {
            Transport::Scripted(name) => self.scripted.play(texts, request, name).await,
            Transport::OpenaiResponses(endpoint) => {
                exchange::attempt::<OpenaiResponses>(client, texts, endpoint, request, live).await
            }
            Transport::OpenaiChatCompletions(endpoint) => {
                exchange::attempt::<OpenaiChat>(client, texts, endpoint, request, live).await
            }
            Transport::AnthropicMessages(endpoint) => {
                exchange::attempt::<AnthropicMessages>(client, texts, endpoint, request, live).await
            }
        }
    }
}

/// The arguments of a call as text: as a server sends it, perhaps cut off, or any other JSON. Whether that is an
/// object is the core's to judge, so that the model reads what was wrong with one call and the others run.
fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(json)) => json.clone(),
        Some(json) => json.to_string(),
    }
}

/// A call as it crosses the border.
fn proposed(texts: &Texts, call_id: String, tool_name: String, json: &str) -> AnswerBlock {
    let arguments = texts.take_written(json);
    let small = arguments.content().is_some_and(|content| content.bytes <= INLINE_ARGUMENTS);
    // Read back rather than copied: what crosses is the redacted text.
    let inline = if small { texts.resolve(&arguments).ok().map(|whole| whole.to_string()) } else { None };
    // A name or an id may repeat a secret, too.
    let (call_id, tool_name) = (texts.redact(&call_id), texts.redact(&tool_name));
    AnswerBlock::ToolCall(ProposedCall { call_id, tool_name, arguments, inline })
}
