//! Laws about what may be spent.

use holon_facts::budget::Period;
use holon_facts::event::operation::OpKind;
use holon_facts::event::scheduling::{HoldCause, HoldEnd, HoldSet};
use holon_facts::event::turn::BudgetReserved;
use holon_facts::event::{Event, OperationFact, SchedulingFact, TurnFact};
use holon_facts::ids::OpId;
use holon_facts::record::Record;
use holon_facts::time::Wall;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn b1(past: &Past, record: &Record) -> Checked {
    if let Some(owed) = past.spending.promised {
        let reserves =
            matches!(&record.event, Event::Turn(TurnFact::BudgetReserved(fact)) if fact.op == owed);
        rule(reserves, || format!("nothing is reserved for {owed}"))?;
    }
    match &record.event {
        Event::Turn(TurnFact::BudgetReserved(fact)) => {
            let kind = past.ops.get(&fact.op).map(|op| op.kind);
            let alike = |op: &OpId| past.ops.get(op).map(|op| op.kind) == kind;
            let before = past.spending.reserved.iter().find(|reserved| alike(&reserved.op));
            rule(kind.is_some_and(OpKind::asks_a_model) && before.is_none(), || {
                format!("is reserved for {}, a {kind:?}; before it: {before:?}", fact.op)
            })?;
            let day = record.at.day();
            let part = fact.sent.minus(fact.amount).is_nothing();
            rule(fact.day == day && part, || format!("{fact:?} on day {day}"))
        }
        Event::Turn(TurnFact::BudgetSettled(fact)) => {
            let reserved = past.spending.of(fact.op);
            let same = |reserved: &BudgetReserved| (reserved.day, reserved.run_id) == (fact.day, fact.run_id);
            rule(reserved.is_some_and(same), || {
                format!("{} of day {} is settled, reserved is {reserved:?}", fact.op, fact.day)
            })
        }
        Event::Operation(OperationFact::OperationSettled(fact)) => {
            let requests = past.ops.get(&fact.op).is_some_and(|op| op.kind.asks_a_model());
            let reserved = past.spending.of(fact.op);
            rule(reserved.is_none(), || format!("{} is over and not settled", fact.op))?;
            Ok(requests)
        }
        _ => Ok(false),
    }
}

pub(super) fn b2(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Scheduling(SchedulingFact::HoldSet(fact)) => held(past, fact, record.at),
        Event::Scheduling(SchedulingFact::HoldEnded(fact)) if fact.reason == HoldEnd::BudgetRaised => {
            let of_budget = past.hold.as_ref().is_some_and(|hold| hold.of_budget);
            rule(of_budget && past.run.is_none(), || "no budget is what the agent waits for".into())
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) if fact.held => {
            let waits = past.queue.live.get(&fact.message_id).is_some_and(|entry| entry.claim.is_none());
            rule(
                past.lacks().is_some() && past.hold.as_ref().is_some_and(|hold| hold.of_budget) && waits,
                || format!("{} is held and {} does not wait for a budget", fact.run_id, fact.message_id),
            )
        }
        _ => Ok(false),
    }
}

/// A hold is for what the run has met, and ends by itself unless it takes somebody to end it.
fn held(past: &Past, fact: &HoldSet, at: Wall) -> Checked {
    let of_budget = fact.cause == HoldCause::Budget;
    rule(fact.budget == past.lacks() && of_budget == fact.budget.is_some(), || {
        format!("a hold for {}, {:?}; exhausted is {:?}", fact.cause, fact.budget, past.lacks())
    })?;
    // At the last moment that a clock can say there is no other day.
    let last = fact.budget.is_some() && at == Wall(i64::MAX);
    let for_good = last || fact.budget.is_some_and(|budget| budget.budget.period() == Period::All);
    rule(fact.until.is_none() == for_good, || {
        format!("a hold for {:?} until {:?}", fact.budget, fact.until)
    })?;
    Ok(of_budget)
}
