//! Start, stop and abort: applied in the step that admits them, whatever the agent does (contract:
//! agent.md, Lifecycle).

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::lifecycle::{ControlApplied, ControlRequestAdmitted, SchedulerPostureDecision};
use holon_facts::event::scheduling::{HoldEnd, HoldEnded};
use holon_facts::event::task::TaskCause;
use holon_facts::ids::{AgentId, MessageId, OpId, ReplyId, RunId, TaskId};
use holon_facts::lifecycle::{Boundary, ControlAction, ControlOutcome, Status};
use holon_facts::reject::Reject;
use holon_facts::task::TaskStatus;
use holon_facts::terminal::TurnReason;

use crate::agent::turn::Run;
use crate::effect::Answer;
use crate::handler::episode::summary;
use crate::handler::turn::end::{self, End};
use crate::handler::workspace::occupancy::{self, Roots};
use crate::handler::{child, label, task, wake};
use crate::input::ControlRequest;
use crate::tx::Tx;

/// Applies the request and answers the caller.
pub(crate) fn control(tx: &mut Tx<'_>, request: &ControlRequest, reply: ReplyId) {
    let answer = match request {
        ControlRequest::Start if tx.agent().childhood.retired.is_some() => {
            Answer::Refused { reject: Reject::AgentArchived { agent: tx.agent().id.clone() } }
        }
        ControlRequest::Start => Answer::Controlled(start(tx)),
        ControlRequest::Stop => Answer::Controlled(stop(tx)),
        ControlRequest::Archive => Answer::Controlled(archive(tx)),
        ControlRequest::Abort { run_id, stop_after_abort } => match abort(tx, *run_id, *stop_after_abort) {
            Ok(outcome) => Answer::Controlled(outcome),
            Err(reject) => Answer::Refused { reject },
        },
    };
    tx.reply(reply, answer);
}

/// Hands a stopped agent back to the scheduler; starts nothing itself.
fn start(tx: &mut Tx<'_>) -> ControlOutcome {
    let previous = tx.agent().status;
    let next = match previous {
        Status::Stopped => Status::AwakeIdle,
        // It is told to go on: nothing that it causes itself waits any longer.
        Status::Booting | Status::AwakeIdle | Status::AwakeRunning | Status::Asleep
            if tx.agent().unattended.self_caused_turns > 0 || tx.agent().sleep.is_some() =>
        {
            previous
        }
        Status::Booting | Status::AwakeIdle | Status::AwakeRunning | Status::Asleep => {
            return unchanged(tx, ControlAction::Start);
        }
    };
    label::archive(tx, false);
    admitted(tx, ControlAction::Start);
    applied(tx, ControlAction::Start, (previous, next), Aborted::default())
}

/// Whatever is archived is stopped first, as a stop does it.
fn archive(tx: &mut Tx<'_>) -> ControlOutcome {
    let outcome = stop(tx);
    let changed = label::archive(tx, true) || outcome.changed;
    ControlOutcome { changed, archived: true, ..outcome }
}

pub(super) fn stop(tx: &mut Tx<'_>) -> ControlOutcome {
    let previous = tx.agent().status;
    if previous == Status::Stopped {
        return unchanged(tx, ControlAction::Stop);
    }
    wake::keep_at_stop(tx);
    admitted(tx, ControlAction::Stop);
    if let Some(hold) = &tx.agent().hold {
        let since = hold.since;
        tx.record(HoldEnded { since, reason: HoldEnd::Stopped });
    }
    let running: Vec<MessageId> = tx.agent().run.iter().flat_map(Run::messages).collect();
    let lost_hints = tx.agent().hints.sources(&running);
    // What it executes now has an end that somebody has to wait for: until then it writes to its root.
    let given_up = task::promote::at_stop(tx);
    let delivered = running.iter().flat_map(|message| tx.agent().tasks.delivered_by(*message));
    let unshown = delivered.filter(|task| task.end.as_ref().is_some_and(|end| !end.shown));
    let untold_tasks = unshown.map(|task| task.id).collect();
    let mut aborted = Aborted { lost_hints, untold_tasks, ..abort_run(tx, TurnReason::Stopped) };
    aborted.ops.splice(..0, given_up);
    aborted.ops.extend(summary::cancel(tx));
    task::operator::give_up(tx, &Reject::AgentStopped { agent: tx.agent().id.clone() });
    let alive = tx.agent().tasks.children().filter(|(task, _)| task.child_end.is_none());
    aborted.children = alive.map(|(_, child)| child.child_agent_id.clone()).collect();
    aborted.tasks = task::stop::all(tx, TaskCause::AgentStopped, false);
    aborted.roots = occupancy::stopped(tx);
    let outcome = applied(tx, ControlAction::Stop, (previous, Status::Stopped), aborted);
    child::retire(tx, TaskStatus::Cancelled);
    outcome
}

