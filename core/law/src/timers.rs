//! Laws about timers: each occurrence comes once, and what was missed follows the timer's policy.

use holon_facts::event::{Event, TimerFact};
use holon_facts::ids::TimerId;
use holon_facts::message::MessageKind;
use holon_facts::record::Record;
use holon_facts::time::Wall;
use holon_facts::timer::{CAUGHT_UP, Misfire};

use super::past::{Past, Timer, come};
use super::{Checked, rule};

/// What a record says of occurrences that have come.
struct Passing {
    timer: TimerId,
    occurrence: u64,
    occurrences: u64,
    due_at: Wall,
    next: Option<Wall>,
}

fn passing(fact: &TimerFact) -> Option<Passing> {
    match fact {
        TimerFact::TimerFired(fact) => Some(Passing {
            timer: fact.timer_id,
            occurrence: fact.occurrence,
            occurrences: fact.occurrences,
            due_at: fact.due_at,
            next: fact.next_fire_at,
        }),
        TimerFact::TimerSkipped(fact) => Some(Passing {
            timer: fact.timer_id,
            occurrence: fact.occurrence,
            occurrences: fact.occurrences,
            due_at: fact.due_at,
            next: fact.next_fire_at,
        }),
        TimerFact::TimerCreated(_) | TimerFact::TimerTickQueued(_) | TimerFact::TimerCancelled(_) => None,
    }
}

pub(super) fn w5(past: &Past, record: &Record) -> Checked {
    let Event::Timer(fact) = &record.event else { return Ok(false) };
    if let TimerFact::TimerCreated(fact) = fact {
        let named =
            fact.at.is_none_or(|at| fact.duration_ms == record.at.until(at) && fact.wait_id.is_some());
        return rule(named && fact.next_fire_at == record.at.after(fact.duration_ms), || {
            format!("{} lasts {}, and is due at {}", fact.timer_id, fact.duration_ms, fact.next_fire_at)
        });
    }
    if let TimerFact::TimerCancelled(fact) = fact {
        let armed = past.timers.get(&fact.timer_id).is_some_and(|timer| timer.next.is_some());
        return rule(armed, || format!("{} is cancelled, and had ended", fact.timer_id));
    }
    if let TimerFact::TimerTickQueued(fact) = fact {
        let timer = past.timers.get(&fact.timer_id);
        let undelivered = timer.map_or(0, |timer| timer.undelivered);
        rule(undelivered > 0 && undelivered == fact.occurrences, || {
            format!("{} reports {} occurrences, of {undelivered}", fact.timer_id, fact.occurrences)
        })?;
        let kind = past.queue.live.get(&fact.message_id).map(|entry| entry.kind);
        let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
        rule(kind == Some(MessageKind::TimerTick) && admitted, || {
            format!("{} is reported by an earlier {kind:?}", fact.timer_id)
        })?;
        let before = timer.and_then(|timer| timer.tick).filter(|tick| past.queue.live.contains_key(tick));
        return rule(before.is_none(), || {
            format!("{} is reported, and {before:?} reports it", fact.timer_id)
        });
    }
    let Some(passing) = passing(fact) else { return Ok(false) };
    let id = passing.timer;
    let Some(Timer { next: Some(next), interval, occurrence, .. }) = past.timers.get(&id) else {
        return Err(format!("{id} comes, and had ended"));
    };
    let follows = passing.occurrence == occurrence + 1 && passing.occurrences > 0;
    rule(follows, || format!("occurrence {} of {id} follows {occurrence}", passing.occurrence))?;
    rule(passing.due_at == *next && *next <= record.at, || {
        format!("{id} is due at {next}, and comes for {} at {}", passing.due_at, record.at)
    })?;
    let first = past.next_timer() == Some((*next, id)) || past.promised.skipped == Some(id);
    rule(first, || format!("{id} comes before {:?}", past.next_timer()))?;
    let later = interval.and_then(|interval| {
        let micros = interval.0.checked_mul(1_000)?.checked_mul(passing.occurrences)?;
        next.0.checked_add_unsigned(micros).map(Wall)
    });
    rule(passing.next == later, || format!("after {next}, {id} comes at {:?}", passing.next))
}

pub(super) fn w6(past: &Past, record: &Record) -> Checked {
    let Event::Timer(fact) = &record.event else { return Ok(false) };
    let Some(passing) = passing(fact) else { return Ok(false) };
    let Some(Timer { next: Some(next), interval, misfire, .. }) = past.timers.get(&passing.timer) else {
        return Ok(false);
    };
    let come = come(*next, *interval, record.at);
    let fires = match misfire {
        Misfire::Once => 1,
        Misfire::Skip if come > 1 => 0,
        Misfire::Skip => 1,
        Misfire::All => come.min(CAUGHT_UP),
    };
    let expected = match fact {
        TimerFact::TimerSkipped(_) => come - fires,
        TimerFact::TimerFired(_) if come == fires => come,
        _ => 0,
    };
    rule(passing.occurrences == expected, || {
        let kind = record.event.kind();
        format!("{kind} of {}: {} of {come} that have come", passing.timer, passing.occurrences)
    })
}
