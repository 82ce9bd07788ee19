//! What the records of a step show of a request to start, stop or abort: whether it was applied, and whether a run has
//! ended.

use holon_core::input::ControlRequest;
use holon_facts::event::{LifecycleFact, TurnFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::{AgentId, Event, Record, RunId};

/// Whether a step applies a request; its supervisor's request to end the agent may be handled in the same step.
pub(super) fn is_applied(agent: &AgentId, request: &ControlRequest, records: &[Record]) -> bool {
    let starts = *request == ControlRequest::Start;
    records.iter().filter(|record| record.agent == *agent).any(|record| {
        let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return false };
        (fact.action == ControlAction::Start) == starts
    })
}

/// Whether a run ends in a step.
pub(super) fn has_ended(agent: &AgentId, run: RunId, records: &[Record]) -> bool {
    records.iter().filter(|record| record.agent == *agent).any(|record| {
        let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event else { return false };
        fact.run_id == run
    })
}
