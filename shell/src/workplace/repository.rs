//! The git repository that a folder is part of, as far as its files tell: nothing of it is executed.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest file that says where a worktree belongs.
const POINTER_BYTES: u64 = 8 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of the working tree.
    pub(super) top: PathBuf,
    /// Where that is a worktree beside the main one: the main one.
    pub(super) main: Option<PathBuf>,
}

impl Repository {
    pub(super) fn around(folder: &Path) -> Option<Self> {
        let top = folder.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
        let main = main_of(&top);
        Some(Self { top, main })
    }
}

/// A worktree has a file that names its folder in the repository, and there is one that leads to the repository.
fn main_of(top: &Path) -> Option<PathBuf> {
    let pointer = top.join(".git");
    let named = read(&pointer)?;
    let own = top.join(named.trim().strip_prefix("gitdir:")?.trim());
    let common = read(&own.join("commondir"))?;
    let common = own.join(common.trim()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

fn read(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    if about.is_file() && about.len() <= POINTER_BYTES { fs::read_to_string(path).ok() } else { None }
}
