//! Which of a turn's models a round asks first.

use alloc::vec::Vec;

use holon_facts::event::{Event, TurnFact};
use holon_facts::model::{FailureKind, PROBE};
use holon_facts::time::Millis;

use crate::testing::{World, answers, calls, context, fails, prompt, tool_answers};

/// A turn whose first model is away, so that the second one answers.
fn fallen_back() -> World {
    let mut config = crate::testing::config();
    config.turn.model_timeout = Millis::hours(1);
    let mut world = World::new(config);
    world.create("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", fails(FailureKind::Auth));
    round(&mut world);
    world
}

/// The model calls a tool, which takes no time.
fn round(world: &mut World) {
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world.complete("main", tool_answers("a file"));
}

fn asked(world: &World) -> Vec<&str> {
    world.requests.iter().map(|request| request.model.model()).collect()
}

#[test]
fn rounds_ask_the_candidate_first_that_answered() {
    let mut world = fallen_back();
    assert_eq!(asked(&world), ["one", "two", "two"], "the dead one is not asked again");
    world.complete("main", fails(FailureKind::Auth));
    assert_eq!(asked(&world).last(), Some(&"one"), "the other one may be back");
    world.complete("main", fails(FailureKind::Client));
    assert!(world.agent("main").run.is_none(), "each is asked once in a round");
    world.admit("main", prompt("again"));
    world.complete("main", context());
    assert_eq!(asked(&world).last(), Some(&"one"), "another turn tries it again");
}

#[test]
fn a_long_turn_looks_now_and_then_whether_the_first_one_is_back() {
    let mut world = fallen_back();
    world.pass(PROBE);
    round(&mut world);
    assert_eq!(asked(&world), ["one", "two", "two", "one"]);
    // Once, and no more for the same time.
    world.complete("main", fails(FailureKind::Server));
    assert_eq!(asked(&world).last(), Some(&"two"));
    let probe = world.log.iter().rev().find_map(|record| {
        let Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) = &record.event else { return None };
        Some(&fact.attempt)
    });
    let probe = probe.unwrap();
    assert_eq!((probe.max_attempts, probe.backoff_ms, probe.advanced_to_fallback), (1, None, true));
    round(&mut world);
    world.pass(Millis(PROBE.0 - 1));
    round(&mut world);
    assert_eq!(asked(&world)[4..], ["two", "two", "two"]);
    world.pass(Millis(1));
    round(&mut world);
    assert_eq!(asked(&world).last(), Some(&"one"));
    // It is back, and stays.
    round(&mut world);
    assert_eq!(asked(&world).last(), Some(&"one"));
    world.complete("main", answers("done"));
    assert!(world.agent("main").run.is_none());
}

#[test]
fn a_look_that_fails_with_all_others_is_an_outage() {
    let mut world = fallen_back();
    world.pass(PROBE);
    round(&mut world);
    world.complete("main", fails(FailureKind::Server));
    for _ in 0..3 {
        world.complete("main", fails(FailureKind::Server));
        world.pass(Millis::seconds(1));
    }
    assert_eq!(asked(&world), ["one", "two", "two", "one", "two", "two", "two"]);
    assert!(world.agent("main").hold.is_some() && world.agent("main").run.is_none());
}
