//! Folders for isolated work: git worktrees that Holon makes and removes, each with a branch of its own.
//!
//! Both ways are safe to repeat: whatever a former attempt has left is taken up, put right or told. Nothing that holds
//! work is removed: no changed or untracked file, no commit that only this branch has. Ignored files are no work, they
//! go with the folder. What differs but git was told not to look at (`update-index --assume-unchanged`) isn't seen.

mod ground;
mod removal;
#[cfg(test)]
mod tests;

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use holon_platform::{Environment, spawn};
use holon_supervise::Helper;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::ground::{Ground, Probed};
pub use self::removal::{KeptWhy, Removal};
pub use super::git::GitError;
use super::git::args;

/// A worktree that Holon makes and removes. Paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Worktree<'a> {
    /// The top of a working tree of the repository. Usually the main one; a linked one does, too.
    pub anchor: &'a Path,
    pub path: &'a Path,
    /// Its name without `refs/heads/`.
    pub branch: &'a str,
    /// Holds git back, and with it the filters that the repository names; none lets it do what the user may.
    pub helper: Option<&'a Helper>,
}

/// A worktree that can be worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The full id of the commit that the branch began at.
    pub base: String,
}

/// Why a worktree can't be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{} is no place for a worktree: name an absolute path in a folder that can be read", path.display())]
    Path { path: PathBuf },
    #[error(
        "isolated work needs a git repository with at least one commit, and {} is no repository: \
         run git init and git commit there, or work without isolation",
        anchor.display()
    )]
    NoRepository { anchor: PathBuf },
    #[error(
        "isolated work needs a git repository with at least one commit, and {} has none: \
         run git commit there, or work without isolation",
        anchor.display()
    )]
    NoCommit { anchor: PathBuf },
    #[error(
        "isolated work begins in a working tree, and {} is a bare repository: name a worktree of it",
        anchor.display()
    )]
    Bare { anchor: PathBuf },
    #[error("{} is not the top of its repository: name {}", anchor.display(), top.display())]
    NotTop { anchor: PathBuf, top: PathBuf },
    #[error("{branch:?} can't be the name of a branch: see git help check-ref-format")]
    Name { branch: String },
    #[error("branch {branch} {problem}: rename or delete it, or choose another name")]
    Branch { branch: String, problem: String },
    #[error("{} {problem}: move it away, or choose another path", path.display())]
    Occupied { path: PathBuf, problem: &'static str },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("work on the worktree {} has ended early: try again", path.display())]
    Ended { path: PathBuf },
}

impl Worktree<'_> {
    /// Makes the worktree with its branch at the commit that is checked out in the anchor, and the folders above it. One
    /// that a former attempt has made is taken as it is: with its branch checked out, no changes, and no commit that no
    /// other branch has. A half-made one is made again, a branch that is left is used.
    ///
    /// Dropping the future ends git and leaves at most what another attempt takes up.
    ///
    /// # Errors
    /// An anchor that is no top of a repository with a commit; a path or branch that is something else's, which stays
    /// untouched; whatever git has against it.
    pub async fn add(&self) -> Result<Added, WorktreeError> {
        let site = self.site()?;
        let (_asker, wanted) = watch::channel(());
        let adding =
            async move { Ground::enter(site, &Environment::of_process(), wanted).await?.add().await };
        self.ended(spawn::task(adding)).await
    }

    /// Removes the worktree and its branch unless that loses work. `base` is what [`Worktree::add`] has said; without it
    /// nobody was ever given the folder, and its files are nobody's.
    ///
    /// Dropping the future doesn't end git while it deletes; what is left, another attempt takes up.
    ///
    /// # Errors
    /// A path or name that can't be one; a repository that git can't read.
    pub async fn remove(&self, base: Option<&str>) -> Result<Removal, WorktreeError> {
        let site = self.site()?;
        let base = base.map(str::to_owned);
        let (_asker, wanted) = watch::channel(());
        let removing = async move {
            match Ground::enter(site.clone(), &Environment::of_process(), wanted).await {
                Ok(ground) => ground.remove(base.as_deref()).await,
                Err(error) => removal::without_repository(&site, error),
            }
        };
        self.ended(spawn::task(removing)).await
    }

    /// The work is a task of its own: the repository's turn lasts until git is really gone, whoever is still there.
    async fn ended<T>(&self, task: JoinHandle<Result<T, WorktreeError>>) -> Result<T, WorktreeError> {
        task.await.unwrap_or_else(|_| Err(WorktreeError::Ended { path: self.path.to_owned() }))
    }

    fn site(&self) -> Result<Site, WorktreeError> {
        let wrong = || WorktreeError::Path { path: self.path.to_owned() };
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(wrong());
        };
        if !self.path.is_absolute() {
            return Err(wrong());
        }
        let parent = real(parent).ok_or_else(wrong)?;
        let anchor = self.anchor.canonicalize().unwrap_or_else(|_| self.anchor.to_owned());
        Ok(Site {
            anchor,
            path: parent.join(name),
            branch: self.branch.to_owned(),
            helper: self.helper.cloned(),
        })
    }
}