fn abort(tx: &mut Tx<'_>, run_id: Option<RunId>, stop_after: bool) -> Result<ControlOutcome, Reject> {
    let current = tx.agent().run.as_ref().map(|run| run.id).ok_or(Reject::NoCurrentRun)?;
    if let Some(run_id) = run_id
        && run_id != current
    {
        return Err(Reject::StaleRunId { run_id, current });
    }
    if stop_after {
        return Ok(stop(tx));
    }
    let previous = tx.agent().status;
    admitted(tx, ControlAction::Abort);
    // What it executes now is ended as a task: until then it writes to its root.
    let (given_up, ending) = task::promote::at_turn_end(tx);
    let mut aborted = abort_run(tx, TurnReason::OperatorAbort);
    aborted.ops.splice(..0, given_up);
    aborted.tasks.extend(ending);
    Ok(applied(tx, ControlAction::Abort, (previous, Status::AwakeIdle), aborted))
}

/// What the end of a run leaves for the outcome.
#[derive(Default)]
struct Aborted {
    run_id: Option<RunId>,
    messages: Vec<MessageId>,
    ops: Vec<OpId>,
    /// Tasks that are asked to end.
    tasks: Vec<TaskId>,
    lost_hints: Vec<String>,
    untold_tasks: Vec<TaskId>,
    roots: Roots,
    children: Vec<AgentId>,
}

fn abort_run(tx: &mut Tx<'_>, reason: TurnReason) -> Aborted {
    let Some(run) = &tx.agent().run else { return Aborted::default() };
    let aborted = Aborted {
        run_id: Some(run.id),
        messages: run.messages().collect(),
        ops: tx.agent().run_ops(),
        ..Aborted::default()
    };
    end::end(tx, End::Aborted { reason });
    aborted
}

fn admitted(tx: &mut Tx<'_>, action: ControlAction) {
    let previous = tx.agent().status;
    tx.record(ControlRequestAdmitted { action, previous });
}

/// Records the whole change, from how things stood when it was asked for: the end of a run has changed the status
/// already.
fn applied(
    tx: &mut Tx<'_>,
    action: ControlAction,
    (previous, next): (Status, Status),
    aborted: Aborted,
) -> ControlOutcome {
    let status = tx.agent().status;
    tx.record(ControlApplied {
        action,
        previous,
        next,
        boundary: Boundary::Control,
        aborted_run_id: aborted.run_id,
        aborted_messages: aborted.messages.clone(),
        cancelled_ops: aborted.ops.clone(),
        cancelling_tasks: aborted.tasks.clone(),
        lost_hints: aborted.lost_hints.clone(),
        untold_tasks: aborted.untold_tasks.clone(),
        released_roots: Some(aborted.roots.released.clone()),
        stopping_roots: aborted.roots.stopping.clone(),
        stopped_children: aborted.children.clone(),
    });
    if status != next {
        let boundary = Boundary::Control;
        tx.record(SchedulerPostureDecision { previous: status, next, boundary, wakes_at: None });
    }
    ControlOutcome {
        action,
        previous,
        next,
        changed: true,
        archived: tx.agent().label.archived,
        aborted_run_id: aborted.run_id,
        aborted_messages: aborted.messages,
        cancelled_ops: aborted.ops,
        cancelling_tasks: aborted.tasks,
        lost_hints: aborted.lost_hints,
        untold_tasks: aborted.untold_tasks,
        released_roots: aborted.roots.released,
        stopping_roots: aborted.roots.stopping,
        stopped_children: aborted.children,
    }
}

