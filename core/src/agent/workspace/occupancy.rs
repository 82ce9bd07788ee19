//! Write occupancy of execution roots: exclusive to one supervision tree, from the first tool that needs the root to the
//! end of the last run and command there. Every command counts as a write, and nobody queues.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::agent::Agent;
use crate::event::operation::OpKind;
use crate::event::workspace::{OccupancyAcquired, OccupancyReleased, ReleaseCause};
use crate::host::tx::Tx;
use crate::ids::RunId;
use crate::tool::{ToolError, ToolErrorKind};

/// Takes a root for a run, or for an operator's command.
///
/// # Errors
/// When another supervision tree has it: who that is.
pub(crate) fn take(tx: &mut Tx<'_>, root: &str, run_id: Option<RunId>) -> Result<(), ToolError> {
    if let Some(holder) = tx.occupied.by_other(root, tx.agent().tree()) {
        let message =
            format!("{root} is occupied by the agent {holder}: only one works in a folder at a time");
        let hint = "work in another folder (UseWorkspace), or try again when that one has ended its turn and its commands";
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

/// Releases everything, whatever still runs there: its end is asked for. Says what that was.
pub(crate) fn stopped(tx: &mut Tx<'_>) -> Vec<String> {
    let all: Vec<String> = tx.agent().workspaces.occupied().map(|(root, _)| root.to_string()).collect();
    released(tx, all.clone(), ReleaseCause::Stopped);
    all
}

fn released(tx: &mut Tx<'_>, roots: Vec<String>, cause: ReleaseCause) {
    for execution_root in roots {
        tx.record(OccupancyReleased { execution_root, cause });
    }
}

impl Agent {
    /// Whether a run that took the root goes on, or a command there does.
    fn needs(&self, root: &str, run_id: Option<RunId>) -> bool {
        let runs = run_id.is_some() && self.run.as_ref().map(|run| run.id) == run_id;
        runs || self.ops.values().any(|open| match open.kind {
            // One that an earlier build began may be anywhere.
            OpKind::PrepareCommand | OpKind::RunCommand => {
                open.execution_root.as_ref().is_none_or(|there| there == root)
            }
            OpKind::LoadContext
            | OpKind::CallModel
            | OpKind::CallTool
            | OpKind::PromoteCommand
            | OpKind::AwaitTask
            | OpKind::SuperviseChild
            | OpKind::FindWorkspace
            | OpKind::RemoveWorktree
            | OpKind::WriteInput => false,
        })
    }
}
