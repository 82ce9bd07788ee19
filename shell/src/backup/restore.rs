//! Puts a backup into an empty home. Wherever that is cut short, the mark of the home says so, and the next attempt begins anew.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use holon_facts::Wall;
use holon_ledger::error::{LedgerError, WrittenBy};
use holon_ledger::rows::SCHEMA_VERSION;
use holon_ledger::sqlite::{self as ledger, HomeLock, LockError};
use holon_platform::clock;
use rustix::fs::{Mode, OFlags, mkdirat, openat, symlinkat, syncfs};
use serde::Serialize;

use super::restored::{self, Mark};
use super::{CREDENTIALS, DESCRIPTION, Description, FILES, FOLDERS, FORMAT, HOME, LEDGER, shown};
use crate::archive::{self, ArchiveError, Member};
use crate::home::{Home, HomeError};

/// How archives of this kind are called.
const KIND: &str = "backup";

/// What an empty home may contain: the lock of whoever looks, and what file systems bring.
const NOTHING: [&str; 2] = ["run", "lost+found"];

/// Links of a backup at most: they are made last, when nothing can be put behind one.
const LINKS: usize = 1_000_000;

/// A backup that was restored.
#[derive(Debug, Serialize)]
pub struct Restored {
    pub home_dir: PathBuf,
    pub files: u64,
    #[serde(flatten)]
    pub description: Description,
}

/// A backup that was not restored. The home is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("{path} has the layout {found} of build {build}, this build knows up to {FORMAT}", path = path.display())]
    Newer { path: PathBuf, found: u64, build: String },
    #[error("{path} was made by {build}, and its ledger can't be used: {source}", path = path.display())]
    Ledger { path: PathBuf, build: String, source: LedgerError },
    #[error("{home} is not empty, it has {name}: a backup is restored into a home of its own", home = home.display())]
    NotEmpty { home: PathBuf, name: String },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("{path} can't be written: {source}", path = shown(path))]
    Write { path: PathBuf, source: io::Error },
}

impl RestoreError {
    /// Whether there was no room for it.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Write { source, .. } => archive::is_full(source),
            Self::Archive(error) => error.is_full(),
            Self::Newer { .. }
            | Self::Ledger { .. }
            | Self::NotEmpty { .. }
            | Self::Lock(_)
            | Self::Home(_) => false,
        }
    }
}

/// Restores a backup into a home where nothing is.
///
/// # Errors
/// When it is no backup that this build can use, the home is not empty or in use, or can't be written.
pub fn restore(backup: &Path, home: &Home) -> Result<Restored, RestoreError> {
    let description = described(backup)?;
    home.create()?;
    let _lock = HomeLock::acquire(home.root())?;
    let failed = |source| RestoreError::Write { path: home.root().to_owned(), source };
    let begun = restored::read(&restored::path_of(home)).map_err(failed)?;
    if begun.is_none_or(|mark| mark.whole) {
        is_empty(home)?;
    }
    let mark = |whole, restored_at: Wall| Mark {
        whole,
        backup: backup.to_owned(),
        of_home: description.home_dir.clone(),
        made_at: description.made_at,
        restored_at,
    };
    restored::write(home, &mark(false, clock::now().wall)).map_err(failed)?;
    let unpacked = clear(home).map_err(failed).and_then(|()| unpack(backup, home, &description));
    let files = match unpacked {
        Ok(files) => files,
        Err(error) => {
            // Where even that fails, the mark stays, and the next attempt begins with it.
            clear(home).and_then(|()| fs::remove_file(restored::path_of(home))).unwrap_or_default();
            return Err(error);
        }
    };
    restored::write(home, &mark(true, clock::now().wall)).map_err(failed)?;
    Ok(Restored { home_dir: home.root().to_owned(), files, description })
}

/// What a backup says of itself, if this build can use it.
fn described(backup: &Path) -> Result<Description, RestoreError> {
    let text = archive::beginning(backup, KIND, DESCRIPTION)?;
    let not_one = |problem: String| ArchiveError::NotOne { path: backup.to_owned(), kind: KIND, problem };
    let loose: serde_json::Value =
        holon_facts::json::read(&text).map_err(|error| not_one(format!("{DESCRIPTION}: {error}")))?;
    let found = loose["format"].as_u64().unwrap_or(0);
    if found > FORMAT.into() {
        let build = loose["build"].as_str().unwrap_or("another").to_owned();
        return Err(RestoreError::Newer { path: backup.to_owned(), found, build });
    }
    let description: Description =
        serde_json::from_value(loose).map_err(|error| not_one(format!("{DESCRIPTION}: {error}")))?;
    let found = description.ledger.schema_version;
    if found > SCHEMA_VERSION {
        let (path, build) = (backup.to_owned(), description.build);
        let source = LedgerError::NewerSchema { found, known: SCHEMA_VERSION, by: WrittenBy::default() };
        return Err(RestoreError::Ledger { path, build, source });
    }
    Ok(description)
}

