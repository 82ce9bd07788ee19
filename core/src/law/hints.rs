//! The law about hints: they are one by source, and none is forgotten.

use alloc::format;
use alloc::string::String;

use super::seen::Seen;
use super::waits::rests;
use super::{Ruling, rule};
use crate::agent::wake::SOURCES;
use crate::event::{Event, SchedulingFact, WakeFact};
use crate::message::MessageKind;
use crate::record::Record;

pub(super) fn w3(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => {
            let source = &fact.hint.source;
            rule(!seen.hints.pending.contains_key(source), || format!("{source} waits already"))?;
            let full = seen.hints.pending.len() >= SOURCES;
            let right = seen.hints.oldest().filter(|_| full);
            rule(fact.folded.as_ref() == right, || format!("{:?} makes room, {right:?} should", fact.folded))
        }
        Event::Wake(WakeFact::WakeHintCoalesced(fact)) => {
            let source = &fact.hint.source;
            rule(seen.hints.pending.contains_key(source), || format!("{source} does not wait"))
        }
        Event::Wake(WakeFact::WakeTickQueued(fact)) => {
            let admitted = !seen.begins_step(record) && seen.owed.admitted.contains(&fact.message_id);
            let kind = seen.queue.live.get(&fact.message_id).map(|entry| entry.kind);
            rule(admitted && kind == Some(MessageKind::SystemTick), || {
                format!("{} was not made for this", fact.message_id)
            })?;
            let (count, last) = (seen.hints.count(), seen.hints.next() - 1);
            let all = (fact.hints, fact.sequence) == (count, last) && count > 0;
            rule(all, || format!("{} tells of {} hints, {count} wait", fact.message_id, fact.hints))?;
            let mut pending = seen.hints.pending.values();
            let matters = pending.any(|hints| hints.hint.body.is_some() || seen.is_awaited(hints));
            rule(fact.contentful == matters, || format!("{} says something: {matters}", fact.message_id))
        }
        Event::Wake(WakeFact::WakeHintsShown(fact)) => {
            let lost = fact.sources.iter().find(|source| !seen.hints.pending.contains_key(*source));
            let runs = seen.running(fact.run_id).is_some();
            rule(runs && lost.is_none(), || format!("{lost:?} is shown, and does not wait"))?;
            let awaited = |source: &&String| {
                seen.hints.pending.get(*source).is_some_and(|hints| seen.is_awaited(hints))
            };
            let taken = fact.sources.iter().find(awaited);
            rule(taken.is_none(), || format!("{taken:?} is shown, and taken from who waits for it"))
        }
        // A queue that is full may keep even this waiting; one that is empty has room.
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if rests(decision.kind)
                && seen.queue.live.is_empty()
                && seen.held(record.at).is_none()
                && !seen.is_restrained(record.at) =>
        {
            let count = seen.hints.count();
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
        | Event::Brief(_) => Ok(false),
    }
}
