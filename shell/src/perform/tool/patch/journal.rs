//! The note that a patch leaves before it touches a file, so that a process which dies halfway can be
//! tidied up after: by the next patch, or by the next start.
//!
//! A journal is one file, `<token>.undo`, written and synced before anything else. It is locked as long as
//! its patch is being written, so that nobody takes a living patch for a dead one. The patch has happened
//! when the journal is renamed to `<token>.done`; until then everything is put back.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::slice;

use holon_supervise::confine;
use serde::{Deserialize, Serialize};

use super::undo;

const UNDO: &str = "undo";
const DONE: &str = "done";
/// Larger ones are not ours.
const JOURNAL_BYTES: u64 = 64 << 20;

/// Everything that a patch is about to do to the file system.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) root: PathBuf,
    /// Folders that are made, the outer ones first.
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<Entry>,
}

/// One path.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) target: PathBuf,
    /// Where the new file is made; none when the file goes.
    pub(super) staged: Option<PathBuf>,
    /// A second name of the old file; none when there is none.
    pub(super) kept: Option<PathBuf>,
    pub(super) before: Option<Before>,
    /// Digest of the new text; none when the file goes.
    pub(super) after: Option<String>,
}

/// A file as it was.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Before {
    pub(super) digest: String,
    pub(super) mode: u32,
}

/// A journal on the disk. Its lock goes with it, or with the process.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Writes a journal down; when this returns, a crash can be undone.
    pub(super) fn write(folder: &Path, token: &str, journal: &Journal) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let text = serde_json::to_vec(journal)?;
        let path = folder.join(token).with_extension(UNDO);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.lock()?;
        // Between its making and its locking somebody may have taken it for a dead one.
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the journal was tidied away; try again"));
        }
        let written = file.write_all(&text).and_then(|()| file.sync_all()).and_then(|()| sync(folder));
        if let Err(problem) = written {
            drop(fs::remove_file(&path));
            return Err(problem);
        }
        Ok(Self { path, _lock: file })
    }

    /// The patch has happened.
    pub(super) fn done(&mut self) -> io::Result<()> {
        let done = self.path.with_extension(DONE);
        fs::rename(&self.path, &done)?;
        self.path = done;
        self.path.parent().map_or(Ok(()), sync)
    }

    /// Nothing is left to do for it.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Makes what happened to the names in a folder last, where the file system knows of that and the folder may
/// be read.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(problem)
            if matches!(
                problem.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

/// Tidies up after every patch whose process is gone. Returns what an operator should know.
pub(super) fn recover(folder: &Path, confined: bool) -> Vec<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(problem) => {
            return vec![format!("interrupted patches in {} can't be read: {problem}", folder.display())];
        }
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut warnings = Vec::new();
    for path in paths.filter(|path| ends_in(path, UNDO) || ends_in(path, DONE)) {
        match recover_one(&path, confined) {
            Ok(found) => warnings.extend(found),
            Err(problem) => warnings.push(format!(
                "an interrupted patch could not be tidied up after, which is tried again later: {problem} ({})",
                path.display()
            )),
        }
    }
    warnings
}

fn ends_in(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn recover_one(path: &Path, confined: bool) -> io::Result<Vec<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(problem) => return Err(problem),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Vec::new()),
        Err(TryLockError::Error(problem)) => return Err(problem),
    }
    let mut text = Vec::new();
    (&file).take(JOURNAL_BYTES).read_to_end(&mut text)?;
    let mut warnings = Vec::new();
    // One that is not whole was never synced, so nothing had begun.
    if let Ok(journal) = holon_facts::json::read::<Journal>(&text) {
        if !journal.root.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("{} is away", journal.root.display()),
            ));
        }
        // Whatever has become of the files' names meanwhile, nothing outside of the root changes.
        let root = confined.then(|| slice::from_ref(&journal.root));
        let undone = confine::within(root, || match ends_in(path, DONE) {
            true => undo::tidy(&journal).map(|()| None),
            false => undo::roll_back(&journal).map(Some),
        });
        let left = undone.map_err(io::Error::other)??;
        warnings.extend(left.map(|left| told(&journal, &left)));
    }
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
        Ok(()) | Err(_) => Ok(warnings),
    }
}

fn told(journal: &Journal, left: &[PathBuf]) -> String {
    let root = journal.root.display();
    let files = journal.files.len();
    if left.is_empty() {
        return format!("a patch of {files} files in {root} was interrupted; none of it remains");
    }
    let shown: Vec<_> = left.iter().take(5).map(|path| path.display().to_string()).collect();
    format!(
        "a patch of {files} files in {root} was interrupted and undone, except for files that changed since: {}",
        shown.join(", ")
    )
}
