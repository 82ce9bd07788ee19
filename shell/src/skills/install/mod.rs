//! Installs skills: from a folder or a repository into a root, whole or not at all. Nothing is executed.
//!
//! What is fetched is copied into a folder of its own below the root, whose name begins with a dot; once that is complete, one
//! rename puts it into place, and `skills.lock.json` names it. What a process that died has left is completed or taken
//! away by the next one that changes the root.

mod copy;
mod lock;
mod source;
mod staging;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

use holon_api::InstalledState;
use holon_platform::{Environment, clock, spawn};
use holon_supervise::confine::{self, Readable};
use tokio::task::JoinError;

use super::catalogue::is_name;
use super::scan::{self, Cache};
use crate::workplace::{FetchError, GitError, Wanted, fetch as fetch_repository};

pub use copy::Tree;
pub use lock::{Entry, Lock};
pub use source::{Remote, Source};
use staging::{Root, Staging};

/// Files of one skill.
const FILES: usize = 500;

/// Why a skill is not installed, or not removed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{named:?} names no skill: {problem}")]
    Source { named: String, problem: String },
    #[error("{} is not there", path.display())]
    Missing { path: PathBuf },
    #[error("{problem}")]
    Invalid { problem: String },
    #[error("a skill named {name} is there already")]
    Exists { name: String },
    #[error("there is no skill named {name} in {}", root.display())]
    Unknown { name: String, root: PathBuf },
    #[error("{name} was not installed by Holon")]
    Unmanaged { name: String },
    #[error("{name} has changed since it was installed")]
    Modified { name: String },
    #[error("{problem}")]
    Unreachable { problem: String },
    #[error("{problem}")]
    Slow { problem: String },
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
}

impl InstallError {
    fn read(path: &Path, problem: &io::Error) -> Self {
        if problem.kind() == io::ErrorKind::NotFound {
            return Self::Missing { path: path.to_owned() };
        }
        Self::File { path: path.to_owned(), problem: format!("it can't be read: {problem}") }
    }

    fn write(path: &Path, problem: &io::Error) -> Self {
        Self::File { path: path.to_owned(), problem: format!("it can't be written: {problem}") }
    }

    /// Whether somebody else's machine is what stands in the way.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Slow { .. })
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Source { .. } => {
                "name a folder, https://github.com/OWNER/REPO/tree/REF/PATH, or the address of a repository with #REF:PATH"
            }
            Self::Missing { .. } => "name a folder that is there",
            Self::Invalid { .. } => "correct it where it comes from, then install it again",
            Self::Exists { .. } => "remove it first, or choose another name with --name",
            Self::Unknown { .. } => "holon skills list",
            Self::Unmanaged { .. } => "remove its folder yourself",
            Self::Modified { .. } => "--force removes it with the changes",
            Self::Unreachable { .. } => {
                "nobody is asked for a password: fetch a private repository yourself, and install from its folder"
            }
            Self::Slow { .. } => "try again, or fetch the repository yourself and install from its folder",
            Self::File { .. } => "check the file and its permissions",
        }
    }
}

impl From<JoinError> for InstallError {
    fn from(problem: JoinError) -> Self {
        Self::Invalid { problem: format!("the installation was interrupted: {problem}") }
    }
}

impl From<FetchError> for InstallError {
    fn from(error: FetchError) -> Self {
        let problem = error.to_string();
        match error {
            FetchError::Git(GitError::Slow { .. }) => Self::Slow { problem },
            FetchError::Git(_) => Self::Unreachable { problem },
            FetchError::NoReference { .. } | FetchError::NoFolder { .. } => {
                Self::Source { named: "the address".to_owned(), problem }
            }
            FetchError::Large | FetchError::NoFile { .. } | FetchError::TooMany { .. } => {
                Self::Invalid { problem }
            }
        }
    }
}

/// A folder that was fetched, checked and bounded.
#[derive(Debug)]
pub struct Fetched {
    pub folder: PathBuf,
    /// Of a repository.
    pub commit: Option<String>,
    pub tree: Tree,
}

