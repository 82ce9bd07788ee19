//! Worktrees for agents and their children: made where the core says, and removed when nothing in them is new.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::effect::{Isolated, UnwantedWorktree};
use holon_facts::AgentId;
use holon_facts::outcome::{Outcome, Removal};
use holon_facts::receipt::ToolErrorKind;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind, RetainReason, Retained, WorktreePlan};
use holon_supervise::Helper;
use holon_supervise::confine::Confinement;

use super::tool::{Refusal, ResolvedWorkspace};
use super::{Performers, Settings};
use crate::workplace::{self, KeptWhy, Removal as Removed, Worktree, WorktreeError};

/// The folder that was found, as a worktree of its repository: one that the agent has under that label, or a new one
/// with the commit that it begins at.
pub(super) async fn isolate(
    settings: &Settings,
    found: ResolvedWorkspace,
    isolated: Isolated,
) -> Result<(ExecutionBinding, Option<String>), Refusal> {
    let Isolated { plan, own } = isolated;
    let ResolvedWorkspace { execution: found, project: anchor } = found;
    let of_label = |own: &&WorktreePlan| Path::new(&own.anchor) == anchor && own.label == plan.label;
    if let Some(own) = own.iter().find(of_label).filter(|own| Path::new(&own.path).is_dir()) {
        return Ok((binding(&anchor, &own.path, &found), None));
    }
    let path = Path::new(&plan.path);
    let helper = helper(settings, &anchor, path);
    let worktree = Worktree {
        anchor: Path::new(&found.execution_root),
        path,
        branch: &plan.branch,
        helper: helper.as_ref(),
    };
    match worktree.add().await {
        Ok(added) => Ok((binding(&anchor, &plan.path, &found), Some(added.base))),
        Err(error) => Err(refusal(&error)),
    }
}

/// Under `confined` git writes into the repository and beside the worktree only.
fn helper(settings: &Settings, anchor: &Path, path: &Path) -> Option<Helper> {
    let confinement = settings.confinement.as_ref()?;
    let folder = path.parent().unwrap_or(path);
    // It is there before git is held back from making it; what is against that, git says.
    fs::create_dir_all(folder).ok();
    Some(Helper::new(&settings.supervisor, confinement.for_worktrees(anchor, folder)))
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
    pub async fn remove_worktree(&self, agent: &AgentId, unwanted: UnwantedWorktree) -> Outcome {
        let UnwantedWorktree { plan, base, attached } = unwanted;
        let settings = &self.inner.settings;
        // Of one that somebody was given the repository is on record.
        let anchor = PathBuf::from(&plan.anchor);
        let found = if base.is_some() { None } else { workplace::anchor_of(&anchor) };
        let anchor = found.unwrap_or(anchor);
        let home = settings.real_agent_home(agent);
        let strange = |confinement: &Confinement| !confinement.may_use(&anchor, &attached, &home);
        if base.is_none() && settings.confinement.as_ref().is_some_and(strange) {
            // It was refused before anything was made.
            return Outcome::Worktree { removal: Removal::Removed };
        }
        let path = Path::new(&plan.path);
        let helper = helper(settings, &anchor, path);
        let worktree = Worktree { anchor: &anchor, path, branch: &plan.branch, helper: helper.as_ref() };
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
