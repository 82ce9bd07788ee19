//! Where agents work, as it is asked for and answered.

use holon_core::summary::workspaces::WorkspaceState;
use holon_facts::AgentId;
use holon_facts::execution::{ExecutionPolicy, ExecutionProfile};
use holon_facts::workspace::{WorkspaceId, Worktree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A folder that an agent is to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachWorkspace {
    /// From the root on. In a git repository its top is the workspace.
    #[schemars(length(min = 1, max = 4096))]
    pub path: String,
}

/// Where an agent is to work: a folder, or a workspace that it knows.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseWorkspace {
    /// From the root on. In a git repository its top is the execution root, and commands start in the folder itself.
    #[schemars(length(min = 1, max = 4096))]
    pub path: Option<String>,
    /// `agent_home` for its own home.
    pub workspace_id: Option<WorkspaceId>,
    /// Where its commands start, from the execution root on and inside of it.
    #[schemars(length(min = 1, max = 4096))]
    pub cwd: Option<String>,
}

/// A workspace that an agent is to know no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetachWorkspace {
    pub workspace_id: WorkspaceId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workspaces {
    pub ok: bool,
    pub agent_id: AgentId,
    pub agent_home: String,
    #[serde(flatten)]
    pub boundaries: Boundaries,
    #[serde(flatten)]
    pub state: WorkspaceState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspacesReply {
    pub ok: bool,
    pub agent_id: AgentId,
    pub agent_home: String,
    #[serde(flatten)]
    pub boundaries: Boundaries,
    /// Whether the request changed anything.
    pub changed: bool,
    #[serde(flatten)]
    pub state: WorkspaceState,
}

/// What commands are held back from where the agent works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boundaries {
    pub profile: ExecutionProfile,
    pub policy: ExecutionPolicy,
}

/// What is there of worktrees, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeSummary {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Those that are not removed, the oldest first.
    pub worktrees: Vec<Worktree>,
    /// How many wait for inspection by an operator.
    pub retained: usize,
}