/// A worktree, with paths as they really are.
#[derive(Debug, Clone)]
struct Site {
    anchor: PathBuf,
    path: PathBuf,
    branch: String,
    helper: Option<Helper>,
}

impl Site {
    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Makes the folder around the worktree for its owner alone, as other folders of a home are; git would let others
    /// in. Where it can't be made git gives the reason.
    fn make_folder(&self) {
        if let Some(folder) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).ok();
        }
    }

    fn occupied(&self, problem: &'static str) -> WorktreeError {
        WorktreeError::Occupied { path: self.path.clone(), problem }
    }

    fn branch_taken(&self, problem: impl Into<String>) -> WorktreeError {
        WorktreeError::Branch { branch: self.branch.clone(), problem: problem.into() }
    }
}

impl Ground {
    async fn add(&self) -> Result<Added, WorktreeError> {
        let head = self.head().await?;
        if self.site.anchor.starts_with(&self.site.path) {
            return Err(self.site.occupied("is where the repository itself is"));
        }
        match self.found().await? {
            Probed::Nothing => {}
            Probed::HalfMade => self.discard().await?,
            Probed::Lost { on } if self.is_branch(on.as_deref()) => self.discard().await?,
            Probed::Whole { on } if self.is_branch(on.as_deref()) => return self.adopt(&head).await,
            Probed::Lost { .. } | Probed::Whole { .. } => {
                return Err(self.site.occupied("is a worktree that something else is checked out in"));
            }
            Probed::Foreign => {
                return Err(self.site.occupied("exists, and is no worktree of this repository"));
            }
        }
        self.make(&head).await
    }

    /// Takes the worktree that is there.
    async fn adopt(&self, head: &str) -> Result<Added, WorktreeError> {
        if !self.changed().await?.0.is_empty() {
            return Err(self.site.occupied("is a worktree with changes"));
        }
        let tip = self.tip().await?;
        let tip = tip.ok_or_else(|| self.site.occupied("is a worktree without a commit"))?;
        self.holds_nothing(&tip, head).await?;
        Ok(Added { base: tip })
    }

    async fn make(&self, head: &str) -> Result<Added, WorktreeError> {
        let path = self.site.path.as_os_str();
        let left = self.tip().await?;
        let add = match &left {
            Some(tip) => {
                self.holds_nothing(tip, head).await?;
                [&args(&["worktree", "add", "--quiet", "--"])[..], &[path], &args(&[&self.site.branch])]
                    .concat()
            }
            None => {
                let add = args(&["worktree", "add", "--quiet", "--no-track", "-b", &self.site.branch, "--"]);
                [&add[..], &[path], &args(&[head])].concat()
            }
        };
        self.site.make_folder();
        let made = self.git.run(&self.site.anchor, &add).await;
        if let Err(error) = made {
            // Git takes its worktree away itself.
            if left.is_none() {
                self.delete_branch(head).await.ok();
            }
            self.site.tidy();
            return Err(error.into());
        }
        Ok(Added { base: left.unwrap_or_else(|| head.to_owned()) })
    }

    /// A branch that is left from a former attempt is free, and holds nothing that would be lost with it.
    async fn holds_nothing(&self, tip: &str, head: &str) -> Result<(), WorktreeError> {
        if let Some(elsewhere) = self.checked_out_elsewhere().await? {
            return Err(self.site.branch_taken(format!("is checked out in {}", elsewhere.display())));
        }
        if self.is_reachable(tip).await? || self.is_ancestor(tip, head).await? {
            return Ok(());
        }
        Err(self.site.branch_taken("exists, and has commits that no other branch has"))
    }
}

/// A path whose last parts may not exist, without links. None if a part that exists can't be followed.
fn real(path: &Path) -> Option<PathBuf> {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(existing).ok()?;
    let real = existing.canonicalize().ok()?;
    Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}
