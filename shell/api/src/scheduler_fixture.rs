//! A decision of the scheduler with its facts, as a scenario of `fixtures/scheduler`.

use holon_core::scheduler::SchedulerProjection;
use holon_facts::decision::SchedulerDecision;
use holon_facts::{AgentId, EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixtureQuery {
    /// The decision that this event records, or what the scheduler would have decided right after another event. The agent's
    /// newest decision by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<EventSeq>,
}

/// A past moment, as the scheduler saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerFixture {
    pub ok: bool,
    pub agent_id: AgentId,
    pub event_seq: EventSeq,
    pub at: Wall,
    /// Whether the event records a decision.
    pub recorded: bool,
    /// Whether this build decides the same; true where no decision is on record.
    pub as_recorded: bool,
    /// The name of its file, which begins with the row of the table.
    pub file: String,
    pub scenario: SchedulerScenario,
    /// What this build decides.
    pub decision: SchedulerDecision,
}

/// What a file of `fixtures/scheduler` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulerScenario {
    pub name: String,
    pub facts: SchedulerProjection,
}
