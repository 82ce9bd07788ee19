//! An eighth hand-made life, of hints, and ways to break the law about them.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::closure::ClosureOutcome;
use holon_facts::decision::DecisionKind;
use holon_facts::event::inbox::Disposition;
use holon_facts::event::lifecycle::{AgentCreated, ControlApplied};
use holon_facts::event::wait::WaitRegistered;
use holon_facts::event::wake::{WakeHintCoalesced, WakeHintRecorded, WakeHintsShown, WakeTickQueued};
use holon_facts::hint::{Hint, HintWeight, SOURCES};
use holon_facts::ids::{MessageId, RunId};
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::message::{MessageKind, Origin, Priority};
use holon_facts::terminal::{TurnKind, TurnReason};

use super::facts::*;
use super::sabotage::{Case, Script};
use super::waits::{external, resolved};
use crate::testing::spec;

fn case(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("W3", what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("a source waits twice", |s| s.replace("wake_hint_coalesced", 0, recorded(2, "ci", None))),
        case("a source that does not wait is one with itself", |s| {
            s.replace("wake_hint_recorded", 0, coalesced(1, "ci"));
        }),
        case("a source makes room for nothing", |s| {
            s.replace("wake_hint_recorded", 1, recorded(3, "mail", Some("ci")));
        }),
        case("a tick leaves one out", |s| s.replace("wake_tick_queued", 0, tick(2, 4, false))),
        case("a tick says that it says something", |s| s.replace("wake_tick_queued", 0, tick(3, 4, true))),
        case("a tick is told by what was there before", |s| {
            s.replace(
                "wake_tick_queued",
                0,
                WakeTickQueued { message_id: MessageId(1), ..tick(3, 4, false) },
            );
        }),
        case("what waits is forgotten", |s| s.remove("wake_tick_queued", 0)),
        case("what does not wait is shown", |s| {
            let sources = ["moon".into()].into();
            s.replace("wake_hints_shown", 0, WakeHintsShown { run_id: RunId(1), sources });
        }),
        awaited("W8", "an earlier hint is what was waited for, and the wait goes on", |s| {
            s.remove("wait_resolved", 0);
        }),
        awaited("W3", "an earlier hint is what is waited for, and no model looks", |s| {
            s.replace("wake_tick_queued", 0, tick(2, 2, false));
        }),
        awaited("W3", "what somebody waits for is shown to somebody else", |s| {
            let sources = ["ci".into()].into();
            s.after("wake_hint_coalesced", 0, WakeHintsShown { run_id: RunId(1), sources });
        }),
        crowded("a hint that is waited for is folded before bare ones", |s| {
            s.replace("wake_hint_recorded", SOURCES, folding(SOURCES, "source 0", HintWeight::Awaited));
        }),
        crowded("the oldest is folded, whatever it means", |s| {
            let fact = recorded(SOURCES as u64 + 1, "one more", Some("source 1"));
            s.replace("wake_hint_recorded", SOURCES, fact);
        }),
        crowded("too many sources wait", |s| {
            let fact = recorded(SOURCES as u64 + 1, "one more", None);
            s.replace("wake_hint_recorded", SOURCES, fact);
        }),
        crowded("a stop clears what somebody waits for", |s| {
            let left = (0..SOURCES).filter(|source| *source != 1).map(name).collect();
            s.replace("wake_tick_queued", 0, WakeTickQueued { left, ..kept() });
        }),
        Case::of("W3", "what a folded hint has said is no reason to look", full_of_words(), |s| {
            let tick = WakeTickQueued { contentful: false, ..all() };
            s.replace("wake_tick_queued", 0, tick);
        }),
        Case::of("Q9", "a hint has the number of another", life(), |s| {
            s.replace("wake_hint_coalesced", 0, coalesced(1, "ci"));
        }),
    ]
}

fn crowded(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("W3", what, crowd(), sabotage)
}

fn name(source: usize) -> String {
    format!("source {source}")
}

/// The hint of one more source than wait.
fn folding(after: usize, folded: &str, weight: HintWeight) -> WakeHintRecorded {
    let fact = recorded(after as u64 + 1, "one more", Some(folded));
    WakeHintRecorded { folded_as: Some(weight), ..fact }
}

/// A stop keeps the first source, which is waited for, and clears the others.
fn kept() -> WakeTickQueued {
    let left = (2..SOURCES).map(name).chain(["one more".into()]).collect();
    WakeTickQueued { left, ..tick(2, SOURCES as u64 + 1, true) }
}

fn all() -> WakeTickQueued {
    tick(SOURCES as u64 + 1, SOURCES as u64 + 1, true)
}

