//! What an attempt comes to, before and after it is redacted.

use holon_facts::delivery::{AppliedEdit, Delivery, StoredResponse};
use holon_facts::model::{
    AnswerBlock, AttemptFailure, FailureKind, ModelAnswer, ProposedCall, StopReason, Timing,
    TransportDiagnostics,
};
use holon_facts::usage::TokenUsage;
use holon_facts::{Millis, Wall};
use holon_text::Texts;
use serde_json::Value;

/// Longest arguments that come along with a call, in bytes.
const INLINE_ARGUMENTS: u64 = 64 << 10;

/// What an attempt brought.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<AnswerBlock>,
    pub(crate) stop: StopReason,
    pub(crate) usage: TokenUsage,
    /// The provider's name for it.
    pub(crate) response_id: Option<String>,
    /// What the provider reports to have left out of the request.
    pub(crate) edits: Vec<AppliedEdit>,
    pub(crate) delivery: Option<Box<Delivery>>,
    pub(crate) stored: Option<Box<StoredResponse>>,
}

impl Reply {
    pub(crate) fn new(blocks: Vec<AnswerBlock>, stop: StopReason, usage: TokenUsage) -> Self {
        let edits = Vec::new();
        Self { blocks, stop, usage, response_id: None, edits, delivery: None, stored: None }
    }
}

/// Why an attempt brought nothing. Not redacted yet.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) retry_after_ms: Option<u64>,
    /// When a quota says that it will be full again.
    pub(crate) resets_at: Option<Wall>,
    /// What it took all the same, where the server says so.
    pub(crate) usage: Option<TokenUsage>,
    pub(crate) diagnostics: Option<Box<TransportDiagnostics>>,
    pub(crate) delivery: Option<Box<Delivery>>,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let (retry_after_ms, resets_at, usage) = (None, None, None);
        Self { kind, message, retry_after_ms, resets_at, usage, diagnostics: None, delivery: None }
    }

    /// Adds what its provider had counted until then.
    pub(crate) fn after(mut self, counted: TokenUsage) -> Self {
        let counted = Some(counted).filter(|counted| *counted != TokenUsage::default());
        self.usage = self.usage.or(counted);
        self
    }

    /// Without secrets, as it crosses the border.
    pub(crate) fn redacted(self, texts: &Texts, timing: Timing) -> AttemptFailure {
        let diagnostics = self.diagnostics.map(|mut found| {
            found.url = found.url.map(|url| texts.brief(&url));
            found.source_chain = found.source_chain.iter().map(|cause| texts.brief(cause)).collect();
            *found
        });
        AttemptFailure {
            kind: self.kind,
            message: texts.take(&self.message),
            retry_after_ms: self.retry_after_ms.map(Millis),
            resets_at: self.resets_at,
            usage: self.usage,
            timing,
            diagnostics,
            delivery: self.delivery,
        }
    }
}

/// The arguments of a call as text: as a server sends it, perhaps cut off, or any other JSON. Whether that is an
/// object is the core's to judge, so that the model reads what was wrong with one call and the others run.
pub(crate) fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(json)) => json.clone(),
        Some(json) => json.to_string(),
    }
}

/// An answer that somebody gave in the place of a model: a text, and calls of tools by name with their arguments.
pub fn given(texts: &Texts, text: Option<&str>, calls: &[(String, String)], at: Wall) -> ModelAnswer {
    let text = text.map(|text| AnswerBlock::Text { text: texts.take(text) });
    let called = calls.iter().enumerate().map(|(number, (tool, arguments))| {
        proposed(texts, format!("given_{}", number + 1), tool.clone(), arguments)
    });
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let timing = Timing { started_at: at, completed_at: at, duration_ms: Millis(0) };
    let (usage, blocks) = (TokenUsage::default(), text.into_iter().chain(called).collect());
    ModelAnswer { blocks, stop, usage, timing, joined: None, delivery: None, stored: None }
}

/// A call as it crosses the border.
pub(crate) fn proposed(texts: &Texts, call_id: String, tool_name: String, json: &str) -> AnswerBlock {
    let arguments = texts.take_written(json);
    let small = arguments.content().is_some_and(|content| content.bytes <= INLINE_ARGUMENTS);
    // Read back rather than copied: what crosses is the redacted text.
    let inline = if small { texts.resolve(&arguments).ok().map(|whole| whole.to_string()) } else { None };
    // A name or an id may repeat a secret, too.
    let (call_id, tool_name) = (texts.redact(&call_id), texts.redact(&tool_name));
    AnswerBlock::ToolCall(ProposedCall { call_id, tool_name, arguments, inline })
}
