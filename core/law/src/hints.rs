//! The law about hints: they are one by source, and none is forgotten.

use alloc::string::String;

use holon_facts::event::wake::WakeTickQueued;
use holon_facts::event::{Event, SchedulingFact, WakeFact};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;

use super::past::Past;
use super::waits::rests;
use super::{Checked, rule};

/// A message reports all that waits; of bare hints not at a stop, which keeps what matters.
fn delivered(past: &Past, fact: &WakeTickQueued) -> Checked {
    let matters = fact.left.iter().find(|source| !past.is_bare(source));
    rule(matters.is_none(), || format!("{} leaves {matters:?}, which matters", fact.message_id))?;
    let of = |source: &String| past.hints.pending.get(source).map_or(0, |pending| pending.count);
    let left: u64 = fact.left.iter().map(of).sum();
    let (count, last) = (past.hints.count() - left, past.hints.next() - 1);
    let all = (fact.hints, fact.sequence) == (count, last) && count > 0;
    rule(all, || format!("{} delivers {} hints, {count} are pending", fact.message_id, fact.hints))?;
    let mut pending = past.hints.pending.values();
    let matters = pending.any(|hints| hints.hint.body.is_some() || past.is_awaited(hints));
    let matters = matters || past.folded_matters();
    rule(fact.contentful == matters, || format!("{} has content: {matters}", fact.message_id))
}

pub(super) fn w3(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => {
            let source = &fact.hint.source;
            rule(!past.hints.pending.contains_key(source), || format!("{source} waits already"))?;
            // An earlier build did not ask what the oldest meant.
            let plain = fact.folded.is_some() && fact.folded_as.is_none();
            if plain && past.hints.is_full() {
                let right = past.hints.oldest();
                return rule(fact.folded.as_ref() == right, || {
                    format!("{:?} is folded, right is {right:?}", fact.folded)
                });
            }
            let (right, folded) = (past.folds(&fact.hint), fact.folded.clone().zip(fact.folded_as));
            rule(!plain && folded == right, || format!("{folded:?} is folded, right is {right:?}"))
        }
        Event::Wake(WakeFact::WakeHintCoalesced(fact)) => {
            let source = &fact.hint.source;
            rule(past.hints.pending.contains_key(source), || format!("{source} does not wait"))
        }
        Event::Wake(WakeFact::WakeTickQueued(fact)) => {
            let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
            let kind = past.queue.live.get(&fact.message_id).map(|entry| entry.kind);
            rule(admitted && kind == Some(MessageKind::SystemTick), || {
                format!("{} was not made for this", fact.message_id)
            })?;
            delivered(past, fact)
        }
        Event::Wake(WakeFact::WakeHintsShown(fact)) => {
            let lost = fact.sources.iter().find(|source| !past.hints.pending.contains_key(*source));
            let runs = past.running(fact.run_id).is_some();
            rule(runs && lost.is_none(), || format!("{lost:?} is shown, and does not wait"))?;
            let awaited = |source: &&String| {
                past.hints.pending.get(*source).is_some_and(|hints| past.is_awaited(hints))
            };
            let taken = fact.sources.iter().find(awaited);
            rule(taken.is_none(), || format!("{taken:?} is shown, and taken from who waits for it"))
        }
        // A queue that is full may keep even this waiting; one that is empty has room.
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if rests(decision.kind)
                && past.queue.live.is_empty()
                && past.held(record.at).is_none()
                && !past.is_restrained(record.at) =>
        {
            let count = past.hints.count();
            rule(count == 0, || format!("the agent rests, and {count} hints wait"))?;
            Ok(false)
        }
        Event::Wake(
            WakeFact::ExternalTriggerProvisioned(_)
            | WakeFact::ExternalTriggerDelivered(_)
            | WakeFact::ExternalTriggerRevoked(_),
        )
        | Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Turn(_)
        | Event::Operation(_)
        | Event::Task(_)
        | Event::Timer(_)
        | Event::Work(_)
        | Event::Wait(_)
        | Event::Outbox(_)
        | Event::Workspace(_)
        | Event::Brief(_)
        | Event::Episode(_)
        | Event::Skill(_) => Ok(false),
    }
}
