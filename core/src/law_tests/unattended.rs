//! A sixth hand-made life, of turns that no operator caused, and ways to break the law about them.

use alloc::vec::Vec;

use holon_facts::closure::ClosureOutcome;
use holon_facts::decision::{DecisionKind, DecisionReason, SchedulerDecision};
use holon_facts::event::inbox::Disposition;
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::scheduling::{
    SelfTurnCounted, SleepBegun, SleepElapsed, UnattendedTurnsExhausted, UnattendedTurnsRaised,
};
use holon_facts::ids::{MessageId, RunId};
use holon_facts::message::{MessageKind, Origin};
use holon_facts::terminal::TurnKind;
use holon_facts::time::{Millis, Wall};

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("S9", "a turn is not counted", |s| s.remove("self_turn_counted", 0)),
        case("S9", "a turn is counted twice", |s| s.after("self_turn_counted", 0, counted(1, 2, None))),
        case("S9", "a turn is left out of the count", |s| {
            s.replace("self_turn_counted", 1, counted(2, 1, Some(SOON)));
        }),
        case("S9", "a deferral is over at once", |s| {
            s.replace("self_turn_counted", 1, counted(2, 2, Some(0)));
        }),
        case("S9", "the next turn does not wait", |s| {
            s.replace("self_turn_counted", 1, counted(2, 2, Some(FAR)));
        }),
        case("S9", "the next turn waits for nobody", |s| {
            s.replace("self_turn_counted", 1, SelfTurnCounted { self_hold: true, ..counted(2, 2, None) });
        }),
        case("S9", "a turn that somebody asked for is counted", |s| {
            s.after("turn_terminal", 3, counted(4, 1, None));
        }),
        case("S9", "the day is said to have had other turns", |s| {
            s.replace("unattended_turns_exhausted", 0, exhausted(4, FAR));
        }),
        case("S9", "the day is over at once", |s| {
            s.replace("unattended_turns_exhausted", 0, exhausted(3, 0));
        }),
        apart("an event from outside is counted as the agent's own turn", |s| {
            s.replace("unattended_turns_exhausted", 0, used_up(3, 1));
        }),
        apart("an event from outside is not counted", |s| {
            s.replace("unattended_turns_exhausted", 0, used_up(2, 0));
        }),
        apart("an event from outside waits for the agent's own day", |s| {
            s.after("message_admitted", 3, waits());
        }),
        case("S9", "a limit is raised that nothing waits for", |s| {
            s.replace("unattended_turns_exhausted", 0, UnattendedTurnsRaised { turns_per_day: 4 });
        }),
        case("S10", "a sleep ends too early", |s| s.replace("sleep_elapsed", 0, slept(2, SLEPT - 1))),
        case("S10", "the end of a sleep is told again", |s| s.after("sleep_elapsed", 0, slept(2, SLEPT))),
        case("S10", "a sleep is told by what was there before", |s| {
            s.replace("sleep_elapsed", 0, slept(1, SLEPT));
        }),
        case("S10", "nobody slept", |s| s.remove("sleep_begun", 0)),
        case("S10", "a sleep lasts as long as it likes", |s| {
            let (duration_ms, until) = (Some(Millis(1)), Some(Wall(SLEPT * 1_000_000)));
            s.replace("sleep_begun", 0, SleepBegun { run_id: RunId(1), until, duration_ms, reason: None });
        }),
        case("Q4", "a message that has to wait is taken", |s| {
            s.replace("self_turn_counted", 1, counted(2, 2, Some(FAR)));
        }),
    ]
}

/// In seconds: within the life, and later than anything in it.
const SOON: i64 = 8;
const FAR: i64 = 1_000;

fn counted(run: u64, turns: u32, until: Option<i64>) -> SelfTurnCounted {
    let deferred_until = until.map(|until| Wall(until * 1_000_000));
    SelfTurnCounted { run_id: RunId(run), turns, deferred_until, self_hold: false }
}

fn exhausted(turns: u32, until: i64) -> UnattendedTurnsExhausted {
    UnattendedTurnsExhausted { run_id: RunId(3), turns, until: Wall(until * 1_000_000), outside_turns: None }
}

/// When the sleep of the first turn is over, in seconds.
const SLEPT: i64 = 4;

fn slept(message: u64, until: i64) -> SleepElapsed {
    SleepElapsed { message_id: MessageId(message), until: Wall(until * 1_000_000) }
}

fn apart(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("S9", what, others(), sabotage)
}

fn used_up(turns: u32, outside: u32) -> UnattendedTurnsExhausted {
    UnattendedTurnsExhausted { outside_turns: Some(outside), ..exhausted(turns, FAR) }
}

fn waits() -> SchedulerDecision {
    let reason = DecisionReason::UnattendedTurns;
    SchedulerDecision { reason, ..decided(DecisionKind::WaitForTimer, None) }
}

/// Two turns that the agent causes itself are all that its day has; events from outside have theirs.
fn others() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    for turn in 1..=4 {
        if turn % 2 == 0 {
            let origin = Origin::Webhook { source: "forge".into(), event_type: None };
            s.step().on(admitted_from(turn, MessageKind::WebhookEvent, origin));
        } else {
            let origin = Origin::System { subsystem: "follow_up".into() };
            s.step().on(admitted_from(turn, MessageKind::InternalFollowup, origin));
        }
        s.begin(turn, turn, turn, turn);
        s.step().on(settled(turn)).on(processed(turn, Some(turn), Disposition::Processed));
        s.on(ended(turn, turn, turn, TurnKind::Completed, None, 0));
        match turn {
            1 => s.on(counted(1, 1, None)),
            3 => s.on(counted(3, 1, None)).on(used_up(2, 1)),
            _ => &mut s,
        };
        s.on(closed(ClosureOutcome::Completed));
        s.on(if turn == 3 { waits() } else { decided(DecisionKind::Sleep, None) });
    }
    s
}

/// Three turns that the agent causes itself bring nothing; then somebody asks for one.
fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    for turn in 1..=3 {
        let origin = Origin::System { subsystem: "follow_up".into() };
        if turn == 2 {
            let origin = Origin::System { subsystem: "sleep_elapsed".into() };
            s.step().on(admitted_from(2, MessageKind::SystemTick, origin)).on(slept(2, SLEPT));
        } else {
            s.step().on(admitted_from(turn, MessageKind::InternalFollowup, origin));
        }
        while turn == 3 && s.time() < Wall(SOON * 1_000_000) {
            s.step();
        }
        s.begin(turn, turn, turn, turn);
        if turn == 1 {
            let (duration_ms, until) = (Some(Millis(2_000)), Some(Wall(SLEPT * 1_000_000)));
            s.on(SleepBegun { run_id: RunId(1), until, duration_ms, reason: None });
        }
        s.step().on(settled(turn)).on(processed(turn, Some(turn), Disposition::Processed));
        s.on(ended(turn, turn, turn, TurnKind::Completed, None, 0));
        match turn {
            1 => s.on(counted(1, 1, None)),
            2 => s.on(counted(2, 2, Some(SOON))),
            _ => s.on(SelfTurnCounted { self_hold: true, ..counted(3, 3, None) }).on(exhausted(3, FAR)),
        };
        s.on(closed(ClosureOutcome::Completed)).on(decided(DecisionKind::WaitForOperator, None));
    }
    s.step().on(admitted(4, holon_facts::message::Priority::Normal));
    s.begin(4, 4, 4, 4);
    s.step().on(settled(4)).on(processed(4, Some(4), Disposition::Processed));
    s.on(ended(4, 4, 4, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    s
}