fn unchanged(tx: &Tx<'_>, action: ControlAction) -> ControlOutcome {
    let status = tx.agent().status;
    ControlOutcome {
        action,
        previous: status,
        next: status,
        changed: false,
        archived: tx.agent().label.archived,
        aborted_run_id: None,
        aborted_messages: Vec::new(),
        cancelled_ops: Vec::new(),
        cancelling_tasks: Vec::new(),
        lost_hints: Vec::new(),
        untold_tasks: Vec::new(),
        released_roots: Vec::new(),
        stopping_roots: Vec::new(),
        stopped_children: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::testing::{World, agent, calls, command_ends, context, prompt, tool_answers};
    use holon_facts::content::Text;
    use holon_facts::event::operation::OpKind;
    use holon_facts::event::{Event, LifecycleFact};
    use holon_facts::hint::Hint;
    use holon_facts::outcome::CommandEnd;
    use holon_facts::time::Millis;

    #[test]
    fn the_outcome_tells_the_whole_change() {
        for (request, next) in [
            (ControlRequest::Stop, Status::Stopped),
            (ControlRequest::Abort { run_id: None, stop_after_abort: false }, Status::AwakeIdle),
            (ControlRequest::Abort { run_id: None, stop_after_abort: true }, Status::Stopped),
        ] {
            let mut world = World::with_agent("main");
            let message = world.admit("main", prompt("go"));
            world.complete("main", context());
            let Answer::Controlled(outcome) = world.control("main", request) else { panic!() };
            assert_eq!((outcome.previous, outcome.next), (Status::AwakeRunning, next));
            assert_eq!(outcome.aborted_messages, [message]);
            assert_eq!(outcome.cancelled_ops.len(), 1);
        }
    }

    #[test]
    fn an_abort_names_the_command_that_it_ends() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"work"}"#)]));
        let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
        let Answer::Controlled(outcome) = world.control("main", request) else { panic!() };
        assert_eq!(outcome.cancelling_tasks, [TaskId(1)]);
    }

    /// It may ignore what asks it to end, and writes until it is killed.
    #[test]
    fn a_root_is_held_until_the_last_command_in_it_has_ended() {
        for at_once in [true, false] {
            let mut world = World::with_agent("main");
            world.admit("main", prompt("go"));
            world.complete("main", context());
            world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"trap '' TERM; work"}"#)]));
            if !at_once {
                world.pass(Millis::seconds(600));
                world.complete_one("main", OpKind::PromoteCommand, tool_answers("so far"));
            }
            let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
            assert_eq!((outcome.previous, outcome.stopping_roots.len()), (Status::AwakeRunning, 1));
            assert!(outcome.released_roots.is_empty(), "{outcome:?}");
            assert_eq!(outcome.cancelling_tasks, [TaskId(1)], "somebody waits for its end");
            let applied = world.log.iter().rev().find_map(|record| {
                let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else {
                    return None;
                };
                Some(fact)
            });
            assert_eq!(applied.expect("it is on record").previous, Status::AwakeRunning);
            let held = |world: &World| world.agent("main").workspaces.occupied().count();
            let other = ControlRequest::Start;
            assert_eq!(held(&world), 1);
            world.crash();
            assert_eq!(held(&world), 0, "its supervisor is gone, and so is the command");
            world.control("main", other);
        }
    }

    /// A command that is asked to end with its turn still writes: its root is free when it has ended.
    #[test]
    fn the_root_of_an_aborted_turn_is_held_until_its_command_has_ended() {
        let abort = |world: &mut World| {
            let request = ControlRequest::Abort { run_id: None, stop_after_abort: false };
            let Answer::Controlled(_) = world.control("main", request) else { panic!() };
        };
        let wall_time: fn(&mut World) = |world| world.pass(crate::testing::config().turn.wall_time);
        for end in [abort as fn(&mut World), wall_time] {
            let mut world = World::with_agent("main");
            world.admit("main", prompt("build"));
            world.complete("main", context());
            world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"make"}"#)]));
            end(&mut world);
            assert!(world.agent("main").run.is_none());
            let held = |world: &World| world.agent("main").workspaces.occupied().count();
            assert_eq!(held(&world), 1, "its command may still write");
            world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
            assert_eq!(held(&world), 0);
            assert!(world.agent("main").run.is_none(), "the agent knows that it has ended it");
        }
    }

    /// Another tree is notified that the holder is stopping, and gets the root with the end of the command.
    #[test]
    fn others_get_the_root_with_the_end_of_the_command() {
        let mut world = World::with_agent("main");
        world.create("other");
        let run = |world: &mut World, name: &str| {
            let (agent, arguments) = (agent(name), Text::short(r#"{"cmd":"make"}"#));
            world.later(|reply| Input::RunTask { agent, arguments, key: None, reply })
        };
        run(&mut world, "main");
        world.control("main", ControlRequest::Stop);
        let refused = |world: &mut World| {
            let (agent, arguments) = (agent("other"), Text::short(r#"{"cmd":"make"}"#));
            let answer = world.ask(|reply| Input::RunTask { agent, arguments, key: None, reply });
            let Answer::Refused { reject: Reject::CommandRefused { error } } = answer else {
                panic!("{answer:?}")
            };
            error.message.preview().into()
        };
        let refusal: String = refused(&mut world);
        assert!(refusal.contains("main") && refusal.contains("stopping"), "{refusal}");
        world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
        run(&mut world, "other");
        assert_eq!(world.agent("other").workspaces.occupied().count(), 1);
    }

    /// What waited, and what the aborted run was to report; the next start says so with what else it has to tell.
    #[test]
    fn the_hints_that_a_stop_loses_are_named() {
        let mut world = World::with_agent("main");
        world.later(|reply| Input::RunTask {
            agent: agent("main"),
            arguments: Text::short(r#"{"cmd":"make"}"#),
            key: None,
            reply,
        });
        let hint = |world: &mut World, source: &str| {
            let hint = Hint { body: Some(Text::short("green")), ..Hint::new(source, "it moved") };
            world.ask(|reply| Input::Wake { agent: agent("main"), hint, reply });
        };
        hint(&mut world, "ci");
        let bare = Hint::new("mail", "it moved");
        world.ask(|reply| Input::Wake { agent: agent("main"), hint: bare, reply });
        let roots: Vec<String> =
            world.agent("main").workspaces.occupied().map(|(root, _)| root.into()).collect();
        let Answer::Controlled(outcome) = world.control("main", ControlRequest::Stop) else { panic!() };
        assert!(
            !roots.is_empty() && outcome.stopping_roots == roots,
            "its command has not ended: {outcome:?}"
        );
        assert!(outcome.aborted_run_id.is_some(), "the turn about the first hint");
        assert_eq!(outcome.lost_hints, ["ci", "mail"]);
        world.complete_one("main", OpKind::RunCommand, command_ends(CommandEnd::Stopped, None));
        world.control("main", ControlRequest::Start);
        let run = world.agent("main").run.as_ref().expect("a turn about the task");
        let delivered = run.about.incoming.body.text.preview();
        assert!(
            delivered.contains("a hint of ci was lost, a hint of mail was lost, task_1 cancelled"),
            "{delivered}"
        );
        assert!(world.agent("main").hints.lost().is_empty(), "once");
    }
}
