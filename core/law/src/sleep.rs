//! The law about sleep that an agent chose.

use alloc::format;

use holon_facts::event::{Event, SchedulingFact};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;

use super::seen::Seen;
use super::{Ruling, rule};

pub(super) fn s10(seen: &Seen, record: &Record) -> Ruling {
    if let Event::Scheduling(SchedulingFact::SleepBegun(fact)) = &record.event {
        let runs = seen.running(fact.run_id).is_some();
        let until = fact.duration_ms.map(|duration| record.at.after(duration));
        return rule(runs && fact.until == until, || {
            format!("{} sleeps for {:?} until {:?}", fact.run_id, fact.duration_ms, fact.until)
        });
    }
    let Event::Scheduling(SchedulingFact::SleepElapsed(fact)) = &record.event else { return Ok(false) };
    let until = seen.sleep.and_then(|sleep| sleep.until);
    let over = until == Some(fact.until) && fact.until <= record.at;
    let admitted = !seen.begins_step(record) && seen.owed.admitted.contains(&fact.message_id);
    let kind = seen.queue.live.get(&fact.message_id).map(|entry| entry.kind);
    rule(over && admitted && kind == Some(MessageKind::SystemTick), || {
        format!("a sleep until {until:?} is said to be over by {}, {kind:?}", fact.message_id)
    })
}
