use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::{Config, QueueLimits, TaskLimits};
use holon_facts::content::{ContentId, Text};
use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, TurnFact};
use holon_facts::frame::Part;
use holon_facts::ids::TaskId;
use holon_facts::lifecycle::Status;
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::outcome::{CommandEnd, Outcome};
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::receipt::ToolErrorKind;
use holon_facts::reject::Reject;
use holon_facts::task::TaskStatus;
use holon_facts::time::Millis;

use crate::agent::task::{KEPT, Task};
use crate::effect::{Answer, Retrieval, TaskWork};
use crate::handler::work::tests::idle;
use crate::input::{ControlRequest, Input};
use crate::recovery::Found;
use crate::testing::{
    World, agent, answers, calls, command, command_ends, config, context, ingress, long, prepared_for,
    prompt, tool_answers,
};

const MAKE: (&str, &str, &str) = ("", "ExecCommand", r#"{"cmd":"make"}"#);

/// An agent whose command is executed.
fn executing(config: Config) -> World {
    let mut world = World::with_config("main", config);
    world.admit("main", prompt("build"));
    world.complete("main", context());
    world.complete("main", calls(&[MAKE]));
    world
}

/// … and whose call has waited long enough.
fn promoted() -> World {
    let mut world = executing(config());
    promote(&mut world);
    world
}

fn promote(world: &mut World) {
    world.pass(Millis::seconds(10));
    world.complete_one("main", OpKind::PromoteCommand, tool_answers("it goes on"));
}

fn task(world: &World, number: u64) -> &Task {
    world.agent("main").tasks.get(TaskId(number)).expect("a task")
}

fn statuses(world: &World) -> Vec<TaskStatus> {
    let tasks = &world.agent("main").tasks;
    tasks.active().chain(tasks.ended()).map(|task| task.status).collect()
}

fn end(world: &mut World, end: CommandEnd, status: Option<i32>) {
    world.complete_one("main", OpKind::RunCommand, command_ends(end, status));
}

/// What waits in the queue, and whether its agent knows it.
fn queued(world: &World) -> Vec<(MessageKind, bool)> {
    world.agent("main").inbox.queued().map(|entry| (entry.message.kind, entry.known)).collect()
}

/// The results of calls so far.
fn results(world: &World) -> Vec<&str> {
    let delivered = |record: &'_ holon_facts::Record| match &record.event {
        Event::Turn(TurnFact::ToolExecuted(fact)) => fact.receipt.content.clone(),
        Event::Turn(TurnFact::ToolExecutionFailed(fact)) => {
            fact.receipt.error.as_ref().map(|error| error.message.clone())
        }
        Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Turn(_)
        | Event::Operation(_)
        | Event::Task(_)
        | Event::Timer(_)
        | Event::Work(_)
        | Event::Wait(_)
        | Event::Wake(_)
        | Event::Outbox(_)
        | Event::Workspace(_)
        | Event::Brief(_)
        | Event::Episode(_)
        | Event::Skill(_) => None,
    };
    let texts: Vec<_> = world.log.iter().filter_map(delivered).collect();
    texts
        .into_iter()
        .map(|text| &*alloc::boxed::Box::leak(String::from(text.preview()).into_boxed_str()))
        .collect()
}

