use alloc::vec::Vec;

use holon_facts::closure::{ClosureOutcome, WaitingReason};
use holon_facts::config::QueueLimits;
use holon_facts::decision::{DecisionKind, DecisionReason};
use holon_facts::event::operation::OpKind;
use holon_facts::event::work::{StallReason, WorkTick};
use holon_facts::event::{Event, SchedulingFact, WorkFact};
use holon_facts::ids::WorkItemId;
use holon_facts::message::Origin;
use holon_facts::model::{FailureKind, Item};
use holon_facts::provenance::MessageKind;
use holon_facts::time::Millis;
use holon_facts::work::{NewWorkItem, PlanStatus, WorkState};

use crate::handler::work::tests::{CREATE, PICK, facts, idle, plays, plays_into, turn};
use crate::input::{ControlRequest, Input};
use crate::testing::{
    World, agent, answers, calls, command, config, context, fails, ingress, prepared_for, prompt,
    tool_answers,
};

const FIRST: WorkItemId = WorkItemId(1);
const ABORT: ControlRequest = ControlRequest::Abort { run_id: None, stop_after_abort: false };
const SAYS: (&str, &str) =
    ("UpdateWorkItem", r#"{"work_item_id":"work_1","todo_list":[{"text":"look","state":"completed"}]}"#);

/// An agent with one item in focus.
fn at_work() -> World {
    let mut world = World::with_agent("main");
    turn(&mut world, &[&[CREATE], &[PICK]]);
    world
}

fn make(world: &mut World, objective: &str) {
    let (plan_status, todo_list) = (PlanStatus::Ready, Vec::new());
    let item = NewWorkItem { objective: objective.into(), plan_status, todo_list, plan: false };
    world.ask(|reply| Input::CreateWorkItem { agent: agent("main"), item, key: None, reply });
}

/// What the run in progress is for, when it is a tick of work.
fn ticks(world: &World) -> Option<WorkTick> {
    let run = world.agent("main").run.as_ref()?;
    let Origin::System { subsystem } = &run.about.incoming.origin else { return None };
    WorkTick::ALL.iter().copied().find(|tick| tick.name() == subsystem)
}

fn state(world: &World, item: u64) -> WorkState {
    world.agent("main").work.get(WorkItemId(item)).unwrap().state()
}

/// Milliseconds until the next deadline.
fn waits(world: &World) -> Option<u64> {
    world.host.next_deadline().map(|deadline| deadline.wait.0)
}

fn decided(world: &World) -> (DecisionKind, DecisionReason, u8) {
    let decision = world.agent("main").last_decision.as_ref().unwrap();
    (decision.kind, decision.reason, decision.row)
}

#[test]
fn an_item_in_focus_is_turned_to_until_it_stalls() {
    let mut world = at_work();
    let closure = world.agent("main").closure(world.host.facts().now);
    assert_eq!((closure.outcome, closure.row), (ClosureOutcome::Continuable, 6));
    for wait in [5_000, 60_000, 600_000] {
        assert_eq!(ticks(&world), Some(WorkTick::ContinueActive));
        assert_eq!(world.agent("main").run.as_ref().unwrap().about.work_item, Some(FIRST));
        idle(&mut world);
        assert_eq!(waits(&world), Some(wait));
        assert_eq!(decided(&world), (DecisionKind::WaitForTimer, DecisionReason::DeadlineArmed, 13));
        assert!(world.pass_to_deadline());
    }
    idle(&mut world);
    assert_eq!(state(&world, 1), WorkState::Stalled);
    assert_eq!(decided(&world), (DecisionKind::WaitForOperator, DecisionReason::Stalled, 12));
    assert_eq!(waits(&world), None);
    let brief = world.briefs().pop().unwrap();
    assert!(brief.contains("work_1 (no_progress)"), "{brief}");
}

#[test]
fn a_stall_is_what_an_operator_is_waited_for() {
    let mut world = at_work();
    for _ in 0..4 {
        idle(&mut world);
        world.pass_to_deadline();
    }
    let closure = world.agent("main").closure(world.host.facts().now);
    assert_eq!((closure.row, closure.waiting_reason), (2, Some(WaitingReason::AwaitingOperatorInput)));
    world.admit("main", prompt("try again"));
    idle(&mut world);
    assert_eq!(
        state(&world, 1),
        WorkState::Runnable,
        "an operator's turn sets it going, whatever it brought"
    );
    assert_eq!(world.agent("main").work.get(FIRST).unwrap().debt.turns, 1, "its own turn followed at once");
}

#[test]
fn progress_owes_the_next_turn_at_once_and_counts_anew() {
    let mut world = at_work();
    idle(&mut world);
    world.pass_to_deadline();
    assert_eq!(world.agent("main").work.get(FIRST).unwrap().debt.turns, 1);
    plays(&mut world, &[&[SAYS]]);
    assert_eq!(ticks(&world), Some(WorkTick::ContinueActive), "at once");
    let item = world.agent("main").work.get(FIRST).unwrap();
    assert_eq!((item.debt.turns, item.debt.until), (0, None));
}

#[test]
fn commands_are_progress_when_they_are_new() {
    let mut world = at_work();
    let mut makes = |name: &str| {
        world.prepares = false;
        world.complete("main", context());
        world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
        world.complete("main", prepared_for(command(name)));
        world.complete(
            "main",
            crate::testing::command_ends(holon_facts::outcome::CommandEnd::Exited, Some(0)),
        );
        world.complete("main", answers("made"));
        let ends = world.log.iter().rev().find_map(|record| {
            let Event::Turn(holon_facts::event::TurnFact::TurnTerminal(fact)) = &record.event else {
                return None;
            };
            Some(fact.progress)
        });
        if !ends.unwrap() {
            world.pass_to_deadline();
        }
        ends.unwrap()
    };
    assert!(makes("one"), "the first time");
    assert!(!makes("one"), "a repetition with the same end");
    assert!(makes("two"), "another command");
}

#[test]
fn items_beside_the_focus_are_mentioned_together() {
    let mut world = World::with_agent("main");
    make(&mut world, "first");
    make(&mut world, "second");
    assert_eq!(ticks(&world), Some(WorkTick::QueuedAvailable), "the first is told at once");
    idle(&mut world);
    let reported: Vec<_> = facts(&world)
        .into_iter()
        .filter_map(|fact| {
            let WorkFact::WorkTickQueued(fact) = fact else { return None };
            Some(fact.work_item_ids.len())
        })
        .collect();
    assert_eq!(reported, [1, 1], "the second was made while the first was told");
    world.pass_to_deadline();
    assert_eq!(ticks(&world), Some(WorkTick::QueuedAvailable));
    for _ in 0..3 {
        idle(&mut world);
        world.pass_to_deadline();
    }
    assert_eq!((state(&world, 1), state(&world, 2)), (WorkState::Stalled, WorkState::Stalled));
}

#[test]
fn a_pick_makes_a_mention_a_turn() {
    let mut world = World::with_agent("main");
    make(&mut world, "first");
    plays(&mut world, &[&[PICK]]);
    assert_eq!(ticks(&world), Some(WorkTick::ContinueActive));
    assert_eq!(world.agent("main").work.current().unwrap().id, FIRST);
}

#[test]
fn a_tick_is_stale_when_nothing_of_it_is_owed() {
    let mut world = at_work();
    // The tick's run is interrupted by a shutdown; the operator completes the item before it comes again.
    world.drain();
    world.crash();
    assert!(world.agent("main").run.is_none(), "an interrupted turn brought nothing: the next one waits");
    assert_eq!(waits(&world), Some(5_000));
    let queued = world.agent("main").inbox.queued_entries();
    assert_eq!(queued, 1, "the tick waits for its debt");
    world.ask(|reply| Input::CompleteWorkItem { agent: agent("main"), item: FIRST, reply });
    assert_eq!(world.agent("main").inbox.queued_entries(), 0);
    let stale = world.log.iter().any(|record| {
        matches!(&record.event, Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if decision.reason == DecisionReason::Stale && decision.kind == DecisionKind::ReduceMessageOnly)
    });
    assert!(stale && world.agent("main").run.is_none());
}

/// Whatever became of what it was for, the model learns what an interrupted turn has done.
#[test]
fn a_tick_whose_turn_has_done_something_is_not_passed_over() {
    let mut world = at_work();
    world.complete("main", context());
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"push"}"#)]));
    world.complete_one("main", OpKind::RunCommand, tool_answers("pushed"));
    let tick = world.agent("main").run.as_ref().unwrap().message;
    world.drain();
    world.crash();
    world.ask(|reply| Input::CompleteWorkItem { agent: agent("main"), item: FIRST, reply });
    assert_eq!(world.agent("main").run.as_ref().map(|run| run.message), Some(tick));
    world.complete("main", context());
    let request = world.requests.last().unwrap();
    let results = request.conversation.iter().filter(|item| matches!(item, Item::ToolResults { .. }));
    assert!(results.count() > 0, "it is shown what was pushed");
}

