//! Laws about the log itself: positions, time, and what an end of a run leaves behind.

use holon_facts::closure::ClosureOutcome;
use holon_facts::event::{Event, LifecycleFact, SchedulingFact, TurnFact};
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn d3(past: &Past, record: &Record) -> Checked {
    let created = matches!(&record.event, Event::Lifecycle(LifecycleFact::AgentCreated(_)));
    let Some(last) = past.last else {
        return rule(created && record.event_seq.0 == 1, || {
            format!("the log starts with {} at {}", record.event.kind(), record.event_seq)
        });
    };
    rule(!created, || "the agent is created again".into())?;
    rule(record.event_seq == last.event_seq.next(), || {
        format!("event {} follows {}", record.event_seq, last.event_seq)
    })?;
    rule(record.step >= last.step, || format!("step {} follows {}", record.step, last.step))
}

pub(super) fn w7(past: &Past, record: &Record) -> Checked {
    let Some(last) = past.last else { return Ok(false) };
    if let Event::Lifecycle(LifecycleFact::ClockStepped(fact)) = &record.event {
        let back = match fact.expected {
            Some(expected) => fact.from <= expected && fact.to < expected,
            None => fact.to < fact.from,
        };
        let recorded = (fact.from, fact.to) == (last.at, record.at) && back;
        return rule(recorded, || {
            format!(
                "the clock stepped from {} to {}, recorded time from {} to {}",
                fact.from, fact.to, last.at, record.at
            )
        });
    }
    rule(record.at >= last.at, || format!("{} follows {}", record.at, last.at))
}

/// A run that ended owes its closure within the step, and nothing else closes.
pub(super) fn w10(past: &Past, record: &Record) -> Checked {
    if let Event::Scheduling(SchedulingFact::ClosureDecided(fact)) = &record.event {
        rule(past.promised.closure.is_some() && !past.begins_step(record), || "nothing ended".into())?;
        let waits = fact.closure.outcome == ClosureOutcome::Waiting;
        return rule(waits == fact.closure.waiting_reason.is_some(), || {
            format!("{} with reason {:?}", fact.closure.outcome, fact.closure.waiting_reason)
        });
    }
    let Some(run) = past.promised.closure else { return Ok(false) };
    let next = matches!(&record.event, Event::Turn(TurnFact::TurnStarted(_) | TurnFact::TurnTerminal(_)));
    rule(!next && !past.begins_step(record), || format!("{run} has ended without a closure"))?;
    Ok(false)
}
