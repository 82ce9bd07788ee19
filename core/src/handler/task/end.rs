//! The end of a task: its record first, then the message that tells it, in one step.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::{TaskCause, TaskStatusUpdated};
use holon_facts::event::turn::{FailureArtifact, FailureCategory};
use holon_facts::ids::{OpId, TaskId};
use holon_facts::outcome::{Certainty, CommandEnd, OpFailure, ToolOutcome};
use holon_facts::price::Amount;
use holon_facts::task::{TaskKind, TaskStatus};
use holon_facts::time::Millis;
use holon_facts::workspace::Retained;

use crate::agent::task::Task;
use crate::handler::skills;
use crate::handler::task::deliver::{self, Delivery};
use crate::handler::turn::model_round::artifact;
use crate::handler::turn::tools;
use crate::tx::{Alarm, Tx};

/// What is known of the end.
pub(crate) struct End {
    pub(crate) status: TaskStatus,
    pub(crate) cause: TaskCause,
    pub(crate) exit_status: Option<i32>,
    pub(crate) duration: Option<Millis>,
    pub(crate) result: Option<Text>,
    /// By a child.
    pub(crate) spent: Amount,
    /// Why the worktree of a child is still there.
    pub(crate) worktree: Option<Retained>,
    /// Files of skills that its command has named.
    pub(crate) skill_files: Vec<String>,
}

impl End {
    /// Nobody can say how it ended.
    pub(crate) fn unproven(why: &str) -> Self {
        Self {
            status: TaskStatus::Interrupted,
            cause: TaskCause::Unproven,
            exit_status: None,
            duration: None,
            result: Some(Text::short(why)),
            spent: Amount::default(),
            worktree: None,
            skill_files: Vec::new(),
        }
    }

    fn of(outcome: ToolOutcome) -> Self {
        let ToolOutcome { receipt, duration_ms, end } = outcome;
        let exit_status = receipt.facts.exit_status;
        let failed = receipt.error.is_some();
        let end = end.unwrap_or(if failed { CommandEnd::Unproven } else { CommandEnd::Exited });
        let (status, cause) = match end {
            CommandEnd::Exited if !failed && exit_status.unwrap_or(0) == 0 => {
                (TaskStatus::Completed, TaskCause::Exited)
            }
            CommandEnd::Exited => (TaskStatus::Failed, TaskCause::Exited),
            CommandEnd::TimedOut => (TaskStatus::Failed, TaskCause::TimedOut),
            CommandEnd::NotStarted => (TaskStatus::Failed, TaskCause::NotStarted),
            CommandEnd::Stopped => (TaskStatus::Cancelled, TaskCause::Stopped),
            CommandEnd::Unproven => (TaskStatus::Interrupted, TaskCause::Unproven),
        };
        let skill_files = receipt.facts.skill_files;
        let result = receipt.content.or(receipt.error.map(|error| error.message));
        Self {
            status,
            cause,
            exit_status,
            duration: (cause != TaskCause::Unproven).then_some(duration_ms),
            result,
            spent: Amount::default(),
            worktree: None,
            skill_files,
        }
    }
}

/// Its supervisor has said how it ended.
pub(crate) fn end_reported(tx: &mut Tx<'_>, op: OpId, task: TaskId, outcome: ToolOutcome) {
    tx.settle(op, Settlement::Done);
    ended(tx, task, End::of(outcome), Delivery::Now);
}

/// Whoever should have heard of its end could not.
pub(crate) fn end_unknown(tx: &mut Tx<'_>, op: OpId, task: TaskId, failure: &OpFailure) {
    super::child::lost(tx, op);
    tx.cancel(op, Settlement::Failed);
    let end = match failure.certainty {
        Certainty::Ambiguous => End::unproven(failure.message.preview()),
        Certainty::Definite => End {
            status: TaskStatus::Failed,
            cause: TaskCause::NotStarted,
            exit_status: None,
            duration: None,
            result: Some(failure.message.clone()),
            spent: Amount::default(),
            worktree: None,
            skill_files: Vec::new(),
        },
    };
    ended(tx, task, end, Delivery::Now);
}

/// Records the end, tells it, and lets go whoever waits for it.
pub(crate) fn ended(tx: &mut Tx<'_>, id: TaskId, end: End, telling: Delivery) {
    let Some(task) = tx.agent().tasks.get(id) else { return };
    let failure_artifact = failure(task, &end);
    let End { status, cause, exit_status, duration, result, spent, worktree, skill_files } = end;
    let previous = task.status;
    tx.record(TaskStatusUpdated {
        task_id: id,
        previous,
        status,
        cause,
        force: false,
        exit_status,
        duration_ms: duration,
        result,
        failure_artifact,
        spent,
        worktree,
    });
    if status == TaskStatus::Completed {
        skills::used(tx, &skill_files);
    }
    tx.disarm(Alarm::StopTask(id));
    if telling == Delivery::Now {
        deliver::deliver(tx, id);
    }
    super::operator::input_too_late(tx, id);
    await_over(tx, id);
}

/// The call that waits for it goes on with what it brought.
fn await_over(tx: &mut Tx<'_>, id: TaskId) {
    let mut ops = tx.agent().ops.iter();
    let waits = ops.find(|(_, open)| open.kind == OpKind::AwaitTask && open.task_id == Some(id));
    if let Some(op) = waits.map(|(op, _)| *op) {
        tx.settle(op, Settlement::Done);
        tools::task_output(tx, id, super::tools::Retrieval::Success);
    }
}

/// Evidence for whoever looks at a task that did not complete.
fn failure(task: &Task, end: &End) -> Option<FailureArtifact> {
    if end.status == TaskStatus::Completed {
        return None;
    }
    let how = match (end.cause, end.exit_status, &end.result) {
        (TaskCause::Exited, Some(status), _) => format!("the command ended with exit status {status}"),
        (TaskCause::Unproven | TaskCause::NotStarted, _, Some(words)) => {
            format!("{}: {}", why(task.kind, end.cause), words.preview())
        }
        (cause, _, _) => why(task.kind, cause).into(),
    };
    Some(FailureArtifact {
        task_id: Some(task.id),
        exit_status: end.exit_status,
        ..artifact(FailureCategory::Task, end.status.name(), Text::short(how))
    })
}

fn why(kind: TaskKind, cause: TaskCause) -> &'static str {
    let command = kind == TaskKind::CommandTask;
    match cause {
        TaskCause::Exited if command => "the command failed",
        TaskCause::Exited => "the child failed; its report says why",
        TaskCause::TimedOut => "the command was ended past its window",
        TaskCause::NotStarted if command => "nothing was executed",
        TaskCause::NotStarted => "the child was never there",
        TaskCause::Stopped
        | TaskCause::AgentAsked
        | TaskCause::OperatorAsked
        | TaskCause::AgentStopped
        | TaskCause::GraceOver
            if command =>
        {
            "the command was ended with everything that it had started"
        }
        TaskCause::Stopped
        | TaskCause::AgentAsked
        | TaskCause::OperatorAsked
        | TaskCause::AgentStopped
        | TaskCause::GraceOver => "the child was stopped with everything that it supervised",
        TaskCause::Started | TaskCause::Unproven if command => "nobody can say how the command ended",
        TaskCause::Started | TaskCause::Unproven => "nobody can say how the child ended",
    }
}
