//! Which folders an agent works in, and which nobody else writes to meanwhile (contract: tasks.md, Workspaces).

use alloc::boxed::Box;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::ids::{AgentId, RunId, TaskId, WorktreeId};
use crate::workspace::{ExecutionBinding, Retained, WorkspaceId, WorkspaceTree, WorktreePlan};

family! {
    /// Bindings, occupancy and worktrees.
    WorkspaceFact {
        WorkspaceAttached "workspace_attached" v 1,
        WorkspaceUsed "workspace_used" v 1,
        WorkspaceDetached "workspace_detached" v 1,
        WorkspaceTrusted "workspace_trusted" v 1,
        OccupancyAcquired "occupancy_acquired" v 1,
        OccupancyReleased "occupancy_released" v 1,
        WorktreeCreated "worktree_created" v 1,
        WorktreeLeft "worktree_left" v 1,
        WorktreeRemoved "worktree_removed" v 1,
        WorktreeRetained "worktree_retained" v 1,
        WorkspaceTreeKept "workspace_tree" v 1,
    }
}

/// The agent knows it from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceAttached {
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
}

/// Where the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceUsed {
    pub workspace_id: WorkspaceId,
    pub execution: ExecutionBinding,
    pub execution_root_id: String,
    /// The run that chose it, which works there at once; none where an operator did, for the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// The agent knows it no longer; its files are as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceDetached {
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
}

/// An operator has named a workspace that the agent had chosen itself: its skills are offered from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceTrusted {
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
}

/// Nobody outside of the agent's supervision tree writes there until it is released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyAcquired {
    pub execution_root: String,
    /// The run that needs it; none for an operator's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyReleased {
    pub execution_root: String,
    pub cause: ReleaseCause,
}

names! {
    /// Why a root is free again.
    ReleaseCause {
        /// The last run that needed it is over, and so is its last command there.
        Unused "unused",
        /// The agent was stopped.
        Stopped "stopped",
    }
}

/// The worktree that an operation was to make is there; before, it may have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeCreated {
    pub worktree_id: WorktreeId,
    pub workspace_anchor: String,
    pub path: String,
    pub branch: String,
    /// The commit that the branch begins at.
    pub base: String,
}

/// Nobody needs it any more: it is removed if nothing in it is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeLeft {
    pub worktree_id: WorktreeId,
}

/// There is nothing of it any more, neither folder nor branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeRemoved {
    pub worktree_id: WorktreeId,
}

/// It stays for somebody to look at.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeRetained {
    #[serde(flatten)]
    pub plan: WorktreePlan,
    pub base: Option<String>,
    pub task_id: Option<TaskId>,
    #[serde(flatten)]
    pub retained: Retained,
    /// The child that left it.
    pub left_by: Option<AgentId>,
}

/// The files where the agent works, as a turn found or left them, are kept in their repository. One that is as the newest
/// on record is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceTreeKept {
    pub execution: ExecutionBinding,
    #[serde(flatten)]
    pub kept: WorkspaceTree,
    pub moment: TreeMoment,
}

names! {
    /// When the files were so.
    TreeMoment {
        /// Nothing of the turn was executed.
        TurnBegin "turn_begin",
        TurnEnd "turn_end",
    }
}

/// Builds that kept files only as a turn had left them recorded no moment.
impl Default for TreeMoment {
    fn default() -> Self {
        Self::TurnEnd
    }
}
