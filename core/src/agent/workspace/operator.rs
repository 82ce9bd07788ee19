//! What operators do about the folders that an agent works in.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::workspace::WorkspaceDetached;
use holon_facts::ids::ReplyId;
use holon_facts::lifecycle::Status;
use holon_facts::reject::Reject;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind, WorkspaceId, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ATTACHED, isolate, tools};
use crate::agent::Agent;
use crate::effect::Answer;
use crate::host::tx::Tx;

/// What an operator asks for. Folders are as a performer found them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum WorkspaceChange {
    /// The agent is to know it.
    Attach { execution: ExecutionBinding },
    /// The agent is to work there from its next turn on.
    Use { execution: ExecutionBinding },
    /// The agent is to know it no longer.
    Detach { workspace_id: WorkspaceId },
    /// Worktrees that nobody works in are to go, if nothing in them is new.
    Prune,
}

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
}

impl WorkspaceState {
    pub fn of(agent: &Agent) -> Self {
        let workspaces = &agent.workspaces;
        let active = workspaces.active();
        let occupied: Vec<String> = workspaces.occupied().map(|(root, _)| root.into()).collect();
        let attached = workspaces.attached().map(|(id, anchor)| AttachedWorkspace {
            workspace_id: id.clone(),
            workspace_anchor: anchor.into(),
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

/// Changes what the agent knows, or where it works; what is so already records nothing.
pub(crate) fn change(tx: &mut Tx<'_>, change: WorkspaceChange, reply: ReplyId) {
    let changed = match change {
        WorkspaceChange::Attach { execution } => room(tx, &execution).map(|()| tools::attach(tx, &execution)),
        WorkspaceChange::Use { execution } => {
            room(tx, &execution).map(|()| tools::used(tx, &execution, None))
        }
        WorkspaceChange::Detach { workspace_id } => detach(tx, workspace_id),
        WorkspaceChange::Prune => Ok(isolate::prune(tx)),
    };
    let answer = match changed {
        Ok(changed) => Answer::Workspaces { state: WorkspaceState::of(tx.agent()).into(), changed },
        Err(reject) => Answer::Refused { reject },
    };
    tx.reply(reply, answer);
}

fn room(tx: &Tx<'_>, execution: &ExecutionBinding) -> Result<(), Reject> {
    if tools::has_room(tx, execution) {
        return Ok(());
    }
    let limit = ATTACHED as u64;
    Err(Reject::TooMany { what: "workspaces".into(), count: limit + 1, limit })
}

/// Files stay as they are, and the folder need not be there any more.
fn detach(tx: &mut Tx<'_>, workspace_id: WorkspaceId) -> Result<bool, Reject> {
    let agent = tx.agent();
    let used = [agent.workspaces.active(), agent.execution()]
        .into_iter()
        .any(|at| at.workspace_id() == workspace_id);
    if used || workspace_id.is_agent_home() {
        return Err(Reject::WorkspaceActive { agent: agent.id.clone(), workspace: workspace_id });
    }
    let Some(workspace_anchor) = agent.workspaces.anchor(&workspace_id).map(Into::into) else {
        return Err(Reject::UnknownWorkspace { agent: agent.id.clone(), workspace: workspace_id });
    };
    tx.record(WorkspaceDetached { workspace_id, workspace_anchor });
    Ok(true)
}