/// Fetches a folder into `staging`, which is there, and is the caller's to remove. What comes has no links, no file of more
/// than 1 MiB, and at most 500 files.
///
/// # Errors
/// All of [`InstallError`] that concern where it comes from.
pub async fn fetch(
    environment: &Environment,
    source: &Source,
    staging: &Path,
) -> Result<Fetched, InstallError> {
    let to = staging.join("folder");
    let (from, commit) = match source {
        Source::Folder(folder) => (folder.clone(), None),
        Source::Git(Remote { url, candidates, .. }) => {
            let repository = staging.join("repository");
            fs::create_dir(&repository).map_err(|problem| InstallError::write(&repository, &problem))?;
            let wanted = Wanted { url, candidates, most_files: FILES };
            let fetched = fetch_repository(environment, wanted, &repository).await?;
            (fetched.folder, Some(fetched.commit))
        }
    };
    let folder = to.clone();
    let tree = spawn::blocking(move || copy::copy(&from, &to)).await??;
    Ok(Fetched { folder, commit, tree })
}

/// The same for a skill: with the name that it has.
///
/// # Errors
/// What is fetched is no skill.
pub async fn fetch_skill(
    environment: &Environment,
    source: &Source,
    name: Option<&str>,
    staging: &Path,
) -> Result<(Fetched, String), InstallError> {
    if let Some(name) = name {
        check_name(name)?;
    }
    let fetched = fetch(environment, source, staging).await?;
    let name = named(&fetched.folder, source, name)?;
    Ok((fetched, name))
}

fn check_name(name: &str) -> Result<(), InstallError> {
    if is_name(name) {
        return Ok(());
    }
    let name = scan::one_line(name);
    let problem = format!("{name:?} is no name of a skill: a to z, 0 to 9 and single hyphens, at most 64");
    Err(InstallError::Invalid { problem })
}

/// The name that was asked for, or that of the skill itself, or of its folder.
fn named(folder: &Path, source: &Source, asked: Option<&str>) -> Result<String, InstallError> {
    let invalid = |problem: String| Err(InstallError::Invalid { problem });
    let Some(scanned) = scan::entry(folder, None, &Cache::default(), &Readable::default()) else {
        return invalid(format!("{source} is no skill: it has no SKILL.md"));
    };
    let manifest = match scanned.read {
        Ok(manifest) => manifest,
        Err(problem) => return invalid(format!("the SKILL.md of {source}: {problem}")),
    };
    let of_source = match source {
        Source::Folder(folder) => folder.canonicalize().unwrap_or_else(|_| folder.clone()),
        Source::Git(remote) => {
            let path =
                remote.candidates.last().map(|(_, path)| path.as_str()).filter(|path| !path.is_empty());
            PathBuf::from(path.unwrap_or_else(|| remote.url.trim_end_matches(".git")))
        }
    };
    let of_source = of_source.file_name().map(|name| name.to_string_lossy().into_owned());
    let all = [asked.map(ToOwned::to_owned), manifest.name.clone(), of_source];
    let found = all.into_iter().flatten().find(|name| is_name(name));
    found.map_or_else(|| invalid("it has no name that fits; choose one with --name".to_owned()), Ok)
}

/// A skill that is installed now.
#[derive(Debug)]
pub struct Installed {
    pub name: String,
    pub folder: PathBuf,
    pub entry: Entry,
}

/// Where a skill is installed.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    pub root: &'a Path,
    /// An empty folder that agents can't write to, and the caller's to remove: git runs in it, and what is named in the settings
    /// of a repository runs with git.
    pub scratch: &'a Path,
    /// The home of a confined agent, whose root this is: nothing outside of it is written to.
    pub bound: Option<&'a Path>,
}

/// Installs a skill into a root.
///
/// # Errors
/// All of [`InstallError`]. The root is as it was then.
pub async fn install(
    environment: &Environment,
    source: &Source,
    name: Option<&str>,
    Destination { root, scratch, bound }: Destination<'_>,
) -> Result<Installed, InstallError> {
    let (fetched, name) = fetch_skill(environment, source, name, scratch).await?;
    let Fetched { folder: fetched, commit, tree } = fetched;
    let installed_at = clock::now().wall;
    let entry = Entry { source: source.to_string(), commit, digest: tree.digest, installed_at };
    let (root, bound) = (root.to_owned(), bound.map(Path::to_owned));
    let put = move || {
        let staging = Staging::begin(&root)?;
        let folder = staging.path().join("folder");
        copy::copy(&fetched, &folder)?;
        let held = Root::hold(&root)?;
        held.install(&staging, &folder, &name, &entry)?;
        Ok(Installed { folder: root.join(&name), name, entry })
    };
    spawn::blocking(move || within(bound.as_deref(), put)).await?
}

