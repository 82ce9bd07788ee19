//! The workspaces of an agent.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::lifecycle::Status;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind, WorkspaceId, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// The workspaces of an agent, for operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceState {
    /// Where the agent works from its next turn on.
    pub active_workspace_id: WorkspaceId,
    pub execution: ExecutionBinding,
    pub execution_root_id: String,
    pub projection_kind: ProjectionKind,
    /// Workspaces other than its home, by id.
    pub attached_workspaces: Vec<AttachedWorkspace>,
    /// Execution roots that its supervision tree alone writes to now, because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub occupied_roots: Vec<String>,
    /// Those of them that it holds although it was stopped: its last command there has not ended yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopping_roots: Vec<String>,
    /// Worktrees that were made for it and its children, and are not removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<Worktree>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedWorkspace {
    pub workspace_id: WorkspaceId,
    pub workspace_anchor: String,
    /// The agent has chosen it itself, and no operator has named it: its skills are not offered.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub untrusted: bool,
}

impl WorkspaceState {
    pub fn of(agent: &Agent) -> Self {
        let workspaces = &agent.workspaces;
        let active = workspaces.active();
        let occupied: Vec<String> = workspaces.occupied().map(|(root, _)| root.into()).collect();
        let attached = workspaces.attached().map(|(id, anchor)| AttachedWorkspace {
            workspace_id: id.clone(),
            workspace_anchor: anchor.into(),
            untrusted: workspaces.is_untrusted(id),
        });
        Self {
            active_workspace_id: active.workspace_id(),
            execution: active.clone(),
            execution_root_id: active.execution_root_id(),
            projection_kind: active.projection_kind,
            attached_workspaces: attached.collect(),
            stopping_roots: if agent.status == Status::Stopped { occupied.clone() } else { Vec::new() },
            occupied_roots: occupied,
            worktrees: agent.worktrees().cloned().collect(),
        }
    }
}
