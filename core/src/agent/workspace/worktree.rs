//! The worktrees that an agent has had made: folders beside a repository, each with a branch of its own, in which it or
//! one of its children works by itself (contract: tasks.md, Workspaces). This file is their state and its `apply`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::event::workspace::{WorktreeCreated, WorktreeRetained};
use crate::hash;
use crate::ids::{AgentId, TaskId, WorktreeId};
use crate::names::names;

/// Most worktrees that an agent may have while it has another one made, those among them that wait for a review.
pub(super) const WORKTREES: usize = 32;
/// Most that are listed, those of ended children among them. Others are in the log.
pub(super) const LISTED: usize = 256;

names! {
    WorktreeState {
        /// It is about to be there, or nobody knows whether it is.
        Making "making",
        InUse "in_use",
        /// Nobody needs it: it is about to be removed.
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
        /// Somebody works in it.
        Occupied "occupied",
        /// Git could not remove it.
        Stuck "stuck",
    }
}

/// What is looked at before a worktree that stays is removed by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retained {
    pub reason: RetainReason,
    /// In the words of whoever could not remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Some of the files that differ from where the branch began, from the top on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "crate::event::is_nought")]
    pub more_files: u64,
}

impl Retained {
    pub(crate) fn because(reason: RetainReason, detail: String) -> Self {
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
    pub(crate) fn new(
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worktree {
    #[serde(flatten)]
    pub plan: WorktreePlan,
    pub state: WorktreeState,
    /// The commit that its branch began at; none as long as nobody has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The task of the child that works in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained: Option<Retained>,
    /// The child of which it is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_by: Option<AgentId>,
}

impl Worktree {
    /// Whether it is for that agent to remove: a copy of an agent has none of that one's.
    fn is_of(&self, agent: &AgentId) -> bool {
        let own = || self.plan.branch.strip_prefix("holon/").and_then(|rest| rest.split('/').next());
        self.left_by.is_some() || own() == Some(agent.as_str())
    }

    pub(crate) fn is_retained(&self) -> bool {
        self.state == WorktreeState::Retained
    }

    /// Whether it is about to be there, or to go.
    pub(crate) fn is_under_way(&self) -> bool {
        match self.state {
            WorktreeState::Making | WorktreeState::Leaving => true,
            WorktreeState::InUse | WorktreeState::Retained => false,
        }
    }

    /// Whether it was made for the agent itself, and is there.
    pub(super) fn is_own(&self) -> bool {
        self.task_id.is_none() && self.left_by.is_none() && !self.is_under_way()
    }
}

impl Agent {
    /// Worktrees that are for the agent to remove.
    pub fn worktrees(&self) -> impl Iterator<Item = &Worktree> {
        self.workspaces.worktrees.iter().filter(|worktree| worktree.is_of(&self.id))
    }
}

/// Those of one agent, and of the one that it is a copy of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Worktrees(BTreeMap<WorktreeId, Worktree>);

impl Worktrees {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn iter(&self) -> impl Iterator<Item = &Worktree> {
        self.0.values()
    }

    pub fn get(&self, id: WorktreeId) -> Option<&Worktree> {
        self.0.get(&id)
    }

    pub(crate) fn planned(&mut self, plan: &WorktreePlan) {
        let new = || Worktree {
            plan: plan.clone(),
            state: WorktreeState::Making,
            base: None,
            task_id: None,
            retained: None,
            left_by: None,
        };
        self.0.entry(plan.worktree_id).or_insert_with(new);
    }

    pub(crate) fn created(&mut self, fact: &WorktreeCreated) {
        if let Some(worktree) = self.0.get_mut(&fact.worktree_id) {
            worktree.plan.anchor.clone_from(&fact.workspace_anchor);
            (worktree.state, worktree.base) = (WorktreeState::InUse, Some(fact.base.clone()));
        }
    }

    pub(crate) fn begun_by(&mut self, id: WorktreeId, task: TaskId) {
        if let Some(worktree) = self.0.get_mut(&id) {
            worktree.task_id = Some(task);
        }
    }

    pub(crate) fn left(&mut self, id: WorktreeId) {
        if let Some(worktree) = self.0.get_mut(&id) {
            worktree.state = WorktreeState::Leaving;
        }
    }

    pub(crate) fn removed(&mut self, id: WorktreeId) {
        self.0.remove(&id);
    }

    pub(crate) fn retained(&mut self, fact: &WorktreeRetained) {
        let WorktreeRetained { plan, base, task_id, retained, left_by } = fact.clone();
        let state = WorktreeState::Retained;
        let worktree = Worktree { state, base, task_id, retained: Some(retained), left_by, plan };
        self.0.insert(worktree.plan.worktree_id, worktree);
    }
}
