//! What is said to a model and what comes back, before any provider's wire format.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::ToolName;
use crate::content::Text;
use crate::delivery::{Delivery, GoesOnFrom, StoredResponse};
use crate::frame::{NAMED, Part, PromptFrame};
use crate::ids::AgentId;
use crate::image::Image;
use crate::receipt::Receipt;
use crate::shared::Shared;
use crate::time::{Millis, Wall};
use crate::tool::ServerTools;

pub use crate::model_ref::{ModelRef, ModelRefError};
pub use crate::usage::TokenUsage;

/// While another one answers, the first of a turn's models is asked again after so long (docs/decisions.md, Who is asked
/// first in a round).
pub const PROBE: Millis = Millis::minutes(5);

/// One request, whole: what a transport lowers to its wire format.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    pub agent: AgentId,
    pub model: ModelRef,
    pub frame: Arc<PromptFrame>,
    pub conversation: Shared<Item>,
    /// Rounds of the turn so far, those that are told in short and those of interrupted runs included.
    pub rounds: u32,
    /// Those that are on record for the run, in the fixed order of the catalogue.
    pub tools: Arc<[ToolName]>,
    /// Those of other programs among them, and what they are described with.
    pub server_tools: Option<Arc<ServerTools>>,
    pub max_output_tokens: u64,
    pub timeout: Millis,
    /// Texts of the rounds before, in order, that were cut off and that this answer continues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continues: Vec<Text>,
    /// A response that its provider may have kept, where this request may go on from it.
    pub goes_on_from: Option<Box<GoesOnFrom>>,
    /// It asks for a summary of the conversation: text alone is of use.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub sums_up: bool,
}

/// One element of the conversation after the frame. Each tool call is followed by its result before the
/// next assistant item: another order can't be built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Item {
    User { parts: Vec<Part> },
    Assistant { blocks: Arc<[Block]> },
    ToolResults { results: Vec<CallResult> },
}

impl Item {
    pub fn est_tokens(&self) -> u64 {
        match self {
            Self::User { parts } => parts.iter().map(Part::est_tokens).sum(),
            Self::Assistant { blocks } => blocks.iter().map(Block::est_tokens).sum(),
            Self::ToolResults { results } => results.iter().map(CallResult::est_tokens).sum(),
        }
    }
}

impl Item {
    /// The images that it shows.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let (results, parts): (&[CallResult], &[Part]) = match self {
            Self::ToolResults { results } => (results, &[]),
            Self::User { parts } => (&[], parts),
            Self::Assistant { .. } => (&[], &[]),
        };
        let seen = results.iter().filter(|result| !result.named_only);
        let shown = parts.iter().filter_map(|part| match part {
            Part::Image(shown) if !shown.named_only => Some(&shown.image),
            Part::Image(_)
            | Part::Rendered(_)
            | Part::Given(_)
            | Part::Excerpt { .. }
            | Part::Quoted { .. } => None,
        });
        seen.flat_map(|result| &result.receipt.images).chain(shown)
    }
}

/// What an assistant round consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: Text,
    },
    ToolCall {
        call_id: String,
        tool_name: String,
        arguments: Text,
    },
    /// What the model thought before, as its provider gave it: nobody but that model reads it, and it gets it back as it
    /// is. It means nothing to another model.
    Reasoning {
        model: ModelRef,
        content: Text,
    },
}

impl Block {
    pub fn est_tokens(&self) -> u64 {
        match self {
            Self::Text { text } => text.est_tokens(),
            Self::ToolCall { tool_name, arguments, .. } => {
                arguments.est_tokens().saturating_add(crate::tokens::estimate(tool_name))
            }
            Self::Reasoning { content, .. } => content.est_tokens(),
        }
    }
}

/// The one result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    pub call_id: String,
    pub receipt: Arc<Receipt>,
    /// Its images are named and not shown: others fill the request.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub named_only: bool,
}

impl CallResult {
    /// As much of it as a request may have.
    pub fn new(call_id: impl Into<String>, receipt: Arc<Receipt>) -> Self {
        Self { call_id: call_id.into(), receipt, named_only: false }
    }