/// Hints of one source too many come in a turn that waits for the first; then it is stopped.
fn crowd() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.on(WaitRegistered { subject: Some(name(0)), ..external(1) });
    for source in 0..SOURCES {
        s.step().on(recorded(source as u64 + 1, &name(source), None));
    }
    s.step().on(folding(SOURCES, "source 1", HintWeight::Bare));
    let origin = Origin::System { subsystem: "wake_hint".into() };
    s.step().on(admitted_from(2, MessageKind::SystemTick, origin)).on(kept());
    let (running, idle, stopped) = (Status::AwakeRunning, Status::AwakeIdle, Status::Stopped);
    s.on(requested(ControlAction::Stop, running)).on(settled(1)).on(aborted(1, 1));
    s.on(ended(1, 1, 1, TurnKind::Aborted, Some(TurnReason::Stopped), 0));
    s.on(closed(ClosureOutcome::Completed));
    let mut lost_hints = kept().left;
    lost_hints.sort();
    let applied = applied(ControlAction::Stop, idle, stopped, Some((1, 1)));
    s.on(ControlApplied { lost_hints, ..applied }).on(posture(idle, stopped));
    s
}

/// Hints that say something come of one source too many.
fn full_of_words() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    let hinted = |fact: WakeHintRecorded| {
        let hint = Hint { correlation_id: Some("build 7".into()), ..fact.hint };
        WakeHintRecorded { hint, ..fact }
    };
    for source in 0..SOURCES {
        s.step().on(hinted(recorded(source as u64 + 1, &name(source), None)));
    }
    s.step().on(hinted(folding(SOURCES, "source 0", HintWeight::Contentful)));
    s.step().on(settled(1)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    let origin = Origin::System { subsystem: "wake_hint".into() };
    s.on(decided(DecisionKind::EmitSystemTick, None)).on(admitted_from(2, MessageKind::SystemTick, origin));
    s.on(all());
    s.begin(2, 2, 2, 2);
    s.step().on(settled(2)).on(processed(2, Some(2), Disposition::Processed));
    s.on(ended(2, 2, 2, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    s.on(decided(DecisionKind::Sleep, None));
    s
}

pub(super) fn hint(source: &str) -> Hint {
    Hint::new(source, "it moved")
}

fn recorded(sequence: u64, source: &str, folded: Option<&str>) -> WakeHintRecorded {
    WakeHintRecorded { sequence, hint: hint(source), folded: folded.map(Into::into), folded_as: None }
}

fn coalesced(sequence: u64, source: &str) -> WakeHintCoalesced {
    WakeHintCoalesced { sequence, hint: hint(source) }
}

fn tick(hints: u64, sequence: u64, contentful: bool) -> WakeTickQueued {
    WakeTickQueued { message_id: MessageId(2), sequence, hints, contentful, left: Vec::new() }
}

fn awaited(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, awaiting(), sabotage)
}

fn about(resource: &str) -> Hint {
    Hint { resource: Some(resource.into()), ..hint("ci") }
}

/// A turn waits; what it waits for is hinted before it has ended, and then something else of the same source.
fn awaiting() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.on(WaitRegistered { subject: Some("build A".into()), ..external(1) });
    s.step().on(WakeHintRecorded { hint: about("build A"), ..recorded(1, "ci", None) });
    s.on(WakeHintCoalesced { hint: about("build B"), ..coalesced(2, "ci") });
    s.step().on(settled(1)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    let origin = Origin::System { subsystem: "wake_hint".into() };
    s.on(decided(DecisionKind::EmitSystemTick, None)).on(admitted_from(2, MessageKind::SystemTick, origin));
    s.on(tick(2, 2, true)).on(resolved(1, 2));
    s.begin(2, 2, 2, 2);
    s.step().on(settled(2)).on(processed(2, Some(2), Disposition::Processed));
    s.on(ended(2, 2, 2, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    s.on(decided(DecisionKind::Sleep, None));
    s
}

/// Hints come in a turn; one is shown in it, the others are told after it, and need no model.
fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.step().on(recorded(1, "ci", None)).on(coalesced(2, "ci")).on(recorded(3, "mail", None));
    s.step().on(recorded(4, "web", None));
    s.on(WakeHintsShown { run_id: RunId(1), sources: ["web".into()].into() });
    s.step().on(settled(1)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    let origin = Origin::System { subsystem: "wake_hint".into() };
    s.on(decided(DecisionKind::EmitSystemTick, None)).on(admitted_from(2, MessageKind::SystemTick, origin));
    s.on(tick(3, 4, false)).on(decided(DecisionKind::ReduceMessageOnly, Some(2)));
    s.on(dequeued(2, None)).on(processed(2, None, Disposition::Processed));
    s.on(decided(DecisionKind::Sleep, None));
    s
}
