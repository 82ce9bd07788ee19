//! The folders that an agent works in (contract: tasks.md, Workspaces): which it knows, which one is its own now, and
//! which execution roots it occupies.

pub(crate) mod occupancy;
pub(crate) mod worktree;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use holon_facts::event::WorkspaceFact;
use holon_facts::identity::AgentSpec;
use holon_facts::ids::RunId;
use holon_facts::workspace::{ExecutionBinding, WorkspaceId, WorkspaceKind, WorkspaceTree};
use serde::{Deserialize, Serialize};

pub use crate::agent::workspace::worktree::Worktrees;

/// Most workspaces that an agent knows beside its home.
pub const ATTACHED: usize = 64;

/// The workspaces of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspaces {
    /// The anchors of those it knows; its home is not among them.
    attached: BTreeMap<WorkspaceId, String>,
    /// Those of them that it has chosen itself, and no operator has named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    untrusted: BTreeSet<WorkspaceId>,
    /// Where it works from its next turn on.
    active: ExecutionBinding,
    /// Execution roots that nobody else writes to, each with the last run that needed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) occupied: BTreeMap<String, Option<RunId>>,
    #[serde(default, skip_serializing_if = "Worktrees::is_empty")]
    /// Those that were made for it and its children, and are not removed.
    pub(crate) worktrees: Worktrees,
    /// The execution root whose files were kept last, and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<(String, WorkspaceTree)>,
}

impl Workspaces {
    /// Of an agent that begins.
    pub(crate) fn of(spec: &AgentSpec) -> Self {
        let mut workspaces = Self {
            attached: spec
                .attached
                .iter()
                .map(|anchor| (WorkspaceId::of_anchor(anchor), anchor.clone()))
                .collect(),
            untrusted: spec.untrusted.iter().map(|anchor| WorkspaceId::of_anchor(anchor)).collect(),
            active: spec.execution.clone(),
            occupied: BTreeMap::new(),
            worktrees: Worktrees::default(),
            kept: None,
        };
        workspaces.attach(&spec.execution);
        workspaces
    }

    pub fn active(&self) -> &ExecutionBinding {
        &self.active
    }

    /// Each with its anchor; the home is not among them.
    pub fn attached(&self) -> impl Iterator<Item = (&WorkspaceId, &str)> {
        self.attached.iter().map(|(id, anchor)| (id, anchor.as_str()))
    }

    pub fn anchor(&self, id: &WorkspaceId) -> Option<&str> {
        self.attached.get(id).map(String::as_str)
    }

    /// Whether no operator has named it: what it brings along, nobody has looked at.
    pub fn is_untrusted(&self, id: &WorkspaceId) -> bool {
        self.untrusted.contains(id)
    }

    /// The same of the workspace that somebody works in.
    pub fn is_untrusted_at(&self, at: &ExecutionBinding) -> bool {
        !self.untrusted.is_empty() && self.is_untrusted(&at.workspace_id())
    }

    /// The anchors of those.
    pub(crate) fn untrusted(&self) -> impl Iterator<Item = &str> {
        self.untrusted.iter().filter_map(|id| self.anchor(id))
    }

    /// The agent has chosen it itself.
    pub(super) fn chosen(&mut self, id: &WorkspaceId) {
        self.untrusted.insert(id.clone());
    }

    /// Execution roots that the agent occupies, with the last run that needed each.
    pub fn occupied(&self) -> impl Iterator<Item = (&str, Option<RunId>)> {
        self.occupied.iter().map(|(root, run)| (root.as_str(), *run))
    }

    /// The files of an execution root as they were kept last, if those of no other one were kept since.
    pub fn kept(&self, execution_root: &str) -> Option<&WorkspaceTree> {
        self.kept.as_ref().filter(|(root, _)| root == execution_root).map(|(_, kept)| kept)
    }

    fn attach(&mut self, to: &ExecutionBinding) {
        if to.kind == WorkspaceKind::Project {
            self.attached.insert(to.workspace_id(), to.workspace_anchor.clone());
        }
    }

    pub(crate) fn apply(&mut self, fact: &WorkspaceFact) {
        match fact {
            WorkspaceFact::WorkspaceAttached(fact) => {
                self.attached.insert(fact.workspace_id.clone(), fact.workspace_anchor.clone());
            }
            WorkspaceFact::WorkspaceUsed(fact) => self.active = fact.execution.clone(),
            WorkspaceFact::WorkspaceDetached(fact) => {
                self.attached.remove(&fact.workspace_id);
                self.untrusted.remove(&fact.workspace_id);
            }
            WorkspaceFact::WorkspaceTrusted(fact) => {
                self.untrusted.remove(&fact.workspace_id);
            }
            WorkspaceFact::OccupancyAcquired(fact) => {
                self.occupied.insert(fact.execution_root.clone(), fact.run_id);
            }
            WorkspaceFact::OccupancyReleased(fact) => {
                self.occupied.remove(&fact.execution_root);
            }
            WorkspaceFact::WorktreeCreated(fact) => self.worktrees.created(fact),
            WorkspaceFact::WorktreeLeft(fact) => self.worktrees.left(fact.worktree_id),
            WorkspaceFact::WorktreeRemoved(fact) => self.worktrees.removed(fact.worktree_id),
            WorkspaceFact::WorktreeRetained(fact) => self.worktrees.retained(fact),
            WorkspaceFact::WorkspaceTreeKept(fact) => {
                self.kept = Some((fact.execution.execution_root.clone(), fact.kept.clone()));
            }
        }
    }
}