#[test]
fn what_a_tick_does_not_name_has_the_next_one() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("a long turn"));
    for number in 0..12 {
        make(&mut world, &alloc::format!("item {number}"));
    }
    for _ in 0..2 {
        world.complete("main", context());
        world.complete("main", answers("done"));
    }
    let named: Vec<usize> = facts(&world)
        .into_iter()
        .filter_map(|fact| {
            let WorkFact::WorkTickQueued(fact) = fact else { return None };
            Some(fact.work_item_ids.len())
        })
        .collect();
    assert_eq!(named, [10, 2]);
}

#[test]
fn other_messages_pass_a_tick_that_waits() {
    let mut world = at_work();
    world.crash();
    assert_eq!(world.agent("main").inbox.queued_entries(), 1);
    world.admit(
        "main",
        ingress(MessageKind::WebhookEvent, holon_facts::provenance::Priority::Background, "pushed"),
    );
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.incoming.kind, MessageKind::WebhookEvent);
    idle(&mut world);
    assert_eq!(waits(&world), Some(5_000), "a turn of another message moves nothing");
}

#[test]
fn an_abort_stalls_the_item_that_the_turn_has_picked_itself() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    plays_into(&mut world, &[&[CREATE], &[PICK]]);
    world.control("main", ABORT);
    assert_eq!(state(&world, 1), WorkState::Stalled);
    assert!(world.agent("main").run.is_none(), "it is not turned to again at once");
}