fn is_empty(home: &Home) -> Result<(), RestoreError> {
    let failed = |source| RestoreError::Write { path: home.root().to_owned(), source };
    for entry in fs::read_dir(home.root()).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !NOTHING.iter().any(|nothing| name == *nothing) {
            let name = name.to_string_lossy().into_owned();
            return Err(RestoreError::NotEmpty { home: home.root().to_owned(), name });
        }
    }
    Ok(())
}

/// Takes away what an attempt that was cut short has left: the home was empty before it.
fn clear(home: &Home) -> io::Result<()> {
    let mark = restored::path_of(home);
    for entry in fs::read_dir(home.root())? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        if NOTHING.iter().any(|nothing| name == *nothing) || path == mark {
            continue;
        }
        if entry.file_type()?.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// Puts everything where it belongs, and on the disk. Paths are relative to the home: one that was short enough in the original
/// is so in a home with a longer path.
fn unpack(backup: &Path, home: &Home, description: &Description) -> Result<u64, RestoreError> {
    let (mut files, mut links) = (0, Vec::new());
    let unwritten = |path: &Path, source| RestoreError::Write { path: home.root().join(path), source };
    let root = File::open(home.root()).map_err(|source| unwritten(Path::new(""), source))?;
    archive::read::<RestoreError>(backup, &mut |member| {
        match member {
            Member::File { path, .. } if path == Path::new(DESCRIPTION) => {}
            Member::Folder { path } if path == Path::new(HOME) => {}
            Member::File { path, about, mut content, .. } => {
                let to = place(backup, &path)?;
                let failed = |source| unwritten(to, source);
                let mode =
                    Mode::RUSR | Mode::WUSR | if about.executable { Mode::XUSR } else { Mode::empty() };
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let made = openat(&root, to, flags, mode);
                let mut file = made.map(File::from).map_err(|error| failed(error.into()))?;
                io::copy(&mut content, &mut file).map_err(failed)?;
                file.set_modified(UNIX_EPOCH + Duration::from_secs(about.modified)).map_err(failed)?;
                files += 1;
            }
            Member::Folder { path } => {
                let to = place(backup, &path)?;
                mkdirat(&root, to, Mode::RWXU).map_err(|error| unwritten(to, error.into()))?;
            }
            Member::Link { path, target } => {
                links.push((place(backup, &path)?.to_owned(), target));
                if links.len() > LINKS {
                    let problem = format!("it has more than {LINKS} links");
                    return Err(ArchiveError::Damaged { path: backup.to_owned(), problem }.into());
                }
            }
        }
        Ok(())
    })?;
    for (path, target) in links {
        symlinkat(target, &root, &path).map_err(|error| unwritten(&path, error.into()))?;
    }
    let unusable =
        |source| RestoreError::Ledger { path: backup.to_owned(), build: description.build.clone(), source };
    ledger::put_in_place(&home.ledger_file()).map_err(unusable)?;
    syncfs(&root).map_err(|error| unwritten(Path::new(""), error.into()))?;
    Ok(files)
}

/// Where in a home a member of a backup belongs.
fn place<'a>(backup: &Path, member: &'a Path) -> Result<&'a Path, RestoreError> {
    let inside = member.strip_prefix(HOME).ok();
    let first = inside.and_then(|inside| inside.components().next());
    let is_known = first.is_some_and(|first| {
        let first = first.as_os_str();
        let alone = inside.is_some_and(|inside| inside.as_os_str() == first);
        FOLDERS.iter().any(|folder| first == *folder)
            || alone && FILES.iter().chain(&[LEDGER, CREDENTIALS]).any(|file| first == *file)
    });
    match inside {
        Some(inside) if is_known => Ok(inside),
        Some(_) | None => {
            let problem = format!("{} belongs into no home", shown(member));
            Err(ArchiveError::Damaged { path: backup.to_owned(), problem }.into())
        }
    }
}
