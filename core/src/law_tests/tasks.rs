//! A second hand-made life, of background tasks, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::closure::ClosureOutcome;
use holon_facts::decision::DecisionKind;
use holon_facts::event::brief::BriefKind;
use holon_facts::event::inbox::*;
use holon_facts::event::lifecycle::*;
use holon_facts::event::operation::{OpKind, OperationOpened};
use holon_facts::event::task::{TaskCause, TaskOrigin};
use holon_facts::event::turn::*;
use holon_facts::ids::{OpId, RunId, TaskId};
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::message::{MessageKind, Origin, Priority};
use holon_facts::model::AttemptOutcome;
use holon_facts::subsystem::TASK_RESTART;
use holon_facts::task::TaskStatus;
use holon_facts::terminal::{TurnKind, TurnReason};

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ends();
    cases.extend(commands());
    cases
}

fn ends() -> Vec<Case> {
    use TaskStatus::{Cancelling, Completed, Failed, Running};
    alloc::vec![
        case("P1", "a task ends twice", |s| {
            s.after("task_status_updated", 0, changed(1, Completed, Failed, TaskCause::Exited));
        }),
        case("P1", "a task that is to end goes on", |s| {
            s.after("task_status_updated", 1, changed(2, Cancelling, Running, TaskCause::Started));
        }),
        case("P1", "a task was not as it is said to have been", |s| {
            s.replace("task_status_updated", 0, changed(1, Cancelling, Completed, TaskCause::Exited));
        }),
        case("P1", "a task begins without a command", |s| {
            s.replace("task_created", 0, begun(1, 2, Some(1), TaskOrigin::Promoted));
        }),
        case("P1", "a task begins with its end", |s| {
            let fact = begun(1, 4, Some(1), TaskOrigin::Promoted);
            s.replace("task_created", 0, holon_facts::event::task::TaskCreated { status: Completed, ..fact });
        }),
        case("P2", "nobody is told of an end", |s| {
            s.remove("task_result_queued", 0);
            s.remove("message_admitted", 1);
            s.replace("message_dequeued", 1, decided(DecisionKind::Sleep, None));
            s.remove("message_processed", 1);
        }),
        case("P2", "an end is told twice", |s| s.after("task_result_queued", 0, result_queued(1, 2, false))),
        case("P2", "an end is told before it comes", |s| s.after(
            "task_created",
            0,
            result_queued(1, 1, false)
        )),
        case("P2", "an end is told by what was there before", |s| {
            s.replace("task_result_queued", 0, result_queued(1, 1, false));
        }),
        case("S5", "an agent is said to know what nobody told it", |s| {
            s.replace("task_result_queued", 0, result_queued(1, 2, true));
        }),
        case("S5", "an operator's end is taken for the agent's", |s| {
            s.replace("task_result_queued", 1, result_queued(2, 3, true));
        }),
        case("S5", "the end of a task that goes on is shown", |s| {
            s.replace("tool_executed", 0, shows(0, "c1", 1));
        }),
        case("S5", "a look at one task shows another", |s| {
            s.replace("tool_executed", 1, shows(1, "c2", 2));
        }),
        case("Q4", "what its agent was not shown passes without a model", |s| {
            s.replace("tool_executed", 1, executed(0, 1, "c2"));
        }),
        case("S6", "a task goes on, and nothing will say how it ends", |s| {
            s.after("task_created", 0, settled(4));
        }),
        case("L2", "a stop leaves a task that is not to end", |s| s.remove("task_status_updated", 3)),
        case("L2", "a stop leaves a supervisor that comes up", |s| {
            s.after("task_created", 2, asked(15, OpKind::PrepareCommand, 4));
        }),
    ]
}

fn commands() -> Vec<Case> {
    alloc::vec![
        case("P4", "an operator's command runs without a supervisor that waits", |s| {
            s.remove("operation_settled", 8);
        }),
        case("P4", "an operator's command runs under nobody", |s| {
            let nobody = OperationOpened { supervisor: None, ..asked(10, OpKind::RunCommand, 2) };
            s.replace("operation_opened", 9, nobody);
        }),
        case("P4", "a look at a task names a supervisor", |s| {
            let named = asked(5, OpKind::RunCommand, 1).supervisor;
            let look = OperationOpened { supervisor: named, ..opened(5, OpKind::PromoteCommand, 1) };
            s.replace("operation_opened", 4, look);
        }),
        case("T3", "a call waits for a task beside its own command", |s| {
            s.replace("operation_opened", 4, opened(5, OpKind::AwaitTask, 1));
        }),
        case("T4", "a run ends before one of its operations", |s| s.remove("operation_settled", 11)),
        case("Q9", "a number of a task is skipped", |s| {
            s.replace("operation_opened", 8, asked(9, OpKind::PrepareCommand, 5));
        }),
        case("Q9", "a task to come is written to", |s| {
            s.after("task_created", 0, asked(6, OpKind::WriteInput, 3));
        }),
        case("L1", "a stopped agent's task is written to", |s| {
            s.after("control_applied", 0, asked(14, OpKind::WriteInput, 3));
        }),
        case("T11", "a command admits a message", |s| {
            s.after("task_status_updated", 0, admitted(2, Priority::Normal));
        }),
        case("A1", "the end of a task is an instruction of the operator", |s| {
            let mut fact = admitted_from(2, MessageKind::TaskResult, of_task(1));
            fact.message.authority_class = holon_facts::message::AuthorityClass::OperatorInstruction;
            s.replace("message_admitted", 1, fact);
        }),
    ]
}

