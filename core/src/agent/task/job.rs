//! What a task consists of: a command, or the life of a child agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Task, TaskKind};
use crate::agent::novelty::Fingerprint;
use crate::agent::workspace::WorktreePlan;
use crate::content::Text;
use crate::ids::AgentId;
use crate::names::names;
use crate::outcome::CommandSpec;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    Command(CommandSpec),
    Child(ChildSpec),
}

/// The child that a task supervises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildSpec {
    pub child_agent_id: AgentId,
    pub workspace_mode: WorkspaceMode,
    /// Its own one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreePlan>,
    /// What it was begun for: to begin the same again is no progress.
    #[schemars(skip)]
    pub(crate) purpose: Fingerprint,
}

names! {
    /// Where a child works: where its parent does, or in a worktree of its own.
    #[derive(Default)]
    WorkspaceMode {
        #[default]
        Inherit "inherit",
        Worktree "worktree",
    }
}

impl WorkspaceMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    pub(crate) fn is_inherit(&self) -> bool {
        *self == Self::Inherit
    }
}

impl Job {
    pub fn kind(&self) -> TaskKind {
        match self {
            Self::Command(_) => TaskKind::CommandTask,
            Self::Child(_) => TaskKind::ChildAgentTask,
        }
    }

    pub fn command(&self) -> Option<&CommandSpec> {
        match self {
            Self::Command(command) => Some(command),
            Self::Child(_) => None,
        }
    }

    pub fn child(&self) -> Option<&ChildSpec> {
        match self {
            Self::Child(child) => Some(child),
            Self::Command(_) => None,
        }
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Command(command) => Fingerprint::of(command),
            Self::Child(child) => child.purpose,
        }
    }

    pub(crate) fn text(&self) -> Option<&Text> {
        self.command().map(|command| &command.cmd)
    }
}

impl Task {
    pub fn command(&self) -> Option<&CommandSpec> {
        self.job.command()
    }

    pub fn child(&self) -> Option<&ChildSpec> {
        self.job.child()
    }
}
