//! A third hand-made life, of timers, and ways to break the laws about them.

use alloc::string::ToString;
use alloc::vec::Vec;

use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::timer::{TimerCancelled, TimerCreated, TimerFired, TimerSkipped, TimerTickQueued};
use holon_facts::ids::{MessageId, TimerId};
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::message::{MessageKind, Origin};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::{Misfire, TimerOwner};

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = occurrences();
    cases.extend(others());
    cases
}

fn occurrences() -> Vec<Case> {
    alloc::vec![
        case("W5", "a timer fires before it is due", |s| s.after(
            "timer_created",
            0,
            fired(1, 1, 4, Some(6))
        )),
        case("W5", "an occurrence comes twice", |s| s.after("timer_fired", 0, fired(1, 1, 4, Some(6)))),
        case("W5", "an occurrence is left out", |s| s.replace("timer_fired", 0, fired(1, 2, 4, Some(6)))),
        case("W5", "of two that are due the later one comes first", |s| {
            s.replace("timer_fired", 0, fired(2, 1, 4, None));
            s.replace("timer_fired", 1, fired(1, 1, 4, Some(6)));
        }),
        case("W5", "a timer that has ended fires", |s| s.after("timer_fired", 1, fired(2, 2, 4, None))),
        case("W5", "a timer comes at another time than its interval says", |s| {
            s.replace("timer_fired", 0, fired(1, 1, 4, Some(7)));
        }),
        case("W5", "a timer lasts longer than was asked for", |s| s.replace(
            "timer_created",
            0,
            made(1, 3, Some(2), 4)
        )),
        case("W5", "a timer is cancelled twice", |s| s.after("timer_cancelled", 0, cancelled(1))),
        case("W5", "more is told than has fired", |s| s.replace(
            "timer_tick_queued",
            0,
            tick_queued(1, 1, 2)
        )),
        case("W5", "a timer is told by what was there before", |s| {
            s.after("timer_fired", 2, tick_queued(1, 2, 1));
        }),
        case("W5", "a second message tells before the first is done with", |s| {
            s.after("timer_fired", 2, tick_queued(1, 3, 1));
            s.after("timer_fired", 2, tick(3, 1));
        }),
        case("W6", "everything that was missed fires", |s| {
            let both = TimerFired { occurrences: 2, ..fired(1, 2, 6, Some(10)) };
            s.replace("timer_fired", 2, both);
            s.remove("timer_skipped", 0);
        }),
        case("W6", "everything that was missed is let go", |s| {
            s.replace("timer_skipped", 0, skipped(1, 2, 2, 6, Some(10)));
            s.remove("timer_fired", 2);
        }),
        case("W6", "what is merely late is let go", |s| {
            s.replace("timer_fired", 0, skipped(1, 1, 1, 4, Some(6)));
        }),
    ]
}

fn others() -> Vec<Case> {
    alloc::vec![
        case("Q9", "a number of a timer is skipped", |s| s.replace("timer_created", 1, made(3, 1, None, 4))),
        case("Q9", "a timer that nobody made fires", |s| s.after("timer_fired", 1, fired(3, 1, 4, None))),
        case("L1", "a stopped agent's timer fires", |s| {
            s.remove("timer_cancelled", 0);
            s.after("control_applied", 0, fired(1, 4, 10, Some(12)));
        }),
    ]
}

fn of(timer: u64) -> Origin {
    Origin::Timer { timer_id: TimerId(timer).to_string() }
}

fn at(seconds: i64) -> Wall {
    Wall(seconds * 1_000_000)
}

fn made(timer: u64, duration: u64, interval: Option<u64>, due: i64) -> TimerCreated {
    TimerCreated {
        timer_id: TimerId(timer),
        owner: TimerOwner::Operator,
        wait_id: None,
        duration_ms: Millis::seconds(duration),
        interval_ms: interval.map(Millis::seconds),
        misfire: Misfire::Once,
        summary: None,
        next_fire_at: at(due),
        at: None,
    }
}

fn fired(timer: u64, occurrence: u64, due: i64, next: Option<i64>) -> TimerFired {
    TimerFired {
        timer_id: TimerId(timer),
        occurrence,
        occurrences: 1,
        due_at: at(due),
        late_ms: Millis(0),
        next_fire_at: next.map(at),
    }
}

fn skipped(timer: u64, occurrence: u64, occurrences: u64, due: i64, next: Option<i64>) -> TimerSkipped {
    TimerSkipped {
        timer_id: TimerId(timer),
        occurrence,
        occurrences,
        due_at: at(due),
        next_fire_at: next.map(at),
    }
}

fn tick_queued(timer: u64, message: u64, occurrences: u64) -> TimerTickQueued {
    TimerTickQueued { timer_id: TimerId(timer), message_id: MessageId(message), occurrences }
}

fn tick(message: u64, timer: u64) -> MessageAdmitted {
    admitted_from(message, MessageKind::TimerTick, of(timer))
}

fn cancelled(timer: u64) -> TimerCancelled {
    TimerCancelled { timer_id: TimerId(timer) }
}

/// A repeating timer and another one fire at one moment; then the first misses an occurrence, and is cancelled. Steps are
/// a second apart.
fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(made(1, 2, Some(2), 4));
    s.step().on(made(2, 1, None, 4));
    s.step().on(fired(1, 1, 4, Some(6))).on(fired(2, 1, 4, None));
    s.on(tick(1, 1)).on(tick_queued(1, 1, 1)).on(tick(2, 2)).on(tick_queued(2, 2, 1));
    for _ in 0..5 {
        s.step();
    }
    s.on(skipped(1, 2, 1, 6, Some(8))).on(fired(1, 3, 8, Some(10)));
    s.step().on(cancelled(1));
    s.on(requested(ControlAction::Stop, Status::Booting));
    s.on(applied(ControlAction::Stop, Status::Booting, Status::Stopped, None));
    s.on(posture(Status::Booting, Status::Stopped));
    s
}
