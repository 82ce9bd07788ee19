//! Agents under supervision, and those who supervise them.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::config::{ChildLimits, Config, QueueLimits};
use holon_facts::content::Text;
use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::frame::Part;
use holon_facts::ids::TaskId;
use holon_facts::lifecycle::Status;
use holon_facts::outcome::{CommandEnd, Outcome, ToolOutcome};
use holon_facts::provenance::MessageKind;
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind};
use holon_facts::reject::Reject;
use holon_facts::task::TaskStatus;
use holon_facts::time::Millis;

use crate::effect::{Answer, TaskWork};
use crate::input::{ControlRequest, Input};
use crate::summary::children::ChildPhase;
use crate::testing::{World, agent, answers, calls, command_ends, config, context, prompt, tool_answers};
use crate::view::RunVerdict;

const CHILD: &str = "main--1";

fn spawn(message: &str) -> String {
    format!(r#"{{"initial_message":"{message}"}}"#)
}

/// A parent whose turn has begun a child.
fn with_child() -> World {
    let mut world = World::with_agent("main");
    begins_child(&mut world, "look into it");
    world
}

fn begins_child(world: &mut World, message: &str) {
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "SpawnAgent", &spawn(message))]));
    world.complete("main", answers("delegated"));
}

fn answers_in_turn(world: &mut World, name: &str, text: &str) {
    world.complete_one(name, OpKind::LoadContext, context());
    world.complete_one(name, OpKind::CallModel, answers(text));
}

/// The messages of an agent, as kind and text.
fn messages(world: &World, name: &str) -> Vec<String> {
    let admitted = |record: &holon_facts::Record| {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return None };
        let message = &fact.message;
        (record.agent.as_str() == name).then(|| format!("{}: {}", message.kind, message.body.text.preview()))
    };
    world.log.iter().filter_map(admitted).collect()
}

fn status(world: &World, task: u64) -> TaskStatus {
    world.agent("main").tasks.get(TaskId(task)).expect("a task").status
}

fn errors(world: &World) -> Vec<(ToolErrorKind, String)> {
    let failed = |record: &holon_facts::Record| {
        let Event::Turn(TurnFact::ToolExecutionFailed(fact)) = &record.event else { return None };
        fact.receipt.error.as_ref().map(|error| (error.kind, error.message.preview().to_string()))
    };
    world.log.iter().filter_map(failed).collect()
}

fn archived(world: &World, name: &str) -> bool {
    world.agent(name).childhood.archived
}

#[test]
fn what_a_child_is_told_first_is_its_supervisors_instruction_and_what_it_reports_is_quoted() {
    let shown = |world: &World, name: &str| {
        let asked = |request: &&holon_facts::model::ModelRequest| request.agent == agent(name);
        let request = world.requests.iter().rfind(asked).expect("a request");
        let Some(holon_facts::model::Item::User { parts }) = request.conversation.last() else {
            panic!("no input")
        };
        let about = request.frame.system().flat_map(|block| &block.parts).map(Part::preview);
        (about.collect::<String>(), parts.iter().map(Part::preview).collect::<String>())
    };
    let mut world = with_child();
    answers_in_turn(&mut world, CHILD, "it is the cable");
    let (about, input) = shown(&world, CHILD);
    assert!(about.contains("Your supervisor is main."), "{about}");
    assert!(
        input.contains("| kind internal_followup | from supervisor | class runtime_instruction |"),
        "{input}"
    );
    world.complete_one("main", OpKind::LoadContext, context());
    let (about, input) = shown(&world, "main");
    assert!(!about.contains("Your supervisor"), "{about}");
    assert!(input.contains("[task task_1 | completed]\n<quoted-"), "{input}");
}

