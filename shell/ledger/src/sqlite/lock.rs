//! One runtime per home: a lock on `run/lock` within it, and one on its folder, held for the life of the process.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::locked::owner_of;

/// Whoever looks whether a home is taken holds its lock for a moment: that long it may seem to be.
const PROBE: Duration = Duration::from_millis(5);
const PROBES: u32 = 40;
/// The same where the file names a process that is gone: nobody has it, but on a busy machine moments are long.
const PROBES_OF_NOBODY: u32 = 400;

/// Held until it is dropped, or its process ends in whatever way.
#[derive(Debug)]
pub struct HomeLock {
    /// The folder of the home itself, where it can be locked: whoever removes the file does not free the home.
    _folder: Option<File>,
    file: File,
}

/// What became of one attempt.
enum Attempt {
    Locked(HomeLock),
    /// By this process, where it shows.
    Held(Option<u32>),
    /// Somebody has put another file in the place of the one that is locked now.
    Replaced,
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
        let unusable = unusable(home);
        let path = home.join("run").join("lock");
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unusable(error)),
        };
        match file.as_ref().map_or(Ok(()), File::try_lock_shared) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = file.as_ref().and_then(|file| holder(file, &path));
                return Err(LockError::Held { home: home.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        match File::open(home).ok().map(|folder| folder.try_lock_shared()) {
            Some(Err(TryLockError::WouldBlock)) => {
                Err(LockError::Held { home: home.to_owned(), pid: owner_of(home) })
            }
            // Not every file system locks folders.
            Some(Ok(()) | Err(TryLockError::Error(_))) | None => Ok(()),
        }
    }

    /// Locks a home; the file then names this process.
    pub fn acquire(home: &Path) -> Result<Self, LockError> {
        let mut tries = 0;
        loop {
            let holder = match Self::attempt(home).map_err(unusable(home))? {
                Attempt::Locked(lock) => {
                    return match name_this_process(&lock.file) {
                        // A full disk does not keep a runtime from its home: without a name the kernel is asked.
                        Err(error) if !is_full(&error) => Err(unusable(home)(error)),
                        Ok(()) | Err(_) => Ok(lock),
                    };
                }
                Attempt::Held(holder) => holder,
                Attempt::Replaced => None,
            };
            let limit = if holder.is_some_and(is_gone) { PROBES_OF_NOBODY } else { PROBES };
            if tries >= limit {
                return Err(LockError::Held { home: home.to_owned(), pid: holder });
            }
            tries += 1;
            std::thread::sleep(PROBE);
        }
    }

    fn attempt(home: &Path) -> io::Result<Attempt> {
        let folder = home.join("run");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Attempt::Held(holder(&file, &path))),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if !is_at(&file, &path)? {
            return Ok(Attempt::Replaced);
        }
        let folder = File::open(home).ok();
        match folder.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Ok(Attempt::Held(owner_of(home))),
            Some(Ok(())) => Ok(Attempt::Locked(Self { _folder: folder, file })),
            // Not every file system locks folders.
            Some(Err(TryLockError::Error(_))) | None => Ok(Attempt::Locked(Self { _folder: None, file })),
        }
    }
}

fn unusable(home: &Path) -> impl Fn(io::Error) -> LockError {
    |error| LockError::Unusable { home: home.to_owned(), problem: error.to_string() }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether the file that is open still stands at its path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let about = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (about.dev(), about.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes over what is there: that needs no space on a full disk, and whoever looks meanwhile finds a name. Where it
/// fails all the same, the name of an earlier process goes.
fn name_this_process(file: &File) -> io::Result<()> {
    let name = format!("{}\n", std::process::id());
    let written = file.write_all_at(name.as_bytes(), 0);
    let length = if written.is_ok() { u64::try_from(name.len()).unwrap_or_default() } else { 0 };
    written.and(file.set_len(length))
}

/// The process that the file names: a help, never a proof. Where it names nobody, the one that the kernel names.
fn holder(file: &File, path: &Path) -> Option<u32> {
    named(file).or_else(|| owner_of(path))
}

fn named(file: &File) -> Option<u32> {
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

    /// As a start on a full disk may leave it.
    #[test]
    fn a_holder_that_the_file_does_not_name_is_known_to_the_kernel() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run").join("lock");
        let _held = HomeLock::acquire(home.path()).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        // Not every kernel names owners.
        let known = owner_of(&path);
        assert!(known.is_none_or(|pid| pid == std::process::id()), "{known:?}");
        let found = [HomeLock::probe(home.path()), HomeLock::acquire(home.path()).map(drop)];
        for found in found {
            assert!(matches!(&found, Err(LockError::Held { pid, .. }) if *pid == known), "{found:?}");
        }
    }

    #[test]
    fn a_name_takes_the_place_of_the_one_before() {
        let home = tempfile::tempdir().unwrap();
        drop(HomeLock::acquire(home.path()).unwrap());
        let path = home.path().join("run").join("lock");
        for before in ["", "4194305 and more\n"] {
            std::fs::write(&path, before).unwrap();
            let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            name_this_process(&file).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", std::process::id()));
        }
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        assert!(is_full(&name_this_process(&full).unwrap_err()));
    }

    /// Somebody tidies up.
    #[test]
    fn a_home_stays_taken_when_the_file_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let held = HomeLock::acquire(home.path()).unwrap();
        let is_held = |found: Result<(), LockError>| matches!(found, Err(LockError::Held { pid, .. }) if pid.is_none_or(|pid| pid == own));
        for gone in ["run/lock", "run"] {
            let gone = home.path().join(gone);
            if gone.is_dir() {
                std::fs::remove_dir_all(gone).unwrap()
            } else {
                std::fs::remove_file(gone).unwrap()
            }
            assert!(is_held(HomeLock::probe(home.path())));
            assert!(is_held(HomeLock::acquire(home.path()).map(drop)));
            assert!(is_held(HomeLock::probe(home.path())), "with a file that nobody has locked");
        }
        drop(held);
        let free = (0..200).any(|_| HomeLock::acquire(home.path()).is_ok());
        assert!(free);
    }

    #[test]
    fn a_file_that_was_replaced_is_not_the_one_that_is_locked() {
        let home = tempfile::tempdir().unwrap();
        drop(HomeLock::acquire(home.path()).unwrap());
        let path = home.path().join("run").join("lock");
        let file = File::open(&path).unwrap();
        assert!(is_at(&file, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path).unwrap());
        std::fs::write(&path, "").unwrap();
        assert!(!is_at(&file, &path).unwrap());
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
