//! Whether the records of a step apply a request to start or stop.

use holon_core::input::ControlRequest;
use holon_facts::event::LifecycleFact;
use holon_facts::lifecycle::ControlAction;
use holon_facts::{AgentId, Event, Record};

/// Whether a step applies a request; its supervisor's request to end the agent may be handled in the same step.
pub(super) fn is_applied(agent: &AgentId, request: &ControlRequest, records: &[Record]) -> bool {
    let starts = *request == ControlRequest::Start;
    records.iter().filter(|record| record.agent == *agent).any(|record| {
        let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return false };
        (fact.action == ControlAction::Start) == starts
    })
}
