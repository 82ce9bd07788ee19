//! The folder that an agent's commands run in, for every surface that names one.

mod fetch;
mod find;
mod git;
mod held_back;
mod repository;
mod tree;
mod work_tree;
mod worktree;

use std::path::{Path, PathBuf};

use holon_facts::execution::GitHead;
use holon_facts::workspace::{ExecutionBinding, WorkspaceKind};
use holon_supervise::confine::Readable;
use repository::Repository;
use rustix::fs::{Access, access};

pub use fetch::{FetchError, FetchedFolder, Wanted, fetch};
pub use find::Search;
pub use held_back::HeldBack;
pub(crate) use repository::{REFS_BYTES, commit_of};
pub use tree::{Keeper, TreeError, give_back, keep};
pub use work_tree::work_tree;
pub use worktree::{Added, GitError, KeptWhy, Removal, Worktree, WorktreeError};

/// Which of the two folders is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    Workspace,
    Cwd,
}

/// A folder that nobody can work in.
#[derive(Debug, thiserror::Error)]
pub enum WorkplaceError {
    #[error("{} is not a folder to work in: {problem}", path.display())]
    Missing { folder: Folder, path: PathBuf, problem: std::io::Error },
    #[error("{} is not a folder to work in: it is a file", path.display())]
    File { folder: Folder, path: PathBuf },
    /// It becomes part of prompts and records, which are text.
    #[error("{} is not UTF-8", path.display())]
    NotText { folder: Folder, path: PathBuf },
    #[error("{} can't be read: {problem}", path.display())]
    Closed { folder: Folder, path: PathBuf, problem: rustix::io::Errno },
    #[error("{} is outside of {}", cwd.display(), workspace.display())]
    Outside { cwd: PathBuf, workspace: PathBuf },
}

impl WorkplaceError {
    /// Which of the two is to be changed.
    pub fn folder(&self) -> Folder {
        match self {
            Self::Missing { folder, .. }
            | Self::File { folder, .. }
            | Self::NotText { folder, .. }
            | Self::Closed { folder, .. } => *folder,
            Self::Outside { .. } => Folder::Cwd,
        }
    }
}

/// What git has checked out around a folder. None where its files can't be read.
pub fn git_head(folder: &Path, readable: &Readable) -> Option<GitHead> {
    Repository::around(folder).map_or(Some(GitHead::NoRepository), |repository| repository.head(readable))
}

/// `cwd` inside the workspace, both as they really are.
///
/// # Errors
/// A folder that is none, has no name in UTF-8, can't be read, or lies outside.
pub fn bind(workspace: &Path, cwd: &Path) -> Result<ExecutionBinding, WorkplaceError> {
    let root = real(Folder::Workspace, workspace)?;
    let cwd = inside(&root, cwd)?;
    Ok(ExecutionBinding::project(text(&root), text(&cwd)))
}

/// Where somebody works who is in this folder and has named none: the repository that it is part of, with the
/// instructions that lie there, or the folder itself. A repository that is somebody's whole `home` is none of a project.
pub fn around(current: &Path, home: Option<&Path>) -> PathBuf {
    repository(current, home).unwrap_or_else(|| current.to_owned())
}

/// The top of the repository that a folder is part of, unless that is somebody's whole `home`.
pub fn repository(current: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let top = current
        .canonicalize()
        .ok()
        .and_then(|real| Repository::around(&real))
        .map(|repository| repository.top);
    let is_home = |top: &PathBuf| home.is_some_and(|home| home.canonicalize().is_ok_and(|home| home == *top));
    top.filter(|top| !is_home(top) && top.parent().is_some())
}

/// An agent's own home.
///
/// # Errors
/// As for any other folder.
pub fn agent_home(home: &Path) -> Result<ExecutionBinding, WorkplaceError> {
    Ok(ExecutionBinding::agent_home(text(&real(Folder::Workspace, home)?)))
}

