//! One runtime per home: a lock on `run/lock` within it, held for the life of the process.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever looks whether a home is taken holds its lock for a moment: that long it may seem to be.
const PROBE: Duration = Duration::from_millis(5);
const PROBES: u32 = 40;
/// The same where the file names a process that is gone: nobody has it, but on a busy machine moments are long.
const PROBES_OF_NOBODY: u32 = 400;

/// Held until it is dropped, or its process ends in whatever way.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

/// A home that can't be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "another runtime{holder} uses the home {home}; stop it, or name another home with --home",
        holder = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), home = home.display()
    )]
    Held { home: PathBuf, pid: Option<u32> },
    #[error(
        "the home {home} can't be locked: {problem}; check that it exists and that this user may write to it",
        home = home.display()
    )]
    Unusable { home: PathBuf, problem: String },
}

impl HomeLock {
    /// Whether a runtime has this home. Makes nothing, and keeps nothing.
    pub fn probe(home: &Path) -> Result<(), LockError> {
        let unusable =
            |error: std::io::Error| LockError::Unusable { home: home.to_owned(), problem: error.to_string() };
        let file = match File::open(home.join("run").join("lock")) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unusable(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                Err(LockError::Held { home: home.to_owned(), pid: holder(&file) })
            }
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }

    /// Locks a home; the file then names this process.
    pub fn acquire(home: &Path) -> Result<Self, LockError> {
        let unusable =
            |error: std::io::Error| LockError::Unusable { home: home.to_owned(), problem: error.to_string() };
        let folder = home.join("run");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unusable)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))
            .map_err(unusable)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&file);
                    let limit = if holder.is_some_and(is_gone) { PROBES_OF_NOBODY } else { PROBES };
                    if tries >= limit {
                        return Err(LockError::Held { home: home.to_owned(), pid: holder });
                    }
                    tries += 1;
                    std::thread::sleep(PROBE);
                }
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unusable)?;
        Ok(Self { _file: file })
    }
}

/// The process that the file names, where it can be read: a help, never a proof.
fn holder(file: &File) -> Option<u32> {
    let mut named = [0; 32];
    let length = file.read_at(&mut named, 0).ok()?;
    std::str::from_utf8(named.get(..length)?).ok()?.trim().parse().ok()
}

fn is_gone(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_runtime_and_the_refusal_names_it() {
        let home = tempfile::tempdir().unwrap();
        let held = HomeLock::acquire(home.path()).unwrap();
        let refused = HomeLock::acquire(home.path()).unwrap_err();
        assert!(matches!(&refused, LockError::Held { pid, .. } if *pid == Some(std::process::id())));
        assert!(refused.to_string().contains("--home"), "{refused}");
        assert!(matches!(HomeLock::probe(home.path()), Err(LockError::Held { .. })));
        drop(held);
        // A process that another test starts has a copy of the lock until it executes its program.
        let free = (0..200).any(|_| {
            HomeLock::probe(home.path()).is_ok() || {
                std::thread::sleep(PROBE * 2);
                false
            }
        });
        assert!(free);
        assert!(HomeLock::acquire(home.path()).is_ok());
    }

    #[test]
    fn whoever_only_looks_keeps_nobody_out() {
        let home = tempfile::tempdir().unwrap();
        drop(HomeLock::acquire(home.path()).unwrap());
        let path = home.path().join("run").join("lock");
        // No process has a number that large.
        std::fs::write(&path, "4194305\n").unwrap();
        let looking = File::open(&path).unwrap();
        looking.lock_shared().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PROBE * PROBES * 2);
                drop(looking);
            });
            HomeLock::acquire(home.path()).unwrap();
        });
    }

    #[test]
    fn a_home_that_is_no_folder_is_refused_in_words() {
        let home = tempfile::NamedTempFile::new().unwrap();
        let refused = HomeLock::acquire(home.path()).unwrap_err();
        assert!(matches!(refused, LockError::Unusable { .. }), "{refused}");
    }
}
