//! Laws about what a model is shown, as far as records alone say it: the requests themselves are judged where they are
//! sent.

use alloc::format;

use holon_facts::event::inbox::MessageRequeued;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::record::Record;

use super::past::{Past, Run};
use super::{Checked, rule};

/// What was interjected into a turn goes on with it: with the message, in the same order, and after the last round where
/// no other one followed. Runs of builds that carried nothing have no fence either.
pub(super) fn m2(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Turn(TurnFact::TurnStarted(fact)) => {
            let Some(entry) = past.queue.live.get(&fact.message_id) else { return Ok(false) };
            rule(fact.interjected == entry.interjected, || {
                format!(
                    "{} takes {:?} along, with {} wait {:?}",
                    fact.run_id, fact.interjected, fact.message_id, entry.interjected
                )
            })?;
            Ok(!fact.interjected.is_empty())
        }
        Event::Inbox(InboxFact::MessageRequeued(fact)) => {
            let Some(run) = carrying(past).filter(|run| run.id == fact.run_id) else { return Ok(false) };
            notes(run, fact)
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) => {
            carrying(past).map_or(Ok(false), |run| left(past, run, fact))
        }
        _ => Ok(false),
    }
}

/// The run in progress, where something was interjected into it.
fn carrying(past: &Past) -> Option<&Run> {
    past.run.as_ref().filter(|run| run.fence.is_some() && !run.interjected.is_empty())
}

fn notes(run: &Run, fact: &MessageRequeued) -> Checked {
    if fact.message_id != run.message {
        return Ok(false);
    }
    rule(fact.carried_notes >= run.tail, || {
        format!(
            "{} takes {} notes along, {} prompts came after its last round",
            fact.message_id, fact.carried_notes, run.tail
        )
    })
}

/// Whatever was interjected waits with the message, if that waits.
fn left(past: &Past, run: &Run, fact: &TurnTerminal) -> Checked {
    let live = &past.queue.live;
    if live.get(&fact.message_id).is_none_or(|entry| entry.claim.is_some()) {
        return Ok(false);
    }
    let with = |id| live.get(id).and_then(|entry| entry.host);
    let apart = run.interjected.iter().find(|id| with(id) != Some(fact.message_id));
    rule(apart.is_none(), || {
        format!("{apart:?} was interjected into the turn of {}, and does not wait with it", fact.message_id)
    })
}

/// The tags of one message's runs are derived from one secret, those of another from another.
pub(super) fn m10(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return Ok(false) };
    let Some(entry) = past.queue.live.get(&fact.message_id) else { return Ok(false) };
    match (entry.fence, fact.fence) {
        (Some(before), now) => rule(now == Some(before), || {
            format!("{} has another fence than the run of {} before it", fact.run_id, fact.message_id)
        }),
        (None, Some(now)) => rule(past.fences.0 != Some(now), || {
            format!("{} has the fence of another message's run", fact.run_id)
        }),
        (None, None) => Ok(false),
    }
}
