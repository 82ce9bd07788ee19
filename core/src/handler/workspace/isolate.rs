//! When a worktree is made, left and removed. What is on record comes first: whatever a crash leaves behind is known, and
//! is removed at the next start; nothing that somebody may want is.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::workspace::{WorktreeCreated, WorktreeLeft, WorktreeRemoved, WorktreeRetained};
use holon_facts::ids::{AgentId, OpId, WorktreeId};
use holon_facts::outcome::Removal;
use holon_facts::receipt::{ToolError, ToolErrorKind};
use holon_facts::time::Millis;
use holon_facts::workspace::{
    ExecutionBinding, RetainReason, Retained, Worktree, WorktreePlan, WorktreeState,
};

use crate::agent::workspace::worktree::{LISTED, WORKTREES};
use crate::effect::{UnwantedWorktree, Work};
use crate::handler::task::child;
use crate::tx::{Opening, Tx};

/// A large repository takes its time.
pub(super) const MAKE_TIMEOUT: Millis = Millis::seconds(600);
const REMOVE_TIMEOUT: Millis = Millis::seconds(300);

/// A worktree of the repository around that folder.
///
/// # Errors
/// When the agent has as many as it may.
pub(super) fn plan(tx: &Tx<'_>, anchor: String, label: Option<String>) -> Result<WorktreePlan, ToolError> {
    let agent = tx.agent();
    if agent.worktrees().count() >= WORKTREES {
        let message = format!("you have {WORKTREES} worktrees, which is as many as you may");
        let hint = "go back into one of them by its path; the operator can remove those that nobody needs (holon workspace prune)";
        return Err(ToolError::new(ToolErrorKind::LimitReached, message).hint(hint));
    }
    Ok(WorktreePlan::new(agent.next.worktree, &agent.id, &tx.env.config.worktrees, anchor, label))
}

/// What a performer made, or went back into: which worktree is new.
pub(super) fn made(
    tx: &mut Tx<'_>,
    op: OpId,
    execution: &ExecutionBinding,
    base: Option<String>,
) -> Option<WorktreeId> {
    let id = tx.agent().ops.get(&op)?.worktree?;
    let plan = tx.agent().workspaces.worktrees.get(id)?.plan.clone();
    match base.filter(|_| plan.path == execution.execution_root) {
        Some(base) => {
            let workspace_anchor = execution.workspace_anchor.clone();
            tx.record(WorktreeCreated {
                worktree_id: id,
                workspace_anchor,
                path: plan.path,
                branch: plan.branch,
                base,
            });
            Some(id)
        }
        None => {
            tx.record(WorktreeRemoved { worktree_id: id });
            None
        }
    }
}

/// Nobody needs it any more.
pub(crate) fn leave(tx: &mut Tx<'_>, id: WorktreeId) {
    let open = tx.agent().workspaces.worktrees.get(id);
    if open.is_some_and(|worktree| worktree.state == WorktreeState::InUse) {
        tx.record(WorktreeLeft { worktree_id: id });
    }
}

/// An operator has looked: whatever nobody works in is left. Says whether there was any.
pub(super) fn prune(tx: &mut Tx<'_>) -> bool {
    let agent = tx.agent();
    let here = [agent.workspaces.active(), agent.execution()];
    let alone = agent.tasks.children().next().is_none();
    let unneeded = |worktree: &&Worktree| {
        (worktree.is_retained() || (worktree.is_own() && alone))
            && here.iter().all(|at| at.execution_root != worktree.plan.path)
    };
    let unneeded: Vec<WorktreeId> =
        agent.worktrees().filter(unneeded).map(|worktree| worktree.plan.worktree_id).collect();
    for &worktree_id in &unneeded {
        tx.record(WorktreeLeft { worktree_id });
    }
    !unneeded.is_empty()
}

