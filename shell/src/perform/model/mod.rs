//! Providers: which exist, what they need, and one attempt at a request (contract: providers.md).

pub mod built_in;
mod endpoint;
mod http;
mod openai_chat;
mod parts;
pub mod provider;
pub mod registry;
pub mod scripted;

use holon_core::model::{
    AnswerBlock, FailureKind, ModelRequest, ProposedCall, StopReason, TokenUsage, TransportDiagnostics,
};

pub use built_in::built_in;
pub use registry::{ProviderError, Providers};

use crate::text::Texts;
use provider::TransportKind;
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
    pub(super) diagnostics: Option<Box<TransportDiagnostics>>,
}

impl Failure {
    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None, diagnostics: None }
    }
}

impl Providers {
    /// One attempt, without retry.
    pub(super) async fn attempt(&self, texts: &Texts, request: &ModelRequest) -> Result<Reply, Failure> {
        match self.transport(&request.model) {
            Ok(Transport::Scripted(name)) => self.scripted.play(texts, request, name).await,
            Ok(Transport::Http(endpoint)) => match endpoint.spec.transport {
                TransportKind::OpenaiChatCompletions => {
                    openai_chat::attempt(&self.clients, texts, &endpoint, request).await
                }
                TransportKind::OpenaiResponses
                | TransportKind::AnthropicMessages
                | TransportKind::Scripted => {
                    let message = format!("{} is not spoken yet", request.model.provider());
                    Err(Failure::new(FailureKind::UnsupportedTransport, message))
                }
            },
            Err(problem) => {
                let kind = match &problem {
                    ProviderError::Unknown { .. } | ProviderError::Unusable { .. } => {
                        FailureKind::UnsupportedTransport
                    }
                    ProviderError::MissingKey { .. } | ProviderError::BadKey { .. } => FailureKind::Auth,
                    ProviderError::BadUrl { .. }
                    | ProviderError::BadOption { .. }
                    | ProviderError::Scenario(_) => FailureKind::Client,
                };
                Err(Failure::new(kind, problem.to_string()))
            }
        }
    }
}

/// A call as it crosses the border.
fn proposed(texts: &Texts, call_id: String, tool_name: String, json: &str) -> AnswerBlock {
    let arguments = texts.take(json);
    let small = arguments.content().is_some_and(|content| content.bytes <= INLINE_ARGUMENTS);
    // Read back rather than copied: what crosses is the redacted text.
    let inline = if small { texts.resolve(&arguments).ok().map(|whole| whole.to_string()) } else { None };
    // A name or an id may repeat a secret, too.
    let (call_id, tool_name) = (texts.redact(&call_id), texts.redact(&tool_name));
    AnswerBlock::ToolCall(ProposedCall { call_id, tool_name, arguments, inline })
}
