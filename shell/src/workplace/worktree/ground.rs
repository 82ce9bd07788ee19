//! What a repository and a path in it are at this moment.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use holon_platform::{Environment, beneath};
use tokio::sync::watch;

use super::{Site, WorktreeError};
use crate::workplace::git::{Git, GitError, Printed, args};

/// Bytes of the list of worktrees: some ten thousand of them.
const LISTED: usize = 4 << 20;
/// Longest file that says where a worktree belongs.
const POINTER_BYTES: u64 = 8 << 10;
/// Most names of files that are told.
const FILES: usize = 64;
/// What git calls a worktree that it is just making.
const INITIALIZING: &str = "initializing";

/// The turn to work in a repository, for one worktree of it.
pub(super) struct Ground {
    pub(super) git: Git,
    pub(super) site: Site,
    /// The folder of the repository, which all of its worktrees share.
    common: PathBuf,
}

/// What is at the path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Probed {
    /// No worktree, and no folder or an empty one.
    Nothing,
    /// A worktree whose folder is gone or empty; the branch that it was on.
    Lost { on: Option<String> },
    /// A worktree that git was making, or that lacks what git makes first.
    HalfMade,
    /// A worktree of this repository; the branch that it is on.
    Whole { on: Option<String> },
    /// Anything else.
    Foreign,
}

/// One of the repository's worktrees, as git lists it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    path: PathBuf,
    /// In full; none where a commit or nothing is checked out.
    branch: Option<String>,
    at_commit: bool,
    initializing: bool,
}

/// Files and the number of those beyond them.
pub(super) type Files = (Vec<String>, u64);

impl Ground {
    /// Waits for the turn, once the anchor has proved to be the top of a repository.
    ///
    /// # Errors
    /// An anchor that is none, a branch that can't be one, a repository that git can't read, or nobody waits any more.
    pub(super) async fn enter(
        site: Site,
        environment: &Environment,
        wanted: watch::Receiver<()>,
    ) -> Result<Self, WorktreeError> {
        let anchor = site.anchor.clone();
        let mut git = Git::begin(&anchor, environment, site.helper.clone(), wanted).await?;
        // Started in a folder that is gone, git would only say that it can't go there.
        if !anchor.is_dir() {
            return Err(WorktreeError::NoRepository { anchor });
        }
        match git.run(&anchor, &args(&["rev-parse", "--is-bare-repository"])).await {
            Ok(bare) if line(&bare) == "true" => return Err(WorktreeError::Bare { anchor }),
            Ok(_) => {}
            Err(GitError::Refused { words, .. }) if words.contains("not a git repository") => {
                return Err(WorktreeError::NoRepository { anchor });
            }
            Err(error) => return Err(error.into()),
        }
        let top = folder(&git.run(&anchor, &args(&["rev-parse", "--show-toplevel"])).await?)?;
        if top != anchor {
            return Err(WorktreeError::NotTop { anchor, top });
        }
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = folder(&git.run(&anchor, &args(&common)).await?)?;
        git.hold(&common).await?;
        match git.run(&anchor, &args(&["check-ref-format", "--branch", &site.branch])).await {
            Ok(named) if line(&named) == site.branch.as_str() => Ok(Self { git, site, common }),
            Ok(_) | Err(GitError::Refused { .. }) => Err(WorktreeError::Name { branch: site.branch }),
            Err(error) => Err(error.into()),
        }
    }

    /// The commit that the anchor is at.
    pub(super) async fn head(&self) -> Result<String, WorktreeError> {
        let head = self.commit("HEAD").await?;
        head.ok_or_else(|| WorktreeError::NoCommit { anchor: self.site.anchor.clone() })
    }

    /// The commit that the branch is at; none without the branch.
    pub(super) async fn tip(&self) -> Result<Option<String>, GitError> {
        self.commit(&self.site.reference()).await
    }

