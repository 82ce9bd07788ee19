//! Workspaces and occupied roots, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use holon_facts::call::ToolName;
use holon_facts::event::operation::OpKind;
use holon_facts::event::workspace::ReleaseCause;
use holon_facts::event::{Event, LifecycleFact, OperationFact, TurnFact, WorkspaceFact};
use holon_facts::ids::{OpId, RunId, WorktreeId};
use holon_facts::record::Record;
use holon_facts::workspace::{ExecutionBinding, WorkspaceId, WorkspaceKind, WorktreeState};

use super::Past;

#[derive(Debug, Clone, Default)]
pub(crate) struct Workspaces {
    /// Those that the agent knows beside its home.
    pub(crate) attached: BTreeSet<WorkspaceId>,
    /// Where its next turn begins.
    pub(crate) active: Option<ExecutionBinding>,
    /// Where the last turn works.
    pub(crate) here: Option<ExecutionBinding>,
    pub(crate) occupied: BTreeMap<String, Option<RunId>>,
    /// What the stop that is being carried out has released.
    pub(crate) freed: BTreeSet<String>,
    /// The log reports occupancy: it is not one of an earlier build.
    pub(crate) is_recorded: bool,
    /// Where each command comes up or is executed, until it has ended.
    commands: BTreeMap<OpId, String>,
    /// Those that are not removed, and how they stand.
    pub(crate) worktrees: BTreeMap<WorktreeId, WorktreeState>,
    /// The operation that makes or removes each.
    pub(crate) about: BTreeMap<OpId, (OpKind, WorktreeId)>,
    /// The one that a performer looked at last.
    pub(crate) looked_at: Option<WorktreeId>,
    /// The tool of the last call that was started.
    pub(crate) tool: Option<ToolName>,
    /// A call is in progress that chooses where the agent works.
    chooses: bool,
    /// Those that the agent has chosen itself, and no operator has named.
    pub(crate) untrusted: BTreeSet<WorkspaceId>,
}

impl Workspaces {
    pub(super) fn follow(&mut self, record: &Record) {
        if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event {
            let begins_at = &fact.spec.execution;
            self.attached = fact.spec.attached.iter().map(|anchor| WorkspaceId::of_anchor(anchor)).collect();
            self.untrusted =
                fact.spec.untrusted.iter().map(|anchor| WorkspaceId::of_anchor(anchor)).collect();
            if begins_at.kind == WorkspaceKind::Project {
                self.attached.insert(begins_at.workspace_id());
            }
            self.active = Some(begins_at.clone());
        }
        if let Event::Turn(TurnFact::TurnStarted(_)) = &record.event {
            self.here.clone_from(&self.active);
        }
        if let Event::Turn(TurnFact::ToolStarted(fact)) = &record.event {
            self.chooses = fact.tool == *"UseWorkspace";
            self.tool = Some(fact.tool.clone());
        }
        if let Event::Turn(TurnFact::ToolExecuted(_) | TurnFact::ToolExecutionFailed(_)) = &record.event {
            self.chooses = false;
        }
        if let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event {
            if let Some(root) = &fact.execution_root {
                self.commands.insert(fact.op, root.clone());
            }
            if let Some(plan) = &fact.worktree {
                self.worktrees.entry(plan.worktree_id).or_insert(WorktreeState::Making);
                self.about.insert(fact.op, (fact.kind, plan.worktree_id));
            }
        }
        if let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event {
            self.commands.remove(&fact.op);
            if let Some((OpKind::RemoveWorktree, id)) = self.about.remove(&fact.op) {
                self.looked_at = Some(id);
            }
        }
        if let Event::Workspace(fact) = &record.event {
            self.workspace(fact);
        }
    }

    fn workspace(&mut self, fact: &WorkspaceFact) {
        match fact {
            WorkspaceFact::WorkspaceAttached(fact) => {
                self.attached.insert(fact.workspace_id.clone());
                if self.chooses {
                    self.untrusted.insert(fact.workspace_id.clone());
                }
            }
            WorkspaceFact::WorkspaceTrusted(fact) => drop(self.untrusted.remove(&fact.workspace_id)),
            WorkspaceFact::WorkspaceUsed(fact) => {
                self.active = Some(fact.execution.clone());
                if fact.run_id.is_some() {
                    self.here.clone_from(&self.active);
                }
            }
            WorkspaceFact::WorkspaceDetached(fact) => {
                self.attached.remove(&fact.workspace_id);
                self.untrusted.remove(&fact.workspace_id);
            }
            WorkspaceFact::OccupancyAcquired(fact) => {
                self.is_recorded = true;
                self.occupied.insert(fact.execution_root.clone(), fact.run_id);
            }
            WorkspaceFact::OccupancyReleased(fact) => {
                self.occupied.remove(&fact.execution_root);
                if fact.cause == ReleaseCause::Stopped {
                    self.freed.insert(fact.execution_root.clone());
                }
            }
            WorkspaceFact::WorktreeCreated(fact) => self.now(fact.worktree_id, WorktreeState::InUse),
            WorkspaceFact::WorktreeLeft(fact) => self.now(fact.worktree_id, WorktreeState::Leaving),
            WorkspaceFact::WorktreeRemoved(fact) => drop(self.worktrees.remove(&fact.worktree_id)),
            WorkspaceFact::WorkspaceTreeKept(_) => {}
            WorkspaceFact::WorktreeRetained(fact) => {
                self.worktrees.insert(fact.plan.worktree_id, WorktreeState::Retained);
            }
        }
    }
}

impl Workspaces {
    fn now(&mut self, id: WorktreeId, state: WorktreeState) {
        self.worktrees.insert(id, state);
    }

    /// Whether an operation makes it or removes it.
    pub(crate) fn is_awaited(&self, id: WorktreeId) -> bool {
        self.about.values().any(|(_, about)| *about == id)
    }
}

/// The worktree that gets its number with that, or is named by it.
pub(super) fn numbered(event: &Event) -> Option<WorktreeId> {
    let opened = if let Event::Operation(OperationFact::OperationOpened(fact)) = event {
        fact.worktree.as_ref()
    } else {
        None
    };
    let retained = if let Event::Workspace(WorkspaceFact::WorktreeRetained(fact)) = event {
        Some(&fact.plan)
    } else {
        None
    };
    opened.or(retained).map(|plan| plan.worktree_id)
}

impl Past {
    /// Whether a run that took the root goes on, or a command there does.
    pub(crate) fn needs_root(&self, root: &str, run: Option<RunId>) -> bool {
        let runs = run.is_some_and(|run| self.running(run).is_some());
        runs || self.workspaces.commands.values().any(|there| there == root)
    }
}
