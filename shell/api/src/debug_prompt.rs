//! What a model would be sent, or was: shown, not sent.

use holon_core::view::past::{Omission, Room};
use holon_facts::delivery::Delivery;
use holon_facts::episode::EpisodeBoundary;
use holon_facts::frame::Stability;
use holon_facts::ids::{OpId, RoundIndex, TurnIndex};
use holon_facts::model::{FailureKind, ModelRef};
use holon_facts::outcome::SourceScope;
use holon_facts::request::RequestRecord;
use holon_facts::usage::TokenUsage;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, ContentId, EventSeq, RunId, Wall, names};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::PROMPT_BYTES;

/// Which request is shown: the first one of the turn that a next prompt would begin, or a past one by its turn or its id.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebugPrompt {
    /// The next prompt, at most 1 MiB; a placeholder by default. Not with `turn` or `request`.
    #[schemars(length(min = 1, max = PROMPT_BYTES))]
    pub text: Option<String>,
    /// The last request of this turn.
    pub turn: Option<TurnIndex>,
    /// The last request of this round of `turn`.
    pub round: Option<RoundIndex>,
    /// The request of this operation.
    pub request: Option<OpId>,
    /// Compares it with the request before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff: bool,
    /// Renders it for models with a window of this many tokens.
    #[schemars(range(min = 1_000, max = 100_000_000))]
    pub window: Option<u64>,
    /// Adds the body that its provider is sent, with the provider as it is configured now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wire: bool,
}

/// A request to a model.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebugPromptReply {
    pub ok: bool,
    pub agent_id: AgentId,
    pub agent_home: String,
    pub execution: ExecutionBinding,
    /// Files of standing instructions that are part of it.
    pub loaded_sources: Vec<Source>,
    /// In the order in which the model reads them.
    pub sections: Vec<PromptSection>,
    pub tools: Vec<String>,
    /// Estimated, without the tools' schemas.
    pub est_tokens: u64,
    pub prompt_cache_key: String,
    /// The model that is asked.
    pub model: Option<ModelRef>,
    /// What the request takes of the model's window, its tools included.
    pub room: Option<Room>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_sizes: Vec<ToolSize>,
    /// Why the episode would close before it: it would show the conversation so far as a digest.
    pub closes_episode: Option<EpisodeBoundary>,
    /// What it does not show, or not in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Omission>,
    /// Of a past request: which one, and what came of it.
    pub request: Option<PastRequest>,
    pub diff: Option<PromptDiff>,
    pub wire: Option<Wire>,
    /// Where it may not be what was sent, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub scope: SourceScope,
    pub path: String,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSection {
    pub label: String,
    pub stability: Stability,
    pub text: String,
    #[serde(default = "whole")]
    pub state: SectionState,
    /// Of `text`.
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub est_tokens: u64,
    /// The hash of `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentId>,
    /// The provider is asked to cache the request up to here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache_breakpoint: bool,
}

/// Older runtimes did not say.
fn whole() -> SectionState {
    SectionState::Whole
}

names! {
    /// How much of its texts a part shows.
    SectionState {
        Whole "whole",
        /// Long texts are excerpts.
        Shortened "shortened",
        /// A text was erased from the ledger, or can't be read: a line in brackets stands for it.
        Erased "erased",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSize {
    pub name: String,
    /// Of its description and schema.
    pub est_tokens: u64,
}

/// A request that was sent.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastRequest {
    pub request_id: OpId,
    pub turn_index: TurnIndex,
    pub run_id: RunId,
    pub round: RoundIndex,
    /// Number of the attempt at its model, from 1; absent where none is on record.
    pub attempt: Option<u32>,
    /// The record that precedes it.
    pub event_seq: EventSeq,
    pub sent_at: Wall,
    pub outcome: RequestOutcome,
    pub failure_kind: Option<FailureKind>,
    /// As the provider reported it.
    pub token_usage: Option<TokenUsage>,
    /// The build that sent it.
    pub build: Option<String>,
    /// What is on record of it. Earlier builds recorded nothing.
    pub record: Option<RequestRecord>,
    /// How it went over the wire, where its transport does more than send all of it.
    pub delivery: Option<Box<Delivery>>,
    /// Whether it is shown exactly as it was sent: what this build renders has the same fingerprints.
    pub as_recorded: Option<bool>,
    /// Records that were read to render it.
    pub records_read: u64,
}

names! {
    /// What came of a request.
    RequestOutcome {
        Answered "answered", Failed "failed",
        /// Nobody waited for the answer any more.
        Cancelled "cancelled",
        /// The runtime ended before it came.
        Lost "lost",
        InProgress "in_progress",
    }
}

/// What a request has in common with the one before it, and what not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptDiff {
    pub before: RequestName,
    /// Bytes of the sections of the request before.
    pub before_bytes: u64,
    /// Bytes with which both requests begin, in the order in which the model reads them.
    pub shared_bytes: u64,
    /// Where this one does not go on with the one before; absent where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<PrefixBroke>,
    pub changes: Vec<SectionChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_added: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_removed: Vec<String>,
}

/// Which request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestName {
    pub request_id: OpId,
    pub turn_index: TurnIndex,
    pub round: RoundIndex,
    pub model: ModelRef,
}

/// The first byte that is another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefixBroke {
    /// The part that it is in.
    pub label: String,
    /// Byte of the part.
    pub offset: u64,
    /// What both have before it.
    pub same: String,
    /// What the request before goes on with.
    pub before: String,
    /// What this one goes on with.
    pub now: String,
}

/// A part that only one of two requests has, or that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SectionChange {
    pub change: Change,
    pub label: String,
    /// Position among the sections of this request; of the one before where it is removed.
    pub index: u32,
    pub bytes_before: u64,
    pub bytes: u64,
}

names! {
    Change { Added "added", Removed "removed", Changed "changed" }
}

/// A request as its provider is sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    pub transport: String,
    /// Absent where nothing is sent: the scripted model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}
