//! Patched files: what is there, what will be there, and the moment in between.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use holon_core::tool::ToolErrorKind;

use super::parse::FilePatch;
use super::{Refusal, Root, apply, rejected};

/// Largest file that a patch may change, in bytes.
const FILE_BYTES: u64 = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Modified,
    Created,
    Deleted,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Created => "created",
            Self::Deleted => "deleted",
        }
    }
}

/// One file, worked out and not yet written.
pub(super) struct Change {
    /// As the patch names it.
    pub(super) path: String,
    pub(super) target: PathBuf,
    pub(super) kind: Kind,
    before: Vec<u8>,
    after: Vec<u8>,
    permissions: Option<Permissions>,
}

/// Reads a file and applies its hunks in memory.
pub(super) fn plan(root: &Root, patch: &FilePatch<'_>) -> Result<Change, Refusal> {
    let path = patch.new.as_ref().or(patch.old.as_ref()).cloned().unwrap_or_default();
    let mut target = root.file(&path)?;
    let there = match target.symlink_metadata() {
        Ok(about) => Some(about),
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => None,
        Err(problem) => return Err(failed(&path, "can't be looked at", &problem)),
    };
    let empty_range = patch.hunks.first().is_some_and(|hunk| hunk.range.is_some_and(|range| range.old == 0));
    let creates = patch.hunks.len() <= 1 && patch.hunks.iter().all(|hunk| hunk.old().next().is_none());
    let kind = match (&patch.old, &patch.new, &there) {
        (None, _, Some(_)) => {
            let message = format!("{path}: the patch creates it, and it exists already");
            return Err(rejected(message).hint("read it, then send a patch with its path on both sides"));
        }
        (None, _, None) => Kind::Created,
        (Some(_), Some(_), None) if empty_range && creates => Kind::Created,
        (Some(_), _, None) => {
            let message = format!("{path}: there is no such file in the execution root");
            return Err(
                rejected(message).hint("use --- /dev/null for a new file; list the folder for its name")
            );
        }
        (Some(_), None, Some(_)) => Kind::Deleted,
        (Some(_), Some(_), Some(_)) => Kind::Modified,
    };
    let mut before = Vec::new();
    let mut permissions = patch.executable.then(|| Permissions::from_mode(0o755));
    if let Some(mut about) = there {
        if about.is_symlink() {
            if kind == Kind::Deleted {
                let message = format!("{path}: it is a symbolic link");
                return Err(rejected(message).hint("delete links with rm"));
            }
            target = root.follow(&path, &target)?;
            about = target.metadata().map_err(|problem| failed(&path, "can't be looked at", &problem))?;
        }
        if !about.is_file() || about.len() > FILE_BYTES {
            return Err(rejected(format!("{path}: it is not a regular file of at most {FILE_BYTES} bytes")));
        }
        before = fs::read(&target).map_err(|problem| failed(&path, "can't be read", &problem))?;
        permissions = Some(about.permissions());
    }
    let after = apply::apply(&before, &patch.hunks).map_err(|mismatch| {
        let of = patch.hunks.len();
        let message = format!("{path}: hunk {} of {of} does not apply: {}", mismatch.hunk, mismatch.problem);
        rejected(message).hint(mismatch.hint)
    })?;
    if kind == Kind::Deleted && !after.is_empty() {
        let left = after.split(|&byte| byte == b'\n').count();
        let message = format!("{path}: the patch deletes it, and about {left} lines would remain");
        return Err(rejected(message).hint("remove every line of the file, or delete it with rm"));
    }
    Ok(Change { path, target, kind, before, after, permissions })
}

/// What has been done, and how to undo it.
#[derive(Default)]
struct Undo {
    folders: Vec<PathBuf>,
    /// Written beside their targets: nothing refers to them yet.
    written: Vec<PathBuf>,
    /// The target, and the file that it was.
    replaced: Vec<(PathBuf, Option<PathBuf>)>,
    done: bool,
}

