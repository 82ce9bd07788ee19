//! Agents as they are listed, summarised, and handed to a projection.

use holon_core::summary::AgentSummary;
use holon_core::summary::children::ActiveChild;
use holon_core::view::Explanation;
use holon_core::view::standing::Standing;
use holon_facts::identity::{AgentKind, Ownership, ProfilePreset, Visibility};
use holon_facts::ids::MessageId;
use holon_facts::lifecycle::Status;
use holon_facts::price::Amount;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, EventSeq, RunId, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reply::Document;
use super::task::TaskLine;
use super::{Boundaries, Brief, TranscriptEntry};

/// Which part of the list of agents.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// Only agents whose names come after this one.
    pub after: Option<AgentId>,
    /// At most so many, 1 to 1,000; 500 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// Also those that are archived.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub all: bool,
}

/// Public agents by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    pub ok: bool,
    pub agents: Vec<Document<Listed>>,
    /// Whether there are more.
    pub more: bool,
    /// Ask for the next page with this as `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
}

/// One public agent, from its ledger row and its creation: a list loads no agent.
#[omit_none]
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
    pub next_deadline: Option<Wall>,
    /// None of an agent that an earlier build wrote, until its next event.
    #[serde(flatten)]
    pub standing: Option<Standing>,
    /// Since midnight, UTC.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub spent_today: Amount,
    pub created_at: Wall,
    /// Its first workspace; its status has the current one.
    pub execution: ExecutionBinding,
    pub event_seq: EventSeq,
    /// What a stopped agent needs before it takes new input.
    pub lifecycle_hint: Option<String>,
    /// Why more than this may have been decided: the ledger waits for its disk.
    pub ledger_waits: Option<String>,
}

/// An agent of the list, or what is left of one whose beginning can't be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Listed {
    Agent(Box<AgentListEntry>),
    Damaged(DamagedAgent),
}

impl Listed {
    /// How it stands; none of one that is damaged, or that an earlier build wrote.
    pub fn standing(&self) -> Option<&Standing> {
        match self {
            Self::Agent(entry) => entry.standing.as_ref(),
            Self::Damaged(_) => None,
        }
    }

    pub fn agent_id(&self) -> &AgentId {
        match self {
            Self::Agent(entry) => &entry.agent_id,
            Self::Damaged(agent) => &agent.agent_id,
        }
    }
}

/// An agent whose first event is damaged; the others are shown all the same.
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
    /// What its commands are held back from.
    #[serde(flatten)]
    pub boundaries: Boundaries,
    /// Its children that are alive, and how they stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_children: Vec<ActiveChild>,
    /// Why this is the last durable state, and not the present one: the ledger waits for its disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_waits: Option<String>,
}

/// Why an agent is in its state, with details from its events.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentWhy {
    #[serde(flatten)]
    pub explanation: Explanation,
    /// Background tasks that have not ended, the newest first.
    #[serde(default)]
    pub active_tasks: Vec<TaskLine>,
    /// The event that `last_decision` is; none when it is far behind the newest events.
    pub last_decision_event: Option<EventMark>,
    /// What set the hold that there is.
    pub hold_error: Option<Trouble>,
    /// The failure of the newest turn, where its closure is `failed`.
    pub failure: Option<Trouble>,
    /// What is wrong with the events that were to be looked at: then some of the above may be missing.
    pub events_damaged: Option<String>,
    /// Why this is about the last durable state, and not the present one: the ledger waits for its disk.
    pub ledger_waits: Option<String>,
}

/// Where in the log of an agent something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventMark {
    pub event_seq: EventSeq,
    pub at: Wall,
}

/// What went wrong, and with which message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// As in `provider_attempt_recorded` or `runtime_error`.
    pub kind: String,
    /// One line; of a long one the beginning.
    pub text: String,
    pub run_id: RunId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    pub event: EventMark,
}

/// How much of the newest is wanted, and as of when.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentQuery {
    /// The state right after this event, from records alone; the present state by default.
    pub at_seq: Option<EventSeq>,
    /// At most so many briefs and transcript entries each, 0 to 100; 20 by default.
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
    /// Everything above is at least as new as this event; a client that follows the events after it misses nothing.
    pub event_seq: EventSeq,
}
