//! Where an agent's tools run, and what that place is called (contract: tasks.md, Workspaces).

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash;
use crate::ids::{AgentId, TaskId, WorktreeId};

/// The id of the workspace that every agent has: its own home.
pub const AGENT_HOME: &str = "agent_home";

/// Most letters of a folder's name in an id.
const SLUG: usize = 32;

/// A workspace as agents and operators name it: the same for everybody who works in that folder. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WorkspaceId(Arc<str>);

impl WorkspaceId {
    pub fn agent_home() -> Self {
        Self(AGENT_HOME.into())
    }

    /// Of the project in that folder: the folder's own name, and a hash of its path.
    pub fn of_anchor(anchor: &str) -> Self {
        let name = anchor.rsplit('/').next().unwrap_or_default();
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let slug: String = name.chars().take(SLUG).map(plain).collect();
        let slug = slug.trim_matches('-');
        let slug = if slug.is_empty() { "folder" } else { slug };
        Self(format!("{slug}-{:08x}", short(anchor)).into())
    }

    /// As somebody named it; whether there is one is another question.
    pub fn named(id: &str) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_agent_home(&self) -> bool {
        *self.0 == *AGENT_HOME
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn short(path: &str) -> u64 {
    hash::mix(hash::fnv(path.as_bytes())) & 0xffff_ffff
}

names! {
    /// Whose folder a workspace is.
    #[derive(Default)]
    WorkspaceKind {
        #[default]
        Project "project",
        AgentHome "agent_home",
    }
}

names! {
    /// How the execution root comes from the workspace.
    #[derive(Default)]
    ProjectionKind {
        #[default]
        CanonicalRoot "canonical_root",
        GitWorktreeRoot "git_worktree_root",
    }
}

/// Where an agent's tools run. Paths are absolute, and as they really are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionBinding {
    /// Stable project identity; workspace instructions are read from here.
    pub workspace_anchor: String,
    /// The folder that `cwd` stays inside.
    pub execution_root: String,
    pub cwd: String,
    #[serde(rename = "workspace_kind", default, skip_serializing_if = "crate::is_default")]
    pub kind: WorkspaceKind,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub projection_kind: ProjectionKind,
}

impl ExecutionBinding {
    /// A project that is worked on in its own folder.
    pub fn project(root: impl Into<String>, cwd: impl Into<String>) -> Self {
        let root = root.into();
        Self {
            workspace_anchor: root.clone(),
            execution_root: root,
            cwd: cwd.into(),
            kind: WorkspaceKind::Project,
            projection_kind: ProjectionKind::CanonicalRoot,
        }
    }

    /// An agent's own home.
    pub fn agent_home(home: impl Into<String>) -> Self {
        let home = home.into();
        Self { kind: WorkspaceKind::AgentHome, ..Self::project(home.clone(), home) }
    }

    /// The home of an agent below the folder of all of them.
    pub fn home_of(agent: &AgentId, homes: &str) -> Self {
        Self::agent_home(format!("{homes}/{agent}"))
    }

    pub fn workspace_id(&self) -> WorkspaceId {
        match self.kind {
            WorkspaceKind::AgentHome => WorkspaceId::agent_home(),
            WorkspaceKind::Project => WorkspaceId::of_anchor(&self.workspace_anchor),
        }
    }

    /// Names the execution root where its path is too long to say.
    pub fn execution_root_id(&self) -> String {
        format!("root-{:08x}", short(&self.execution_root))
    }
}

/// The files of a folder at one moment, as a tree of the git repository that it is part of. Ignored files are no part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceTree {
    /// The full id of the tree, from the top of the repository on.
    pub tree: String,
    /// The full id of the commit that was checked out; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the files differ from that commit.
    pub dirty: bool,
}

names! {
    WorktreeState {
        /// It is being created, or its creation is unconfirmed.
        Making "making",
        InUse "in_use",
        /// It is unused, and about to be removed.
        Leaving "leaving",
        /// It was not removed, for there is something to look at.
        Retained "retained",
    }
}

names! {
    /// Why a worktree is not removed.
    RetainReason {
        /// There are files that are in no commit.
        Changed "changed",
        /// There are commits that no other branch has.
        Committed "committed",
        /// It is not what was made any more: another branch, another repository.
        Mismatched "mismatched",
        /// An agent works in it.
        Occupied "occupied",
        /// Git could not remove it.
        Stuck "stuck",
    }
}

/// What is looked at before a worktree that stays is removed by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retained {
    pub reason: RetainReason,
    /// The error of the removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Some of the files that differ from where the branch began, from the top on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub more_files: u64,
}

impl Retained {
    pub fn because(reason: RetainReason, detail: String) -> Self {
        Self { reason, detail: Some(detail), changed_files: Vec::new(), more_files: 0 }
    }
}

/// A worktree as it is asked for. The names are given by the core: to ask again makes no second one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreePlan {
    pub worktree_id: WorktreeId,
    /// The top of the repository, or some folder in it.
    pub anchor: String,
    pub path: String,
    pub branch: String,
    /// What the agent calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl WorktreePlan {
    pub fn new(
        worktree_id: WorktreeId,
        agent: &AgentId,
        folder: &str,
        anchor: String,
        label: Option<String>,
    ) -> Self {
        let number = worktree_id.0;
        let path = format!("{folder}/{agent}/{number}");
        // Homes of the same repository don't meet.
        let branch =
            format!("holon/{agent}/{number}-{:08x}", hash::mix(hash::fnv(path.as_bytes())) & 0xffff_ffff);
        Self { worktree_id, anchor, path, branch, label }
    }
}

/// One worktree, as its agent knows it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    #[serde(flatten)]
    pub plan: WorktreePlan,
    pub state: WorktreeState,
    /// The commit where its branch began; none until it is read.
    pub base: Option<String>,
    /// The task of the child that works in it.
    pub task_id: Option<TaskId>,
    pub retained: Option<Retained>,
    /// The child that left it.
    pub left_by: Option<AgentId>,
}

impl Worktree {
    /// Whether it is for that agent to remove: a copy of an agent has none of that one's.
    pub fn is_of(&self, agent: &AgentId) -> bool {
        let own = || self.plan.branch.strip_prefix("holon/").and_then(|rest| rest.split('/').next());
        self.left_by.is_some() || own() == Some(agent.as_str())
    }

    pub fn is_retained(&self) -> bool {
        self.state == WorktreeState::Retained
    }

    /// Whether it is about to be there, or to go.
    pub fn is_under_way(&self) -> bool {
        match self.state {
            WorktreeState::Making | WorktreeState::Leaving => true,
            WorktreeState::InUse | WorktreeState::Retained => false,
        }
    }

    /// Whether it was made for the agent itself, and is there.
    pub fn is_own(&self) -> bool {
        self.task_id.is_none() && self.left_by.is_none() && !self.is_under_way()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_called_after_its_folder_and_told_from_its_namesakes() {
        let id = WorkspaceId::of_anchor;
        assert_eq!(id("/home/me/My Project").as_str(), "my-project-24e00821");
        assert_ne!(id("/a/src"), id("/b/src"));
        assert!(id("/").as_str().starts_with("folder-"));
        assert!(id("/ü").as_str().starts_with("folder-"));
        assert_eq!(ExecutionBinding::agent_home("/h/main").workspace_id().as_str(), AGENT_HOME);
    }
}
