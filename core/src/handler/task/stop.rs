//! The end of a task by request: everything of it is asked to end, then killed, and nothing waits for ever
//! (contract: tasks.md, `TaskStop`).

use alloc::vec::Vec;

use holon_facts::event::operation::Settlement;
use holon_facts::event::task::{TaskCause, TaskStatusUpdated};
use holon_facts::ids::{OpId, TaskId};
use holon_facts::outbox::Letter;
use holon_facts::price::Amount;
use holon_facts::task::TaskStatus;
use holon_facts::time::Millis;

use crate::agent::task::Task;
use crate::effect::Effect;
use crate::handler::outbox;
use crate::handler::task::deliver::Delivery;
use crate::handler::task::end::{self, End};
use crate::tx::{Alarm, Tx};

/// Beyond the grace, its supervisor has so long to report; and as long again once it was told to kill.
const REPORT: Millis = Millis::seconds(15);

/// Asks for the end; says whether that is anything new.
pub(crate) fn request(tx: &mut Tx<'_>, id: TaskId, cause: TaskCause, force: bool) -> bool {
    let Some(task) = tx.agent().tasks.get(id).filter(|task| !task.status.is_terminal()) else { return false };
    let (previous, forced) = (task.status, task.stop.as_ref().is_some_and(|stop| stop.force));
    if previous == TaskStatus::Cancelling && (forced || !force) {
        return false;
    }
    tx.record(TaskStatusUpdated {
        task_id: id,
        previous,
        status: TaskStatus::Cancelling,
        cause,
        force,
        exit_status: None,
        duration_ms: None,
        result: None,
        failure_artifact: None,
        spent: Amount::default(),
        worktree: None,
    });
    ask(tx, id, force);
    true
}

/// The supervisor is notified; again after a start of the runtime, which knows nothing of what was sent. A child is notified by
/// a letter, and ends in time because its own tasks do.
pub(super) fn ask(tx: &mut Tx<'_>, id: TaskId, force: bool) {
    if let Some(child) = tx.agent().tasks.get(id).and_then(Task::child) {
        if tx.agent().tasks.get(id).is_some_and(|task| task.child_end.is_some()) {
            // It has ended; only its worktree is still looked at.
            return;
        }
        let to = child.child_agent_id.clone();
        outbox::post(tx, to, Letter::Stop { force });
        return;
    }
    let Some(op) = executing(tx, id) else { return };
    let agent = tx.agent().id.clone();
    tx.effect(Effect::StopCommand { agent, op, force });
    let wait = if force { REPORT } else { Millis(tx.env.config.tasks.stop_grace.0.saturating_add(REPORT.0)) };
    tx.arm(Alarm::StopTask(id), wait);
}

/// Nothing was heard of the end in time: everything is killed, and past that the end is unproven.
pub(crate) fn overdue(tx: &mut Tx<'_>, id: TaskId) {
    tx.disarm(Alarm::StopTask(id));
    if request(tx, id, TaskCause::GraceOver, true) {
        return;
    }
    let Some(op) = executing(tx, id) else { return };
    tx.cancel(op, Settlement::TimedOut);
    end::ended(tx, id, End::unproven("it was killed, and nothing was heard of its end"), Delivery::Now);
}

/// Every task is asked to end.
pub(crate) fn all(tx: &mut Tx<'_>, cause: TaskCause, force: bool) -> Vec<TaskId> {
    let active: Vec<TaskId> = tx.agent().tasks.active().map(|task| task.id).collect();
    for &id in &active {
        request(tx, id, cause, force);
    }
    active
}

/// The operation that brings the end of a task.
pub(super) fn executing(tx: &Tx<'_>, id: TaskId) -> Option<OpId> {
    let mut ops = tx.agent().ops.iter();
    ops.find(|(_, open)| open.kind.brings_end() && open.task_id == Some(id)).map(|(op, _)| *op)
}
