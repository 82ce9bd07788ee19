//! A real host, driven through its life, breaks no law and gives each of them something to say.

use alloc::vec::Vec;

use holon_facts::config::{Config, ContextLimits, SummaryBy, WhileStopped};
use holon_facts::content::{ContentId, Text};
use holon_facts::event::lifecycle::SchedulerPostureDecision;
use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, LifecycleFact};
use holon_facts::identity::{AgentKind, ForkedFrom};
use holon_facts::ids::{AgentId, EventSeq};
use holon_facts::lifecycle::Status;
use holon_facts::message::Idempotency;
use holon_facts::model::FailureKind;
use holon_facts::outcome::{Certainty, CommandEnd, OpFailure, Outcome, Removal};
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::record::Record;
use holon_facts::time::Millis;
use holon_facts::trigger::{Delivery, DeliveryMode};
use holon_facts::workspace::ExecutionBinding;
use holon_law::Laws;

use super::sabotage;
use crate::effect::Answer;
use crate::input::{ControlRequest, Input};
use crate::testing::{
    World, answers, calls, command_ends, config, context, context_with, fails, given, ingress, interjection,
    long, prompt, skill, tool_answers, tool_gives, uses,
};

const ABORT: ControlRequest = ControlRequest::Abort { run_id: None, stop_after_abort: false };

fn patient() -> Config {
    Config { while_stopped: WhileStopped::Queue, ..config() }
}

