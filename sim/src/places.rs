//! Folders that agents share, over the logs of all: O1, one supervision tree at a time has each root; and requests of
//! operators about such folders.

use std::collections::BTreeMap;

use holon_core::agent::Agent;
use holon_core::effect::{WantedWorkspace, WorkspaceTarget};
use holon_core::tool::Tool;
use holon_facts::event::WorkspaceFact;
use holon_facts::outcome::{Outcome, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind};
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange};
use holon_facts::{AgentId, Event, Millis, Record};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, ensure};
use crate::performer::{Circumstances, Deliveries};
use crate::tools::failed_receipt;
use crate::totals::Totals;
use crate::trees::Trees;

/// Number of shared folders.
pub(crate) const SHARED: u32 = 3;

/// A request of an operator about a shared folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placing {
    Attach,
    Use,
    /// Back to the agent's own home.
    Exit,
    Detach,
    Prune,
}

impl Placing {
    pub(crate) fn change(self, agent: &AgentId, folder: u32) -> WorkspaceChange {
        let execution = folder_of(folder);
        match self {
            Self::Attach => WorkspaceChange::Attach { execution },
            Self::Use => WorkspaceChange::Use { execution },
            Self::Exit => WorkspaceChange::Use { execution: home(agent) },
            Self::Detach => WorkspaceChange::Detach { workspace_id: execution.workspace_id() },
            Self::Prune => WorkspaceChange::Prune,
        }
    }
}

fn folder_of(number: u32) -> ExecutionBinding {
    let root = format!("/p{}", number % SHARED);
    ExecutionBinding::project(root.clone(), root)
}

pub(crate) fn is_shared(root: &str) -> bool {
    root.starts_with("/p")
}

pub(crate) fn is_in_shared(agent: &Agent) -> bool {
    agent.workspaces.occupied().any(|(root, _)| is_shared(root))
}

fn home(agent: &AgentId) -> ExecutionBinding {
    ExecutionBinding::agent_home(format!("/agents/{agent}"))
}

/// A call with which an agent goes to another folder, or back to its home.
pub(crate) fn about_folders(here: &mut Circumstances<'_>) -> (Tool, String) {
    let folder = here.below("folder", SHARED);
    let arguments = match here.below("about folders", 8) {
        6 => format!(r#"{{"path":"/p{folder}","mode":"isolated"}}"#),
        7 => format!(r#"{{"path":"/p{folder}","mode":"isolated","isolation_label":"again"}}"#),
        0 => r#"{"workspace_id":"agent_home"}"#.into(),
        1 => format!(r#"{{"workspace_id":"{}"}}"#, folder_of(folder).workspace_id()),
        _ => format!(r#"{{"path":"/p{folder}"}}"#),
    };
    (Tool::UseWorkspace, arguments)
}

/// Looks for a folder, which may not exist.
pub(crate) fn find(
    here: &mut Circumstances<'_>,
    agent: &AgentId,
    wanted: &WantedWorkspace,
    trees: &mut Trees,
) -> Deliveries {
    if let Some(isolated) = &wanted.isolated {
        let anchor = match &wanted.target {
            WorkspaceTarget::AgentHome => wanted.from.workspace_anchor.clone(),
            // An agent in a worktree refers to the repository.
            WorkspaceTarget::Path { path } if *path == wanted.from.cwd => {
                wanted.from.workspace_anchor.clone()
            }
            WorkspaceTarget::Path { path } => path.clone(),
            WorkspaceTarget::Attached { anchor } => anchor.clone(),
        };
        return trees.isolate(here, &anchor, isolated);
    }
    if here.fault("silent", here.faults.tool_silent) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 50_000));
    if here.fault("fails", here.faults.tool_fails) {
        let gone = ToolError::new(ToolErrorKind::InvalidToolInput, "it is not a folder to work in");
        let receipt = if here.below("how", 2) == 0 { Receipt::failure(gone) } else { failed_receipt(here) };
        let outcome = ToolOutcome { receipt, duration_ms: Millis(0), end: None };
        return here.deliver(after, Outcome::Tool { outcome });
    }
    let execution = match &wanted.target {
        WorkspaceTarget::AgentHome => home(agent),
        WorkspaceTarget::Path { path } => ExecutionBinding::project(path.clone(), path.clone()),
        WorkspaceTarget::Attached { anchor } => ExecutionBinding::project(anchor.clone(), anchor.clone()),
    };
    here.deliver(after, Outcome::found(execution))
}

/// O1: only one tree has a root. Returns the number of checks.
pub(crate) fn check(
    agents: &BTreeMap<AgentId, Agent>,
    totals: &Totals,
    records: &[Record],
) -> Result<u64, Failure> {
    let mut checked = 0;
    for record in records {
        let Event::Workspace(WorkspaceFact::OccupancyAcquired(fact)) = &record.event else { continue };
        let Some(taker) = agents.get(&record.agent) else { continue };
        let mut holders = totals.holders(&fact.execution_root).filter_map(|id| agents.get(id));
        let other = holders.find(|agent| agent.tree() != taker.tree());
        ensure!(
            other.is_none(),
            "O1",
            "{} takes {}, which {:?} has",
            record.agent,
            fact.execution_root,
            other.map(|agent| &agent.id)
        );
        // A home is not counted: no other agent goes there.
        checked += u64::from(totals.is_contended(&fact.execution_root));
    }
    Ok(checked)
}