/// A call that waits for the end of a task is over with its process, although a start finds that end.
#[test]
fn nobody_goes_on_with_a_wait_that_a_crash_cut_short() {
    let mut world = promoted();
    world.complete_one("main", OpKind::CallModel, calls(&[("", "TaskOutput", r#"{"task_id":"task_1"}"#)]));
    assert!(world.agent("main").ops.values().any(|open| open.kind == OpKind::AwaitTask));
    let Outcome::Tool { outcome } = command_ends(CommandEnd::Exited, Some(0)) else { panic!() };
    world.found = [(agent("main"), Found::Ended { outcome: outcome.into() })].into();
    world.crash();
    let agent = world.agent("main");
    assert!(agent.tasks.active().next().is_none());
    assert!(agent.ops.values().all(|open| open.kind == OpKind::LoadContext), "{:?}", agent.ops);
}

/// What had no room when it came, nor when the turn before it ended, is told once the queue gives it some.
#[test]
fn an_end_that_has_no_room_is_told_when_the_queue_has_some() {
    let queue = QueueLimits { bytes: 100, reserved_bytes: 0, ..config().queue };
    let mut world = World::with_config("main", Config { queue, ..config() });
    let main = || agent("main");
    world.later(|reply| Input::RunTask {
        agent: main(),
        arguments: Text::short(r#"{"cmd":"make"}"#),
        key: None,
        reply,
    });
    world.admit("main", prompt("go"));
    let notice = ingress(MessageKind::BriefAck, Priority::Normal, "");
    let body = holon_facts::message::Body { text: long(1, 98), ..notice.body };
    let admission_context = holon_facts::provenance::AdmissionContext::RuntimeOwned;
    world.admit("main", holon_facts::message::Ingress { body, admission_context, ..notice });
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Exited, Some(0)));
    let undelivered = |world: &World| world.agent("main").tasks.undelivered().count();
    assert_eq!(undelivered(&world), 1, "evidence may take four times the room, and that is full");
    world.complete("main", context());
    world.complete("main", answers("done"));
    assert_eq!(undelivered(&world), 0);
}

#[test]
fn a_command_that_takes_long_goes_on_and_brings_its_result() {
    let mut world = promoted();
    assert_eq!(statuses(&world), [TaskStatus::Running]);
    assert_eq!(results(&world), ["it goes on"]);
    assert!(world.agent("main").run.is_some(), "the turn goes on, too");
    world.complete_one("main", OpKind::CallModel, answers("started"));
    assert_eq!(world.agent("main").status, Status::Asleep);
    assert!(world.host.next_deadline().is_none(), "a task may take for ever");
    end(&mut world, CommandEnd::Exited, Some(3));
    assert_eq!(statuses(&world), [TaskStatus::Failed]);
    let message = task(&world, 1).end.as_ref().unwrap().delivered_by.unwrap();
    let run = world.agent("main").run.as_ref().unwrap();
    assert_eq!((run.message, run.about.incoming.kind), (message, MessageKind::TaskResult));
    world.complete("main", context());
    let request = world.requests.last().unwrap();
    let Some(holon_facts::model::Item::User { parts }) = request.conversation.last() else { panic!() };
    let shown: String = parts.iter().map(Part::preview).collect();
    assert!(shown.contains("[task task_1 | failed, exit status 3]\n<quoted-"), "{shown}");
    assert!(shown.contains(">\ntask: make\n\nits output\n</quoted-"), "{shown}");
}

#[test]
fn one_that_ends_before_its_call_is_told_is_no_task() {
    let mut world = executing(config());
    world.pass(Millis::seconds(10));
    world.complete_one("main", OpKind::RunCommand, tool_answers("just in time"));
    assert!(world.agent("main").tasks.is_empty());
    assert_eq!(results(&world), ["just in time"]);
    assert_eq!(world.waits_for("main"), Some(OpKind::CallModel));
}

#[test]
fn output_that_can_t_be_read_in_time_costs_nothing_but_itself() {
    let mut world = executing(config());
    world.pass(Millis::seconds(10));
    world.pass(Millis::seconds(10));
    assert_eq!(statuses(&world), [TaskStatus::Running]);
    assert!(results(&world)[0].contains(r#""disposition":"promoted_to_task""#));
    serde_json::from_str::<serde_json::Value>(results(&world)[0]).unwrap();
}

#[test]
fn whatever_a_start_finds_is_told_once() {
    for (found, status, kind) in [
        (Found::Lost, TaskStatus::Interrupted, Some(MessageKind::SystemTick)),
        (Found::NotStarted, TaskStatus::Interrupted, Some(MessageKind::SystemTick)),
        (Found::Running, TaskStatus::Running, None),
        (ended(), TaskStatus::Completed, Some(MessageKind::TaskResult)),
    ] {
        let mut world = promoted();
        world.complete_one("main", OpKind::CallModel, answers("started"));
        world.found = [(agent("main"), found.clone())].into();
        world.crash();
        world.crash();
        assert_eq!(statuses(&world), [status], "{found:?}");
        let run = world.agent("main").run.as_ref().map(|run| run.about.incoming.kind);
        assert_eq!((run, world.agent("main").inbox.totals().0), (kind, u64::from(kind.is_some())));
    }
}

fn ended() -> Found {
    let Outcome::Tool { outcome } = command_ends(CommandEnd::Exited, Some(0)) else { panic!() };
    Found::Ended { outcome: outcome.into() }
}

#[test]
fn the_command_of_an_interrupted_call_goes_on_as_a_task() {
    let mut world = executing(config());
    world.found = [(agent("main"), Found::Running)].into();
    world.crash();
    assert_eq!(statuses(&world), [TaskStatus::Running]);
    assert!(results(&world)[0].contains(r#""task_id":"task_1""#), "{:?}", results(&world));
    end(&mut world, CommandEnd::Exited, Some(0));
    assert_eq!(queued(&world), [(MessageKind::TaskResult, false)]);
    let mut world = executing(config());
    world.drain();
    assert_eq!(statuses(&world), [TaskStatus::Running]);
    assert!(world.agent("main").run.is_none() && world.stops.is_empty());
}

#[test]
fn a_request_to_end_becomes_a_demand_and_then_is_over() {
    let mut world = promoted();
    stop(&mut world, false);
    assert_eq!((statuses(&world), world.stops.len()), (Vec::from([TaskStatus::Cancelling]), 1));
    stop(&mut world, false);
    assert_eq!(world.stops.len(), 1, "asked before");
    world.pass(Millis::seconds(20));
    assert!(world.stops[1].2 && task(&world, 1).stop.as_ref().unwrap().force);
    world.pass(Millis::seconds(15));
    assert_eq!(statuses(&world), [TaskStatus::Interrupted]);
    assert_eq!(queued(&world), [(MessageKind::TaskResult, false)]);
    let mut world = promoted();
    stop(&mut world, true);
    end(&mut world, CommandEnd::Stopped, None);
    assert_eq!(statuses(&world), [TaskStatus::Cancelled]);
    world.pass(Millis::hours(1));
    assert_eq!(world.stops.len(), 1);
    assert!(matches!(stop(&mut world, true), Answer::Task { changed: false, .. }), "it has ended");
}

fn stop(world: &mut World, force: bool) -> Answer {
    world.ask(|reply| Input::StopTask { agent: agent("main"), task: TaskId(1), force, reply })
}

#[test]
fn a_stop_of_the_agent_ends_its_tasks_and_a_start_tells_of_them_together() {
    let mut world = promoted();
    world.complete_one("main", OpKind::CallModel, answers("started"));
    let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
    assert_eq!(outcome.cancelling_tasks, [TaskId(1)]);
    end(&mut world, CommandEnd::Stopped, None);
    assert_eq!(queued(&world), [], "it is stopped");
    world.control("main", ControlRequest::Start);
    let run = world.agent("main").run.as_ref().unwrap();
    assert_eq!(
        (run.about.incoming.kind, run.about.incoming.priority),
        (MessageKind::SystemTick, Priority::Next)
    );
    assert_eq!(task(&world, 1).end.as_ref().unwrap().delivered_by, Some(run.message));
}

/// An agent that reads the output of its running task.
fn reading(arguments: &str) -> World {
    let mut world = promoted();
    let read = ("", "TaskOutput", arguments);
    world.complete_one("main", OpKind::CallModel, calls(&[read]));
    world
}

fn shown(world: &World) -> Vec<Retrieval> {
    let works = world.works.iter().filter_map(|work| match work {
        TaskWork::Output { retrieval, .. } => Some(*retrieval),
        TaskWork::Promote { .. }
        | TaskWork::AlreadyRunning { .. }
        | TaskWork::Input { .. }
        | TaskWork::Stop { .. } => None,
    });
    works.collect()
}

#[test]
fn a_result_that_a_turn_has_shown_needs_no_other() {
    let mut world = reading(r#"{"task_id":"task_1"}"#);
    assert_eq!(shown(&world), []);
    end(&mut world, CommandEnd::Exited, Some(0));
    assert_eq!(shown(&world), [Retrieval::Success]);
    assert_eq!(queued(&world), [(MessageKind::TaskResult, false)]);
    world.complete_one("main", OpKind::CallTool, tool_answers("all of it"));
    assert_eq!(queued(&world), [(MessageKind::TaskResult, true)]);
    let runs = world.agent("main").next.run;
    world.complete_one("main", OpKind::CallModel, answers("done"));
    assert_eq!((world.agent("main").status, world.agent("main").next.run), (Status::Asleep, runs));
}

#[test]
fn a_wait_for_a_task_is_bounded_and_a_look_waits_for_nothing() {
    let mut world = reading(r#"{"task_id":"task_1","timeout_ms":5000}"#);
    world.pass(Millis::seconds(5));
    assert_eq!(shown(&world), [Retrieval::Timeout]);
    end(&mut world, CommandEnd::Exited, Some(0));
    world.complete_one("main", OpKind::CallTool, tool_answers("so far"));
    assert_eq!(queued(&world), [(MessageKind::TaskResult, false)], "what was shown was not its end");
    assert_eq!(shown(&reading(r#"{"task_id":"task_1","block":false}"#)), [Retrieval::NotReady]);
    let unknown = reading(r#"{"task_id":"task_9"}"#);
    assert_eq!(results(&unknown)[1], "there is no task task_9");
}

#[test]
fn an_agent_that_ends_its_task_knows_it() {
    let mut world = promoted();
    world.complete_one("main", OpKind::CallModel, calls(&[("", "TaskStop", r#"{"task_id":"task_1"}"#)]));
    world.complete_one("main", OpKind::CallTool, tool_answers("asked"));
    end(&mut world, CommandEnd::Stopped, None);
    assert_eq!(queued(&world), [(MessageKind::TaskResult, true)]);
    let mut world = promoted();
    world.complete_one("main", OpKind::CallModel, calls(&[("", "TaskStop", r#"{"task_id":"task_1"}"#)]));
    end(&mut world, CommandEnd::Exited, Some(0));
    assert_eq!(queued(&world), [(MessageKind::TaskResult, false)], "it had ended by itself");
}

#[test]
fn an_equal_command_is_not_started_beside_one_that_runs() {
    let mut world = promoted();
    world.complete_one("main", OpKind::CallModel, calls(&[MAKE]));
    assert!(matches!(world.works.last(), Some(TaskWork::AlreadyRunning { task }) if task.id == TaskId(1)));
    world.complete_one("main", OpKind::CallTool, tool_answers("it runs"));
    stop(&mut world, false);
    world.complete_one("main", OpKind::CallModel, calls(&[MAKE]));
    assert_eq!(world.agent("main").commands(), 2, "one that is to end is no other");
}

#[test]
fn there_are_only_so_many() {
    let tasks = TaskLimits { per_agent: 1, ..config().tasks };
    let mut world = executing(Config { tasks, ..config() });
    promote(&mut world);
    world.complete_one("main", OpKind::CallModel, calls(&[MAKE]));
    assert!(results(&world)[1].contains("limits.tasks_per_agent"), "{:?}", results(&world));
    let Answer::Refused { reject: Reject::CommandRefused { error } } = world.ask(|reply| Input::RunTask {
        agent: agent("main"),
        arguments: Text::short("{}"),
        key: None,
        reply,
    }) else {
        panic!()
    };
    assert_eq!(error.kind, ToolErrorKind::LimitReached);
    let tasks = TaskLimits { running: 1, ..config().tasks };
    let mut world = executing(Config { tasks, ..config() });
    world.create("other");
    world.admit("other", prompt("build"));
    world.complete_one("other", OpKind::LoadContext, context());
    world.complete_one("other", OpKind::CallModel, calls(&[MAKE]));
    assert!(results(&world)[0].contains("limits.tasks)"), "{:?}", results(&world));
}

#[test]
fn an_operator_is_answered_when_the_command_has_the_word() {
    let mut world = World::with_agent("main");
    world.prepares = false;
    let run = |reply| Input::RunTask { agent: agent("main"), arguments: Text::short("{}"), key: None, reply };
    let reply = world.later(run);
    assert_eq!(world.answer(reply), None);
    world.complete_one("main", OpKind::PrepareCommand, prepared_for(command("serve")));
    let Some(Answer::Task { task, changed: true }) = world.answer(reply) else { panic!() };
    assert_eq!((task.id, task.status, task.parent_message_id), (TaskId(1), TaskStatus::Running, None));
    let reply = world.later(|reply| Input::WriteTask {
        agent: agent("main"),
        task: TaskId(1),
        text: Text::short("y"),
        reply,
    });
    end(&mut world, CommandEnd::Exited, Some(0));
    let Some(Answer::TaskInput { input, .. }) = world.answer(reply) else { panic!() };
    assert!(!input.accepted_input && input.problem.is_some());
    let reply = world.later(run);
    world.control("main", ControlRequest::Stop);
    let stopped = Answer::Refused { reject: Reject::AgentStopped { agent: agent("main") } };
    assert_eq!(world.answer(reply), Some(stopped));
}

/// So many commands of an operator, one after another.
fn commands(world: &mut World, count: usize) {
    for _ in 0..count {
        begin(world);
        end(world, CommandEnd::Exited, Some(0));
    }
}

fn begin(world: &mut World) {
    world.later(|reply| Input::RunTask {
        agent: agent("main"),
        arguments: Text::short("{}"),
        key: None,
        reply,
    });
    world.complete_one("main", OpKind::PrepareCommand, prepared_for(command("true")));
}

#[test]
fn a_key_starts_one_command() {
    let mut world = World::with_agent("main");
    world.prepares = false;
    let run = |world: &mut World, payload: u8| {
        let key = Some(Idempotency { key: "a".into(), payload: ContentId([payload; 32]) });
        let arguments = Text::short("{}");
        world.later(|reply| Input::RunTask { agent: agent("main"), arguments, key, reply })
    };
    let made = Made::Task(TaskId(1));
    let first = run(&mut world, 1);
    let again = run(&mut world, 1);
    let spent = Answer::Refused { reject: Reject::KeySpent { made } };
    assert_eq!(world.answer(again), None, "it is waited for");
    world.complete_one("main", OpKind::PrepareCommand, prepared_for(command("serve")));
    assert!(matches!(world.answer(first), Some(Answer::Task { changed: true, .. })));
    assert!(matches!(world.answer(again), Some(Answer::Task { changed: false, .. })));
    for _ in 0..2 {
        let again = run(&mut world, 1);
        let Some(Answer::Task { task, changed: false }) = world.answer(again) else { panic!() };
        assert_eq!(task.id, TaskId(1));
    }
    let other = run(&mut world, 2);
    assert_eq!(world.answer(other), Some(Answer::Refused { reject: Reject::KeyTaken { made } }));
    let key = Some(Idempotency { key: "a".into(), payload: ContentId([1; 32]) });
    let item = crate::handler::work::tests::new("one");
    let item = world.ask(|reply| Input::CreateWorkItem { agent: agent("main"), item, key, reply });
    assert_eq!(item, Answer::Refused { reject: Reject::KeyTaken { made } });
    end(&mut world, CommandEnd::Exited, Some(0));
    commands(&mut world, KEPT);
    idle(&mut world);
    let long_ago = run(&mut world, 1);
    assert_eq!(world.answer(long_ago), Some(spent), "it is never begun again");
}

/// Whatever happens to a command before it has begun, its key is free again.
#[test]
fn a_key_whose_command_was_not_begun_starts_another_one() {
    let run = |world: &mut World| {
        let key = Some(Idempotency { key: "a".into(), payload: ContentId([1; 32]) });
        let arguments = Text::short("{}");
        world.later(|reply| Input::RunTask { agent: agent("main"), arguments, key, reply })
    };
    let stop = |world: &mut World| {
        world.control("main", ControlRequest::Stop);
        world.control("main", ControlRequest::Start);
    };
    for cut in [World::crash, stop] {
        let mut world = World::with_agent("main");
        world.prepares = false;
        run(&mut world);
        cut(&mut world);
        let again = run(&mut world);
        world.complete_one("main", OpKind::PrepareCommand, prepared_for(command("serve")));
        let Some(Answer::Task { task, changed: true }) = world.answer(again) else { panic!() };
        assert_eq!(task.id, TaskId(2));
    }
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut world = World::with_agent("main");
    world.prepares = false;
    begin(&mut world);
    let wait = r#"{"wake":"task_result","resource":"task_1","reason":"the build"}"#;
    world.admit("main", prompt("wait for it"));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, calls(&[("", "WaitFor", wait)]));
    assert!(world.agent("main").waits.own.is_some());
    world.admit("main", prompt("a long turn"));
    world.complete_one("main", OpKind::LoadContext, context());
    end(&mut world, CommandEnd::Exited, Some(0));
    commands(&mut world, KEPT + 5);
    assert!(world.agent("main").tasks.get(TaskId(1)).is_some(), "its message is still to be dealt with");
    world.complete_one("main", OpKind::CallModel, answers("done"));
    idle(&mut world);
    assert!(world.agent("main").waits.own.is_none(), "the wait for the first has ended");
    assert_eq!(world.agent("main").tasks.ended().count(), KEPT);
    let is_there = |task: u64| world.agent("main").tasks.get(TaskId(task)).is_some();
    assert!(!(1..=10).all(is_there) && is_there(KEPT as u64 + 6), "the newest stay");
}

/// Two tasks, started by an operator.
fn two() -> World {
    let mut world = World::with_agent("main");
    world.prepares = false;
    for name in ["one", "two"] {
        world.later(|reply| Input::RunTask {
            agent: agent("main"),
            arguments: Text::short("{}"),
            key: None,
            reply,
        });
        world.complete_one("main", OpKind::PrepareCommand, prepared_for(command(name)));
    }
    world
}

#[test]
fn results_that_wait_together_are_told_by_one_turn() {
    let mut world = two();
    world.admit("main", prompt("go"));
    end(&mut world, CommandEnd::Exited, Some(0));
    end(&mut world, CommandEnd::Exited, Some(1));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, answers("done"));
    let delivered: Vec<_> =
        world.agent("main").tasks.ended().map(|task| task.end.as_ref().unwrap().delivered_by).collect();
    let run = world.agent("main").run.as_ref().unwrap();
    assert_eq!((Some(run.message), Some(run.about.also[0].id)), (delivered[1], delivered[0]));
    world.complete_one("main", OpKind::LoadContext, context());
    let Some(holon_facts::model::Item::User { parts }) = world.requests.last().unwrap().conversation.last()
    else {
        panic!()
    };
    let named = |name: &str| {
        parts.iter().filter(|part| matches!(part, Part::Rendered(it) if it.contains(name))).count()
    };
    assert_eq!((named("task_1"), named("task_2")), (1, 1));
    world.crash();
    assert_eq!(world.agent("main").run.as_ref().unwrap().about.also.len(), 1, "both come again");
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, answers("told"));
    assert_eq!(world.agent("main").inbox.totals().0, 0);
}

/// What it has shown already stays as it was shown: the other result has a turn of its own.
#[test]
fn a_turn_that_goes_on_takes_no_further_results() {
    let mut world = two();
    end(&mut world, CommandEnd::Exited, Some(0));
    world.complete_one("main", OpKind::LoadContext, context());
    let call = calls(&[("", "CreateWorkItem", r#"{"objective":"look"}"#)]);
    world.complete_one("main", OpKind::CallModel, call);
    let first = world.agent("main").run.as_ref().unwrap().message;
    end(&mut world, CommandEnd::Exited, Some(1));
    world.crash();
    let run = world.agent("main").run.as_ref().unwrap();
    assert_eq!((run.message, run.conversation.rounds.len(), run.about.also.len()), (first, 1, 0));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, answers("told"));
    assert!(world.agent("main").run.as_ref().is_some_and(|run| run.message != first));
}

#[test]
fn what_a_stopped_run_was_to_tell_is_told_after_the_start() {
    let mut world = two();
    end(&mut world, CommandEnd::Exited, Some(0));
    assert!(world.agent("main").run.is_some());
    let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
    assert_eq!((outcome.aborted_messages.len(), outcome.cancelling_tasks.len()), (1, 1));
    end(&mut world, CommandEnd::Stopped, None);
    world.control("main", ControlRequest::Start);
    let run = world.agent("main").run.as_ref().unwrap().message;
    assert_eq!(world.agent("main").tasks.delivered_by(run).count(), 2);
}

/// A machine that slept through the deadlines of a stop hears of the end and of the deadline at one moment.
#[test]
fn an_end_that_comes_with_its_deadline_counts() {
    let mut world = promoted();
    stop(&mut world, true);
    let later = Millis::hours(1);
    (world.now.mono, world.now.wall) = (world.now.mono.after(later), world.now.wall.after(later));
    end(&mut world, CommandEnd::Stopped, None);
    assert_eq!(statuses(&world), [TaskStatus::Cancelled]);
}
