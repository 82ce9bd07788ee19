//! Which files of the workspace a run changed, as `git status` shows it before and after (contract: tools.md,
//! `changed_files`). Looks on only: it takes no lock in the repository and starts no monitor that the
//! repository names. Ignored files are left out, and of a submodule only the commit that is checked out there counts.

mod git;
mod print;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use holon_platform::{Environment, spawn};
use tokio::task::JoinHandle;

use crate::driver::{Gate, Latch};
use crate::workplace::HeldBack;
use git::Git;
use print::Print;
use status::Status;

/// What a run changed beyond what patches tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// The folder is in no repository: only patches tell.
    NoRepository,
    /// Paths relative to the workspace.
    Files(BTreeSet<String>),
    /// Git could not be asked, and why.
    Unknown(String),
}

/// A look at the repository before anything changed, under way.
pub struct Before(Option<UnderWay>);

struct UnderWay {
    look: JoinHandle<Result<Look, String>>,
    git: Git,
    /// The folder that the repository's paths start from.
    top: PathBuf,
}

/// What stood in the workspace at one moment.
struct Look {
    status: Status,
    /// The files that differed from the last commit.
    prints: BTreeMap<String, Print>,
}

impl Before {
    /// Begins to look. Nothing may change the workspace before the gate is open. The filters that a repository names run
    /// with git, and commands may have named them; it is held back by nothing only where no binary is there to do it.
    pub fn look(
        workspace: &Path,
        environment: &Environment,
        held_back: Option<HeldBack<'_>>,
    ) -> (Self, Gate) {
        let Some(top) = workspace.ancestors().find(|folder| folder.join(".git").exists()) else {
            return (Self(None), Gate::open());
        };
        let helper = held_back.and_then(|held_back| held_back.helper(top, top));
        let (git, top) = (Git::new(workspace, environment, helper), top.to_owned());
        let (latch, gate) = Latch::closed();
        let look = spawn::task(take(git.clone(), top.clone(), latch));
        (Self(Some(UnderWay { look, git, top })), gate)
    }

    /// What is known when nothing could have changed.
    pub fn nothing(self) -> Changes {
        if self.0.is_some() { Changes::Files(BTreeSet::new()) } else { Changes::NoRepository }
    }

    /// Looks again, and compares.
    pub async fn changes(mut self, workspace: &Path) -> Changes {
        let Some(under_way) = &mut self.0 else { return Changes::NoRepository };
        let before = match (&mut under_way.look).await {
            Ok(Ok(before)) => before,
            Ok(Err(problem)) => return Changes::Unknown(problem),
            Err(error) => return Changes::Unknown(format!("looking at the repository broke down: {error}")),
        };
        match compare(under_way, before, workspace).await {
            Ok(files) => Changes::Files(files),
            Err(problem) => Changes::Unknown(problem),
        }
    }
}

impl Drop for Before {
    /// A look that nobody needs is given up, and its process with it.
    fn drop(&mut self) {
        if let Some(under_way) = &self.0 {
            under_way.look.abort();
        }
    }
}

/// Opens the latch when it is done, however it ends.
async fn take(git: Git, top: PathBuf, latch: Latch) -> Result<Look, String> {
    let status = git.status().await?;
    let paths: Vec<String> = status.dirty.iter().cloned().collect();
    let prints = prints(top, paths).await?;
    drop(latch);
    Ok(Look { status, prints })
}

async fn prints(top: PathBuf, paths: Vec<String>) -> Result<BTreeMap<String, Print>, String> {
    spawn::blocking(move || print::all(&top, paths)).await.map_err(|error| error.to_string())
}

async fn compare(under_way: &UnderWay, before: Look, workspace: &Path) -> Result<BTreeSet<String>, String> {
    let UnderWay { git, top, .. } = under_way;
    let after = git.status().await?;
    let mut touched = after.dirty.clone();
    if after.head != before.status.head {
        touched.extend(git.committed(before.status.head.as_deref(), after.head.as_deref()).await?);
    }
    // What differed before and no longer does was changed as well, unless it was only committed.
    let again = prints(top.clone(), before.prints.keys().cloned().collect()).await?;
    let differs = |path: &String| before.prints.get(path) != again.get(path);
    touched.retain(|path| !before.prints.contains_key(path));
    touched.extend(before.prints.keys().filter(|path| differs(path)).cloned());
    let inside = workspace.strip_prefix(top).unwrap_or(Path::new(""));
    Ok(touched.iter().map(|path| status::relative(inside, path)).collect())
}

#[cfg(test)]
mod tests;
