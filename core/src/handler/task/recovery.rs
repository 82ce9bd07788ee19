//! Tasks after the end of the process that watched them: their supervisors were asked (contract: tasks.md,
//! Restart).

use alloc::vec::Vec;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::TaskOrigin;
use holon_facts::ids::{OpId, TaskId};
use holon_facts::receipt::Receipt;

use crate::effect::{Effect, Work};
use crate::handler::task::deliver::Delivery;
use crate::handler::task::end::{self, End};
use crate::handler::task::{promote, stop};
use crate::recovery::Found;
use crate::tx::Tx;

/// The command of an interrupted call goes on as a task; the call is `shown` what it has written so far.
pub(crate) fn adopt(tx: &mut Tx<'_>, op: OpId, shown: Option<Receipt>) {
    promote::left(tx, op, TaskOrigin::PromotedAtRecovery, shown);
    if tx.agent().task_of(op).is_some() {
        watch(tx, op);
    } else {
        // Of an older build: it has no number under which it could go on.
        tx.dismiss(op);
    }
}

/// What was found of a task that was under way.
pub(crate) fn found(tx: &mut Tx<'_>, op: OpId, task: TaskId, found: Found) {
    match found {
        Found::Ended { outcome } => end::end_reported(tx, op, task, *outcome),
        Found::Running => {
            watch(tx, op);
            let stopping =
                tx.agent().tasks.get(task).and_then(|task| task.stop.as_ref()).map(|stop| stop.force);
            if let Some(force) = stopping {
                stop::ask(tx, task, force);
            }
        }
        Found::NotStarted => {
            tx.settle(op, Settlement::Failed);
            let end =
                End::unproven("the runtime ended before the command had the word: nothing was executed");
            end::ended(tx, task, end, Delivery::Together);
        }
        Found::Lost => {
            tx.settle(op, Settlement::Lost);
            let end = End::unproven("its supervisor is gone, and left no record of the end");
            end::ended(tx, task, end, Delivery::Together);
        }
    }
}

/// Operations that nobody waits for any more: an operator's, and the runtime's own.
pub(crate) fn orphans(tx: &mut Tx<'_>) {
    let of_nobody = |kind: OpKind| match kind {
        // A removal begins again.
        OpKind::PrepareCommand | OpKind::WriteInput | OpKind::RemoveWorktree | OpKind::Summarize => true,
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::CallTool
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::SuperviseChild
        | OpKind::FindWorkspace => false,
    };
    let agent = tx.agent();
    let orphans: Vec<OpId> = agent
        .ops
        .iter()
        .filter(|(_, open)| of_nobody(open.kind) && !agent.is_of_run(open))
        .map(|(op, _)| *op)
        .collect();
    for op in orphans {
        tx.settle(op, Settlement::Lost);
    }
}

/// The supervisor is reached again under the same operation; the command has not noticed anything.
fn watch(tx: &mut Tx<'_>, op: OpId) {
    let Some(supervisor) = tx.agent().ops.get(&op).and_then(|open| open.supervisor.clone()) else { return };
    let agent = tx.agent().id.clone();
    tx.effect(Effect::Perform { agent, op, work: Work::WatchCommand { supervisor } });
}