#[test]
fn a_child_works_reports_once_and_is_archived() {
    let mut world = with_child();
    let child = world.agent(CHILD);
    assert_eq!((child.spec.depth, child.status), (1, Status::AwakeRunning));
    assert_eq!(messages(&world, CHILD), ["internal_followup: look into it"]);
    let view = world.host.view();
    assert!(!view.quiet(&agent("main")), "a child is at work");
    answers_in_turn(&mut world, CHILD, "it is the cable");
    assert!(archived(&world, CHILD));
    assert_eq!(status(&world, 1), TaskStatus::Completed);
    answers_in_turn(&mut world, "main", "thanks");
    assert_eq!(messages(&world, "main"), ["operator_prompt: delegate", "task_result: it is the cable"]);
    assert!(world.host.view().quiet(&agent("main")));
    let refused = world.control(CHILD, ControlRequest::Start);
    assert_eq!(refused, Answer::Refused { reject: Reject::AgentArchived { agent: agent(CHILD) } });
    // Nobody is asked to start it.
    let view = world.host.view();
    let hint = view.summary(&agent(CHILD)).and_then(|summary| summary.lifecycle_hint).expect("a hint");
    assert!(hint.starts_with("archived") && !hint.contains("agent start"), "{hint}");
    assert_eq!(view.explain(&agent(CHILD)).expect("it is here").woken_by, []);
    assert!(world.host.evict(&agent(CHILD)).is_some(), "it leaves memory for good");
}