    async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        match self.run(&["rev-parse", "--verify", "--quiet", &name]).await {
            Ok(printed) => Ok(Some(line(&printed).to_string_lossy().into_owned())),
            Err(GitError::Refused { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn found(&self) -> Result<Probed, GitError> {
        let listed = self.listed().await?.into_iter().find(|listed| listed.path == self.site.path);
        let bare = is_absent(&self.site.path);
        let Some(listed) = listed else { return Ok(if bare { Probed::Nothing } else { Probed::Foreign }) };
        let own = self.registration();
        if !bare && own.is_none() {
            return Ok(Probed::Foreign);
        }
        let without_index = own.is_some_and(|own| !own.join("index").exists());
        let without_head = listed.branch.is_none() && !listed.at_commit;
        let on = listed.branch;
        Ok(match (bare, listed.initializing || without_index || without_head) {
            (_, true) => Probed::HalfMade,
            (true, false) => Probed::Lost { on },
            (false, false) => Probed::Whole { on },
        })
    }

    /// Whether a branch, named in full, is the one of this worktree.
    pub(super) fn is_branch(&self, named: Option<&str>) -> bool {
        named == Some(&self.site.reference())
    }

    /// Another worktree of the repository that has the branch checked out.
    pub(super) async fn checked_out_elsewhere(&self) -> Result<Option<PathBuf>, GitError> {
        let mut listed = self.listed().await?.into_iter();
        let elsewhere =
            listed.find(|listed| listed.path != self.site.path && self.is_branch(listed.branch.as_deref()));
        Ok(elsewhere.map(|listed| listed.path))
    }

    /// Whether another branch, of this repository or followed from another one, has a commit.
    pub(super) async fn is_reachable(&self, commit: &str) -> Result<bool, GitError> {
        let contains = format!("--contains={commit}");
        let format = "--format=%(refname)";
        let printed =
            self.run(&["for-each-ref", "--count=2", format, &contains, "refs/heads", "refs/remotes"]).await?;
        let own = self.site.reference();
        Ok(String::from_utf8_lossy(&printed.bytes).lines().any(|name| name != own))
    }

    pub(super) async fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, GitError> {
        match self.run(&["merge-base", "--is-ancestor", commit, of]).await {
            Ok(_) => Ok(true),
            Err(GitError::Refused { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Files in the folder that differ from its last commit, or are new and not ignored.
    pub(super) async fn changed(&self) -> Result<Files, GitError> {
        let status = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=none",
            "--no-renames",
        ];
        let (mut files, more) = self.git.run(&self.site.path, &args(&status)).await?.entries(FILES);
        // Two letters and a space say how each differs.
        for file in &mut files {
            *file = file.get(3..).unwrap_or_default().to_owned();
        }
        Ok((files, more))
    }

    /// Files that differ between two commits.
    pub(super) async fn differing(&self, from: &str, to: &str) -> Result<Files, GitError> {
        let diff = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none"];
        Ok(self.run(&[&diff[..], &[from, to]].concat()).await?.entries(FILES))
    }

    /// Removes the worktree with everything in its folder.
    pub(super) async fn discard(&self) -> Result<(), GitError> {
        let remove = args(&["worktree", "remove", "--force", "--force", "--"]);
        let remove = [&remove[..], &[self.site.path.as_os_str()]].concat();
        let Err(refused) = self.git.run_whole(&self.site.anchor, &remove).await else { return Ok(()) };
        // Git insists on a folder that leads back to it, or on none.
        if self.clear_stub().is_err() {
            return Err(refused);
        }
        self.git.run_whole(&self.site.anchor, &remove).await.map(drop)
    }

    /// Deletes the branch if it is still at this commit.
    pub(super) async fn delete_branch(&self, tip: &str) -> Result<(), GitError> {
        let delete = ["update-ref", "--no-deref", "-d", &self.site.reference(), tip];
        self.git.run_whole(&self.site.anchor, &args(&delete)).await.map(drop)
    }

    async fn run(&self, arguments: &[&str]) -> Result<Printed, GitError> {
        self.git.run(&self.site.anchor, &args(arguments)).await
    }

    async fn listed(&self) -> Result<Vec<Listed>, GitError> {
        let list = ["worktree", "list", "--porcelain", "-z"];
        let printed = self.git.run_long(&self.site.anchor, &args(&list), LISTED).await?;
        if printed.cut {
            let problem = format!("more than {LISTED} bytes");
            return Err(GitError::Garbled { asked: "worktree list".to_owned(), problem });
        }
        Ok(parse(&printed.bytes))
    }

    /// The folder inside the repository that stands for the worktree at the path, if both lead to each other.
    fn registration(&self) -> Option<PathBuf> {
        let named = pointer(&self.site.path.join(".git"))?;
        let named = Path::new(OsStr::from_bytes(named.as_bytes().strip_prefix(b"gitdir: ")?));
        let own = self.site.path.join(named).canonicalize().ok()?;
        let back = own.join(pointer(&own.join("gitdir"))?);
        let leads_back = back.parent()?.canonicalize().ok()? == self.site.path;
        (leads_back && own.parent()? == self.common.join("worktrees")).then_some(own)
    }

    /// Takes away a folder with nothing in it but what leads to the repository.
    fn clear_stub(&self) -> io::Result<()> {
        let path = &self.site.path;
        let only_pointer =
            fs::read_dir(path)?.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".git"));
        if only_pointer && self.registration().is_some() {
            fs::remove_file(path.join(".git"))?;
        }
        fs::remove_dir(path)
    }
}

impl Site {
    /// Removes the folder if nothing is in it, and the one above.
    pub(super) fn tidy(&self) {
        fs::remove_dir(&self.path).ok();
        if let Some(parent) = self.path.parent().filter(|_| !self.exists()) {
            fs::remove_dir(parent).ok();
        }
    }

    pub(super) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }
}

/// Nothing is there, or an empty folder. What can't be read is something.
fn is_absent(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        Ok(_) => false,
        Err(problem) => problem.kind() == io::ErrorKind::NotFound,
    }
}

/// What a small file says, without its last line end. A link is none.
fn pointer(path: &Path) -> Option<OsString> {
    let file = beneath::open(path.parent()?, Path::new(path.file_name()?)).ok()?;
    let mut text = Vec::new();
    file.take(POINTER_BYTES + 1)
        .read_to_end(&mut text)
        .ok()
        .filter(|bytes| *bytes as u64 <= POINTER_BYTES)?;
    Some(OsString::from_vec(text.strip_suffix(b"\n").unwrap_or(&text).to_owned()))
}

/// The only line of what git has printed.
fn line(printed: &Printed) -> &OsStr {
    let bytes = &printed.bytes;
    OsStr::from_bytes(bytes.strip_suffix(b"\n").unwrap_or(bytes))
}

fn folder(printed: &Printed) -> Result<PathBuf, GitError> {
    let path = PathBuf::from(line(printed));
    let unread = |problem: io::Error| GitError::Garbled {
        asked: "rev-parse".to_owned(),
        problem: format!("{}: {problem}", path.display()),
    };
    path.canonicalize().map_err(unread)
}

/// Entries of lines that end with a zero byte each, and an empty line after each.
fn parse(printed: &[u8]) -> Vec<Listed> {
    let mut all = Vec::new();
    let mut current: Option<Listed> = None;
    for line in printed.split(|byte| *byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            let path = PathBuf::from(OsStr::from_bytes(path));
            let path = path.canonicalize().unwrap_or(path);
            all.extend(current.replace(Listed { path, ..Listed::default() }));
            continue;
        }
        let Some(listed) = &mut current else { continue };
        if let Some(branch) = line.strip_prefix(b"branch ") {
            listed.branch = Some(String::from_utf8_lossy(branch).into_owned());
        } else if let Some(commit) = line.strip_prefix(b"HEAD ") {
            listed.at_commit = commit.iter().any(|digit| *digit != b'0');
        } else if line.strip_prefix(b"locked ") == Some(INITIALIZING.as_bytes()) {
            listed.initializing = true;
        }
    }
    all.extend(current);
    all
}
