//! Whose child a task supervises, and how.

use alloc::string::String;

use holon_facts::ids::{AgentId, TaskId, WorktreeId};
use holon_facts::names;
use holon_facts::workspace::{Retained, WorkspaceMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::task::Task;

/// Whose child a task supervises, and how (contract: tasks.md, Projections).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildSupervision {
    pub parent_agent_id: AgentId,
    pub child_agent_id: AgentId,
    pub supervision_task_id: TaskId,
    pub workspace_mode: WorkspaceMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<ChildWorktree>,
    pub cleanup_owner: CleanupOwner,
    pub followup_target: FollowupTarget,
}

/// The worktree of a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildWorktree {
    pub worktree_id: WorktreeId,
    pub path: String,
    pub branch: String,
    pub state: ChildWorktreeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained: Option<Retained>,
}

names! {
    /// Whether it is there.
    ChildWorktreeState { InUse "in_use", Removed "removed", Retained "retained" }
}

impl ChildWorktree {
    fn of(task: &Task) -> Option<Self> {
        let plan = task.child()?.worktree.as_ref()?;
        let retained = task.end.as_ref().and_then(|end| end.worktree.clone());
        let state = match (&task.end, &retained) {
            (None, _) => ChildWorktreeState::InUse,
            (Some(_), None) => ChildWorktreeState::Removed,
            (Some(_), Some(_)) => ChildWorktreeState::Retained,
        };
        let (path, branch) = (plan.path.clone(), plan.branch.clone());
        Some(Self { worktree_id: plan.worktree_id, path, branch, state, retained })
    }
}

names! {
    /// Who removes what a child leaves behind.
    CleanupOwner { SupervisionTask "supervision_task" }
}

names! {
    /// The agent that sends the child further messages.
    FollowupTarget { ParentSupervisor "parent_supervisor" }
}

impl ChildSupervision {
    pub fn of(parent: &AgentId, task: &Task) -> Option<Self> {
        let child = task.child()?;
        Some(Self {
            parent_agent_id: parent.clone(),
            child_agent_id: child.child_agent_id.clone(),
            supervision_task_id: task.id,
            workspace_mode: child.workspace_mode,
            worktree: ChildWorktree::of(task),
            cleanup_owner: CleanupOwner::SupervisionTask,
            followup_target: FollowupTarget::ParentSupervisor,
        })
    }
}
