//! The law about turns that no operator caused: they are counted, wait, and come to an end.

use holon_facts::decision::DecisionReason;
use holon_facts::event::{Event, SchedulingFact, TurnFact};
use holon_facts::record::Record;
use holon_facts::time::Wall;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn s9(past: &Past, record: &Record) -> Checked {
    if past.begins_step(record)
        && let Some(run) = past.promised.uncounted
    {
        return Err(format!("the agent caused {run} itself, it brought nothing on, and is not counted"));
    }
    let later = |until: Wall| until > record.at || until == Wall(i64::MAX);
    match &record.event {
        Event::Scheduling(SchedulingFact::SelfTurnCounted(fact)) => {
            let due = !past.begins_step(record) && past.promised.uncounted == Some(fact.run_id);
            let turns = past.unattended.turns;
            let once =
                fact.deferred_until.is_none_or(later) && !(fact.self_hold && fact.deferred_until.is_some());
            rule(due && fact.turns == turns + 1 && once, || {
                format!("{} is turn {} after {turns}, and the next waits: {fact:?}", fact.run_id, fact.turns)
            })
        }
        Event::Scheduling(SchedulingFact::UnattendedTurnsExhausted(fact)) => {
            let (own, others) = (past.unattended.own_of_day, past.unattended.outside_of_day);
            let turns = if fact.outside_turns.is_some() { own } else { own + others };
            let apart = fact.outside_turns.is_none_or(|turns| turns == others);
            let ended = !past.begins_step(record) && past.promised.ended == Some(fact.run_id);
            rule(ended && fact.turns == turns && apart && later(fact.until), || {
                format!(
                    "the day had {turns} turns, and is recorded as over until {} after {}",
                    fact.until, fact.turns
                )
            })
        }
        Event::Scheduling(SchedulingFact::UnattendedTurnsRaised(fact)) => {
            rule(past.unattended.is_exhausted(), || format!("nothing waits for {} turns", fact.turns_per_day))
        }
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if decision.reason == DecisionReason::UnattendedTurns && past.unattended.apart =>
        {
            let waits = past.waiting_event();
            rule(waits.is_none(), || {
                format!("{waits:?} comes from outside, and waits for the agent's own day")
            })
        }
        Event::Turn(TurnFact::TurnStarted(fact)) => {
            let alone = fact.also.is_empty() && fact.interjected.is_empty();
            let own = past.queue.live.get(&fact.message_id).is_some_and(|entry| entry.own && alone);
            let waits = past.unattended.waits(record.at);
            rule(!(own && waits), || format!("{} is caused by its agent, and has to wait", fact.run_id))?;
            Ok(own)
        }
        _ => Ok(false),
    }
}
