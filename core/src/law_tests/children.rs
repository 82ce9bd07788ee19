//! Lives of a parent and of its child, as a host lives them, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::event::lifecycle::{AgentArchived, AgentCreated, AgentRetired};
use holon_facts::event::outbox::{LetterDelivered, LetterPosted, LetterReceived, LetterReturned};
use holon_facts::event::{Event, LifecycleFact, OutboxFact};
use holon_facts::ids::LetterId;
use holon_facts::message::{MessageKind, Origin};
use holon_facts::outbox::Letter;
use holon_facts::task::TaskStatus;
use holon_facts::template::TemplateOrigin;
use holon_facts::workspace::ExecutionBinding;

use super::facts::admitted_from;
use super::sabotage::{Case, Script};
use crate::input::ControlRequest;
use crate::testing::{World, agent, answers, calls, context, prompt, template};

const CHILD: &str = "main--1";

/// A child is begun, told more, and ends.
fn lived() -> World {
    let mut world = World::with_agent("main");
    let begin = ("", "SpawnAgent", r#"{"initial_message":"look into it","template":"holon-reviewer"}"#);
    world.admit("main", prompt("delegate"));
    world.complete("main", context());
    world.complete("main", calls(&[begin]));
    world.complete("main", template("holon-reviewer"));
    world.complete("main", answers("delegated"));
    world.ask(|reply| crate::Input::WriteTask {
        agent: agent("main"),
        task: holon_facts::ids::TaskId(1),
        text: holon_facts::Text::short("hurry"),
        reply,
    });
    for _ in 0..2 {
        world.complete(CHILD, context());
        world.complete(CHILD, answers("found it"));
    }
    world.complete("main", context());
    world.complete("main", answers("thanks"));
    world.control("main", ControlRequest::Stop);
    world
}

fn case(law: &'static str, what: &'static str, whose: &str, sabotage: impl FnOnce(&mut Script)) -> Case {
    let log = lived().log.into_iter().filter(|record| record.agent.as_str() == whose);
    Case::of(law, what, Script::of(log.collect()), sabotage)
}

/// The child's beginning, changed.
fn spawned(s: &Script, change: impl FnOnce(&mut holon_facts::identity::AgentSpec)) -> LetterPosted {
    let Event::Outbox(OutboxFact::LetterPosted(fact)) = s.event("letter_posted", 0) else {
        panic!("a letter")
    };
    let mut fact = (**fact).clone();
    let Letter::Spawn { spec, .. } = &mut fact.letter else { panic!("the first one") };
    change(spec);
    fact
}

fn created(s: &Script, change: impl FnOnce(&mut holon_facts::identity::AgentSpec)) -> AgentCreated {
    let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = s.event("agent_created", 0) else {
        panic!("a birth")
    };
    let mut fact = (**fact).clone();
    change(&mut fact.spec);
    fact
}

fn result(status: TaskStatus) -> Letter {
    Letter::Result { status, report: None, spent: holon_facts::price::Amount::default(), left: Vec::new() }
}

fn posted(letter: u64, what: Letter) -> LetterPosted {
    LetterPosted { letter_id: LetterId(letter), to: agent("main"), letter: what }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = begun();
    cases.extend(deliveries());
    cases
}

/// How a child begins.
fn begun() -> Vec<Case> {
    alloc::vec![
        case("C1", "a child begins as deep as its supervisor", "main", |s| {
            let fact = spawned(s, |spec| spec.depth = 0);
            s.replace("letter_posted", 0, fact);
        }),
        case("C1", "a child begins with no task", "main", |s| s.remove("task_created", 0)),
        case("C1", "a child begins under somebody else", "main", |s| {
            let fact = spawned(s, |spec| {
                spec.supervisor.as_mut().expect("one").agent_id = agent("other");
            });
            s.replace("letter_posted", 0, fact);
        }),
        case("C1", "an agent of its own is deep below others", "main", |s| {
            let fact = spawned(s, |spec| {
                *spec = holon_facts::identity::AgentSpec { depth: 1, ..crate::testing::spec() }
            });
            s.replace("letter_posted", 0, fact);
        }),
        case("C1", "a child is for everybody to see", CHILD, |s| {
            let fact = created(s, |spec| spec.visibility = holon_facts::identity::Visibility::Public);
            s.replace("agent_created", 0, fact);
        }),
        case("C1", "a child has no supervisor", CHILD, |s| {
            let fact = created(s, |spec| spec.supervisor = None);
            s.replace("agent_created", 0, fact);
        }),
        case("C4", "a child knows a folder that its maker does not", "main", |s| {
            let fact = spawned(s, |spec| spec.attached.push("/elsewhere".into()));
            s.replace("letter_posted", 0, fact);
        }),
        case("C10", "a child begins with another template than its call names", "main", |s| {
            let fact = spawned(s, |spec| {
                spec.template.as_mut().expect("one").selector = "holon-developer".into();
            });
            s.replace("letter_posted", 0, fact);
        }),
        case("C10", "a child begins without the template that its call names", "main", |s| {
            let fact = spawned(s, |spec| spec.template = None);
            s.replace("letter_posted", 0, fact);
        }),
        case("C10", "a template is fetched for a child", "main", |s| {
            let fact = spawned(s, |spec| {
                spec.template.as_mut().expect("one").origin = TemplateOrigin::GitHub;
            });
            s.replace("letter_posted", 0, fact);
        }),
        case("C4", "a child works where its maker does not", "main", |s| {
            let fact = spawned(s, |spec| spec.execution = ExecutionBinding::project("/x", "/x"));
            s.replace("letter_posted", 0, fact);
        }),
        case("C4", "a child has a worktree of another repository", "main", |s| {
            let fact = spawned(s, |spec| {
                (spec.isolated, spec.execution) = (true, ExecutionBinding::project("/x", "/x"));
            });
            s.replace("letter_posted", 0, fact);
        }),
    ]
}

/// What it says, and how it ends.
fn deliveries() -> Vec<Case> {
    let received = |from: &str, letter| LetterReceived { from: agent(from), letter_id: LetterId(letter) };
    let gone = |letter| LetterReturned { letter_id: LetterId(letter), problem: "gone".into() };
    alloc::vec![
        case("C2", "a child says twice how it ended", CHILD, |s| {
            s.after("letter_posted", 0, posted(2, result(TaskStatus::Completed)));
        }),
        case("C2", "a child says that it ended otherwise", CHILD, |s| {
            s.replace("letter_posted", 0, posted(1, result(TaskStatus::Failed)));
        }),
        case("C2", "a child says how it ended, and goes on", CHILD, |s| s.remove("agent_retired", 0)),
        case("C2", "a task ends that its child has not ended", "main", |s| s.remove("letter_received", 0)),
        case("C2", "a task ends because another child has", "main", |s| {
            s.replace("letter_received", 0, received("main--2", 1));
        }),
        case("C5", "a letter is delivered twice", "main", |s| {
            s.after("letter_delivered", 0, LetterDelivered { letter_id: LetterId(1) });
        }),
        case("C5", "a letter comes back that was delivered", "main", |s| {
            s.after("letter_delivered", 1, gone(2));
        }),
        case("C5", "a letter is taken in twice", CHILD, |s| {
            s.after("letter_received", 1, received("main", 2));
        }),
        case("C5", "a letter is taken in after a later one", CHILD, |s| {
            s.replace("letter_received", 1, received("main", 1));
        }),
        case("T11", "a child's model says what its supervisor would", CHILD, |s| {
            let supervisor = Origin::System { subsystem: "supervisor".into() };
            s.after(
                "assistant_round_recorded",
                0,
                admitted_from(3, MessageKind::InternalFollowup, supervisor),
            );
        }),
        case("C6", "a child ends twice", CHILD, |s| {
            s.after("agent_retired", 0, AgentRetired { status: TaskStatus::Completed });
        }),
        case("C6", "a child ends in the middle of a turn", CHILD, |s| {
            s.after("turn_started", 0, AgentRetired { status: TaskStatus::Completed });
        }),
        case("C6", "a child is archived before its end", CHILD, |s| s.before(
            "agent_retired",
            0,
            AgentArchived { status: TaskStatus::Completed }
        )),
        case("C6", "a child takes a message after its end", CHILD, |s| {
            s.after("agent_retired", 0, super::facts::admitted(3, holon_facts::message::Priority::Normal));
        }),
    ]
}
