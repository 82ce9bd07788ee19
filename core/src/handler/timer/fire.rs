//! What is due fires, and one message at a time reports it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::timer::{TimerFired, TimerSkipped, TimerTickQueued};
use holon_facts::ids::TimerId;
use holon_facts::lifecycle::Status;
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::{CAUGHT_UP, Misfire};

use crate::agent::timer::Timer;
use crate::handler::evidence::{self, Evidence};
use crate::tx::Tx;

/// Fires what is due, in the order of times, and reports it. A stopped agent's timers are looked at after its start.
/// `left` is how much the step may still do; false when it was not enough.
pub(crate) fn due(tx: &mut Tx<'_>, left: &mut u32) -> bool {
    let timers = &tx.agent().timers;
    if tx.agent().status == Status::Stopped || (timers.next().is_none() && !timers.is_undelivered()) {
        return true;
    }
    // Timers move with the clock: they must be where they will be.
    tx.follow_clock();
    while let Some((due_at, id)) = tx.agent().timers.next().filter(|(at, _)| *at <= tx.now()) {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        fire(tx, id, due_at);
    }
    deliver(tx, left)
}

/// The occurrences of one timer that have come by now.
fn fire(tx: &mut Tx<'_>, timer_id: TimerId, due_at: Wall) {
    let now = tx.now();
    let Some(timer) = tx.agent().timers.get(timer_id) else { return };
    let first = timer.occurrence.saturating_add(1);
    let come = timer.interval_ms.map_or(1, |interval| come(due_at, interval, now));
    let skipped = come - fires(timer.misfire, come);
    let at = |occurrences: u64| match timer.interval_ms {
        Some(interval) => after(due_at, interval, occurrences),
        None => (occurrences == 0).then_some(due_at),
    };
    // A clock that comes to its end has no moment left for a further one.
    let next = at(come);
    let (fired_at, next_of_skipped) = (at(skipped).unwrap_or(due_at), at(skipped));
    if skipped > 0 {
        let next_fire_at = if skipped == come { next } else { next_of_skipped };
        tx.record(TimerSkipped { timer_id, occurrence: first, occurrences: skipped, due_at, next_fire_at });
    }
    if come > skipped {
        tx.record(TimerFired {
            timer_id,
            occurrence: first.saturating_add(skipped),
            occurrences: come - skipped,
            due_at: fired_at,
            late_ms: now.since(fired_at),
            next_fire_at: next,
        });
    }
}

/// How many occurrences of a repeating timer are not after `now`; the first was due at `due_at`, no later.
fn come(due_at: Wall, interval: Millis, now: Wall) -> u64 {
    let interval = interval.0.saturating_mul(1_000).max(1);
    (now.0.abs_diff(due_at.0) / interval).saturating_add(1)
}

/// How many of those that have come fire.
fn fires(misfire: Misfire, come: u64) -> u64 {
    match misfire {
        _ if come == 1 => 1,
        Misfire::Once => 1,
        Misfire::Skip => 0,
        Misfire::All => come.min(CAUGHT_UP),
    }
}

fn after(due_at: Wall, interval: Millis, occurrences: u64) -> Option<Wall> {
    let micros = interval.0.checked_mul(1_000)?.checked_mul(occurrences)?;
    due_at.0.checked_add_unsigned(micros).map(Wall)
}

/// One tick for all that a timer has not told, once its last one has been dealt with. What has no room stays owed.
fn deliver(tx: &mut Tx<'_>, left: &mut u32) -> bool {
    let undelivered: Vec<TimerId> = tx.agent().timers.undelivered().collect();
    for timer_id in undelivered {
        let agent = tx.agent();
        let Some(timer) = agent.timers.get(timer_id) else { continue };
        if timer.tick.is_some_and(|tick| agent.inbox.is_live(tick)) {
            continue;
        }
        let Some(rest) = left.checked_sub(1) else { return false };
        let occurrences = timer.undelivered;
        let evidence = Evidence {
            kind: MessageKind::TimerTick,
            origin: Origin::Timer { timer_id: timer_id.to_string() },
            priority: Priority::Normal,
            surface: Surface::TimerScheduler,
            text: Text::short(text_of(timer)),
        };
        let Some(message_id) = evidence::admit(tx, evidence) else { return true };
        tx.record(TimerTickQueued { timer_id, message_id, occurrences });
        *left = rest;
    }
    true
}

fn text_of(timer: &Timer) -> String {
    let times =
        if timer.undelivered > 1 { alloc::format!(" {} times", timer.undelivered) } else { String::new() };
    match &timer.summary {
        Some(summary) => alloc::format!("{} fired{times}: {summary}", timer.id),
        None => alloc::format!("{} fired{times}", timer.id),
    }
}
