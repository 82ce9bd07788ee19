//! A seventh hand-made life, of waits and rechecks, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::closure::ClosureOutcome;
use holon_facts::decision::DecisionKind;
use holon_facts::event::inbox::{Disposition, MessageAdmitted};
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::wait::{
    RecheckGivenUp, Rechecked, Resolution, WaitCancelled, WaitEnd, WaitRegistered, WaitResolved,
    WorkItemRecheckDue,
};
use holon_facts::event::wake::{ExternalTriggerDelivered, ExternalTriggerProvisioned, WakeHintRecorded};
use holon_facts::hint::Hint;
use holon_facts::ids::{ExternalTriggerId, MessageId, RoundIndex, RunId, TaskId, WaitId};
use holon_facts::message::{AdmissionContext, Message, MessageKind, Origin, Priority};
use holon_facts::terminal::TurnKind;
use holon_facts::time::{Millis, Wall};
use holon_facts::trigger::DeliveryMode;
use holon_facts::wait::WaitKind;

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("W8", "what is waited for comes, and the wait goes on", |s| s.remove("wait_resolved", 0)),
        case("W8", "another message ends the wait", |s| s.replace("wait_resolved", 0, resolved(1, 2))),
        case("W8", "a wait is ended twice", |s| s.after("wait_resolved", 0, resolved(1, 3))),
        case("W8", "a wait for no task is ended by one", |s| {
            let by = Resolution::TaskResultQueued;
            s.replace("wait_resolved", 0, WaitResolved { wait_id: WaitId(1), by });
        }),
        case("W9", "a second wait beside the first", |s| s.remove("wait_cancelled", 0)),
        case("W9", "a wait that nothing ends", |s| {
            s.replace("wait_registered", 0, WaitRegistered { recheck_after_ms: None, ..external(1) });
        }),
        case("W9", "a wait for a task that it does not name", |s| {
            s.replace("wait_registered", 0, WaitRegistered { kind: WaitKind::Task, ..external(1) });
        }),
        case("W9", "a wait for a time without a timer", |s| {
            s.replace("wait_registered", 0, WaitRegistered { kind: WaitKind::Timer, ..external(1) });
        }),
        case("W9", "a turn that is over waits", |s| {
            s.replace("wait_registered", 2, WaitRegistered { run_id: RunId(2), ..operator(3) });
        }),
        case("W9", "a wait is cancelled twice", |s| s.after(
            "wait_cancelled",
            0,
            cancelled(WaitEnd::Replaced)
        )),
        case("W9", "a wait without a timer loses its timer", |s| {
            s.replace("wait_cancelled", 0, cancelled(WaitEnd::TimerCancelled));
        }),
        case("S11", "nothing tells of what is due", |s| s.remove("work_item_recheck_due", 0)),
        case("S11", "a recheck is counted twice", |s| {
            s.replace("work_item_recheck_due", 0, due(2, NEXT));
        }),
        case("S11", "the next recheck comes as early", |s| {
            s.replace("work_item_recheck_due", 0, due(1, NEXT - 60));
        }),
        case("S11", "nothing is due", |s| s.after("work_item_recheck_due", 0, due(2, NEXT))),
        case("S11", "an operator has to look after one recheck", |s| {
            let (work_item_id, wait_id, run_id) = (None, Some(WaitId(1)), RunId(2));
            s.after("turn_terminal", 1, RecheckGivenUp { work_item_id, wait_id, run_id });
        }),
        case("Q9", "a wait has the number of another", |s| s.replace("wait_registered", 1, operator(1))),
        case("Q9", "a wait ends that never was", |s| s.replace("wait_resolved", 0, resolved(9, 3))),
        named("a guessed number ends a wait", |s| s.replace("message_admitted", 1, naming("wait_1", false))),
        named("the token of another wait ends it", |s| {
            s.replace("message_admitted", 1, naming("wait_1-other", true));
        }),
        named("who says the token ends nothing", |s| s.remove("wait_resolved", 0)),
        Case::of("W8", "a hint through the trigger names a wait by its number", hinted(), |s| {
            s.replace("wake_hint_recorded", 0, through_trigger("wait_1"));
        }),
        case("Q9", "a wait for a task that never was", |s| {
            let task_id = Some(TaskId(7));
            s.replace("wait_registered", 0, WaitRegistered { task_id, ..external(1) });
        }),
    ]
}

/// When the wait is looked at, and when again, in seconds.
const DUE: i64 = 70;
const NEXT: i64 = DUE + 120;

