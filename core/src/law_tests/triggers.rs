//! A ninth hand-made life, of a trigger, and ways to break the law about it.

use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::lifecycle::{AgentCreated, ControlApplied};
use holon_facts::event::wake::{
    ExternalTriggerDelivered, ExternalTriggerProvisioned, ExternalTriggerRevoked, WakeHintCoalesced,
    WakeHintRecorded,
};
use holon_facts::hint::Hint;
use holon_facts::ids::ExternalTriggerId;
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::trigger::DeliveryMode;

use super::facts::*;
use super::hints::hint;
use super::sabotage::{Case, Script};
use crate::testing::spec;

const TRIGGER: ExternalTriggerId = ExternalTriggerId(1);

fn case(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("A5", what, life(), sabotage)
}

fn of_sources(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("A5", what, sources(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("an address that was revoked wakes the agent", |s| {
            s.replace("external_trigger_delivered", 2, delivered(1, 9));
        }),
        case("an address that is to come wakes the agent", |s| {
            s.replace("external_trigger_delivered", 0, delivered(2, 7));
        }),
        case("one address takes the place of another that is in force", |s| {
            s.remove("external_trigger_revoked", 0);
        }),
        case("an address comes again", |s| {
            s.replace("external_trigger_provisioned", 1, provisioned(1));
        }),
        case("another address is revoked than the one in force", |s| {
            s.replace("external_trigger_revoked", 0, revoked(2));
        }),
        case("a stopped agent is woken", |s| {
            s.after("scheduler_posture_decision", 0, delivered(2, 9));
        }),
        case("nothing becomes of a delivery", |s| s.remove("wake_hint_recorded", 0)),
        case("a hint comes through a trigger that was not used", |s| {
            s.remove("external_trigger_delivered", 0);
        }),
        case("a body that came again is said to be new", |s| {
            s.replace("wake_hint_coalesced", 0, WakeHintCoalesced { sequence: 2, hint: through(false) });
        }),
        case("a body that is new is said to have come again", |s| {
            let (hint, folded) = (through(true), None);
            s.replace(
                "wake_hint_recorded",
                0,
                WakeHintRecorded { sequence: 1, hint, folded, folded_as: None },
            );
        }),
        of_sources("a delivery of one source repeats that of another", |s| {
            let (hint, folded) = (Hint { repeats: true, ..with_body("web") }, None);
            s.replace(
                "wake_hint_recorded",
                1,
                WakeHintRecorded { sequence: 2, hint, folded, folded_as: None },
            );
        }),
        of_sources("a delivery that came again is said to be new", |s| {
            s.replace("wake_hint_coalesced", 0, WakeHintCoalesced { sequence: 3, hint: with_body("ci") });
        }),
        of_sources("a delivery without a body is said to have come again", |s| {
            s.replace("wake_hint_coalesced", 2, WakeHintCoalesced { sequence: 5, hint: through(true) });
        }),
    ]
}

fn with_body(source: &str) -> Hint {
    Hint { body: Some(Text::short("passed")), external_trigger_id: Some(TRIGGER), ..hint(source) }
}

/// Two sources deliver the same; the first one does again, and then twice without a body.
fn sources() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() }).on(provisioned(1));
    for (sequence, source) in [(1, "ci"), (2, "web")] {
        let hint = with_body(source);
        s.step().on(told(source, 7));
        s.on(WakeHintRecorded { sequence, hint, folded: None, folded_as: None });
    }
    let again = Hint { repeats: true, ..with_body("ci") };
    for (sequence, digest, hint) in [(3, 7, again), (4, 8, through(false)), (5, 8, through(false))] {
        s.step().on(told("ci", digest)).on(WakeHintCoalesced { sequence, hint });
    }
    s
}

fn through(repeats: bool) -> Hint {
    Hint { external_trigger_id: Some(TRIGGER), repeats, ..hint("ci") }
}

fn provisioned(generation: u64) -> ExternalTriggerProvisioned {
    ExternalTriggerProvisioned { external_trigger_id: TRIGGER, generation }
}

fn revoked(generation: u64) -> ExternalTriggerRevoked {
    ExternalTriggerRevoked { external_trigger_id: TRIGGER, generation }
}

fn delivered(generation: u64, said: u64) -> ExternalTriggerDelivered {
    let (external_trigger_id, delivery_mode) = (TRIGGER, DeliveryMode::WakeHint);
    let source = "ci".into();
    ExternalTriggerDelivered { external_trigger_id, generation, delivery_mode, source, said, digest: None }
}

/// As this build records it.
fn told(source: &str, digest: u64) -> ExternalTriggerDelivered {
    ExternalTriggerDelivered { source: source.into(), digest: Some(digest), ..delivered(1, 7) }
}

/// As an earlier build recorded it: two deliveries say the same; the address is changed, one comes through the new one, and the agent is stopped.
fn life() -> Script {
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() }).on(provisioned(1));
    let hint = through(false);
    s.step().on(delivered(1, 7)).on(WakeHintRecorded {
        sequence: 1,
        hint: hint.clone(),
        folded: None,
        folded_as: None,
    });
    s.step()
        .on(delivered(1, 7))
        .on(WakeHintCoalesced { sequence: 2, hint: Hint { repeats: true, ..hint.clone() } });
    s.step().on(revoked(1)).on(provisioned(2));
    let lost_hints = [hint.source.clone()].into();
    s.step().on(delivered(2, 8)).on(WakeHintCoalesced { sequence: 3, hint });
    s.step().on(requested(ControlAction::Stop, Status::Booting));
    let stopped = applied(ControlAction::Stop, Status::Booting, Status::Stopped, None);
    s.on(ControlApplied { lost_hints, ..stopped });
    s.on(posture(Status::Booting, Status::Stopped));
    s
}
