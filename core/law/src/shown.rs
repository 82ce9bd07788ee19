//! Laws about what a model is shown, as far as records alone say it: the requests themselves are judged where they are
//! sent.

use holon_facts::event::inbox::MessageRequeued;
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::ids::MessageId;
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
        Event::Inbox(InboxFact::MessageProcessed(fact)) => ends(past, fact.message_id),
        Event::Inbox(InboxFact::MessageAborted(fact)) => ends(past, fact.message_id),
        Event::Inbox(InboxFact::MessageDropped(fact)) => ends(past, fact.message_id),
        Event::Inbox(InboxFact::MessageRequeued(fact)) => {
            if let Some(host) = fact.interjected_into {
                let into = past.run.as_ref().map(|run| run.message);
                return rule(into == Some(host), || {
                    format!("{} was taken into the turn of {into:?}, not of {host}", fact.message_id)
                });
            }
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

/// A message that waits ends after what waits with it.
fn ends(past: &Past, message: MessageId) -> Checked {
    let Some(entry) = past.queue.live.get(&message).filter(|entry| !entry.interjected.is_empty()) else {
        return Ok(false);
    };
    let runs = past.run.as_ref().is_some_and(|run| run.message == message);
    rule(runs, || format!("{message} ends before {:?}, which wait with it", entry.interjected))
}

/// Whatever was interjected waits with the message, if that waits, in the same order.
fn left(past: &Past, run: &Run, fact: &TurnTerminal) -> Checked {
    let live = &past.queue.live;
    let Some(entry) = live.get(&fact.message_id).filter(|entry| entry.claim.is_none()) else {
        return Ok(false);
    };
    rule(entry.interjected == run.interjected, || {
        let (with, right) = (&entry.interjected, &run.interjected);
        format!("{with:?} wait with {}, right is {right:?}", fact.message_id)
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