#[test]
fn a_child_that_waits_for_its_operator_asks_its_parent_once() {
    let mut world = with_child();
    world.complete(CHILD, context());
    let wait = r#"{"wake":"operator_input","reason":"which cable?"}"#;
    world.complete(CHILD, calls(&[("", "WaitFor", wait)]));
    let asked = messages(&world, "main").pop().expect("a message");
    assert!(asked.starts_with("system_tick:") && asked.contains("which cable?"), "{asked}");
    assert_eq!(world.host.view().observed(&agent(CHILD)).map(|child| child.phase), Some(ChildPhase::Waiting));
    world.complete("main", context());
    world.complete("main", calls(&[("", "TaskInput", r#"{"task_id":"task_1","input":"the red one"}"#)]));
    assert!(matches!(world.works.last(), Some(TaskWork::Input { op: None, .. })));
    world.complete_one("main", OpKind::CallTool, tool_answers("written"));
    world.complete("main", answers("told it"));
    assert_eq!(messages(&world, CHILD).last().map(String::as_str), Some("internal_followup: the red one"));
    assert_eq!(world.agent(CHILD).active_waits().count(), 0, "its parent is its operator");
    answers_in_turn(&mut world, CHILD, "mended");
    assert_eq!(status(&world, 1), TaskStatus::Completed);
    assert_eq!(messages(&world, "main").len(), 3, "asked once, told once");
}

/// Nothing that a call could read has the rest of its report.
#[test]
fn a_report_that_a_call_has_shown_in_part_is_delivered_whole() {
    for truncated in [false, true] {
        let mut world = with_child();
        world.admit("main", prompt("how is it?"));
        world.complete_one("main", OpKind::LoadContext, context());
        let look = calls(&[("", "TaskOutput", r#"{"task_id":"task_1","block":true}"#)]);
        world.complete_one("main", OpKind::CallModel, look);
        answers_in_turn(&mut world, CHILD, "it is the cable");
        let mut shown = tool_answers("it is");
        if let Outcome::Tool { outcome } = &mut shown {
            outcome.receipt.facts.truncated = truncated;
        }
        world.complete_one("main", OpKind::CallTool, shown);
        world.complete_one("main", OpKind::CallModel, answers("well"));
        let run = world.agent("main").run.as_ref().map(|run| run.about.incoming.kind);
        assert_eq!(run, truncated.then_some(MessageKind::TaskResult));
    }
}

#[test]
fn a_child_of_the_same_answer_has_what_is_written_to_it() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let both = [
        ("", "SpawnAgent", spawn("look into it")),
        ("", "TaskInput", r#"{"task_id":"task_1","input":"and hurry"}"#.into()),
    ];
    let both = both.each_ref().map(|(id, name, arguments)| (*id, *name, arguments.as_str()));
    world.complete("main", calls(&both));
    world.complete_one("main", OpKind::CallTool, tool_answers("written"));
    assert_eq!(messages(&world, CHILD).last().map(String::as_str), Some("internal_followup: and hurry"));
}

/// Who has a later letter knows those before it: a smaller one does not overtake one that waits for space.
#[test]
fn follow_ups_reach_a_child_in_their_order() {
    let queue = QueueLimits { bytes: 100, reserved_bytes: 0, ..config().queue };
    let mut world = World::with_config("main", Config { queue, ..config() });
    begins_child(&mut world, "look into it");
    world.complete_one(CHILD, OpKind::LoadContext, context());
    world.admit("main", prompt("tell it more"));
    world.complete_one("main", OpKind::LoadContext, context());
    let sizes = [300, 200, 5];
    for size in sizes {
        let input = format!(r#"{{"task_id":"task_1","input":"{}"}}"#, "x".repeat(size));
        world.complete_one("main", OpKind::CallModel, calls(&[("", "TaskInput", &input)]));
        world.complete_one("main", OpKind::CallTool, tool_answers("written"));
    }
    let told = |world: &World| {
        let all = messages(world, CHILD).into_iter().filter(|text| text.ends_with('x'));
        all.map(|text| text.matches('x').count()).collect::<Vec<_>>()
    };
    assert_eq!(told(&world), sizes[..1]);
    answers_in_turn_of(&mut world, CHILD);
    assert_eq!(told(&world), sizes, "as soon as there is space");
}

fn answers_in_turn_of(world: &mut World, name: &str) {
    world.complete_one(name, OpKind::CallModel, answers("it is the cable"));
    world.complete_one(name, OpKind::LoadContext, context());
    world.complete_one(name, OpKind::CallModel, answers("it was the cable"));
}

#[test]
fn what_a_child_leaves_running_is_ended_after_its_report() {
    let mut world = with_child();
    world.complete(CHILD, context());
    world.complete(CHILD, calls(&[("", "ExecCommand", r#"{"cmd":"serve"}"#)]));
    world.pass(Millis::seconds(11));
    world.complete_one(CHILD, OpKind::PromoteCommand, tool_answers("it goes on"));
    world.complete_one(CHILD, OpKind::CallModel, answers("it serves"));
    assert_eq!(status(&world, 1), TaskStatus::Completed, "its report does not wait");
    assert!(!archived(&world, CHILD));
    world.complete_one(CHILD, OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
    assert!(archived(&world, CHILD));
    assert!(world.agent(CHILD).run.is_none(), "the end of the command begins nothing");
}

/// A tree of three generations, each at work, the youngest with a command.
fn family() -> World {
    let mut world = with_child();
    world.complete(CHILD, context());
    world.complete(CHILD, calls(&[("", "SpawnAgent", &spawn("look closer"))]));
    let grandchild = "main--1--1";
    world.complete(grandchild, context());
    world.complete(grandchild, calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
    world
}

#[test]
fn a_stop_ends_the_whole_family() {
    for by_parent in [true, false] {
        let mut world = family();
        if by_parent {
            world.admit("main", prompt("enough"));
            world.complete("main", context());
            world.complete("main", calls(&[("", "TaskStop", r#"{"task_id":"task_1"}"#)]));
            world.complete_one("main", OpKind::CallTool, tool_answers("stopping"));
            world.complete("main", answers("stopped"));
        } else {
            let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
            assert_eq!(outcome.stopped_children, [agent(CHILD)]);
            let stopping = (outcome.released_roots.len(), outcome.stopping_roots);
            assert_eq!(
                stopping,
                (0, ["/w".into()].into()),
                "only the youngest has it, and executes a command there"
            );
        }
        assert!(!archived(&world, "main--1--1"), "its command has not ended");
        world.complete_one("main--1--1", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
        for name in [CHILD, "main--1--1"] {
            assert!(archived(&world, name), "{name}, by its parent: {by_parent}");
        }
        assert_eq!(status(&world, 1), TaskStatus::Cancelled);
        if !by_parent {
            world.control("main", ControlRequest::Start);
            let received = messages(&world, "main").pop().expect("a message");
            assert!(received.contains("task_1 cancelled"), "{received}");
        }
        let received = messages(&world, "main").len();
        while world.pass_to_deadline() {}
        assert_eq!(messages(&world, "main").len(), received);
    }
}

#[test]
fn a_child_goes_on_after_a_crash() {
    let mut world = family();
    world.crash();
    assert_eq!(status(&world, 1), TaskStatus::Running);
    assert!(world.agent("main--1--1").run.is_some());
    answers_in_turn(&mut world, "main--1--1", "found it");
    answers_in_turn(&mut world, CHILD, "we found it");
    world.crash();
    answers_in_turn(&mut world, CHILD, "they found it");
    assert_eq!(status(&world, 1), TaskStatus::Completed);
    world.crash();
    let received = messages(&world, "main");
    assert_eq!(
        received.iter().filter(|received| received.starts_with("task_result")).count(),
        1,
        "{received:?}"
    );
}

#[test]
fn children_have_limits() {
    let children = ChildLimits { depth: 1, per_agent: 2 };
    let mut world = World::with_config("main", Config { children, ..config() });
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let asked: Vec<String> = ["a", "b", "c"].map(spawn).into();
    world.complete(
        "main",
        calls(&[("", "SpawnAgent", &asked[0]), ("", "SpawnAgent", &asked[1]), ("", "SpawnAgent", &asked[2])]),
    );
    let (kind, message) = errors(&world).pop().expect("an error");
    assert_eq!(kind, ToolErrorKind::LimitReached);
    assert!(message.contains("limits.children_per_agent"), "{message}");
    world.complete(CHILD, context());
    let offered = &world.requests.last().expect("a request").tools;
    assert!(!offered.contains(&crate::tool::Tool::SpawnAgent.into()), "none below the deepest");
    world.complete(CHILD, calls(&[("", "SpawnAgent", &asked[0])]));
    assert_eq!(errors(&world).pop().map(|(kind, _)| kind), Some(ToolErrorKind::ToolNotExposed));
}

#[test]
fn a_public_agent_is_nobodys_child() {
    let mut world = World::with_agent("main");
    world.create("there");
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let named =
        |name: &str| format!(r#"{{"preset":"public_named","agent_id":"{name}","initial_message":"go"}}"#);
    let [there, new, reserved] = ["there", "new", "a--1"].map(named);
    world.complete(
        "main",
        calls(&[
            ("", "SpawnAgent", &there),
            ("", "SpawnAgent", &reserved),
            ("", "SpawnAgent", &new),
            ("", "SpawnAgent", &new),
        ]),
    );
    assert_eq!(errors(&world).len(), 3, "{:?}", errors(&world));
    let spec = &world.agent("new").spec;
    assert_eq!((spec.lineage_parent_agent_id.as_ref(), &spec.supervisor), (Some(&agent("main")), &None));
    world.complete("main", answers("done"));
    assert!(world.host.view().quiet(&agent("main")), "whatever the other does");
    answers_in_turn(&mut world, "new", "here I am");
    assert!(!archived(&world, "new"));
    let refused = world.ask(|reply| Input::CreateAgent {
        agent: agent("x--1"),
        spec: crate::testing::spec(),
        settings: Default::default(),
        reply,
    });
    assert!(matches!(refused, Answer::Refused { reject: Reject::ReservedAgentId { .. } }));
}

/// A child that waits for somebody leaves memory; what its parent has for it brings it back.
#[test]
fn a_child_that_left_memory_is_told_and_ended_all_the_same() {
    for ends in [false, true] {
        let mut world = with_child();
        world.complete(CHILD, context());
        let wait = r#"{"wake":"operator_input","reason":"the delivery"}"#;
        world.complete(CHILD, calls(&[("", "WaitFor", wait)]));
        answers_in_turn(&mut world, "main", "let it wait");
        world.evict(CHILD);
        assert!(world.host.evict(&agent("main")).is_none(), "a parent stays");
        let seen = world.host.view().observed(&agent(CHILD)).expect("it was seen");
        assert_eq!(seen.phase, ChildPhase::Waiting);
        assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::WaitingForOperator));
        if ends {
            world.ask(|reply| Input::StopTask { agent: agent("main"), task: TaskId(1), force: false, reply });
            assert!(archived(&world, CHILD));
            assert_eq!(status(&world, 1), TaskStatus::Cancelled);
        } else {
            let text = Text::short("it has come");
            world.ask(|reply| Input::WriteTask { agent: agent("main"), task: TaskId(1), text, reply });
            assert_eq!(messages(&world, CHILD).pop().as_deref(), Some("internal_followup: it has come"));
        }
    }
}

#[test]
fn nobody_but_its_parent_tells_a_child_anything() {
    let mut world = with_child();
    let refused = world.send(CHILD, prompt("psst"));
    let (parent, task) = (agent("main"), TaskId(1));
    assert_eq!(
        refused,
        Answer::Refused { reject: Reject::PrivateAgent { agent: agent(CHILD), parent, task } }
    );
    let delivery_surface = holon_facts::provenance::Surface::HttpPublicEnqueue;
    let refused = world.send(CHILD, holon_facts::message::Ingress { delivery_surface, ..prompt("psst") });
    assert_eq!(refused, Answer::Refused { reject: Reject::UnknownAgent { agent: agent(CHILD) } });
    world.control(CHILD, ControlRequest::Stop);
    assert!(archived(&world, CHILD), "anybody may end it");
    assert_eq!(status(&world, 1), TaskStatus::Cancelled);
}

/// A crash between a letter and its delivery loses nothing, and doubles nothing.
#[test]
fn a_letter_to_a_child_that_is_away_survives_a_crash() {
    let mut world = with_child();
    world.complete(CHILD, context());
    world.complete(CHILD, calls(&[("", "WaitFor", r#"{"wake":"operator_input","reason":"which?"}"#)]));
    answers_in_turn(&mut world, "main", "let me think");
    world.evict(CHILD);
    world.loads = false;
    let text = Text::short("the red one");
    world.ask(|reply| Input::WriteTask { agent: agent("main"), task: TaskId(1), text, reply });
    assert!(!world.agent("main").outbox.is_empty());
    world.loads = true;
    world.crash();
    world.crash();
    assert!(world.agent("main").outbox.is_empty());
    let received = messages(&world, CHILD);
    assert_eq!(
        received.iter().filter(|received| received.ends_with("the red one")).count(),
        1,
        "{received:?}"
    );
}

/// Whoever holds the logs need not bring a child in at a start: it is asked for as long as a letter waits for it.
#[test]
fn a_start_asks_for_a_child_that_a_letter_waits_for() {
    let mut world = with_child();
    world.complete(CHILD, context());
    world.complete(CHILD, calls(&[("", "WaitFor", r#"{"wake":"operator_input","reason":"which?"}"#)]));
    answers_in_turn(&mut world, "main", "let me think");
    world.evict(CHILD);
    world.loads = false;
    world.ask(|reply| Input::StopTask { agent: agent("main"), task: TaskId(1), force: false, reply });
    assert_eq!(status(&world, 1), TaskStatus::Cancelling);
    world.loads = true;
    world.left_out.insert(agent(CHILD));
    world.crash();
    assert!(archived(&world, CHILD));
    assert_eq!(status(&world, 1), TaskStatus::Cancelled);
}

#[test]
fn to_begin_a_child_for_the_same_again_is_no_progress() {
    let mut world = with_child();
    answers_in_turn(&mut world, CHILD, "nothing found");
    answers_in_turn(&mut world, "main", "hm");
    begins_child(&mut world, "look into it");
    let repeated: Vec<bool> = world.agent("main").tasks.ended().map(|task| task.repeated).collect();
    let goes_on = world.agent("main").tasks.active().map(|task| task.repeated);
    let repeated: Vec<bool> = repeated.into_iter().chain(goes_on).collect();
    assert_eq!(repeated, [false, true]);
}

/// Each request may take 16,384 tokens for its answer, and takes 15 in truth.
#[test]
fn a_family_shares_what_it_may_spend() {
    let mut budgets = holon_facts::budget::Budgets::default();
    budgets.subtree.tokens = Some(24_000);
    let mut world = World::with_config("main", Config { budgets, ..config() });
    begins_child(&mut world, "look into it");
    answers_in_turn(&mut world, CHILD, "found");
    let account = world.agent("main").account;
    assert_eq!((account.total.tokens, account.family.tokens), (30, 15), "its report tells what it took");
    let summary = |world: &World, name: &str| world.host.view().summary(&agent(name)).expect("it is here");
    let of_tree = |world: &World, name: &str| summary(world, name).spending.budgets[0].used;
    assert_eq!((of_tree(&world, "main"), of_tree(&world, CHILD)), (30 + 15, 30 + 15), "once, whoever looks");
    world.complete_one("main", OpKind::LoadContext, context());
    let usage = |tokens| holon_facts::usage::TokenUsage { input_tokens: tokens, ..Default::default() };
    let Outcome::Answer { answer } = calls(&[("", "SpawnAgent", &spawn("once more"))]) else { panic!() };
    let answer = holon_facts::model::ModelAnswer { usage: usage(5_000), ..answer };
    world.complete_one("main", OpKind::CallModel, Outcome::Answer { answer });
    // What is left is not enough for another question of either of them.
    assert_eq!(
        world.agent("main").hold.as_ref().and_then(|hold| hold.budget).map(|it| it.budget.name()),
        Some("subtree_tokens")
    );
    world.complete_one("main--2", OpKind::LoadContext, context());
    assert!(world.agent("main--2").hold.is_some(), "{:?}", world.agent("main--2").run);
    assert_eq!(of_tree(&world, "main--2"), 30 + 15 + 5_000, "of all of them");
}

/// What an agent was made from, where it was begun by a call that names a template.
fn made_from(world: &World, name: &str) -> Option<String> {
    world.agent(name).spec.template.as_ref().map(|template| template.selector.clone())
}

#[test]
fn a_child_and_a_public_agent_begin_with_the_template_that_their_call_names_once_it_was_taken_in() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let child = r#"{"initial_message":"review it","template":"holon-reviewer"}"#;
    let public =
        r#"{"preset":"public_named","agent_id":"watch","template":"holon-watcher","initial_message":"go"}"#;
    world.complete("main", calls(&[("", "SpawnAgent", child), ("", "SpawnAgent", public)]));
    assert_eq!(world.waits_for("main"), Some(OpKind::CallTool));
    assert!(world.host.agent(&agent(CHILD)).is_none(), "nobody is begun before its template is there");
    world.complete("main", crate::testing::template("holon-reviewer"));
    assert_eq!(made_from(&world, CHILD).as_deref(), Some("holon-reviewer"));
    world.complete("main", crate::testing::template("holon-watcher"));
    assert_eq!(made_from(&world, "watch").as_deref(), Some("holon-watcher"));
    assert_eq!(errors(&world), []);
    assert_eq!(world.waits_for("main"), Some(OpKind::CallModel));
}

#[test]
fn a_template_that_can_not_be_taken_in_begins_nobody() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    let child = r#"{"initial_message":"review it","template":"holon-reviewr"}"#;
    let odd = r#"{"initial_message":"review it","template":"../reviewer"}"#;
    let nobody = r#"{"template":"holon-reviewer"}"#;
    let calls = calls(&[("", "SpawnAgent", child), ("", "SpawnAgent", odd), ("", "SpawnAgent", nobody)]);
    world.complete("main", calls);
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, "there is no template holon-reviewr");
    let receipt = Receipt::failure(error.field("template"));
    let outcome = ToolOutcome { receipt, duration_ms: Millis(1), end: None };
    world.complete("main", Outcome::Tool { outcome });
    assert_eq!(world.waits_for("main"), Some(OpKind::CallModel), "the others are refused at once");
    assert_eq!(errors(&world).len(), 3);
    assert!(world.host.agent(&agent(CHILD)).is_none());
}
