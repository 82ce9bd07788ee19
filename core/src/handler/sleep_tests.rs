use alloc::vec::Vec;

use holon_facts::closure::{ClosureOutcome, WaitingReason};
use holon_facts::config::{Config, QueueLimits};
use holon_facts::decision::{DecisionKind, DecisionReason};
use holon_facts::event::{Event, TurnFact};
use holon_facts::message::Origin;
use holon_facts::time::Millis;

use crate::handler::work::tests::{CREATE, PICK, idle, turn};
use crate::input::ControlRequest;
use crate::testing::{World, agent, answers, calls, config, context, interjection, prompt};
use crate::view::RunVerdict;

const MINUTES: (&str, &str) = ("Sleep", r#"{"reason":"the build is slow","duration_ms":600000}"#);
const SECONDS: (&str, &str) = ("Sleep", r#"{"duration_ms":2000}"#);
const REST: (&str, &str) = ("Sleep", "{}");

/// Lets the model make these calls in one round, and says whether the turn goes on.
fn makes(world: &mut World, round: &[(&str, &str)]) -> bool {
    world.complete("main", context());
    let made: Vec<_> = round.iter().map(|(tool, arguments)| ("", *tool, *arguments)).collect();
    let run = world.agent("main").run.as_ref().map(|run| run.id);
    world.complete("main", calls(&made));
    world.agent("main").run.as_ref().map(|run| run.id) == run
}

fn sleeps(world: &mut World, call: (&str, &str)) {
    world.admit("main", prompt("watch the build"));
    assert!(!makes(world, &[call]), "its turn ends");
}

fn decided(world: &World) -> (DecisionKind, DecisionReason, u8) {
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    (decision.kind, decision.reason, decision.row)
}

fn woken(world: &World) -> bool {
    let run = world.agent("main").run.as_ref();
    run.is_some_and(
        |run| matches!(&run.about.incoming.origin, Origin::System { subsystem } if subsystem == "sleep_elapsed"),
    )
}

fn errors(world: &World) -> Vec<(&'static str, &str)> {
    let failed = world.log.iter().filter_map(|record| {
        let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
        fact.receipt.error.as_ref().map(|error| (error.kind.name(), error.message.preview()))
    });
    failed.collect()
}

/// However long the reason is, its tick takes no more than others, for which a queue keeps the space.
#[test]
fn a_long_reason_wakes_with_its_beginning() {
    let queue = QueueLimits { bytes: 100, reserved_bytes: 0, ..config().queue };
    let mut world = World::with_config("main", Config { queue, ..config() });
    let call = format!(r#"{{"reason":"{}","duration_ms":600000}}"#, "slow ".repeat(100));
    sleeps(&mut world, ("Sleep", &call));
    world.pass_to_deadline();
    assert!(woken(&world));
}

#[test]
fn who_sleeps_is_woken_in_time() {
    let mut world = World::with_agent("main");
    sleeps(&mut world, MINUTES);
    let closure = world.agent("main").closure(world.now.wall);
    assert_eq!((closure.row, closure.waiting_reason), (5, Some(WaitingReason::AwaitingTimer)));
    assert_eq!(decided(&world), (DecisionKind::WaitForTimer, DecisionReason::DeadlineArmed, 13));
    let view = world.host.view();
    assert_eq!(view.verdict(&agent("main")), Some(RunVerdict::WaitingForTimer));
    assert!(view.settled(&agent("main"), Millis::seconds(599)));
    assert!(!view.settled(&agent("main"), Millis::seconds(600)));
    assert_eq!(view.explain(&agent("main")).unwrap().sleep.unwrap().reason.unwrap(), "the build is slow");
    world.pass_to_deadline();
    assert!(woken(&world));
    let body = world.agent("main").run.as_ref().unwrap().about.incoming.body.text.preview();
    assert!(body.contains("the build is slow"), "{body}");
    world.crash();
    assert!(woken(&world), "a crash takes nothing from it");
    idle(&mut world);
    assert!(world.agent("main").sleep.is_none());
    assert_eq!(world.agent("main").closure(world.now.wall).outcome, ClosureOutcome::Completed);
}

#[test]
fn whatever_comes_before_wakes_it() {
    let mut world = World::with_agent("main");
    sleeps(&mut world, MINUTES);
    world.admit("main", prompt("what is it?"));
    assert!(world.agent("main").sleep.is_none());
    idle(&mut world);
    assert!(!world.pass_to_deadline(), "nothing is left of it");
}

#[test]
fn what_work_is_owed_waits_as_long() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[CREATE], &[PICK]]);
    assert!(!makes(&mut world, &[MINUTES]), "the item's own turn");
    assert!(world.agent("main").run.is_none());
    let deadline = world.host.next_deadline().unwrap();
    assert_eq!(deadline.wait, Millis::seconds(600), "not the 5 s of a turn without progress");
    world.pass_to_deadline();
    assert!(woken(&world), "one turn for both");
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.work_item.map(|id| id.0), Some(1));
}

