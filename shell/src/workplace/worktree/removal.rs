//! Takes a worktree away, or says why it stays.

use super::ground::{Files, Ground, Probed};
use super::{Site, WorktreeError};
use crate::workplace::git::{GitError, args};

/// What has become of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Neither its folder nor its branch exists.
    Removed,
    /// Something of it stays as it was.
    Kept {
        why: KeptWhy,
        /// At most 64 paths from its top: with changes the changed ones, with commits those that they change.
        changed_files: Vec<String>,
        /// How many others there are.
        more: u64,
    },
}

/// Why a worktree stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptWhy {
    /// Files that are not committed, or not known to git and not ignored.
    Changed,
    /// Commits that no other branch has. The folder may be gone.
    Committed,
    /// The folder is not a worktree with this branch: another one or a commit is checked out, the branch is checked out
    /// elsewhere, it belongs to another repository, or to none any more.
    Mismatched,
    /// Git refuses, in its own words: submodules, a lock, a file that can't be deleted.
    Stuck(String),
}

/// What the commits of the branch say.
enum Verdict {
    /// There is no branch.
    Gone,
    /// All of them are elsewhere too; where the branch is.
    Free(String),
    /// Some would be lost; the files that they change.
    Committed(Files),
}

/// Without a repository there is nothing to compare a folder with.
pub(super) fn without_repository(site: &Site, error: WorktreeError) -> Result<Removal, WorktreeError> {
    match error {
        WorktreeError::NoRepository { .. } | WorktreeError::NotTop { .. } | WorktreeError::Bare { .. } => {
            site.tidy();
            Ok(if site.exists() { kept(KeptWhy::Mismatched) } else { Removal::Removed })
        }
        WorktreeError::Path { .. }
        | WorktreeError::NoCommit { .. }
        | WorktreeError::Name { .. }
        | WorktreeError::Branch { .. }
        | WorktreeError::Occupied { .. }
        | WorktreeError::Git(_)
        | WorktreeError::Ended { .. } => Err(error),
    }
}

impl Ground {
    pub(super) async fn remove(&self, base: Option<&str>) -> Result<Removal, WorktreeError> {
        let elsewhere = self.checked_out_elsewhere().await?;
        if elsewhere.is_some() || self.site.anchor.starts_with(&self.site.path) {
            return Ok(kept(KeptWhy::Mismatched));
        }
        let stays = match (self.found().await?, base) {
            (Probed::Nothing, _) => None,
            (Probed::Foreign, _) => Some(kept(KeptWhy::Mismatched)),
            (Probed::Lost { on } | Probed::Whole { on }, _) if !self.is_branch(on.as_deref()) => {
                Some(kept(KeptWhy::Mismatched))
            }
            (Probed::HalfMade | Probed::Lost { .. } | Probed::Whole { .. }, None) => {
                stuck(self.discard().await)?
            }
            (Probed::HalfMade | Probed::Whole { .. }, Some(base)) => self.remove_unchanged(base).await?,
            (Probed::Lost { .. }, Some(base)) => self.remove_uncommitted(base).await?,
        };
        if let Some(stays) = stays {
            return Ok(stays);
        }
        let stays = self.remove_branch(base).await?;
        self.site.tidy();
        Ok(stays.unwrap_or(Removal::Removed))
    }

    /// Removes the folder if nothing in it has changed and its commits are elsewhere too.
    async fn remove_unchanged(&self, base: &str) -> Result<Option<Removal>, WorktreeError> {
        match self.has_changes().await? {
            Some(changed) => Ok(Some(changed)),
            None => self.remove_uncommitted(base).await,
        }
    }

    async fn has_changes(&self) -> Result<Option<Removal>, GitError> {
        match self.changed().await {
            Ok((files, _)) if files.is_empty() => Ok(None),
            Ok(files) => Ok(Some(kept_with(KeptWhy::Changed, files))),
            Err(GitError::Refused { words, .. }) => Ok(Some(kept(KeptWhy::Stuck(words)))),
            Err(error) => Err(error),
        }
    }

    /// Removes the folder if its commits are elsewhere too. Git looks for changes once more, and refuses.
    async fn remove_uncommitted(&self, base: &str) -> Result<Option<Removal>, WorktreeError> {
        if let Verdict::Committed(files) = self.verdict(Some(base)).await? {
            return Ok(Some(kept_with(KeptWhy::Committed, files)));
        }
        let path = self.site.path.as_os_str();
        let remove = [&args(&["worktree", "remove", "--"])[..], &[path]].concat();
        let stuck = stuck(self.git.run_whole(&self.site.anchor, &remove).await.map(drop))?;
        if stuck.is_none() || !self.site.exists() {
            return Ok(stuck);
        }
        Ok(self.has_changes().await?.or(stuck))
    }

    async fn remove_branch(&self, base: Option<&str>) -> Result<Option<Removal>, WorktreeError> {
        let tip = match self.verdict(base).await? {
            Verdict::Gone => return Ok(None),
            Verdict::Free(tip) => tip,
            Verdict::Committed(files) => return Ok(Some(kept_with(KeptWhy::Committed, files))),
        };
        let Some(stuck) = stuck(self.delete_branch(&tip).await)? else { return Ok(None) };
        // Somebody may have moved it just now.
        Ok(match self.verdict(base).await? {
            Verdict::Gone => None,
            Verdict::Free(_) => Some(stuck),
            Verdict::Committed(files) => Some(kept_with(KeptWhy::Committed, files)),
        })
    }

    /// Without a base the branch began somewhere on the anchor's.
    async fn verdict(&self, base: Option<&str>) -> Result<Verdict, WorktreeError> {
        let Some(tip) = self.tip().await? else { return Ok(Verdict::Gone) };
        if base == Some(tip.as_str()) || self.is_reachable(&tip).await? {
            return Ok(Verdict::Free(tip));
        }
        let files = match base {
            // The base may be gone, or no commit at all; what the branch has stays in any case.
            Some(base) if is_id(base) => self.differing(base, &tip).await.unwrap_or_default(),
            Some(_) => Files::default(),
            None => match self.head().await {
                Ok(head) if self.is_ancestor(&tip, &head).await? => return Ok(Verdict::Free(tip)),
                Ok(_) | Err(_) => Files::default(),
            },
        };
        Ok(Verdict::Committed(files))
    }
}

fn is_id(base: &str) -> bool {
    !base.is_empty() && base.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A refusal is an answer, everything else that goes wrong isn't.
fn stuck(done: Result<(), GitError>) -> Result<Option<Removal>, GitError> {
    match done {
        Ok(()) => Ok(None),
        Err(GitError::Refused { words, .. }) => Ok(Some(kept(KeptWhy::Stuck(words)))),
        Err(error) => Err(error),
    }
}

fn kept(why: KeptWhy) -> Removal {
    kept_with(why, Files::default())
}

fn kept_with(why: KeptWhy, (changed_files, more): Files) -> Removal {
    Removal::Kept { why, changed_files, more }
}
