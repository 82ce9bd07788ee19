//! Takes and releases execution roots. Every command counts as a write, and nobody queues.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::workspace::{OccupancyAcquired, OccupancyReleased, ReleaseCause};
use holon_facts::ids::RunId;
use holon_facts::receipt::{ToolError, ToolErrorKind};

use crate::tx::Tx;

/// Takes a root for a run, or for an operator's command.
///
/// # Errors
/// When another supervision tree has it: who that is.
pub(crate) fn take(tx: &mut Tx<'_>, root: &str, run_id: Option<RunId>) -> Result<(), ToolError> {
    if let Some(holder) = tx.env.occupied.by_other(root, tx.agent().tree()) {
        let stopping = tx.env.occupied.is_stopping(root, holder);
        let why = if stopping {
            ", which is stopping: its last command there has not ended yet"
        } else {
            ": only one works in a folder at a time"
        };
        let message = format!("{root} is occupied by the agent {holder}{why}");
        let hint = if stopping {
            "try again in a moment, or work in another folder (UseWorkspace)"
        } else {
            "work in another folder (UseWorkspace), or try again when that one has ended its turn and its commands"
        };
        return Err(ToolError::new(ToolErrorKind::WorkspaceOccupied, message).hint(hint));
    }
    let held = tx.agent().workspaces.occupied.get(root);
    // An operator's command needs no more than that somebody has it.
    if held.is_none_or(|by| run_id.is_some() && *by != run_id) {
        tx.record(OccupancyAcquired { execution_root: root.to_string(), run_id });
    }
    Ok(())
}

/// Releases what nobody needs any more.
pub(crate) fn release(tx: &mut Tx<'_>) {
    if tx.agent().workspaces.occupied.is_empty() {
        return;
    }
    let agent = tx.agent();
    let unused = agent.workspaces.occupied().filter(|(root, run)| !agent.needs(root, *run));
    let unused: Vec<String> = unused.map(|(root, _)| root.to_string()).collect();
    released(tx, unused, ReleaseCause::Unused);
}

/// What a stop does to the roots of an agent and of its children.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    /// Held no more.
    pub(crate) released: Vec<String>,
    /// Held until the last command there has ended.
    pub(crate) stopping: Vec<String>,
}

/// Releases what no command needs. Where one still runs its end is asked for, and `release` follows it. The children are
/// stopped in the same step: what becomes of their roots is said, too.
pub(crate) fn stopped(tx: &mut Tx<'_>) -> Roots {
    let agent = tx.agent();
    let own = agent.workspaces.occupied().map(|(root, _)| (root, agent.executes_in(root)));
    let own: Vec<(String, bool)> = own.map(|(root, executes)| (root.to_string(), executes)).collect();
    let mut all: BTreeMap<String, bool> = BTreeMap::new();
    for (root, executes) in tx.env.occupied.below(&agent.id).chain(own.iter().cloned()) {
        *all.entry(root).or_default() |= executes;
    }
    let free = own.into_iter().filter(|(_, executes)| !executes).map(|(root, _)| root).collect();
    released(tx, free, ReleaseCause::Stopped);
    let of = |stopping: bool| all.iter().filter(move |(_, executes)| **executes == stopping);
    Roots {
        released: of(false).map(|(root, _)| root.clone()).collect(),
        stopping: of(true).map(|(root, _)| root.clone()).collect(),
    }
}

fn released(tx: &mut Tx<'_>, roots: Vec<String>, cause: ReleaseCause) {
    for execution_root in roots {
        tx.record(OccupancyReleased { execution_root, cause });
    }
}
