//! A turn with interjections that a crash interrupts, as a host has written it, and ways to break the laws about what is
//! shown of them.

use alloc::vec::Vec;

use holon_facts::event::inbox::MessageRequeued;
use holon_facts::event::turn::TurnStarted;
use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, RunId, Seed};

use super::sabotage::{Case, Script};
use crate::testing::{World, agent, answers, calls, context, interjection, prompt, tool_answers};

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(life()), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = super::episodes::cases();
    cases.extend(super::summaries::cases());
    cases.extend(super::skills::cases());
    cases.extend(super::servers::cases());
    cases.extend(super::memory::cases());
    cases.extend([
        case("M2", "a run leaves a correction behind", |s| {
            let started = TurnStarted { interjected: Vec::new(), ..started(s, 1) };
            s.replace("turn_started", 1, started);
        }),
        case("M2", "corrections change places", |s| {
            let mut started = started(s, 1);
            started.interjected.reverse();
            s.replace("turn_started", 1, started);
        }),
        case("M2", "a correction waits for a turn of its own", |s| {
            let requeued = MessageRequeued { interjected_into: None, ..requeued(s, 0) };
            s.replace("message_requeued", 0, requeued);
        }),
        case("M2", "corrections wait in another order", |s| {
            let (first, second) = (requeued(s, 0), requeued(s, 1));
            s.replace("message_requeued", 0, second);
            s.replace("message_requeued", 1, first);
        }),
        case("M2", "a correction waits with another message", |s| {
            let requeued = MessageRequeued { interjected_into: Some(MessageId(2)), ..requeued(s, 0) };
            s.replace("message_requeued", 0, requeued);
        }),
        case("M2", "the last correction is not shown again", |s| {
            let requeued = MessageRequeued { carried_notes: 0, ..requeued(s, 2) };
            s.replace("message_requeued", 2, requeued);
        }),
        case("M10", "a restart changes the tags", |s| {
            let fence = Some(Fence::of(Seed(9), &agent("main"), RunId(9)));
            let started = TurnStarted { fence, ..started(s, 1) };
            s.replace("turn_started", 1, started);
        }),
        case("M10", "a restart forgets the tags", |s| {
            let started = TurnStarted { fence: None, ..started(s, 1) };
            s.replace("turn_started", 1, started);
        }),
        case("M10", "the tags of another turn are used again", |s| {
            let fence = started(s, 1).fence;
            let started = TurnStarted { fence, ..started(s, 2) };
            s.replace("turn_started", 2, started);
        }),
        case("Q4", "a correction is taken without what it corrects", |s| {
            let requeued = MessageRequeued { interjected_into: Some(MessageId(9)), ..requeued(s, 0) };
            s.replace("message_requeued", 0, requeued);
        }),
    ]);
    cases
}

fn started(script: &Script, nth: usize) -> TurnStarted {
    let Event::Turn(TurnFact::TurnStarted(fact)) = script.event("turn_started", nth) else { panic!() };
    (**fact).clone()
}

fn requeued(script: &Script, nth: usize) -> MessageRequeued {
    let Event::Inbox(InboxFact::MessageRequeued(fact)) = script.event("message_requeued", nth) else {
        panic!()
    };
    (**fact).clone()
}

/// One prompt is interjected before a round, one after it; a crash comes before anything else is asked.
fn life() -> Vec<holon_facts::Record> {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("migrate A"));
    world.admit("main", interjection("carefully"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world.admit("main", interjection("no, not that one: use B"));
    world.complete("main", tool_answers("a b"));
    world.crash();
    world.complete("main", context());
    world.complete("main", answers("B it is"));
    world.admit("main", prompt("thanks"));
    world.complete("main", context());
    world.complete("main", answers("done"));
    world.log
}