/// Whether an agent works in its own home as it was in another home of a runtime, and has one in this. `alone` is whether
/// no other home has agents of the same ledger.
pub fn has_moved(execution: &ExecutionBinding, agent_home: &Path, alone: bool) -> bool {
    let anchor = Path::new(&execution.workspace_anchor);
    let Ok(own) = agent_home.canonicalize() else { return false };
    // A child may work in the home of its parent.
    let of_this_home = || anchor == own || own.parent().is_some_and(|homes| anchor.starts_with(homes));
    let missing = !Path::new(&execution.execution_root).exists();
    execution.kind == WorkspaceKind::AgentHome && own.is_dir() && (missing || alone && !of_this_home())
}

/// The top of the repository that a folder is part of: the main one, where it is in a worktree beside that.
pub fn anchor_of(folder: &Path) -> Option<PathBuf> {
    let repository = Repository::around(&folder.canonicalize().ok()?)?;
    Some(repository.main.unwrap_or(repository.top))
}

fn inside(root: &Path, cwd: &Path) -> Result<PathBuf, WorkplaceError> {
    let cwd = real(Folder::Cwd, cwd)?;
    if cwd.starts_with(root) {
        return Ok(cwd);
    }
    Err(WorkplaceError::Outside { cwd, workspace: root.to_owned() })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn real(folder: Folder, path: &Path) -> Result<PathBuf, WorkplaceError> {
    let real = path.canonicalize().map_err(|problem| WorkplaceError::Missing {
        folder,
        path: path.to_owned(),
        problem,
    })?;
    if !real.is_dir() {
        return Err(WorkplaceError::File { folder, path: real });
    }
    if real.to_str().is_none() {
        return Err(WorkplaceError::NotText { folder, path: real });
    }
    match access(&real, Access::READ_OK | Access::EXEC_OK) {
        Ok(()) => Ok(real),
        Err(problem) => Err(WorkplaceError::Closed { folder, path: real, problem }),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn folders_are_named_as_they_really_are_and_lie_inside_each_other() {
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        std::fs::create_dir_all(real.join("src")).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let bound = bind(&link, &link.join("src")).unwrap();
        let real = real.canonicalize().unwrap();
        assert_eq!(bound.execution_root, real.display().to_string());
        assert_eq!(bound.cwd, real.join("src").display().to_string());
        let outside = bind(&real.join("src"), &real).unwrap_err();
        assert!(matches!(outside, WorkplaceError::Outside { .. }), "{outside}");
        assert_eq!(outside.folder(), Folder::Cwd);
    }

    #[test]
    fn an_agent_home_of_another_home_has_moved_also_while_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let of = |home: &str, agent: &str| folder.path().join(home).join("agents").join(agent);
        let made = [of("original", "main"), of("copy", "main"), of("copy", "child")];
        made.iter().for_each(|home| std::fs::create_dir_all(home).unwrap());
        let [of_original, of_copy, child] = &made;
        let works_in = |home: &Path| agent_home(home).unwrap();
        assert!(has_moved(&works_in(of_original), of_copy, true));
        assert!(!has_moved(&works_in(of_original), of_copy, false), "nodes share a ledger, not a home");
        assert!(!has_moved(&works_in(of_copy), of_copy, true));
        assert!(!has_moved(&works_in(of_copy), child, true), "it works where its parent does");
        let original = works_in(of_original);
        std::fs::remove_dir_all(of_original).unwrap();
        assert!(has_moved(&original, of_copy, false) && has_moved(&original, of_copy, true));
        assert!(!has_moved(&original, of_original, true), "it has no home in this one");
    }

    #[test]
    fn what_is_no_folder_is_told_with_its_name() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = bind(home.path(), &file).unwrap_err();
        assert_eq!(refused.folder(), Folder::Cwd);
        assert!(refused.to_string().ends_with("file is not a folder to work in: it is a file"), "{refused}");
        let refused = bind(&home.path().join("nowhere"), home.path()).unwrap_err();
        assert_eq!(refused.folder(), Folder::Workspace);
        let odd = home.path().join(OsStr::from_bytes(b"\xff"));
        std::fs::create_dir(&odd).unwrap();
        assert!(matches!(bind(&odd, &odd), Err(WorkplaceError::NotText { .. })));
    }
}
