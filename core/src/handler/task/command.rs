//! From a call to a command under way: how many there may be, its supervisor, and equal ones that run already.

use alloc::boxed::Box;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::ids::{OpId, RunId};
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::receipt::{ToolError, ToolErrorKind};
use holon_facts::task::TaskStatus;
use holon_facts::time::Millis;

use crate::agent::OpenOp;
use crate::agent::task::Task;
use crate::effect::{TaskWork, ToolCall, Work};
use crate::handler::turn::tools;
use crate::tx::{Opening, Tx};

/// Bringing up a supervisor takes no longer than this.
const PREPARE_TIMEOUT: Millis = Millis::seconds(60);

/// Why no further command may begin now: each could become a task.
pub(crate) fn refusal(tx: &Tx<'_>) -> Option<ToolError> {
    let limits = &tx.env.config.tasks;
    // Each command that was begun may become a task: one that a run waits for counts, too.
    let (message, hint) = if tx.agent().commands() >= limits.per_agent {
        (
            format!(
                "{} commands and background tasks run, which is as many as an agent may have (limits.tasks_per_agent)",
                limits.per_agent
            ),
            "end one with TaskStop, or go on when one has ended",
        )
    } else if tx.env.host.commands >= limits.running {
        (
            format!(
                "{} commands run in this runtime, which is as many as there may be (limits.tasks)",
                limits.running
            ),
            "end a background task with TaskStop, or try again later",
        )
    } else {
        return None;
    };
    Some(ToolError::new(ToolErrorKind::LimitReached, message).hint(hint))
}

/// Brings up a supervisor, for a call of the run or for an operator.
pub(crate) fn prepare(tx: &mut Tx<'_>, run_id: Option<RunId>, call: ToolCall) -> OpId {
    let task = tx.agent().next.task;
    let trigger_generation = tx.agent().trigger_generation();
    let opening = Opening {
        run_id,
        task_id: Some(task),
        execution_root: Some(call.execution.execution_root.clone()),
        ..Opening::new(OpKind::PrepareCommand, PREPARE_TIMEOUT)
    };
    tx.open(opening, Work::PrepareCommand { task, call, trigger_generation })
}

/// A supervisor waits for the word: it is given once its identity is durable.
pub(crate) fn prepared(
    tx: &mut Tx<'_>,
    op: OpId,
    supervisor: SupervisorIdentity,
    command: Option<Box<CommandSpec>>,
) {
    let Some(open) = tx.agent().ops.get(&op).cloned() else { return };
    tx.settle(op, Settlement::Done);
    let Some(run_id) = open.run_id else {
        super::operator::begin(tx, op, open, supervisor, command);
        return;
    };
    if let Some(twin) = command.as_deref().and_then(|command| equal(tx, command)).cloned() {
        tx.dismiss(op);
        tools::work(tx, run_id, None, TaskWork::AlreadyRunning { task: Box::new(twin) });
        return;
    }
    let timeout = match command.as_deref().and_then(|command| command.yield_time_ms) {
        Some(yields) => yields.min(tx.env.config.turn.tool_timeout),
        None => tools::patience(tx),
    };
    execute(tx, open, Some(timeout), supervisor, command);
}

/// Opens the operation in which a supervisor executes its command: the record names the supervisor, so
/// that whoever reads the log after a crash knows whom to ask.
pub(super) fn execute(
    tx: &mut Tx<'_>,
    prepared: OpenOp,
    timeout: Option<Millis>,
    supervisor: SupervisorIdentity,
    command: Option<Box<CommandSpec>>,
) -> OpId {
    let opening = Opening {
        run_id: prepared.run_id,
        task_id: prepared.task_id,
        timeout,
        supervisor: Some(supervisor.clone()),
        command: command.map(|command| *command),
        execution_root: prepared.execution_root,
        ..Opening::without_end(OpKind::RunCommand)
    };
    tx.open(opening, Work::RunCommand { supervisor })
}

/// The running task that an equal command need not be started beside.
fn equal<'a>(tx: &'a Tx<'_>, command: &CommandSpec) -> Option<&'a Task> {
    let goes_on = |task: &&Task| {
        // A batch is no command, whatever it consists of.
        let same = |other: &CommandSpec| other.yield_time_ms.is_some() && other.equals(command);
        task.status == TaskStatus::Running && task.command().is_some_and(same)
    };
    command.reuse_running.then(|| tx.agent().tasks.active().find(goes_on)).flatten()
}
