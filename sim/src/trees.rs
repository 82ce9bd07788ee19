//! The real worktrees, beside the logs: O6, each folder and each branch is on record for some agent. Git makes the
//! branch first and removes it last, so an interrupted operation leaves the branch alone, or both.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::Agent;
use holon_core::effect::{Isolated, UnwantedWorktree};
use holon_facts::outcome::{Certainty, OpFailure, Outcome, Removal};
use holon_facts::workspace::{
    ExecutionBinding, ProjectionKind, RetainReason, Retained, WorktreePlan, WorktreeState,
};
use holon_facts::{AgentId, Text};

use crate::failure::{Failure, ensure};
use crate::options::Sabotage;
use crate::performer::{Circumstances, Deliveries};

/// Worktrees are outside of the process: a crash leaves them unchanged.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    folders: BTreeSet<String>,
    branches: BTreeSet<String>,
}

impl Trees {
    /// Makes a worktree, or reuses one of the same label; some faults make it without an answer.
    pub(crate) fn isolate(
        &mut self,
        here: &mut Circumstances<'_>,
        anchor: &str,
        isolated: &Isolated,
    ) -> Deliveries {
        let after = u64::from(here.below("latency", 2_000_000));
        let of_label = |own: &&WorktreePlan| own.anchor == anchor && own.label == isolated.plan.label;
        if let Some(own) = isolated.own.iter().find(of_label).filter(|own| self.is_whole(own)) {
            here.injector.saw("a worktree is gone back into");
            return here.deliver(after, Outcome::found(binding(anchor, &own.path)));
        }
        // A large repository takes long to check out: git is killed more often than other tools.
        if here.fault("fails", here.faults.tool_fails * 3) {
            match here.below("how far", 4) {
                0 => self.make(&isolated.plan),
                1 | 2 => {
                    self.branches.insert(isolated.plan.branch.clone());
                }
                _ => {}
            }
            return here.deliver(after, failed("git was killed"));
        }
        self.make(&isolated.plan);
        here.injector.saw("a worktree is made");
        if here.fault("silent", here.faults.tool_silent) {
            return Vec::new();
        }
        let (execution, base) = (binding(anchor, &isolated.plan.path), Some("c0ffee".to_owned()));
        here.deliver(after, Outcome::Workspace { execution, base })
    }

    fn make(&mut self, plan: &WorktreePlan) {
        self.folders.insert(plan.path.clone());
        self.branches.insert(plan.branch.clone());
    }

    fn is_whole(&self, plan: &WorktreePlan) -> bool {
        self.folders.contains(&plan.path) && self.branches.contains(&plan.branch)
    }

    /// Removes a worktree without changes.
    pub(crate) fn remove(
        &mut self,
        here: &mut Circumstances<'_>,
        unwanted: &UnwantedWorktree,
        sabotage: Option<Sabotage>,
    ) -> Deliveries {
        let after = u64::from(here.below("latency", 2_000_000));
        let WorktreePlan { path, branch, .. } = &unwanted.plan;
        if here.fault("fails", here.faults.tool_fails) {
            if here.below("half", 2) == 0 {
                self.folders.remove(path);
                if here.below("how far", 2) == 0 {
                    self.branches.remove(branch);
                }
            }
            return here.deliver(after, failed("git was killed"));
        }
        if unwanted.base.is_some() && self.folders.contains(path) && here.below("changed", 4) == 0 {
            here.injector.saw("a worktree is retained");
            let retained = Retained {
                reason: RetainReason::Changed,
                detail: None,
                changed_files: vec!["src/lib.rs".into()],
                more_files: 0,
            };
            return here.deliver(after, Outcome::Worktree { removal: Removal::Retained { retained } });
        }
        let folder = self.folders.remove(path);
        let rest = sabotage != Some(Sabotage::KeepBranch) && self.branches.remove(branch);
        if rest && !folder {
            here.injector.saw("a branch without its folder is removed");
        }
        if folder && unwanted.base.is_none() {
            here.injector.saw("a worktree without a recorded base is removed");
        }
        if here.fault("silent", here.faults.tool_silent) {
            return Vec::new();
        }
        here.deliver(after, Outcome::Worktree { removal: Removal::Removed })
    }

    /// Checks O6, when everything is at rest.
    pub(crate) fn check(
        &self,
        agents: &BTreeMap<AgentId, Agent>,
        sabotage: Option<Sabotage>,
    ) -> Result<u64, Failure> {
        let living = agents.values().filter(|agent| !agent.childhood.archived);
        let all: Vec<_> = living.flat_map(Agent::worktrees).collect();
        let under_way =
            all.iter().find(|one| !matches!(one.state, WorktreeState::InUse | WorktreeState::Retained));
        ensure!(under_way.is_none(), "O6", "{under_way:?} is left in the middle");
        let gone = all.iter().find(|one| one.state == WorktreeState::InUse && !self.is_whole(&one.plan));
        ensure!(gone.is_none(), "O6", "{gone:?} is in use, and not there");
        let known: BTreeSet<&str> =
            all.iter().flat_map(|one| [one.plan.path.as_str(), &one.plan.branch]).collect();
        let stray = (sabotage == Some(Sabotage::Stray)).then(|| "/stray".to_owned());
        let mut there = self.folders.iter().chain(&self.branches).chain(&stray);
        let orphan = there.find(|path| !known.contains(path.as_str()));
        ensure!(orphan.is_none(), "O6", "{orphan:?} is there, and nobody's");
        Ok(self.branches.len() as u64)
    }
}

fn binding(anchor: &str, path: &str) -> ExecutionBinding {
    ExecutionBinding {
        workspace_anchor: anchor.to_owned(),
        projection_kind: ProjectionKind::GitWorktreeRoot,
        ..ExecutionBinding::project(path, path)
    }
}

fn failed(message: &str) -> Outcome {
    Outcome::Failed { failure: OpFailure { certainty: Certainty::Ambiguous, message: Text::short(message) } }
}