    fn est_tokens(&self) -> u64 {
        let Self { receipt, named_only, .. } = self;
        let words = receipt.words().map(Text::est_tokens).sum::<u64>();
        let seen = |image: &Image| if *named_only { 0 } else { image.data.est_tokens() };
        let images = receipt.images.iter().map(|image| seen(image).saturating_add(NAMED));
        words.saturating_add(images.sum())
    }
}

names! {
    /// Why a model stopped.
    StopReason {
        EndTurn "end_turn", ToolUse "tool_use", MaxOutput "max_output", ContentFilter "content_filter",
        Refusal "refusal", Pause "pause", Other "other",
    }
}

names! {
    /// How a round without tool calls ended; only a finished one ends its turn well.
    RoundEnd {
        Finished "finished", OutputLimit "output_limit", Pause "pause", ContentFilter "content_filter",
        Refusal "refusal", EmptyAnswer "empty_answer", MissingToolCall "missing_tool_call",
        UnknownStopReason "unknown_stop_reason",
    }
}

impl RoundEnd {
    /// Of a round without tool calls, by its stop reason and by whether it has any text.
    pub fn of(stop: StopReason, has_text: bool) -> Self {
        match stop {
            StopReason::EndTurn if has_text => Self::Finished,
            StopReason::EndTurn => Self::EmptyAnswer,
            StopReason::ToolUse => Self::MissingToolCall,
            StopReason::MaxOutput => Self::OutputLimit,
            StopReason::ContentFilter => Self::ContentFilter,
            StopReason::Refusal => Self::Refusal,
            StopReason::Pause => Self::Pause,
            StopReason::Other => Self::UnknownStopReason,
        }
    }

    /// Whether the model can continue its answer in another round.
    pub fn continues(self) -> bool {
        match self {
            Self::OutputLimit | Self::Pause => true,
            Self::Finished
            | Self::ContentFilter
            | Self::Refusal
            | Self::EmptyAnswer
            | Self::MissingToolCall
            | Self::UnknownStopReason => false,
        }
    }
}

/// What a model answered.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    pub blocks: Vec<AnswerBlock>,
    pub stop: StopReason,
    pub usage: TokenUsage,
    pub timing: Timing,
    /// The texts that the answer continues and its own, as one; only where it continues any and calls no tool.
    pub joined: Option<Text>,
    pub delivery: Option<Box<Delivery>>,
    /// The answer as its provider keeps it, where it does.
    pub stored: Option<Box<StoredResponse>>,
}

/// A block of an answer as it crosses the border: a call's arguments also come inline, up to 64 KiB, so
/// that the core can judge them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerBlock {
    Text {
        text: Text,
    },
    ToolCall(ProposedCall),
    /// For the model that was asked alone ([`Block::Reasoning`]).
    Reasoning {
        content: Text,
    },
}

impl AnswerBlock {
    pub fn est_tokens(&self) -> u64 {
        match self {
            Self::Text { text } => text.est_tokens(),
            Self::ToolCall(call) => call.arguments.est_tokens(),
            Self::Reasoning { content } => content.est_tokens(),
        }
    }
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCall {
    pub call_id: String,
    pub tool_name: String,
    pub arguments: Text,
    /// The whole of `arguments` where that is stored content of at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<String>,
}

impl ProposedCall {
    /// The arguments as JSON text, when they are small enough to have come along.
    pub fn json(&self) -> Option<&str> {
        match (&self.inline, &self.arguments) {
            (Some(json), _) => Some(json),
            (None, Text::Inline(json)) => Some(json),
            (None, Text::Stored(_)) => None,
        }
    }
}

/// When an attempt was made and how long it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    pub started_at: Wall,
    pub completed_at: Wall,
    pub duration_ms: Millis,
}

names! {
    /// What kind of failure an attempt met; the retry policy looks at nothing else.
    FailureKind {
        Timeout "timeout", Connect "connect", RateLimited "rate_limited", Quota "quota",
        Server "server", StreamCut "stream_cut", Auth "auth", Client "client",
        InvalidResponse "invalid_response", UnsupportedTransport "unsupported_transport",
        ContextLength "context_length_exceeded",
    }
}

