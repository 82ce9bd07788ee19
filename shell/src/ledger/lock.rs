//! One runtime per home: a lock on `run/lock` within it, held for the life of the process.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever looks whether a home is taken holds its lock for a moment: that long it may seem to be.
const PROBE: Duration = Duration::from_millis(5);
const PROBES: u32 = 10;

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
            Err(TryLockError::WouldBlock) => Err(held(home, &file)),
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
        let mut tries = PROBES;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries > 0 => {
                    tries -= 1;
                    std::thread::sleep(PROBE);
                }
                Err(TryLockError::WouldBlock) => return Err(held(home, &file)),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(unusable)?;
        Ok(Self { _file: file })
    }
}

/// The refusal, with the name of the holder where it can be read: it only helps a person.
fn held(home: &Path, file: &File) -> LockError {
    let mut holder = String::new();
    let read = file.take(32).read_to_string(&mut holder);
    let pid = read.ok().and_then(|_| holder.trim().parse().ok());
    LockError::Held { home: home.to_owned(), pid }
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
        assert!(HomeLock::probe(home.path()).is_ok());
        assert!(HomeLock::acquire(home.path()).is_ok());
    }

    #[test]
    fn a_home_that_is_no_folder_is_refused_in_words() {
        let home = tempfile::NamedTempFile::new().unwrap();
        let refused = HomeLock::acquire(home.path()).unwrap_err();
        assert!(matches!(refused, LockError::Unusable { .. }), "{refused}");
    }
}
