//! Write occupancy of execution roots: exclusive to one supervision tree, from the first tool that needs the root to the
//! end of the last run and command there. Every command counts as a write, and nobody queues.

use holon_facts::event::operation::OpKind;
use holon_facts::ids::RunId;

use crate::agent::{Agent, OpenOp};

impl Agent {
    /// Whether a command is executed there that has not ended.
    pub(crate) fn executes_in(&self, root: &str) -> bool {
        let there = |open: &OpenOp| open.execution_root.as_ref().is_none_or(|there| there == root);
        self.ops.values().any(|open| open.kind == OpKind::RunCommand && there(open))
    }

    /// Whether a run that took the root goes on, or a command there does.
    pub(crate) fn needs(&self, root: &str, run_id: Option<RunId>) -> bool {
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
            | OpKind::Summarize
            | OpKind::WriteInput => false,
        })
    }
}