#[test]
fn an_abort_stalls_the_item_and_only_an_operator_or_a_pick_sets_it_going() {
    let mut world = at_work();
    world.control("main", ABORT);
    let stall = world.agent("main").work.get(FIRST).unwrap().stalled.clone().unwrap();
    assert_eq!(stall.reason, StallReason::Aborted);
    assert!(world.agent("main").run.is_none());
    world.admit(
        "main",
        ingress(MessageKind::WebhookEvent, holon_facts::provenance::Priority::Normal, "pushed"),
    );
    plays(&mut world, &[&[SAYS]]);
    assert_eq!(state(&world, 1), WorkState::Stalled, "progress is not enough");
    let mut other = world;
    turn(&mut other, &[&[PICK]]);
    assert_eq!(state(&other, 1), WorkState::Runnable);
}

#[test]
fn a_stop_stalls_nothing() {
    let mut world = at_work();
    world.control("main", ControlRequest::Stop);
    assert_eq!(state(&world, 1), WorkState::Runnable);
    assert_eq!(waits(&world), None);
    world.control("main", ControlRequest::Start);
    assert_eq!(ticks(&world), Some(WorkTick::ContinueActive));
}

#[test]
fn a_dropped_tick_stalls_what_it_told_of() {
    let mut world = at_work();
    for _ in 0..3 {
        world.crash();
        world.pass_to_deadline();
    }
    assert_eq!(state(&world, 1), WorkState::Stalled);
    let stall = world.agent("main").work.get(FIRST).unwrap().stalled.clone().unwrap();
    assert_eq!(stall.reason, StallReason::Dropped);
}

