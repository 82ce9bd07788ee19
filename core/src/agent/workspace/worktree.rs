//! The worktrees that an agent has had made: folders beside a repository, each with a branch of its own, in which it or
//! one of its children works by itself (contract: tasks.md, Workspaces). This file is their state and its `apply`.

use alloc::collections::BTreeMap;

use holon_facts::event::workspace::{WorktreeCreated, WorktreeRetained};
use holon_facts::ids::{TaskId, WorktreeId};
use holon_facts::workspace::{Worktree, WorktreePlan, WorktreeState};
use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Most worktrees that an agent may have while it has another one made, those among them that wait for a review.
pub(crate) const WORKTREES: usize = 32;

/// Most that are listed, those of ended children among them. Others are in the log.
pub(crate) const LISTED: usize = 256;

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