/// Puts all changes in place, or none.
pub(super) fn commit(changes: &[Change], given_up: &AtomicBool) -> Result<(), Refusal> {
    let mut undo = Undo::default();
    let mut staged = Vec::with_capacity(changes.len());
    for change in changes {
        staged.push(match change.kind {
            Kind::Deleted => None,
            Kind::Modified | Kind::Created => Some(
                stage(change, &mut undo)
                    .map_err(|problem| failed(&change.path, "can't be written", &problem))?,
            ),
        });
    }
    if given_up.load(Ordering::Relaxed) {
        let message = "the call was given up before the patch was written";
        return Err(Refusal::new(ToolErrorKind::Interrupted, message));
    }
    for (change, staged) in changes.iter().zip(&staged) {
        replace(change, staged.as_deref(), &mut undo)?;
    }
    undo.done = true;
    Ok(())
}

/// Writes the new content beside the file.
fn stage(change: &Change, undo: &mut Undo) -> io::Result<PathBuf> {
    let folder = change.target.parent().unwrap_or(Path::new("/"));
    let mut missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    while let Some(folder) = missing.pop() {
        fs::create_dir(folder)?;
        undo.folders.push(folder.to_owned());
    }
    let path = beside(&change.target);
    let mut file = create(&path)?;
    undo.written.push(path.clone());
    file.write_all(&change.after)?;
    if let Some(permissions) = &change.permissions {
        file.set_permissions(permissions.clone())?;
    }
    file.sync_all()?;
    Ok(path)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)
}

/// A name that nothing else has.
fn beside(target: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".holon-patch-{}-{number}", std::process::id()))
}

fn replace(change: &Change, staged: Option<&Path>, undo: &mut Undo) -> Result<(), Refusal> {
    let target = &change.target;
    let kept = match change.kind {
        Kind::Created if target.symlink_metadata().is_ok() => return Err(moved(&change.path)),
        Kind::Created => None,
        Kind::Modified | Kind::Deleted => {
            let now = fs::read(target).map_err(|problem| failed(&change.path, "can't be read", &problem))?;
            if now != change.before {
                return Err(moved(&change.path));
            }
            let kept = beside(target);
            // A second name keeps the file itself; where there are no second names, a copy has to do.
            fs::hard_link(target, &kept)
                .or_else(|_| fs::copy(target, &kept).map(drop))
                .map_err(|problem| failed(&change.path, "can't be kept aside", &problem))?;
            Some(kept)
        }
    };
    undo.replaced.push((target.clone(), kept));
    match staged {
        Some(staged) => fs::rename(staged, target),
        None => fs::remove_file(target),
    }
    .map_err(|problem| failed(&change.path, "can't be replaced", &problem))
}

impl Drop for Undo {
    /// On success only the kept files go; otherwise everything goes back. What can't be undone stays: there
    /// is nobody left to tell.
    fn drop(&mut self) {
        for (target, kept) in self.replaced.drain(..).rev() {
            match (self.done, kept) {
                (true, Some(kept)) => drop(fs::remove_file(kept)),
                (true, None) => {}
                (false, Some(kept)) => {
                    drop(fs::rename(&kept, target));
                    // Renaming one name of a file onto another of the same file does nothing.
                    drop(fs::remove_file(kept));
                }
                (false, None) => drop(fs::remove_file(target)),
            }
        }
        if self.done {
            return;
        }
        self.written.iter().for_each(|path| drop(fs::remove_file(path)));
        self.folders.iter().rev().for_each(|path| drop(fs::remove_dir(path)));
    }
}

fn moved(path: &str) -> Refusal {
    rejected(format!("{path}: something else changed it while the patch was being applied"))
        .hint("read it again; no file was changed")
}

fn failed(path: &str, what: &str, problem: &io::Error) -> Refusal {
    let message = format!("{path} {what}: {problem}; no file was changed");
    Refusal::new(ToolErrorKind::ToolExecutionFailed, message)
}
