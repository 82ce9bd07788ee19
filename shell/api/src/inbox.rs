//! What agents have asked of their operator.

use holon_facts::event::brief::BriefKind;
use holon_facts::ids::{BriefId, WorkItemId};
use holon_facts::price::Amount;
use holon_facts::{AgentId, EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of the inbox.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxQuery {
    /// Only agents whose names come after this one.
    pub after: Option<AgentId>,
    /// At most so many agents, 1 to 500; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// A brief that requires an action, since the operator wrote to its agent last. A prompt to that agent answers all of its
/// asks; one of the kind `failure` also ends when a turn succeeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenAsk {
    pub agent_id: AgentId,
    pub brief_id: BriefId,
    pub kind: BriefKind,
    /// The whole text.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub created_at: Wall,
    pub event_seq: EventSeq,
}

/// An ask that is open no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedAsk {
    pub ok: bool,
    pub agent_id: AgentId,
    pub brief_id: BriefId,
}

/// A temporary run (`holon run` without an agent). Its agent is in a ledger of its own, so no route leads to it: it is
/// resumed by `holon run --resume RUN`.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemporaryRunSummary {
    pub run: AgentId,
    /// `in_progress`, `killed`, `ended`, or the verdict.
    pub state: String,
    pub began_at: Wall,
    pub since: Option<Wall>,
    pub waiting_for: Option<String>,
    pub spent: Amount,
    pub folder: String,
    /// One line of the first prompt.
    pub prompt: Option<String>,
    pub ledger: String,
}

/// One page, by agent and then by age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inbox {
    pub ok: bool,
    pub asks: Vec<OpenAsk>,
    /// Asks of these agents that are left out, because an agent has more than 16.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub older: u64,
    /// Whether there are more agents.
    pub more: bool,
    /// Ask for the next page with this as `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
    /// Temporary runs of this home that wait for an answer, among its newest 64; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<TemporaryRunSummary>,
}
