//! How a root changes: one process at a time, by one rename, with a note for whoever comes after a death.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use holon_platform::{entropy, regular};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use super::InstallError;
use super::lock::{self, Entry, Lock};

const PREFIX: &str = ".staging-";
const NOTE: &str = "note.json";
/// Where a skill is put that is taken away.
const REMOVED: &str = "removed";
/// The longest wait for another process that changes the root, in steps.
const TRIES: u32 = 600;
const STEP: Duration = Duration::from_millis(50);

/// What is about to happen to a root.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
enum Note {
    Install { name: String, entry: Entry },
    Remove { name: String },
}

/// A folder below the root for what is not yet, or no longer, a skill. It goes with whoever has begun it.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    /// Locked as long as somebody works in it.
    _held: File,
}

impl Staging {
    /// Begins one in a root that may not be there yet. The root is not held any more afterwards.
    pub(super) fn begin(root: &Path) -> Result<Self, InstallError> {
        fs::create_dir_all(root).map_err(|problem| InstallError::write(root, &problem))?;
        Root::hold(root)?.staging()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn note(&self, note: &Note) -> Result<(), InstallError> {
        let path = self.path.join(NOTE);
        let write = || -> io::Result<()> {
            let file = File::create(&path)?;
            serde_json::to_writer(&file, note)?;
            file.sync_all()?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|problem| InstallError::write(&path, &problem))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What stays is taken away by the next one that changes the root.
        fs::remove_dir_all(&self.path).ok();
    }
}

/// Finishes what processes that died have left in a root, where there is anything.
pub(super) fn finish(root: &Path) -> Result<(), InstallError> {
    if left(root).is_ok_and(|left| !left.is_empty()) {
        drop(Root::hold(root)?);
    }
    Ok(())
}

/// The folders for unfinished changes in a root. Whatever else has such a name is nobody's of ours.
fn left(root: &Path) -> io::Result<Vec<PathBuf>> {
    let is_left = |entry: &DirEntry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    Ok(fs::read_dir(root)?.flatten().filter(is_left).map(|entry| entry.path()).collect())
}

/// Opens a folder. A pipe that has taken its name is not waited for, and no link is followed.
fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// A root that nobody else changes meanwhile.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    _held: File,
}

impl Root {
    /// Waits for the root, and finishes what others have left in it.
    pub(super) fn hold(root: &Path) -> Result<Self, InstallError> {
        let held = File::open(root).map_err(|problem| InstallError::read(root, &problem))?;
        let mut tries = 0;
        while flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
            tries += 1;
            if tries > TRIES {
                let problem = "another process has been changing it for too long; try again".to_owned();
                return Err(InstallError::File { path: root.to_owned(), problem });
            }
            sleep(STEP);
        }
        let held = Self { path: root.to_owned(), _held: held };
        held.finish()?;
        Ok(held)
    }

    /// Begins a change. As the root is held, nobody takes its folder for one that was left before it is locked.
    pub(super) fn staging(&self) -> Result<Staging, InstallError> {
        let name = entropy::name().map_err(|problem| InstallError::write(&self.path, &problem))?;
        let path = self.path.join(format!("{PREFIX}{name}"));
        let begin = || -> io::Result<File> {
            fs::create_dir(&path)?;
            let held = open_folder(&path)?;
            flock(&held, FlockOperation::NonBlockingLockExclusive)?;
            Ok(held)
        };
        let held = begin().map_err(|problem| InstallError::write(&path, &problem))?;
        Ok(Staging { path, _held: held })
    }

    /// Puts a folder into place under its name.
    pub(super) fn install(
        &self,
        staging: &Staging,
        folder: &Path,
        name: &str,
        entry: &Entry,
    ) -> Result<(), InstallError> {
        let to = self.path.join(name);
        let mut lock = Lock::read(&self.path)?;
        if fs::symlink_metadata(&to).is_ok() {
            return Err(InstallError::Exists { name: name.to_owned() });
        }
        staging.note(&Note::Install { name: name.to_owned(), entry: entry.clone() })?;
        fs::rename(folder, &to).map_err(|problem| InstallError::write(&to, &problem))?;
        lock.skills.insert(name.to_owned(), entry.clone());
        lock.write(&self.path)
    }

    /// Takes a folder away.
    pub(super) fn remove(&self, staging: &Staging, name: &str) -> Result<(), InstallError> {
        let from = self.path.join(name);
        let mut lock = Lock::read(&self.path)?;
        staging.note(&Note::Remove { name: name.to_owned() })?;
        match fs::rename(&from, staging.path.join(REMOVED)) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
                return Err(InstallError::write(&from, &problem));
            }
            Ok(()) | Err(_) => {}
        }
        lock.skills.remove(name);
        lock.write(&self.path)
    }

    /// What processes that died have left: a change that had happened is written down, anything else goes.
    fn finish(&self) -> Result<(), InstallError> {
        for path in left(&self.path).map_err(|problem| InstallError::read(&self.path, &problem))? {
            let Ok(held) = open_folder(&path) else { continue };
            // Somebody is at work in it.
            if flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let note = regular::text(&path.join(NOTE), lock::BYTES).ok();
            let note = note.and_then(|note| serde_json::from_str(&note).ok());
            match note {
                Some(Note::Install { name, entry }) if !path.join("folder").exists() => {
                    let mut lock = Lock::read(&self.path)?;
                    if self.path.join(&name).is_dir() && !lock.skills.contains_key(&name) {
                        lock.skills.insert(name, entry);
                        lock.write(&self.path)?;
                    }
                }
                Some(Note::Remove { name }) if path.join(REMOVED).exists() => {
                    let mut lock = Lock::read(&self.path)?;
                    if lock.skills.remove(&name).is_some() {
                        lock.write(&self.path)?;
                    }
                }
                Some(Note::Install { .. } | Note::Remove { .. }) | None => {}
            }
            fs::remove_dir_all(&path).map_err(|problem| InstallError::write(&path, &problem))?;
        }
        Ok(())
    }
}