/// Lets a performer remove what nobody needs, one after the other; also what may have been made without anybody
/// hearing of it.
pub(crate) fn remove_unneeded(tx: &mut Tx<'_>) {
    while let Some(worktree) = first_unneeded(tx) {
        let plan = worktree.plan.clone();
        if let Some(holder) = tx.env.occupied.by_anyone(&plan.path).map(ToString::to_string) {
            let retained = Retained::because(RetainReason::Occupied, format!("{holder} works in it"));
            retain(tx, &worktree, retained);
            continue;
        }
        let attached = tx.agent().workspaces.attached().map(|(_, anchor)| anchor.into()).collect();
        let unwanted = UnwantedWorktree { plan: plan.clone(), base: worktree.base.clone(), attached };
        let opening =
            Opening { worktree: Some(plan), ..Opening::new(OpKind::RemoveWorktree, REMOVE_TIMEOUT) };
        tx.open(opening, Work::RemoveWorktree { worktree: unwanted });
    }
}

fn first_unneeded(tx: &Tx<'_>) -> Option<Worktree> {
    let agent = tx.agent();
    let removes = || agent.ops.values().any(|open| open.kind == OpKind::RemoveWorktree);
    if agent.workspaces.worktrees.is_empty() || tx.env.host.draining || removes() {
        return None;
    }
    let is_awaited = |id| agent.ops.values().any(|open| open.worktree == Some(id));
    let unneeded = |worktree: &&Worktree| match worktree.state {
        WorktreeState::Making => !is_awaited(worktree.plan.worktree_id),
        WorktreeState::Leaving => true,
        WorktreeState::InUse | WorktreeState::Retained => false,
    };
    agent.worktrees().find(unneeded).cloned()
}

/// A performer has looked at it, and removed it or not.
pub(crate) fn removed(tx: &mut Tx<'_>, op: OpId, removal: Removal) {
    let Some(worktree) = settled(tx, op, Settlement::Done) else { return };
    match removal {
        Removal::Removed => {
            tx.record(WorktreeRemoved { worktree_id: worktree.plan.worktree_id });
            over(tx, &worktree, None);
        }
        Removal::Retained { retained } => retain(tx, &worktree, retained),
    }
}

/// Nobody can say what came of it: it is there for an operator to look at.
pub(crate) fn not_removed(tx: &mut Tx<'_>, op: OpId, settlement: Settlement, problem: &str) {
    if let Some(worktree) = settled(tx, op, settlement) {
        retain(tx, &worktree, Retained::because(RetainReason::Stuck, problem.into()));
    }
}

/// The removal is over; which one it was about.
fn settled(tx: &mut Tx<'_>, op: OpId, settlement: Settlement) -> Option<Worktree> {
    let id = tx.agent().ops.get(&op).and_then(|open| open.worktree);
    tx.settle(op, settlement);
    tx.agent().workspaces.worktrees.get(id?).cloned()
}

fn retain(tx: &mut Tx<'_>, worktree: &Worktree, retained: Retained) {
    let Worktree { plan, base, task_id, left_by, .. } = worktree.clone();
    tx.record(WorktreeRetained { plan, base, task_id, retained: retained.clone(), left_by });
    over(tx, worktree, Some(retained));
}

/// The task of the child that worked in it waited for that.
fn over(tx: &mut Tx<'_>, worktree: &Worktree, retained: Option<Retained>) {
    if let Some(task) = worktree.task_id {
        child::worktree_over(tx, task, retained);
    }
}

/// What an agent that has ended leaves for its supervisor to look at.
pub(crate) fn legacy(tx: &Tx<'_>) -> Vec<Worktree> {
    tx.agent().worktrees().filter(|worktree| worktree.is_retained()).cloned().collect()
}

/// Lists what a child has left.
pub(crate) fn inherit(tx: &mut Tx<'_>, child: &AgentId, left: Vec<Worktree>) {
    for worktree in left {
        let Some(retained) = worktree.retained else { continue };
        if tx.agent().worktrees().count() >= LISTED {
            return;
        }
        let plan = WorktreePlan { worktree_id: tx.agent().next.worktree, ..worktree.plan };
        let left_by = Some(worktree.left_by.unwrap_or_else(|| child.clone()));
        tx.record(WorktreeRetained { plan, base: worktree.base, task_id: None, retained, left_by });
    }
}
