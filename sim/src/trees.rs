//! Worktrees as they really are, beside what the logs say of them: O6, each is one that somebody has on record.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::Agent;
use holon_core::agent::workspace::{
    ExecutionBinding, ProjectionKind, RetainReason, Retained, WorktreePlan, WorktreeState,
};
use holon_core::effect::{Isolated, UnwantedWorktree};
use holon_core::outcome::{Certainty, OpFailure, Outcome, Removal};
use holon_core::{AgentId, Text};

use crate::failure::{Failure, ensure};
use crate::provider::{Circumstances, Deliveries};
use crate::world::Sabotage;

/// Outside of the process: a crash leaves them alone.
#[derive(Debug, Default)]
pub(crate) struct Trees(BTreeSet<String>);

impl Trees {
    /// Makes one, or goes back into one of the same label; with some faults it is there although nobody hears of it.
    pub(crate) fn isolate(
        &mut self,
        here: &mut Circumstances<'_>,
        anchor: &str,
        isolated: &Isolated,
    ) -> Deliveries {
        let after = u64::from(here.below("latency", 2_000_000));
        let of_label = |own: &&WorktreePlan| own.anchor == anchor && own.label == isolated.plan.label;
        if let Some(own) = isolated.own.iter().find(of_label).filter(|own| self.0.contains(&own.path)) {
            here.injector.saw("a worktree is gone back into");
            return here.deliver(after, Outcome::found(binding(anchor, &own.path)));
        }
        if here.fault("fails", here.faults.tool_fails) {
            if here.below("half", 2) == 0 {
                self.0.insert(isolated.plan.path.clone());
            }
            return here.deliver(after, failed("git was killed"));
        }
        self.0.insert(isolated.plan.path.clone());
        here.injector.saw("a worktree is made");
        if here.fault("silent", here.faults.tool_silent) {
            return Vec::new();
        }
        let (execution, base) = (binding(anchor, &isolated.plan.path), Some("c0ffee".to_owned()));
        here.deliver(after, Outcome::Workspace { execution, base })
    }

    /// Removes one that has nothing new.
    pub(crate) fn remove(&mut self, here: &mut Circumstances<'_>, unwanted: &UnwantedWorktree) -> Deliveries {
        let after = u64::from(here.below("latency", 2_000_000));
        let path = &unwanted.plan.path;
        if here.fault("fails", here.faults.tool_fails) {
            if here.below("half", 2) == 0 {
                self.0.remove(path);
            }
            return here.deliver(after, failed("git was killed"));
        }
        if unwanted.base.is_some() && self.0.contains(path) && here.below("changed", 4) == 0 {
            here.injector.saw("a worktree is retained");
            let retained = Retained {
                reason: RetainReason::Changed,
                detail: None,
                changed_files: vec!["src/lib.rs".into()],
                more_files: 0,
            };
            return here.deliver(after, Outcome::Worktree { removal: Removal::Retained { retained } });
        }
        if self.0.remove(path) && unwanted.base.is_none() {
            here.injector.saw("a worktree that nobody heard of is removed");
        }
        if here.fault("silent", here.faults.tool_silent) {
            return Vec::new();
        }
        here.deliver(after, Outcome::Worktree { removal: Removal::Removed })
    }

    /// O6, when everything is at rest.
    pub(crate) fn judge(
        &self,
        agents: &BTreeMap<AgentId, Agent>,
        sabotage: Option<Sabotage>,
    ) -> Result<u64, Failure> {
        let living = agents.values().filter(|agent| !agent.childhood.archived);
        let all: Vec<_> = living.flat_map(Agent::worktrees).collect();
        let under_way =
            all.iter().find(|one| !matches!(one.state, WorktreeState::InUse | WorktreeState::Retained));
        ensure!(under_way.is_none(), "O6", "{under_way:?} is left in the middle");
        let gone =
            all.iter().find(|one| one.state == WorktreeState::InUse && !self.0.contains(&one.plan.path));
        ensure!(gone.is_none(), "O6", "{gone:?} is in use, and not there");
        let known: BTreeSet<&str> = all.iter().map(|one| one.plan.path.as_str()).collect();
        let stray = (sabotage == Some(Sabotage::Stray)).then(|| "/stray".to_owned());
        let orphan = self.0.iter().chain(&stray).find(|path| !known.contains(path.as_str()));
        ensure!(orphan.is_none(), "O6", "{orphan:?} is there, and nobody's");
        Ok(self.0.len() as u64)
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