/// A turn with tools and an interjection; a stop in the middle of the next one.
fn work_and_stop(world: &mut World) {
    world.admit("main", prompt("look around"));
    world.complete("main", context());
    let list = ("c1", "ExecCommand", r#"{"cmd":"ls"}"#);
    world.complete("main", calls(&[list, ("c2", "Levitate", "{}")]));
    assert_eq!(world.waits_for("main"), Some(OpKind::RunCommand));
    world.admit("main", interjection("only the tests"));
    world.complete("main", tool_answers("a b"));
    world.complete("main", answers("done"));
    assert_eq!(world.agent("main").status, Status::Asleep);

    let key = Idempotency { key: "k".into(), payload: ContentId([1; 32]) };
    let keyed = holon_facts::message::Ingress { idempotency: Some(key), ..prompt("again") };
    let first = world.admit("main", keyed.clone());
    assert_eq!(world.send("main", keyed), Answer::Admitted { message_id: first, duplicate: true });
    world.complete("main", context());
    world.admit("main", prompt("wait in the queue"));
    world.control("main", ControlRequest::Stop);
    world.control("main", ControlRequest::Stop);
    world.admit("main", prompt("while stopped"));
    assert_eq!(world.agent("main").status, Status::Stopped);
}

/// Start, abort, an outage with its hold and trial.
fn start_and_hold(world: &mut World) {
    world.control("main", ControlRequest::Start);
    world.control("main", ControlRequest::Start);
    world.control("main", ABORT);
    world.complete("main", context());
    for _ in 0..2 {
        for _ in 0..3 {
            world.complete("main", fails(FailureKind::Server));
            if world.waits_for("main").is_none() {
                world.pass(Millis::seconds(1));
            }
        }
    }
    assert!(world.agent("main").hold.is_some());
    world.admit("main", ingress(MessageKind::BriefAck, Priority::Background, "seen"));
    world.admit("main", prompt("the trial"));
    world.complete("main", context());
    world.complete("main", answers("here again"));
    assert!(world.agent("main").hold.is_none());
}

/// What was held runs again, and crashes until it is dropped; then a shutdown.
fn crash_and_drain(world: &mut World) {
    for _ in 0..3 {
        assert_eq!(world.waits_for("main"), Some(OpKind::LoadContext));
        world.crash();
    }
    assert!(world.briefs().last().unwrap().starts_with("failure: The message was dropped"));
    world.admit("main", prompt("carry on"));
    world.complete("main", context());
    world.complete("main", calls(&[("c1", "ExecCommand", r#"{"cmd":"make"}"#)]));
    world.admit("main", interjection("gently"));
    world.crash();
    world.complete("main", context());
    world.drain();
    world.crash();
    world.complete("main", context());
    world.complete("main", fails(FailureKind::Auth));
    world.complete("main", fails(FailureKind::ContextLength));
    world.complete("main", answers("finished"));
    assert_eq!(world.agent("main").status, Status::Asleep);
}

/// A command that goes on as a task, whose end a turn sees; one that its agent ends; one that a stop ends.
fn tasks(world: &mut World) {
    let make = ("c1", "ExecCommand", r#"{"cmd":"make"}"#);
    world.admit("main", prompt("build"));
    world.complete("main", context());
    world.complete("main", calls(&[make]));
    world.pass(Millis::seconds(11));
    world.complete_one("main", OpKind::PromoteCommand, tool_answers("it goes on"));
    let task = world.agent("main").tasks.active().next().unwrap().id;
    let about = |rest: &str| alloc::format!(r#"{{"task_id":"{task}"{rest}}}"#);
    world.complete_one("main", OpKind::CallModel, calls(&[("c2", "TaskOutput", &about(""))]));
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Exited, Some(0)));
    world.complete_one("main", OpKind::CallTool, tool_answers("built"));
    world.complete_one("main", OpKind::CallModel, answers("done"));
    assert_eq!(world.agent("main").status, Status::Asleep);
    world.later(|reply| Input::RunTask {
        agent: crate::testing::agent("main"),
        arguments: Text::short(r#"{"cmd":"make"}"#),
        key: None,
        reply,
    });
    world.control("main", ControlRequest::Stop);
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
    world.control("main", ControlRequest::Start);
    world.complete("main", context());
    world.complete("main", answers("seen"));
}

/// A timer that fires, misses some occurrences, and is cancelled.
fn timers(world: &mut World) {
    let main = || crate::testing::agent("main");
    let (interval_ms, misfire) = (Some(Millis::seconds(60)), holon_facts::timer::Misfire::Once);
    let timer = holon_facts::timer::TimerSpec {
        duration_ms: Millis::seconds(60),
        interval_ms,
        misfire,
        summary: None,
    };
    world.ask(|reply| Input::CreateTimer { agent: main(), timer, key: None, reply });
    world.pass(Millis::minutes(5));
    world.complete("main", context());
    world.complete("main", answers("seen"));
    let timer = holon_facts::ids::TimerId(1);
    world.ask(|reply| Input::CancelTimer { agent: main(), timer, reply });
}

/// An item that is made, picked and completed.
fn work(world: &mut World) {
    let picks = ("", "PickWorkItem", r#"{"work_item_id":"work_1"}"#);
    let completes = ("", "CompleteWorkItem", r#"{"work_item_id":"work_1"}"#);
    world.admit("main", prompt("plan"));
    world.complete("main", context());
    for call in [("", "CreateWorkItem", r#"{"objective":"go"}"#), picks, completes] {
        world.complete("main", calls(&[call]));
        world.complete("main", tool_answers("shown"));
    }
    world.complete("main", answers("done"));
    let objective = alloc::string::String::from("go on");
    let (plan_status, todo_list) = (holon_facts::work::PlanStatus::Ready, Vec::new());
    let item = holon_facts::work::NewWorkItem { objective, plan_status, todo_list, plan: false };
    world.ask(|reply| Input::CreateWorkItem { agent: crate::testing::agent("main"), item, key: None, reply });
    world.complete("main", context());
    world.complete("main", answers("later"));
    assert_eq!(world.agent("main").status, Status::Asleep);
}

/// A sleep that comes to its end.
fn sleep(world: &mut World) {
    world.admit("main", prompt("rest"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "Sleep", r#"{"duration_ms":2000}"#)]));
    world.pass(Millis::seconds(2));
    world.complete("main", context());
    world.complete("main", answers("up again"));
}

/// A wait that is looked at again, and ends.
fn waits(world: &mut World) {
    let wait = r#"{"reason":"the build","wake":"external","resource":"ci","recheck_after_ms":60000}"#;
    world.admit("main", prompt("wait"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "WaitFor", wait)]));
    world.pass(Millis::minutes(1));
    world.complete("main", context());
    world.complete("main", answers("not yet"));
    let sent = ingress(MessageKind::WebhookEvent, Priority::Normal, "passed");
    let origin = holon_facts::message::Origin::Webhook { source: "ci".into(), event_type: None };
    let deposit = Some(holon_facts::ids::DepositId(1));
    world.admit("main", holon_facts::message::Ingress { origin, deposit, ..sent });
    world.complete("main", context());
    world.complete("main", answers("it passed"));
    let hint = r#"{"source":"ci","reason":"it moved"}"#;
    let hint: holon_facts::hint::Hint = serde_json::from_str(hint).unwrap();
    let of_trigger = hint.clone();
    world.ask(|reply| Input::Wake { agent: crate::testing::agent("main"), hint, reply });
    let (generation, delivery_mode) = (1, DeliveryMode::EnqueueMessage);
    let delivery = Delivery { generation, delivery_mode, hint: of_trigger };
    world.ask(|reply| Input::Deliver { agent: crate::testing::agent("main"), delivery, reply });
}

/// A budget that is exhausted, and raised.
fn budgets(world: &mut World) {
    let mut poor = patient();
    poor.budgets.agent.tokens = Some(1);
    world.restart(poor);
    world.admit("main", prompt("what is it worth?"));
    world.complete_one("main", OpKind::LoadContext, context());
    assert!(world.agent("main").hold.is_some());
    world.restart(patient());
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, answers("a lot"));
}

/// A child that is told more, and reports.
fn children(world: &mut World) {
    world.admit("main", prompt("delegate"));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one(
        "main",
        OpKind::CallModel,
        calls(&[("", "SpawnAgent", r#"{"initial_message":"go"}"#)]),
    );
    world.complete_one("main", OpKind::CallModel, answers("delegated"));
    let child = world.agent("main").tasks.children().next().unwrap().1.child_agent_id.clone();
    world.complete(child.as_str(), context());
    world.complete(child.as_str(), answers("done"));
    assert!(world.agent(child.as_str()).childhood.archived);
}

/// A turn that goes elsewhere.
fn workspaces(world: &mut World) {
    world.admit("main", prompt("look elsewhere"));
    while world.waits_for("main") != Some(OpKind::LoadContext) {
        world.complete_one("main", OpKind::CallModel, answers("first this"));
    }
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, calls(&[("", "UseWorkspace", r#"{"path":"/x"}"#)]));
    let execution = ExecutionBinding::project("/x", "/x/src");
    world.complete_one("main", OpKind::FindWorkspace, Outcome::found(execution));
    world.complete_one(
        "main",
        OpKind::CallModel,
        calls(&[("", "UseWorkspace", r#"{"path":"/x","mode":"isolated"}"#)]),
    );
    let missing = OpFailure { certainty: Certainty::Definite, message: Text::short("there is no git") };
    world.complete_one("main", OpKind::FindWorkspace, Outcome::Failed { failure: missing });
    world.complete_one("main", OpKind::RemoveWorktree, Outcome::Worktree { removal: Removal::Removed });
    world.complete_one("main", OpKind::CallModel, answers("done"));
}

/// A model sums up what is too long.
fn summaries() -> World {
    let context_limits = ContextLimits { summary: SummaryBy::Model, ..config().context };
    let mut world = World::with_config("main", Config { context: context_limits, ..config() });
    world.admit("main", prompt("read it all"));
    world.complete("main", context());
    for number in 0..6 {
        world.complete("main", calls(&[("", "ApplyPatch", r#"{"patch":"x"}"#)]));
        world.complete("main", tool_gives(long(number, 1_500)));
    }
    world.complete("main", fails(FailureKind::ContextLength));
    world.complete_one("main", OpKind::Summarize, answers("Goal: all of it"));
    world.complete("main", answers("done"));
    skills(&mut world);
    world
}

/// A skill is there, and a turn reads it.
fn skills(world: &mut World) {
    world.admit(
        "main",
        holon_facts::message::Ingress {
            skills: alloc::vec![given(&skill("pdf", 1))],
            ..prompt("fill the form")
        },
    );
    world.complete("main", context_with(&[skill("pdf", 1)]));
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"cat /skills/pdf/SKILL.md"}"#)]));
    world.complete("main", uses(&["/skills/pdf/SKILL.md"]));
    world.complete("main", answers("done"));
}

#[test]
fn a_real_life_breaks_no_law_and_concerns_them_all() {
    let mut world = World::new(patient());
    world.create("main");
    work_and_stop(&mut world);
    start_and_hold(&mut world);
    crash_and_drain(&mut world);
    tasks(&mut world);
    timers(&mut world);
    work(&mut world);
    sleep(&mut world);
    waits(&mut world);
    budgets(&mut world);
    children(&mut world);
    workspaces(&mut world);
    super::memory::search(&mut world);
    let others = [summaries(), super::servers::world()].map(|other| other.laws.antecedents());
    let elsewhere =
        |law: &str| others.iter().any(|other| other.iter().any(|(id, count)| *id == law && *count > 0));
    let counts = world.laws.antecedents().into_iter();
    let silent: Vec<_> = counts.filter(|(law, count)| *count == 0 && !elsewhere(law)).collect();
    assert!(silent.is_empty(), "nothing concerned {silent:?}");
}

/// Each change of posture, from and to.
fn postures(world: &World) -> Vec<(Status, Status)> {
    let all = world.log.iter().filter_map(|record| {
        let Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) = &record.event else {
            return None;
        };
        Some((fact.previous, fact.next))
    });
    all.collect()
}

#[test]
fn each_change_of_posture_is_on_record() {
    use Status::{Asleep, AwakeIdle, AwakeRunning, Booting, Stopped};
    let mut world = World::with_agent("main");
    for text in ["go", "go on"] {
        world.admit("main", prompt(text));
        world.complete("main", context());
        world.complete("main", answers("done"));
    }
    world.admit("main", prompt("stop here"));
    world.control("main", ControlRequest::Stop);
    let turn = [(Asleep, AwakeRunning), (AwakeRunning, AwakeIdle), (AwakeIdle, Asleep)];
    let stopped = [(Asleep, AwakeRunning), (AwakeRunning, AwakeIdle), (AwakeIdle, Stopped)];
    assert_eq!(postures(&world), [&[(Booting, Asleep)][..], &turn, &turn, &stopped].concat());
}

#[test]
fn turns_of_earlier_builds_change_the_posture_without_a_fact_of_its_own() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", answers("done"));
    let of_turn = |fact: &SchedulerPostureDecision| {
        fact.previous == Status::AwakeRunning || fact.next == Status::AwakeRunning
    };
    let older = world.log.iter().filter(|record| {
        !matches!(&record.event, Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) if of_turn(fact))
    });
    let mut laws = Laws::new();
    let broken = older.flat_map(|record| laws.check(record));
    // The log has gaps here.
    let broken: Vec<_> = broken.filter(|found| found.law != "D3").collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn each_law_accepts_what_keeps_it_and_catches_what_breaks_it() {
    let cases = sabotage::cases();
    for (id, _) in Laws::table() {
        assert!(cases.iter().any(|case| case.law == *id), "nothing sabotages {id}");
    }
    for case in &cases {
        let checked =
            |laws: &Laws| laws.antecedents().iter().find(|(id, _)| *id == case.law).map(|(_, n)| *n);
        let mut laws = Laws::new();
        let broken: Vec<_> = case.kept.iter().flat_map(|record| laws.check(record)).collect();
        assert!(broken.is_empty(), "{} ({}): {broken:?}", case.law, case.what);
        assert!(checked(&laws) > Some(0), "{} ({}) has nothing to say", case.law, case.what);

        let mut laws = Laws::new();
        let broken: Vec<_> = case.broken.iter().flat_map(|record| laws.check(record)).collect();
        assert!(broken.iter().any(|found| found.law == case.law), "{} ({}): {broken:?}", case.law, case.what);
    }
}

/// The log of a copy of an agent, as `ledger fork` makes it.
fn copied(log: &[Record], of: &AgentId) -> Vec<Record> {
    let own = log.iter().filter(|record| record.agent == *of);
    let through = own.clone().next_back().map_or(EventSeq(0), |record| record.event_seq);
    let renamed = own.map(|record| {
        let mut record = Record { agent: crate::testing::agent("copy"), ..record.clone() };
        if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &mut record.event {
            (fact.spec.kind, fact.spec.tree) = (AgentKind::Named, None);
            fact.spec.forked_from =
                Some(ForkedFrom { agent_id: of.clone(), event_seq: through, answer_given: false });
        }
        record
    });
    renamed.collect()
}

#[test]
fn a_copy_of_a_log_breaks_no_law() {
    let cases = sabotage::cases();
    let mut copies = 0;
    for case in &cases {
        let created = case.kept.iter().filter_map(|record| {
            let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event else { return None };
            fact.spec.supervisor.is_none().then_some(&record.agent)
        });
        for agent in created {
            let mut laws = Laws::new();
            let copy = copied(&case.kept, agent);
            let broken: Vec<_> = copy.iter().flat_map(|record| laws.check(record)).collect();
            assert!(broken.is_empty(), "{}: {}: {broken:?}", case.law, case.what);
            copies += 1;
        }
    }
    assert!(copies > 100, "{copies}");
}

#[test]
fn the_table_names_each_law_once() {
    let mut ids: Vec<_> = Laws::table().iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), Laws::table().len());
}
