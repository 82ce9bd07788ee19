//! A command that goes on beyond its call becomes a task.

use holon_facts::content::{ContentId, Text, clip};
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::{TaskCause, TaskCreated, TaskOrigin};
use holon_facts::ids::{OpId, TaskId};
use holon_facts::outcome::CommandSpec;
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::task::{Job, TaskKind, TaskStatus, WaitPolicy};
use holon_facts::time::Millis;

use crate::agent::OpenOp;
use crate::effect::{TaskWork, Work};
use crate::handler::turn::{request, tools};
use crate::tx::{Alarm, Opening, Tx};

/// Reading what a command has written takes no longer than this.
const READ_TIMEOUT: Millis = Millis::seconds(10);
/// Characters of a command that stand for the whole of it.
const SUMMARY: usize = 120;

/// The call of a command has waited long enough: what there is of its output is read, then it goes on as a task.
pub(crate) fn yields(tx: &mut Tx<'_>, op: OpId) {
    tx.disarm(Alarm::Op(op));
    let Some(open) = tx.agent().ops.get(&op) else { return };
    let (Some(run_id), Some(task)) = (open.run_id, open.task_id) else { return };
    let tty = open.command.as_ref().is_some_and(|command| command.tty);
    let output_tokens = tools::output_tokens(tx);
    let opening = Opening { run_id: Some(run_id), ..Opening::new(OpKind::PromoteCommand, READ_TIMEOUT) };
    let work = TaskWork::Promote { task, output_tokens, tty };
    tx.open(opening, Work::CallTask { work });
}

/// The output so far was read, or could not be: the call has its result either way.
pub(crate) fn promoted(tx: &mut Tx<'_>, shown: Option<Receipt>) {
    let Some(op) = foreground(tx) else { return };
    let Some(task) = create(tx, op, TaskOrigin::Promoted) else { return };
    tools::record_result(tx, shown.unwrap_or_else(|| receipt(task)), Millis(0));
    request::advance(tx);
}

/// The end of the process or of the run leaves the command as a task; its call is notified, with what was `shown` of its
/// output where somebody could look.
pub(crate) fn left(tx: &mut Tx<'_>, op: OpId, cause: TaskOrigin, shown: Option<Receipt>) {
    if let Some(task) = create(tx, op, cause) {
        tools::record_result(tx, shown.unwrap_or_else(|| receipt(task)), Millis(0));
    }
}

/// A shutdown ends no command.
pub(crate) fn at_shutdown(tx: &mut Tx<'_>) {
    if let Some(op) = foreground(tx) {
        left(tx, op, TaskOrigin::PromotedAtShutdown, None);
    }
}

/// A stop ends the command that the run waits for, as it ends every task: with an end that is waited for. Says which
/// operation it gives up for that.
pub(crate) fn at_stop(tx: &mut Tx<'_>) -> Option<OpId> {
    let op = foreground(tx)?;
    let given_up = no_more(tx);
    create(tx, op, TaskOrigin::PromotedAtStop);
    given_up
}

/// The same where a turn is aborted, or takes too long: the agent knows that the command ends. Names the task, too.
pub(crate) fn at_turn_end(tx: &mut Tx<'_>) -> (Option<OpId>, Option<TaskId>) {
    let Some(op) = foreground(tx) else { return (None, None) };
    let given_up = no_more(tx);
    let task = create(tx, op, TaskOrigin::PromotedAtTurnEnd);
    if let Some(task) = task {
        super::stop::request(tx, task, TaskCause::AgentAsked, false);
    }
    (given_up, task)
}

/// The command ended before its call could be told that it goes on: nobody reads what it has written so far.
pub(crate) fn no_more(tx: &mut Tx<'_>) -> Option<OpId> {
    let reading =
        tx.agent().ops.iter().find(|(_, open)| open.kind == OpKind::PromoteCommand).map(|(op, _)| *op);
    if let Some(op) = reading {
        tx.cancel(op, Settlement::Cancelled);
    }
    reading
}

/// The command that the run waits for.
fn foreground(tx: &Tx<'_>) -> Option<OpId> {
    let agent = tx.agent();
    let mut ops = agent.ops.iter();
    ops.find(|(_, open)| open.kind == OpKind::RunCommand && agent.is_of_run(open)).map(|(op, _)| *op)
}

fn create(tx: &mut Tx<'_>, op: OpId, cause: TaskOrigin) -> Option<TaskId> {
    let open = tx.agent().ops.get(&op)?.clone();
    let task_id = open.task_id?;
    let command = open.command.clone().unwrap_or_else(|| unknown(tx));
    let parent_message_id = tx.agent().run.as_ref().map(|run| run.message);
    record(tx, op, open, cause, command, parent_message_id);
    tx.disarm(Alarm::Op(op));
    Some(task_id)
}

pub(super) fn record(
    tx: &mut Tx<'_>,
    op: OpId,
    open: OpenOp,
    cause: TaskOrigin,
    command: CommandSpec,
    parent_message_id: Option<holon_facts::ids::MessageId>,
) {
    let Some(task_id) = open.task_id else { return };
    tx.record(TaskCreated {
        task_id,
        kind: TaskKind::CommandTask,
        cause,
        status: TaskStatus::Running,
        op: Some(op),
        run_id: open.run_id,
        parent_message_id,
        summary: clip(command.cmd.preview(), SUMMARY),
        wait_policy: WaitPolicy::Background,
        job: Job::Command(command),
        repeated: open.repeated,
    });
}

/// Where a supervisor did not say what it executes: the call is all that is known of it.
fn unknown(tx: &Tx<'_>) -> CommandSpec {
    CommandSpec {
        cmd: tools::open_arguments(tx).unwrap_or_default(),
        cmd_digest: ContentId([0; 32]),
        workdir: tx.agent().execution().cwd.clone(),
        shell: "unknown".into(),
        login: true,
        tty: false,
        accepts_input: false,
        reuse_running: false,
        yield_time_ms: None,
        output_path: "unknown".into(),
    }
}

/// What the call is shown without a look at the output.
fn receipt(task: TaskId) -> Receipt {
    let json = format!(
        r#"{{"disposition":"promoted_to_task","task_handle":{{"task_id":"{task}","status":"running"}},"initial_output_preview":"","initial_output_truncated":true}}"#
    );
    Receipt::success(Text::short(json), ToolFacts::default())
}