pub(super) fn external(wait: u64) -> WaitRegistered {
    WaitRegistered {
        wait_id: WaitId(wait),
        work_item_id: None,
        kind: WaitKind::External,
        waiting_for: "the build".into(),
        subject: Some("ci".into()),
        token: Some("wait_1-secret".into()),
        task_id: None,
        timer_id: None,
        recheck_after_ms: Some(Millis::seconds(60)),
        run_id: RunId(1),
        round: RoundIndex(0),
    }
}

fn operator(wait: u64) -> WaitRegistered {
    WaitRegistered { kind: WaitKind::Operator, recheck_after_ms: None, run_id: RunId(3), ..external(wait) }
}

pub(super) fn resolved(wait: u64, message: u64) -> WaitResolved {
    WaitResolved { wait_id: WaitId(wait), by: Resolution::Message { message_id: MessageId(message) } }
}

fn cancelled(reason: WaitEnd) -> WaitCancelled {
    WaitCancelled { wait_id: WaitId(2), reason }
}

fn due(count: u32, next: i64) -> WorkItemRecheckDue {
    let next_at = Wall(next * 1_000_000);
    WorkItemRecheckDue {
        message_id: MessageId(2),
        due: [Rechecked { work_item_id: None, count, next_at }].into(),
    }
}

fn named(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("W8", what, naming_life(), sabotage)
}

/// An event of somebody else that names a wait as its correlation.
fn naming(correlation: &str, proven: bool) -> MessageAdmitted {
    let origin = Origin::Webhook { source: "mail".into(), event_type: None };
    let fact = admitted_from(2, MessageKind::WebhookEvent, origin);
    let admission_context = match proven {
        true => AdmissionContext::ControlAuthenticated,
        false => AdmissionContext::PublicUnauthenticated,
    };
    let correlation_id = Some(correlation.into());
    MessageAdmitted { message: Message { correlation_id, admission_context, ..fact.message }, ..fact }
}

/// A turn waits for an event, and somebody who has its token sends one.
fn naming_life() -> Script {
    let mut s = waiting();
    s.step().on(naming("wait_1-secret", false)).on(resolved(1, 2));
    s.begin(2, 2, 2, 2);
    s.step().on(settled(2)).on(processed(2, Some(2), Disposition::Processed));
    s.on(ended(2, 2, 2, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    s.on(decided(DecisionKind::Sleep, None));
    s
}

fn waiting() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.on(external(1));
    s.step().on(settled(1)).on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 0)).on(closed(ClosureOutcome::Completed));
    s.on(decided(DecisionKind::WaitForExternalChange, None));
    s
}

fn through_trigger(correlation: &str) -> WakeHintRecorded {
    let hint = Hint {
        external_trigger_id: Some(ExternalTriggerId(1)),
        correlation_id: Some(correlation.into()),
        wait_id: Some(WaitId(1)),
        ..Hint::new("mail", "it moved")
    };
    WakeHintRecorded { sequence: 1, hint, folded: None, folded_as: None }
}

/// The same through the trigger.
fn hinted() -> Script {
    let mut s = waiting();
    let (external_trigger_id, generation) = (ExternalTriggerId(1), 1);
    s.step().on(ExternalTriggerProvisioned { external_trigger_id, generation });
    let said = holon_facts::trigger::body_digest(&Hint::new("mail", "it moved"));
    let (source, delivery_mode) = ("mail".into(), DeliveryMode::WakeHint);
    s.on(ExternalTriggerDelivered {
        external_trigger_id,
        generation,
        delivery_mode,
        source,
        said,
        digest: None,
    });
    s.on(through_trigger("wait_1-secret"));
    s
}

/// A turn waits for an event; a recheck brings nothing; the event comes, and its turn waits for an operator, twice.
fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    for turn in 1..=3 {
        match turn {
            1 => {
                s.step().on(admitted(1, Priority::Normal));
            }
            2 => {
                while s.time() < Wall(DUE * 1_000_000) {
                    s.step();
                }
                let origin = Origin::System { subsystem: "recheck".into() };
                s.on(admitted_from(2, MessageKind::SystemTick, origin)).on(due(1, NEXT));
            }
            _ => {
                let origin = Origin::Webhook { source: "ci".into(), event_type: None };
                s.step().on(admitted_from(3, MessageKind::WebhookEvent, origin)).on(resolved(1, 3));
            }
        }
        s.begin(turn, turn, turn, turn);
        match turn {
            1 => s.on(external(1)),
            2 => &mut s,
            _ => s.on(operator(2)).on(cancelled(WaitEnd::Replaced)).on(operator(3)),
        };
        s.step().on(settled(turn)).on(processed(turn, Some(turn), Disposition::Processed));
        s.on(ended(turn, turn, turn, TurnKind::Completed, None, 0));
        s.on(closed(ClosureOutcome::Completed)).on(decided(DecisionKind::WaitForExternalChange, None));
    }
    s
}