/// Ends the run in progress by a refusal for its length, the one after its recap included.
fn too_long(world: &mut World) {
    let run = world.agent("main").run.as_ref().map(|run| run.id);
    world.complete("main", context());
    while run.is_some() && world.agent("main").run.as_ref().map(|run| run.id) == run {
        world.complete("main", fails(FailureKind::ContextLength));
    }
}

#[test]
fn an_item_whose_turn_was_too_long_is_blocked_until_somebody_turns_to_it() {
    let blocked = || {
        let mut world = at_work();
        too_long(&mut world);
        world
    };
    let mut world = blocked();
    assert_eq!(state(&world, 1), WorkState::Blocked);
    let stall = world.agent("main").work.get(FIRST).unwrap().stalled.clone().unwrap();
    assert_eq!(stall.reason, StallReason::ContextLength);
    assert_eq!(decided(&world), (DecisionKind::WaitForOperator, DecisionReason::Stalled, 12));
    assert_eq!(waits(&world), None, "no ladder sets it going again");
    let brief = world.briefs().pop().unwrap();
    assert!(brief.contains("work_1 (context_length_exceeded)"), "{brief}");
    let pushed = || ingress(MessageKind::WebhookEvent, holon_facts::provenance::Priority::Normal, "pushed");
    world.admit("main", pushed());
    idle(&mut world);
    assert_eq!(state(&world, 1), WorkState::Blocked, "an event that brings nothing on is not enough");
    let mut picked = blocked();
    turn(&mut picked, &[&[PICK]]);
    assert_eq!(state(&picked, 1), WorkState::Runnable);
    let mut changed = blocked();
    changed.admit("main", pushed());
    plays(&mut changed, &[&[SAYS]]);
    assert_eq!(state(&changed, 1), WorkState::Runnable);
    world.admit("main", prompt("take half of it"));
    plays(&mut world, &[]);
    assert_eq!(ticks(&world), Some(WorkTick::ContinueActive), "an operator's word sets it going");
    too_long(&mut world);
    assert_eq!(state(&world, 1), WorkState::Blocked);
}

#[test]
fn nobody_outside_can_block_an_item_with_what_is_too_long() {
    let mut world = at_work();
    idle(&mut world);
    world.admit(
        "main",
        ingress(MessageKind::WebhookEvent, holon_facts::provenance::Priority::Normal, "pushed"),
    );
    too_long(&mut world);
    assert_eq!(state(&world, 1), WorkState::Runnable);
    world.admit("main", prompt("all of it"));
    too_long(&mut world);
    assert_eq!(state(&world, 1), WorkState::Blocked, "an operator's own turn says it, too");
}

#[test]
fn what_has_no_room_stays_owed() {
    let queue = QueueLimits { entries: 2, reserved_entries: 1, ..config().queue };
    let mut world = World::with_config("main", holon_facts::config::Config { queue, ..config() });
    world.admit("main", prompt("a long turn"));
    for _ in 0..7 {
        let tick = ingress(MessageKind::TaskResult, holon_facts::provenance::Priority::Next, "");
        let context = holon_facts::provenance::AdmissionContext::RuntimeOwned;
        world.send("main", holon_facts::message::Ingress { admission_context: context, ..tick });
    }
    make(&mut world, "first");
    let full = world.agent("main").inbox.totals().0;
    assert_eq!(full, 8);
    idle(&mut world);
    assert_eq!(world.agent("main").work.get(FIRST).unwrap().debt.turns, 1, "told once there was room");
}

#[test]
fn deferrals_move_with_the_clock() {
    let mut world = at_work();
    idle(&mut world);
    world.now.wall = holon_facts::time::Wall(world.now.wall.0 - 3_600_000_000);
    world.pass(Millis(1));
    assert!(waits(&world).unwrap() <= 5_000);
}
