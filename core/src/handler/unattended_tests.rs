use holon_facts::closure::ClosureOutcome;
use holon_facts::config::{Config, UnattendedPolicy};
use holon_facts::decision::{DeadlineReason, DecisionKind, DecisionReason};
use holon_facts::message::{Ingress, Origin};
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority};
use holon_facts::time::{Millis, Wall};

use crate::effect::Answer;
use crate::handler::work::tests::idle;
use crate::input::{ControlRequest, Input};
use crate::summary::SchedulingPosture;
use crate::testing::{World, agent, answers, calls, command, config, context, ingress, prepared_for, prompt};
use crate::view::RunVerdict;

/// What the agent leaves for itself.
pub(super) fn follow_up(world: &mut World) {
    let sent = ingress(MessageKind::InternalFollowup, Priority::Normal, "look again");
    let origin = Origin::System { subsystem: "follow_up".into() };
    world.admit("main", Ingress { origin, admission_context: AdmissionContext::RuntimeOwned, ..sent });
}

fn webhook(world: &mut World) {
    world.admit("main", ingress(MessageKind::WebhookEvent, Priority::Background, "it was merged"));
}

fn decided(world: &World) -> (DecisionKind, DecisionReason, u8) {
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    (decision.kind, decision.reason, decision.row)
}

fn works(world: &World) -> bool {
    world.agent("main").run.is_some()
}

/// Milliseconds until the next deadline.
fn waits(world: &World) -> Option<u64> {
    world.host.next_deadline().map(|deadline| deadline.wait.0)
}

/// So many turns that the agent causes itself and that bring nothing.
fn in_vain(world: &mut World, turns: u32) {
    for _ in 0..turns {
        follow_up(world);
        if !works(world) {
            world.pass_to_deadline();
        }
        idle(world);
    }
}

fn per_day(turns_per_day: u32) -> Config {
    Config { unattended: UnattendedPolicy { turns_per_day, ..UnattendedPolicy::default() }, ..config() }
}

#[test]
fn turns_in_vain_wait_longer_and_at_last_for_somebody() {
    let mut world = World::with_agent("main");
    in_vain(&mut world, 3);
    for wait in [5_000, 60_000, 600_000] {
        follow_up(&mut world);
        assert!(!works(&world));
        assert_eq!(waits(&world), Some(wait));
        assert_eq!(decided(&world), (DecisionKind::WaitForTimer, DecisionReason::DeadlineArmed, 13));
        assert!(world.host.view().settled(&agent("main"), Millis(wait - 1)));
        assert!(!world.host.view().settled(&agent("main"), Millis(wait)));
        assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForTimer));
        world.pass_to_deadline();
        idle(&mut world);
    }
    follow_up(&mut world);
    assert!(!works(&world));
    assert_eq!(decided(&world), (DecisionKind::WaitForOperator, DecisionReason::SelfHold, 5));
    assert_eq!(waits(&world), None);
    let brief = world.briefs().pop().unwrap();
    assert!(brief.contains("6 turns in a row") && brief.contains("holon agent start main"), "{brief}");
    let view = world.host.view();
    assert!(view.settled(&agent("main"), Millis::hours(1)));
    assert_eq!(view.verdict(&agent("main")), Some(RunVerdict::WaitingForOperator));
}

#[test]
fn whoever_speaks_from_outside_sets_it_going() {
    for speaks in [|world: &mut World| assert!(world.admit("main", prompt("go on")).0 > 0), webhook] {
        let mut world = World::with_agent("main");
        in_vain(&mut world, 6);
        follow_up(&mut world);
        speaks(&mut world);
        assert!(works(&world), "what somebody else causes waits for nothing");
        assert_eq!(world.agent("main").unattended.self_caused_turns, 0);
        idle(&mut world);
        assert_eq!(world.agent("main").inbox.totals().0, 0, "what waited has had its turn");
        assert_eq!(world.agent("main").unattended.self_caused_turns, 1);
    }
}

#[test]
fn a_start_sets_it_going() {
    let mut world = World::with_agent("main");
    in_vain(&mut world, 6);
    follow_up(&mut world);
    let Answer::Controlled(outcome) = world.control("main", ControlRequest::Start) else { panic!() };
    assert!(outcome.changed && works(&world));
    let Answer::Controlled(outcome) = world.control("main", ControlRequest::Start) else { panic!() };
    assert!(!outcome.changed, "there is nothing to be set going");
}

#[test]
fn what_was_queued_before_passes_a_self_hold() {
    let mut world = World::with_agent("main");
    in_vain(&mut world, 5);
    follow_up(&mut world);
    world.pass_to_deadline();
    webhook(&mut world);
    assert!(works(&world));
    for _ in 0..6 {
        follow_up(&mut world);
    }
    let first = world.agent("main").inbox.queued().next().unwrap();
    assert!(!world.agent("main").defers(first, world.now.wall), "the webhook cleared the count");
    while !matches!(decided(&world).1, DecisionReason::SelfHold) {
        idle(&mut world);
        world.pass_to_deadline();
    }
    let kinds: alloc::vec::Vec<_> =
        world.agent("main").inbox.queued().map(|entry| entry.message.kind).collect();
    assert!(!kinds.contains(&MessageKind::WebhookEvent), "{kinds:?}");
}

