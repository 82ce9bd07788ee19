//! The law about triggers: what their addresses bring about, and when no more.

use holon_facts::event::{Event, WakeFact};
use holon_facts::hint::Hint;
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn a5(past: &Past, record: &Record) -> Checked {
    let trigger = &past.trigger;
    let hint = hint(&record.event);
    if let Some(delivered) = &trigger.delivered {
        let becomes = hint.is_some_and(|hint| {
            let own = delivered.by_body || (hint.body.is_some() && !past.ends_named_wait(hint));
            let same = hint.source == delivered.source && hint.repeats == (delivered.again && own);
            hint.external_trigger_id.is_some() && same
        });
        return rule(becomes && !past.begins_step(record), || {
            format!("the delivery of {} is no such hint", delivered.source)
        });
    }
    if let Some(hint) = hint {
        let through = hint.external_trigger_id.is_some() || hint.repeats;
        return rule(!through, || format!("the hint of {} came through no trigger", hint.source));
    }
    let Event::Wake(fact) = &record.event else { return Ok(false) };
    match fact {
        WakeFact::ExternalTriggerProvisioned(fact) => {
            let next = trigger.generation + 1;
            rule(fact.generation == next && !trigger.active, || {
                format!("generation {} comes, {next} is next", fact.generation)
            })
        }
        WakeFact::ExternalTriggerRevoked(fact) => in_force(past, fact.generation),
        WakeFact::ExternalTriggerDelivered(fact) => {
            rule(!past.posture.stopped, || "a stopped agent is woken".into())?;
            in_force(past, fact.generation)
        }
        _ => Ok(false),
    }
}

fn in_force(past: &Past, generation: u64) -> Checked {
    let right = past.trigger.active && past.trigger.generation == generation;
    rule(right, || format!("generation {generation} is not in force"))
}

fn hint(event: &Event) -> Option<&Hint> {
    let Event::Wake(fact) = event else { return None };
    match fact {
        WakeFact::WakeHintRecorded(fact) => Some(&fact.hint),
        WakeFact::WakeHintCoalesced(fact) => Some(&fact.hint),
        _ => None,
    }
}
