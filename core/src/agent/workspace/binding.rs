//! Where an agent's tools run, and what that place is called (contract: tasks.md, Workspaces).

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash;
use crate::ids::AgentId;
use crate::names::names;

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
    WorkspaceKind { Project "project", AgentHome "agent_home" }
}

names! {
    /// How the execution root comes from the workspace.
    ProjectionKind { CanonicalRoot "canonical_root", GitWorktreeRoot "git_worktree_root" }
}

/// Where an agent's tools run. Paths are absolute, and as they really are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionBinding {
    /// Stable project identity; workspace instructions are read from here.
    pub workspace_anchor: String,
    /// The folder that `cwd` stays inside.
    pub execution_root: String,
    pub cwd: String,
    #[serde(rename = "workspace_kind", default = "project", skip_serializing_if = "is_project")]
    pub kind: WorkspaceKind,
    #[serde(default = "canonical", skip_serializing_if = "is_canonical")]
    pub projection_kind: ProjectionKind,
}

fn project() -> WorkspaceKind {
    WorkspaceKind::Project
}

fn canonical() -> ProjectionKind {
    ProjectionKind::CanonicalRoot
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_project(kind: &WorkspaceKind) -> bool {
    *kind == WorkspaceKind::Project
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_canonical(kind: &ProjectionKind) -> bool {
    *kind == ProjectionKind::CanonicalRoot
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
    pub(crate) fn home_of(agent: &AgentId, homes: &str) -> Self {
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
