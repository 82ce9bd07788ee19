//! Agents as they are listed, summarised, and handed to a projection.

use holon_core::agent::identity::{AgentKind, ExecutionBinding, Ownership, ProfilePreset, Visibility};
use holon_core::lifecycle::Status;
use holon_core::view::{AgentSummary, Explanation};
use holon_core::{AgentId, EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Brief, TranscriptEntry};

/// Which part of the list of agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// Only agents whose names come after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<AgentId>,
    /// At most so many, 1 to 1,000; 500 by default. A shorter list is the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// One public agent, as its ledger row and its creation tell it: listing loads nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentListEntry {
    pub agent_id: AgentId,
    pub is_default: bool,
    pub kind: AgentKind,
    pub visibility: Visibility,
    pub ownership: Ownership,
    pub profile_preset: ProfilePreset,
    pub status: Status,
    /// Messages, operations and runs that are not settled, and a hold.
    pub open_work: u64,
    /// When something happens to it by itself, at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_deadline: Option<Wall>,
    pub created_at: Wall,
    pub execution: ExecutionBinding,
    pub event_seq: EventSeq,
    /// What a stopped agent needs before it takes new input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle_hint: Option<String>,
    /// Why more than this may have been decided: the ledger waits for its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_waits: Option<String>,
}

/// An agent of the list, or what is left of one whose beginning can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Listed {
    Agent(Box<AgentListEntry>),
    Damaged(DamagedAgent),
}

/// An agent whose first event is damaged: the others are not kept from whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedAgent {
    pub agent_id: AgentId,
    pub status: Status,
    pub event_seq: EventSeq,
    /// What is wrong, where, and what to do.
    pub damaged: String,
}

/// The concise summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatus {
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// Why this is the last durable state, and not the present one: the ledger waits for its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_waits: Option<String>,
}

/// Why an agent is as it is, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWhy {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Why this is about the last durable state, and not the present one: the ledger waits for its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_waits: Option<String>,
}

/// How much of the newest is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentQuery {
    /// At most so many briefs and transcript entries each, 0 to 100; 20 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub recent: Option<u32>,
}

/// What a projection begins with; it then follows `/agents/{agent_id}/events` after `event_seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    /// The same as `/status`.
    pub agent: AgentStatus,
    /// The same as `/why`.
    pub why: AgentWhy,
    /// The newest last.
    pub briefs: Vec<Brief>,
    /// The newest last.
    pub transcript: Vec<TranscriptEntry>,
    /// Everything above is at least as new as this event; whoever follows the events after it misses nothing.
    pub event_seq: EventSeq,
}
