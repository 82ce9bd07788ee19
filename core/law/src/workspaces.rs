//! Laws about where an agent works, as far as its own log tells. Who else works there, only the logs of all do.

use holon_facts::event::operation::OpKind;
use holon_facts::event::workspace::ReleaseCause;
use holon_facts::event::{Event, OperationFact, WorkspaceFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::record::Record;
use holon_facts::workspace::{ExecutionBinding, WorkspaceKind, WorktreeState};

use super::past::Past;
use super::{Checked, rule};

/// Speaks of each step after one in which something was occupied, and of each release.
pub(super) fn o2(past: &Past, record: &Record) -> Checked {
    let mut applied = false;
    if past.begins_step(record) {
        for (root, run) in &past.workspaces.occupied {
            applied =
                rule(past.needs_root(root, *run), || format!("{root} is occupied, and nothing needs it"))?;
        }
    }
    let Event::Workspace(fact) = &record.event else { return Ok(applied) };
    match fact {
        WorkspaceFact::OccupancyAcquired(fact) => {
            let mine = fact.run_id.is_none_or(|run| past.running(run).is_some());
            let before = past.workspaces.occupied.get(&fact.execution_root);
            rule(mine && before.is_none_or(|run| *run != fact.run_id), || {
                format!("{} is taken for {:?}, and was for {before:?}", fact.execution_root, fact.run_id)
            })
        }
        WorkspaceFact::OccupancyReleased(fact) => {
            let Some(run) = past.workspaces.occupied.get(&fact.execution_root) else {
                return Err(format!("{} is released, and was not occupied", fact.execution_root));
            };
            let stops = past.posture.control.is_some_and(|control| control.action == ControlAction::Stop);
            let fits = match fact.cause {
                ReleaseCause::Unused => !past.needs_root(&fact.execution_root, *run),
                ReleaseCause::Stopped => stops,
            };
            rule(fits, || format!("{} is released as {}", fact.execution_root, fact.cause))
        }
        _ => Ok(applied),
    }
}

pub(super) fn o3(past: &Past, record: &Record) -> Checked {
    let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return Ok(false) };
    let workspaces = &past.workspaces;
    match (fact.kind, &fact.execution_root) {
        (OpKind::PrepareCommand | OpKind::RunCommand, Some(root)) => {
            rule(workspaces.occupied.contains_key(root), || {
                format!("a command is executed in {root}, which it does not occupy")
            })
        }
        (OpKind::CallTool, _)
            if workspaces.is_recorded
                && workspaces.tool.as_ref().is_some_and(|tool| *tool == *"ApplyPatch") =>
        {
            rule(!workspaces.occupied.is_empty(), || "a patch changes what it does not occupy".into())
        }
        _ => Ok(false),
    }
}

pub(super) fn o4(past: &Past, record: &Record) -> Checked {
    let Event::Workspace(fact) = &record.event else { return Ok(false) };
    let workspaces = &past.workspaces;
    match fact {
        WorkspaceFact::WorkspaceAttached(fact) => rule(
            !fact.workspace_id.is_agent_home() && !workspaces.attached.contains(&fact.workspace_id),
            || format!("{} is attached, and was known", fact.workspace_id),
        ),
        WorkspaceFact::WorkspaceTrusted(fact) => {
            rule(workspaces.untrusted.contains(&fact.workspace_id), || {
                format!("{} is trusted, and was", fact.workspace_id)
            })
        }
        WorkspaceFact::WorkspaceUsed(fact) => {
            let known = fact.execution.kind == WorkspaceKind::AgentHome
                || workspaces.attached.contains(&fact.workspace_id);
            let inside = lies_in(&fact.execution.cwd, &fact.execution.execution_root);
            rule(known && inside && fact.workspace_id == fact.execution.workspace_id(), || {
                format!("{} is used, known: {known}, at {}", fact.workspace_id, fact.execution.cwd)
            })
        }
        WorkspaceFact::WorkspaceDetached(fact) => {
            let known = workspaces.attached.contains(&fact.workspace_id);
            let active = workspaces.active.as_ref().map(ExecutionBinding::workspace_id);
            rule(known && active.as_ref() != Some(&fact.workspace_id), || {
                format!("{} is detached, known: {known}, active: {active:?}", fact.workspace_id)
            })
        }
        _ => Ok(false),
    }
}

/// Speaks of what becomes of each worktree, and of the end of a task whose child had one.
pub(super) fn o5(past: &Past, record: &Record) -> Checked {
    let workspaces = &past.workspaces;
    let state = |id| workspaces.worktrees.get(&id).copied();
    match &record.event {
        Event::Workspace(WorkspaceFact::WorktreeCreated(fact)) => {
            let made = state(fact.worktree_id) == Some(WorktreeState::Making)
                && workspaces.is_awaited(fact.worktree_id);
            rule(made, || format!("{} is there, and nobody was to make it", fact.worktree_id))
        }
        Event::Workspace(WorkspaceFact::WorktreeLeft(fact)) => {
            let was = state(fact.worktree_id);
            rule(matches!(was, Some(WorktreeState::InUse | WorktreeState::Retained)), || {
                format!("{} is left, and was {was:?}", fact.worktree_id)
            })
        }
        Event::Workspace(WorkspaceFact::WorktreeRemoved(fact)) => {
            let was = state(fact.worktree_id);
            // One that was not needed after all was never made.
            let unmade = was == Some(WorktreeState::Making) && workspaces.is_awaited(fact.worktree_id);
            let gone = workspaces.looked_at == Some(fact.worktree_id)
                && matches!(was, Some(WorktreeState::Making | WorktreeState::Leaving));
            rule(unmade || gone, || format!("{} is gone, and nobody has removed it", fact.worktree_id))
        }
        Event::Workspace(WorkspaceFact::WorktreeRetained(fact)) => {
            let was = state(fact.plan.worktree_id);
            let inherited = was.is_none() && fact.left_by.is_some();
            let looked = matches!(was, Some(WorktreeState::Making | WorktreeState::Leaving));
            rule(inherited || looked, || format!("{} stays, and was {was:?}", fact.plan.worktree_id))
        }
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.kind == OpKind::RemoveWorktree => {
            let id = fact.worktree.as_ref().map(|plan| plan.worktree_id);
            let was = id.and_then(state);
            let unneeded = match was {
                Some(WorktreeState::Making) => id.is_some_and(|id| !workspaces.is_awaited(id)),
                Some(WorktreeState::Leaving) => true,
                Some(WorktreeState::InUse | WorktreeState::Retained) | None => false,
            };
            rule(unneeded, || format!("{} removes {id:?}, which is {was:?}", fact.op))
        }
        _ => Ok(false),
    }
}

fn lies_in(path: &str, root: &str) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || root.ends_with('/'))
}