#[test]
fn nobody_rests_for_ever_over_work_that_can_be_done() {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[CREATE], &[PICK], &[REST]]);
    let refused = errors(&world);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].0 == "invalid_tool_input" && refused[0].1.contains("work_1"), "{refused:?}");
    let mut world = World::with_agent("main");
    sleeps(&mut world, REST);
    assert_eq!(decided(&world), (DecisionKind::Sleep, DecisionReason::NothingPending, 14));
    assert!(world.agent("main").sleep.as_ref().is_some_and(|sleep| sleep.until.is_none()));
}

#[test]
fn other_calls_of_the_round_are_made_and_an_interjection_keeps_it_awake() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("watch the build"));
    assert!(!makes(&mut world, &[MINUTES, CREATE]) || world.agent("main").run.is_some());
    world.complete("main", crate::testing::tool_answers("made"));
    assert!(world.agent("main").run.is_none(), "the turn ends after the last of them");
    assert_eq!(world.agent("main").work.open_count(), 1);

    let mut world = World::with_agent("main");
    world.admit("main", prompt("watch the build"));
    world.complete("main", context());
    world.admit("main", interjection("stay here"));
    world.complete("main", calls(&[("", MINUTES.0, MINUTES.1)]));
    assert!(world.agent("main").run.is_some(), "it hears that first");
    world.complete("main", answers("I stay"));
    assert!(world.agent("main").run.is_none());
}

#[test]
fn a_start_wakes_it() {
    let mut world = World::with_agent("main");
    sleeps(&mut world, MINUTES);
    let crate::effect::Answer::Controlled(outcome) = world.control("main", ControlRequest::Start) else {
        panic!()
    };
    assert!(outcome.changed && world.agent("main").sleep.is_none());
}

#[test]
fn short_naps_are_counted_and_long_ones_are_not() {
    for (call, ends) in [(SECONDS, true), (MINUTES, false)] {
        let mut world = World::with_agent("main");
        sleeps(&mut world, call);
        let mut turns = 0;
        while world.pass_to_deadline() && turns < 20 {
            // It may have to wait again.
            if world.agent("main").run.is_some() {
                assert!(!makes(&mut world, &[call]));
                turns += 1;
            }
        }
        assert_eq!(turns < 20, ends, "{turns} turns");
        assert_eq!(world.agent("main").unattended.self_hold, ends);
    }
}

#[test]
fn the_end_of_a_sleep_is_stale_once_another_turn_has_begun() {
    let mut held = World::with_config("main", {
        let mut config = config();
        config.limits.concurrent_turns = 1;
        config
    });
    sleeps(&mut held, SECONDS);
    held.create("other");
    held.admit("other", prompt("take the slot"));
    held.pass(Millis::seconds(3));
    assert_eq!(held.agent("main").inbox.queued_entries(), 1, "its end waits for a slot");
    held.admit("main", prompt("what is it?"));
    held.complete("other", context());
    held.complete("other", answers("done"));
    idle(&mut held);
    assert_eq!(held.agent("main").inbox.queued_entries(), 0);
    let kinds: Vec<_> = held.kinds(0).into_iter().filter(|kind| *kind == "turn_started").collect();
    assert_eq!(kinds.len(), 3, "the prompt's turn is enough");
}
