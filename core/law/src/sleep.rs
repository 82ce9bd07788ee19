//! The law about sleep that an agent chose.

use holon_facts::event::{Event, SchedulingFact};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn s10(past: &Past, record: &Record) -> Checked {
    if let Event::Scheduling(SchedulingFact::SleepBegun(fact)) = &record.event {
        let runs = past.running(fact.run_id).is_some();
        let until = fact.duration_ms.map(|duration| record.at.after(duration));
        return rule(runs && fact.until == until, || {
            format!("{} sleeps for {:?} until {:?}", fact.run_id, fact.duration_ms, fact.until)
        });
    }
    let Event::Scheduling(SchedulingFact::SleepElapsed(fact)) = &record.event else { return Ok(false) };
    let until = past.sleep.and_then(|sleep| sleep.until);
    let over = until == Some(fact.until) && fact.until <= record.at;
    let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
    let kind = past.queue.live.get(&fact.message_id).map(|entry| entry.kind);
    rule(over && admitted && kind == Some(MessageKind::SystemTick), || {
        format!("a sleep until {until:?} is reported as over by {}, {kind:?}", fact.message_id)
    })
}
