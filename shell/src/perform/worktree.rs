//! Worktrees for agents and their children: made where the core says, and removed when nothing in them is new.

use std::path::{Path, PathBuf};

use holon_core::agent::workspace::{ExecutionBinding, ProjectionKind, RetainReason, Retained, WorktreePlan};
use holon_core::effect::{Isolated, UnwantedWorktree};
use holon_core::outcome::{Outcome, Removal};
use holon_core::tool::ToolErrorKind;

use super::Performers;
use super::tool::Refusal;
use crate::workplace::{self, KeptWhy, Removal as Removed, Worktree, WorktreeError};

/// The folder that was found, as a worktree of its repository: one that the agent has under that label, or a new one
/// with the commit that it begins at.
pub(super) async fn isolate(
    found: ExecutionBinding,
    isolated: Isolated,
) -> Result<(ExecutionBinding, Option<String>), Refusal> {
    let Isolated { plan, own } = isolated;
    let anchor = workplace::anchor_of(Path::new(&found.execution_root));
    let anchor = anchor.unwrap_or_else(|| PathBuf::from(&found.execution_root));
    let of_label = |own: &&WorktreePlan| Path::new(&own.anchor) == anchor && own.label == plan.label;
    if let Some(own) = own.iter().find(of_label).filter(|own| Path::new(&own.path).is_dir()) {
        return Ok((binding(&anchor, &own.path, &found), None));
    }
    let worktree = Worktree {
        anchor: Path::new(&found.execution_root),
        path: Path::new(&plan.path),
        branch: &plan.branch,
    };
    match worktree.add().await {
        Ok(added) => Ok((binding(&anchor, &plan.path, &found), Some(added.base))),
        Err(error) => Err(refusal(&error)),
    }
}

/// Commands start where they would have in the folder itself, if that is there.
fn binding(anchor: &Path, root: &str, found: &ExecutionBinding) -> ExecutionBinding {
    let inside = Path::new(&found.cwd).strip_prefix(&found.execution_root).unwrap_or(Path::new(""));
    let cwd = Path::new(root).join(inside);
    let cwd = if cwd.is_dir() { cwd } else { PathBuf::from(root) };
    ExecutionBinding {
        workspace_anchor: anchor.display().to_string(),
        projection_kind: ProjectionKind::GitWorktreeRoot,
        ..ExecutionBinding::project(root, cwd.components().collect::<PathBuf>().display().to_string())
    }
}

fn refusal(error: &WorktreeError) -> Refusal {
    let kind = match error {
        WorktreeError::NoRepository { .. }
        | WorktreeError::NoCommit { .. }
        | WorktreeError::Bare { .. }
        | WorktreeError::NotTop { .. } => ToolErrorKind::InvalidToolInput,
        WorktreeError::Path { .. }
        | WorktreeError::Name { .. }
        | WorktreeError::Branch { .. }
        | WorktreeError::Occupied { .. }
        | WorktreeError::Git(_)
        | WorktreeError::Ended { .. } => ToolErrorKind::ToolExecutionFailed,
    };
    Refusal::new(kind, error.to_string()).hint("work in the folder itself, or let the operator look")
}

impl Performers {
    /// Removes a worktree that nobody needs, unless that would lose something.
    pub async fn remove_worktree(&self, unwanted: UnwantedWorktree) -> Outcome {
        let UnwantedWorktree { plan, base } = unwanted;
        let anchor = PathBuf::from(&plan.anchor);
        let anchor = workplace::anchor_of(&anchor).unwrap_or(anchor);
        let worktree = Worktree { anchor: &anchor, path: Path::new(&plan.path), branch: &plan.branch };
        match worktree.remove(base.as_deref()).await {
            Ok(Removed::Removed) => Outcome::Worktree { removal: Removal::Removed },
            Ok(Removed::Kept { why, changed_files, more }) => {
                let (reason, detail) = reason(why);
                let retained = Retained { reason, detail, changed_files, more_files: more };
                Outcome::Worktree { removal: Removal::Retained { retained } }
            }
            Err(error) => self.failed(&error.to_string()),
        }
    }
}

fn reason(why: KeptWhy) -> (RetainReason, Option<String>) {
    match why {
        KeptWhy::Changed => (RetainReason::Changed, None),
        KeptWhy::Committed => (RetainReason::Committed, None),
        KeptWhy::Mismatched => (RetainReason::Mismatched, None),
        KeptWhy::Stuck(words) => (RetainReason::Stuck, Some(words)),
    }
}
