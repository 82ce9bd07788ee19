//! The law about sleep that an agent chose.

use alloc::format;

use super::seen::Seen;
use super::{Ruling, rule};
use crate::event::{Event, SchedulingFact};
use crate::message::MessageKind;
use crate::record::Record;

pub(super) fn s10(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Scheduling(SchedulingFact::SleepBegun(fact)) => {
            let runs = seen.running(fact.run_id).is_some();
            let until = fact.duration_ms.map(|duration| record.at.after(duration));
            rule(runs && fact.until == until, || {
                format!("{} sleeps for {:?} until {:?}", fact.run_id, fact.duration_ms, fact.until)
            })
        }
        Event::Scheduling(SchedulingFact::SleepElapsed(fact)) => {
            let until = seen.sleep.and_then(|sleep| sleep.until);
            let over = until == Some(fact.until) && fact.until <= record.at;
            let admitted = !seen.begins_step(record) && seen.owed.admitted.contains(&fact.message_id);
            let kind = seen.queue.live.get(&fact.message_id).map(|entry| entry.kind);
            rule(over && admitted && kind == Some(MessageKind::SystemTick), || {
                format!("a sleep until {until:?} is said to be over by {}, {kind:?}", fact.message_id)
            })
        }
        Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Turn(_)
        | Event::Operation(_)
        | Event::Task(_)
        | Event::Timer(_)
        | Event::Work(_)
        | Event::Brief(_) => Ok(false),
    }
}