fn of_task(task: u64) -> Origin {
    Origin::Task { task_id: alloc::format!("task_{task}") }
}

/// A command goes on as a task, whose end a turn sees; an operator ends a task; a stop ends one, of which its agent
/// hears after the next start.
fn life() -> Script {
    use TaskCause::{AgentStopped, Exited, OperatorAsked, Stopped, Unproven};
    use TaskStatus::{Cancelled, Cancelling, Completed, Interrupted, Running};
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.step().on(settled(1)).on(TurnContextBuilt { run_id: RunId(1), context: loaded() });
    s.on(opened(2, OpKind::CallModel, 1));
    s.step().on(settled(2)).on(attempted(0, 1, AttemptOutcome::Succeeded, None, None));
    s.on(called_about(0, 1)).on(tool_started()).on(opened(3, OpKind::PrepareCommand, 1));
    s.step().on(settled(3)).on(opened(4, OpKind::RunCommand, 1));
    s.step().on(opened(5, OpKind::PromoteCommand, 1));
    s.step().on(settled(5)).on(begun(1, 4, Some(1), TaskOrigin::Promoted)).on(executed(0, 0, "c1"));
    s.on(looks(1)).on(about(6, OpKind::AwaitTask, 1, 1));
    s.step().on(settled(4)).on(changed(1, Running, Completed, Exited));
    s.on(admitted_from(2, MessageKind::TaskResult, of_task(1))).on(result_queued(1, 2, false)).on(settled(6));
    s.on(about(7, OpKind::CallTool, 1, 1));
    s.step().on(settled(7)).on(shows(1, "c2", 1)).on(opened(8, OpKind::CallModel, 1));
    s.step().on(settled(8)).on(attempted(1, 1, AttemptOutcome::Succeeded, None, None)).on(spoken(1));
    s.on(processed(1, Some(1), Disposition::Processed));
    s.on(ended(1, 1, 1, TurnKind::Completed, None, 2)).on(brief(1, BriefKind::Result, 1));
    s.on(closed(ClosureOutcome::Completed)).on(decided(DecisionKind::ReduceMessageOnly, Some(2)));
    s.on(dequeued(2, None)).on(processed(2, None, Disposition::Processed));
    s.on(decided(DecisionKind::Sleep, None)).on(posture(Status::AwakeIdle, Status::Asleep));
    s.step().on(asked(9, OpKind::PrepareCommand, 2));
    s.step().on(settled(9)).on(asked(10, OpKind::RunCommand, 2)).on(begun(2, 10, None, TaskOrigin::Operator));
    s.step().on(changed(2, Running, Cancelling, OperatorAsked));
    s.step().on(settled(10)).on(changed(2, Cancelling, Cancelled, Stopped));
    s.on(admitted_from(3, MessageKind::TaskResult, of_task(2))).on(result_queued(2, 3, false));
    s.begin(3, 2, 2, 11);
    s.step().on(asked(12, OpKind::PrepareCommand, 3));
    s.step().on(settled(12)).on(asked(13, OpKind::RunCommand, 3));
    s.on(begun(3, 13, None, TaskOrigin::Operator));
    s.step().on(requested(ControlAction::Stop, Status::AwakeRunning)).on(settled(11)).on(aborted(3, 2));
    s.on(ended(2, 2, 3, TurnKind::Aborted, Some(TurnReason::Stopped), 0))
        .on(closed(ClosureOutcome::Completed));
    s.on(changed(3, Running, Cancelling, AgentStopped));
    let stopped = applied(ControlAction::Stop, Status::AwakeIdle, Status::Stopped, Some((2, 3)));
    let (cancelling_tasks, untold_tasks) = ([TaskId(3)].into(), [TaskId(2)].into());
    s.on(ControlApplied { cancelling_tasks, untold_tasks, ..stopped });
    s.on(posture(Status::AwakeIdle, Status::Stopped));
    s.step().on(settled(13)).on(changed(3, Cancelling, Interrupted, Unproven));
    s.step().on(requested(ControlAction::Start, Status::Stopped));
    s.on(applied(ControlAction::Start, Status::Stopped, Status::AwakeIdle, None));
    s.on(posture(Status::Stopped, Status::AwakeIdle));
    s.on(admitted_from(4, MessageKind::SystemTick, Origin::system(TASK_RESTART)))
        .on(result_queued(3, 4, false));
    s.begin(4, 3, 3, 14);
    s.step().on(recovered(3, 14)).on(settled(14)).on(requeued(4, 3, RequeueCause::Crash, 1));
    s.on(ended(3, 3, 4, TurnKind::Interrupted, Some(TurnReason::Crash), 0))
        .on(closed(ClosureOutcome::Completed));
    s
}

/// An operation that an operator asked for.
fn asked(op: u64, kind: OpKind, task: u64) -> OperationOpened {
    OperationOpened { run_id: None, task_id: Some(TaskId(task)), ..opened(op, kind, 1) }
}

/// An operation of a run, about a task.
fn about(op: u64, kind: OpKind, run: u64, task: u64) -> OperationOpened {
    OperationOpened { op: OpId(op), task_id: Some(TaskId(task)), ..opened(op, kind, run) }
}