/// Changes a root of an agent, which can put links there; a confined one leads to nothing outside of its home.
///
/// # Errors
/// Those of the work, or the home can't be confined.
pub fn within<T: Send>(
    bound: Option<&Path>,
    work: impl FnOnce() -> Result<T, InstallError> + Send,
) -> Result<T, InstallError> {
    let bound = bound.map(Path::to_owned);
    let done = confine::within(bound.as_ref().map(slice::from_ref), work);
    done.map_err(|problem| InstallError::Invalid { problem: problem.to_string() })?
}

/// Copies what was installed in one root into another one, with its entries of the lock file: each skill whole or not at
/// all, where nothing of its name is.
///
/// # Errors
/// A root that can't be read or written.
pub fn copy_root(from: &Path, to: &Path) -> Result<(), InstallError> {
    let lock = Lock::read(from)?;
    let held = Root::hold(to)?;
    for (name, entry) in lock.skills {
        if fs::symlink_metadata(to.join(&name)).is_ok() {
            continue;
        }
        let staging = held.staging()?;
        let folder = staging.path().join("folder");
        copy::copy(&from.join(&name), &folder)?;
        held.install(&staging, &folder, &name, &entry)?;
    }
    Ok(())
}

/// Takes away a skill that was installed; with `force`, also one that has changed since.
///
/// # Errors
/// All of [`InstallError`] but those of where it comes from.
pub fn remove(root: &Path, name: &str, force: bool) -> Result<Entry, InstallError> {
    check_name(name)?;
    let unknown = || InstallError::Unknown { name: name.to_owned(), root: root.to_owned() };
    if !root.is_dir() {
        return Err(unknown());
    }
    let held = Root::hold(root)?;
    let lock = Lock::read(root)?;
    let folder = root.join(name);
    let Some(entry) = lock.skills.get(name).cloned() else {
        let there = fs::symlink_metadata(&folder).is_ok();
        return Err(if there { InstallError::Unmanaged { name: name.to_owned() } } else { unknown() });
    };
    let there = fs::symlink_metadata(&folder).is_ok();
    // What can't be compared is not what was installed.
    if !force && there && !copy::look(&folder).is_ok_and(|tree| tree.digest == entry.digest) {
        return Err(InstallError::Modified { name: name.to_owned() });
    }
    held.remove(&held.staging()?, name)?;
    Ok(entry)
}

/// Finishes or takes away what processes that died while they changed a root have left in it. A root that is not there, or
/// that can't be listed, has nothing.
///
/// # Errors
/// The root or its lock file can't be changed.
pub fn finish(root: &Path) -> Result<(), InstallError> {
    staging::finish(root)
}

/// Compares what is in a root with its lock file, by name.
///
/// # Errors
/// The root or its lock file can't be read.
pub fn check(root: &Path) -> Result<Vec<(String, InstalledState, Option<Entry>)>, InstallError> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    drop(Root::hold(root)?);
    let lock = Lock::read(root)?.skills;
    let (scanned, _) = scan::scan(root, None, &Cache::default(), &Readable::default())
        .map_err(|problem| InstallError::read(root, &problem))?;
    let others = scanned.into_iter().filter(|one| !lock.contains_key(&one.dir));
    let mut checked: Vec<_> = others.map(|one| (one.dir, InstalledState::Unmanaged, None)).collect();
    checked.extend(lock.into_iter().map(|(name, entry)| {
        let state = state(root, &name, &entry);
        (name, state, Some(entry))
    }));
    checked.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(checked)
}

/// What became of a skill that was installed. Whether it is among those that are offered is not asked.
fn state(root: &Path, name: &str, entry: &Entry) -> InstalledState {
    let folder = root.join(name);
    if !folder.exists() {
        return InstalledState::Missing;
    }
    // Other names are in no lock file of ours, and may lead out of the root.
    let same = is_name(name) && copy::look(&folder).is_ok_and(|tree| tree.digest == entry.digest);
    if same { InstalledState::Ok } else { InstalledState::Modified }
}

#[cfg(test)]
mod tests;