#[test]
fn progress_counts_anew_and_deferrals_move_with_the_clock() {
    let mut world = World::with_agent("main");
    in_vain(&mut world, 3);
    follow_up(&mut world);
    let wall = world.now.wall;
    world.now.wall = Wall(wall.0 - 7_200_000_000);
    world.step(Input::Tick);
    assert_eq!(waits(&world), Some(5_000), "as long as before");
    world.pass_to_deadline();
    world.complete("main", context());
    world.complete("main", calls(&[("", "CreateWorkItem", crate::handler::work::tests::CREATE.1)]));
    while world
        .agent("main")
        .run
        .as_ref()
        .is_some_and(|run| !run.conversation.rounds.last().unwrap().complete())
    {
        world.complete("main", crate::testing::tool_answers("made"));
    }
    world.complete("main", answers("done"));
    assert_eq!(world.agent("main").unattended.self_caused_turns, 0);
}

/// Begins a command that becomes a task, and lets that end.
fn task(world: &mut World, name: &str, id: &str) {
    use holon_facts::event::operation::OpKind;
    world.prepares = false;
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[(id, "ExecCommand", r#"{"cmd":"make","yield_time_ms":1000}"#)]));
    world.complete("main", prepared_for(command(name)));
    world.pass(Millis::seconds(10));
    world.complete_one("main", OpKind::PromoteCommand, crate::testing::tool_answers("so far"));
    world.complete_one("main", OpKind::CallModel, answers("it runs"));
    let end = holon_facts::outcome::CommandEnd::Exited;
    world.complete("main", crate::testing::command_ends(end, Some(0)));
}

#[test]
fn the_end_of_a_command_is_from_outside_unless_it_was_a_repetition() {
    let mut world = World::with_agent("main");
    task(&mut world, "make", "c1");
    assert!(!world.agent("main").run.as_ref().unwrap().about.own, "a command that was new");
    idle(&mut world);
    task(&mut world, "make", "c2");
    assert!(world.agent("main").run.as_ref().unwrap().about.own, "the same again");
    idle(&mut world);
    assert_eq!(world.agent("main").unattended.self_caused_turns, 1);
    task(&mut world, "test", "c3");
    assert!(!world.agent("main").run.as_ref().unwrap().about.own, "another one");
}

#[test]
fn a_day_has_so_many_turns_without_an_operator() {
    let mut world = World::with_config("main", per_day(2));
    for _ in 0..2 {
        follow_up(&mut world);
        idle(&mut world);
    }
    let brief = world.briefs().pop().unwrap();
    assert!(brief.contains("2 turns that neither an operator"), "{brief}");
    let (view, main) = (world.host.view(), agent("main"));
    let closure = world.agent("main").closure(world.now.wall);
    assert_eq!((closure.row, closure.outcome), (5, ClosureOutcome::Waiting), "the agent is held");
    assert_eq!(view.summary(&main).unwrap().scheduling_posture, SchedulingPosture::Blocked);
    follow_up(&mut world);
    assert!(!works(&world));
    assert_eq!(decided(&world), (DecisionKind::WaitForTimer, DecisionReason::UnattendedTurns, 5));
    assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForTimer));
    world.admit("main", prompt("now"));
    assert!(works(&world), "an operator waits for nothing");
    world.complete("main", context());
    world.complete("main", answers("done"));
    assert!(!works(&world));
    let day = world.now.wall.day();
    world.pass_to_deadline();
    assert!(works(&world) && world.now.wall.day() == day + 1, "the next day");
    idle(&mut world);
    assert_eq!(world.agent("main").unattended.turns_of_day, 1);
}

#[test]
fn a_higher_limit_goes_on_at_the_next_start() {
    let mut world = World::with_config("main", per_day(1));
    follow_up(&mut world);
    idle(&mut world);
    follow_up(&mut world);
    assert!(!works(&world));
    world.restart(per_day(1));
    assert!(!works(&world));
    let waits_for_day = |world: &World| {
        let deadlines = world.host.view().explain(&agent("main")).unwrap().deadlines;
        deadlines.iter().any(|due| due.reason == DeadlineReason::UnattendedTurns)
    };
    assert!(waits_for_day(&world));
    world.restart(per_day(2));
    assert!(!waits_for_day(&world));
    world.step(Input::Tick);
    assert!(works(&world));
    idle(&mut world);
    follow_up(&mut world);
    assert!(!works(&world), "the higher limit is one too");
}

#[test]
fn a_turn_that_dies_again_and_again_waits() {
    let mut world = World::with_config("main", {
        let mut config = config();
        config.queue.crashes = 100;
        config
    });
    follow_up(&mut world);
    for _ in 0..3 {
        assert!(works(&world));
        world.crash();
    }
    assert!(!works(&world));
    assert_eq!(waits(&world), Some(5_000));
}