/// An attempt that brought no answer.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    pub kind: FailureKind,
    pub message: Text,
    pub retry_after_ms: Option<Millis>,
    /// When a quota says that it will be full again.
    pub resets_at: Option<Wall>,
    pub usage: Option<TokenUsage>,
    pub timing: Timing,
    pub diagnostics: Option<TransportDiagnostics>,
    pub delivery: Option<Box<Delivery>>,
}

/// Where in the transport an attempt failed.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransportDiagnostics {
    pub stage: String,
    pub url: Option<String>,
    pub status: Option<u16>,
    /// At most 8 causes, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
}

names! {
    /// What became of an attempt.
    AttemptOutcome {
        Retrying "retrying", RetriesExhausted "retries_exhausted",
        FailFastAborted "fail_fast_aborted", Succeeded "succeeded",
    }
}

impl AttemptOutcome {
    /// Whether its candidate is not asked again before others were.
    pub fn gives_up(self) -> bool {
        matches!(self, Self::RetriesExhausted | Self::FailFastAborted)
    }
}

/// One attempt in the timeline of a round (spec: ProviderAttemptTimeline).
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRecord {
    pub provider: String,
    pub model_ref: ModelRef,
    /// Number of the attempt at this candidate, from 1.
    pub attempt: u32,
    pub max_attempts: u32,
    pub started_at: Wall,
    pub completed_at: Wall,
    pub duration_ms: Millis,
    pub failure_kind: Option<FailureKind>,
    pub message: Option<Text>,
    pub outcome: AttemptOutcome,
    pub advanced_to_fallback: bool,
    pub backoff_ms: Option<Millis>,
    /// When a quota is available again, or the provider wants to be asked again where no round waits that long.
    pub resets_at: Option<Wall>,
    pub token_usage: Option<TokenUsage>,
    pub transport_diagnostics: Option<TransportDiagnostics>,
    pub delivery: Option<Box<Delivery>>,
}

impl AttemptRecord {
    /// One that has succeeded, as far as is known: the number of the attempt, and of those that there may be.
    pub fn new(model_ref: ModelRef, (attempt, max_attempts): (u32, u32), timing: Timing) -> Self {
        Self {
            provider: model_ref.provider().into(),
            model_ref,
            attempt,
            max_attempts,
            started_at: timing.started_at,
            completed_at: timing.completed_at,
            duration_ms: timing.duration_ms,
            failure_kind: None,
            message: None,
            outcome: AttemptOutcome::Succeeded,
            advanced_to_fallback: false,
            backoff_ms: None,
            resets_at: None,
            token_usage: None,
            transport_diagnostics: None,
            delivery: None,
        }
    }

    /// It has failed, and this is what came of it.
    pub fn failed(&mut self, failure: &AttemptFailure, outcome: AttemptOutcome) {
        self.outcome = outcome;
        self.failure_kind = Some(failure.kind);
        self.message = Some(failure.message.clone());
        self.token_usage = failure.usage;
        self.resets_at = failure.resets_at;
        self.transport_diagnostics.clone_from(&failure.diagnostics);
        self.delivery.clone_from(&failure.delivery);
    }
}

impl TransportDiagnostics {
    /// The stage of an answer that has begun as a stream.
    pub const STREAM: &str = "stream";

    /// Whether the server had begun with the request: its answer broke as a stream, or somebody in between gave up waiting
    /// for it (504, and 524 of some proxies).
    pub fn was_begun(&self) -> bool {
        self.stage == Self::STREAM || matches!(self.status, Some(504 | 524))
    }
}

impl AttemptFailure {
    /// Nothing was heard of it, not even a failure of its provider.
    pub fn unanswered(message: Text, now: Wall) -> Self {
        Self {
            kind: FailureKind::Timeout,
            message,
            retry_after_ms: None,
            resets_at: None,
            usage: None,
            timing: Timing { started_at: now, completed_at: now, duration_ms: Millis(0) },
            diagnostics: None,
            delivery: None,
        }
    }
}
