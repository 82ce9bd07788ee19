//! A stop in the middle of everything and a turn that rests, as a host lives them, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::lifecycle::ControlApplied;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::{Event, LifecycleFact, OperationFact};
use holon_facts::hint::Hint;
use holon_facts::ids::{MessageId, OpId, RunId, TaskId};
use holon_facts::outcome::CommandEnd;

use super::sabotage::{Case, Script};
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, calls, command_ends, context, interjection, prompt, tool_answers};

/// A task goes on, a turn about a hint has taken in an interjection and runs a command, and another hint waits.
fn busy() -> World {
    let mut world = World::with_agent("main");
    let arguments = Text::short(r#"{"cmd":"make"}"#);
    world.later(|reply| Input::RunTask { agent: agent("main"), arguments, key: None, reply });
    for source in ["ci", "mail"] {
        let hint = Hint { body: Some(Text::short("green")), ..Hint::new(source, "it moved") };
        world.ask(|reply| Input::Wake { agent: agent("main"), hint, reply });
    }
    world.admit("main", interjection("and quickly"));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::CallModel, calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
    world
}

/// A turn that sleeps, and one for the end of a task that it has seen by then.
fn rested() -> World {
    let mut world = World::with_agent("main");
    let arguments = Text::short(r#"{"cmd":"make"}"#);
    world.later(|reply| Input::RunTask { agent: agent("main"), arguments, key: None, reply });
    world.admit("main", prompt("how is it?"));
    world.complete_one("main", OpKind::LoadContext, context());
    world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Exited, Some(0)));
    world.complete_one("main", OpKind::CallModel, calls(&[("", "TaskOutput", r#"{"task_id":"task_1"}"#)]));
    world.complete_one("main", OpKind::CallTool, tool_answers("built"));
    world.complete_one("main", OpKind::CallModel, calls(&[("", "Sleep", r#"{"duration_ms":600000}"#)]));
    world
}

fn stop(what: &'static str, sabotage: impl FnOnce(&mut ControlApplied)) -> Case {
    ended(busy(), ControlRequest::Stop, what, sabotage)
}

fn abort(what: &'static str, sabotage: impl FnOnce(&mut ControlApplied)) -> Case {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
    ended(world, ControlRequest::Abort { run_id: None, stop_after_abort: false }, what, sabotage)
}

fn ended(
    mut world: World,
    request: ControlRequest,
    what: &'static str,
    sabotage: impl FnOnce(&mut ControlApplied),
) -> Case {
    world.control("main", request);
    Case::of("E3", what, Script::of(world.log), |script| {
        let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = script.event("control_applied", 0) else {
            panic!()
        };
        let mut fact = fact.clone();
        sabotage(&mut fact);
        script.replace("control_applied", 0, *fact);
    })
}

fn rest(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("M11", what, Script::of(rested().log), sabotage)
}

/// A request like the first of the log, of that run.
fn asks(script: &Script, op: u64, run: u64) -> OperationOpened {
    let requests = (0..).map(|nth| script.event("operation_opened", nth));
    let mut requests = requests.filter_map(|event| {
        let Event::Operation(OperationFact::OperationOpened(fact)) = event else { return None };
        (fact.kind == OpKind::CallModel).then_some(fact)
    });
    let first = requests.next().unwrap();
    OperationOpened { op: OpId(op), run_id: Some(RunId(run)), ..(**first).clone() }
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        stop("the run that it ended is not named", |fact| fact.aborted_run_id = None),
        stop("a message that it ended is not named", |fact| fact.aborted_messages.truncate(1)),
        stop("a message is named that waits", |fact| fact.aborted_messages.push(MessageId(9))),
        stop("an operation that it gave up is not named", |fact| fact.cancelled_ops.clear()),
        stop("a task that is to end is not named", |fact| fact.cancelling_tasks.clear()),
        stop("a task is named that nobody asked to end", |fact| fact.cancelling_tasks.push(TaskId(9))),
        abort("a task is named that goes on", |fact| fact.cancelling_tasks.push(TaskId(9))),
        stop("a hint that nobody hears of is not named", |fact| fact.lost_hints.clear()),
        stop("the end of a task is said to be untold", |fact| fact.untold_tasks.push(TaskId(1))),
        rest("a turn rests and asks a model", |s| {
            let again = asks(s, 90, 1);
            s.before("turn_terminal", 0, again);
        }),
        rest("the end of a task that was shown begins a turn", |s| {
            let begins = s.event("turn_started", 0).clone();
            let Event::Turn(holon_facts::event::TurnFact::TurnStarted(begun)) = begins else { panic!() };
            let again = holon_facts::event::turn::TurnStarted {
                run_id: RunId(2),
                turn_index: begun.turn_index.next(),
                message_id: MessageId(2),
                ..(*begun).clone()
            };
            s.after("turn_terminal", 0, again);
        }),
    ]
}
