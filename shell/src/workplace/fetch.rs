//! Fetches a part of somebody's repository with git: the newest commit of one name, without history, and of its files only
//! those below one path. It asks nobody for a password, executes nothing that the repository names, and stops when that
//! takes too long or gets too large.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_platform::{Environment, spawn};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::sleep;

use super::git::{Ending, Git, GitError, Printed, args, collect};

/// The longest time that one run may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes that a repository may take on the disk meanwhile.
const REPOSITORY_BYTES: u64 = 128 << 20;
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of a list of files.
const LIST_BYTES: usize = 1 << 20;
/// What git reaches others with.
const VARIABLES: [&str; 2] = ["SSH_AUTH_SOCK", "GIT_SSL_CAINFO"];
/// Nobody is asked for anything, nothing is converted, and nothing in the background goes on.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "credential.helper=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Why a repository can't be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("the repository takes more than {} MiB", REPOSITORY_BYTES >> 20)]
    Large,
    #[error("the repository has none of these: {}", .names.join(", "))]
    NoReference { names: Vec<String> },
    #[error("at that commit the repository has no folder {path:?}")]
    NoFolder { path: String },
    #[error("{path} is a {what}, and only files and folders are taken")]
    NoFile { path: String, what: &'static str },
    #[error("the folder has more than {most} files")]
    TooMany { most: usize },
}

/// What is to be fetched.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub url: &'a str,
    /// Names with the path that follows each; the first name that is there counts.
    pub candidates: &'a [(String, String)],
    pub most_files: usize,
}

/// A folder of a repository at a commit.
#[derive(Debug)]
pub struct FetchedFolder {
    pub folder: PathBuf,
    pub commit: String,
}

/// Fetches into a folder that is there and empty.
///
/// # Errors
/// All of [`FetchError`].
pub async fn fetch(
    environment: &Environment,
    wanted: Wanted<'_>,
    into: &Path,
) -> Result<FetchedFolder, FetchError> {
    let (_asks, asker) = watch::channel(());
    let known = |name: &&str| environment.get(name).map(|value| ((*name).to_owned(), value.to_owned()));
    let variables = Git::variables().iter().chain(&VARIABLES).filter_map(known).collect();
    let fetch = Fetch { into: into.to_owned(), variables, asker };
    let limit = fetch.limited();
    tokio::select! {
        fetched = fetch.whole(wanted) => fetched,
        () = limit => Err(FetchError::Large),
    }
}

struct Fetch {
    into: PathBuf,
    variables: Vec<(String, String)>,
    asker: watch::Receiver<()>,
}

impl Fetch {
    async fn whole(
        &self,
        Wanted { url, candidates, most_files }: Wanted<'_>,
    ) -> Result<FetchedFolder, FetchError> {
        self.run(&["init", "--quiet", "--template="]).await?;
        self.run(&["remote", "add", "--", "origin", url]).await?;
        let (reference, path) = self.candidate(candidates).await?;
        let fetch =
            ["fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none", "origin", "--", reference];
        self.run(&fetch).await?;
        let commit = self.run(&["rev-parse", "--verify", "FETCH_HEAD^{commit}"]).await?;
        let commit = String::from_utf8_lossy(&commit.bytes).trim().to_owned();
        self.check(&commit, path, most_files).await?;
        let all = if path.is_empty() { "." } else { path };
        self.run(&["checkout", "--quiet", &commit, "--", all]).await?;
        Ok(FetchedFolder { folder: self.into.join(path), commit })
    }

    /// The first that is there. One alone is tried as it is: it may be a commit.
    async fn candidate<'a>(&self, all: &'a [(String, String)]) -> Result<(&'a str, &'a str), FetchError> {
        let parts = |(name, path): &'a (String, String)| (name.as_str(), path.as_str());
        if let [only] = all {
            return Ok(parts(only));
        }
        let heads = all.iter().map(|(name, _)| format!("refs/heads/{name}"));
        let refs: Vec<String> =
            heads.chain(all.iter().map(|(name, _)| format!("refs/tags/{name}"))).collect();
        let mut words = vec!["ls-remote", "--quiet", "--", "origin"];
        words.extend(refs.iter().map(String::as_str));
        let printed = self.run(&words).await?;
        let printed = String::from_utf8_lossy(&printed.bytes).into_owned();
        let there: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        let is_there = |(name, _): &&(String, String)| {
            ["refs/heads/", "refs/tags/"].iter().any(|kind| there.contains(&format!("{kind}{name}").as_str()))
        };
        let is_commit = |(name, _): &&(String, String)| {
            name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let found = all.iter().find(is_there).or_else(|| all.iter().find(is_commit)).map(parts);
        found.ok_or_else(|| FetchError::NoReference {
            names: all.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    /// Looks at names and kinds before any file is fetched.
    async fn check(&self, commit: &str, path: &str, most: usize) -> Result<(), FetchError> {
        let folder = format!("{path}/");
        let mut words = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        if !path.is_empty() {
            words.extend(["--", &folder]);
        }
        let listed = self.run_long(&words, LIST_BYTES).await?;
        let (entries, more) = listed.entries(most);
        if more > 0 {
            return Err(FetchError::TooMany { most });
        }
        if entries.is_empty() {
            return Err(FetchError::NoFolder { path: path.to_owned() });
        }
        for entry in entries {
            let (about, path) = entry.split_once('\t').unwrap_or((&entry, ""));
            let what = match about.split(' ').next() {
                Some("120000") => "link",
                Some("160000") => "repository of its own",
                Some(_) | None => continue,
            };
            return Err(FetchError::NoFile { path: path.to_owned(), what });
        }
        Ok(())
    }

    async fn run(&self, words: &[&str]) -> Result<Printed, GitError> {
        self.run_long(words, 64 << 10).await
    }

    async fn run_long(&self, words: &[&str], kept: usize) -> Result<Printed, GitError> {
        let command = self.command(&args(words));
        let asked = words.iter().take(1).copied().collect();
        collect(command, asked, kept, (self.asker.clone(), Ending::Unwanted), FETCH_TIMEOUT).await
    }

    fn command(&self, words: &[&OsStr]) -> Command {
        let mut command = std::process::Command::new("git");
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut command = Command::from(command);
        command.arg("-C").arg(&self.into).arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(words)
            .current_dir("/")
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file")
            .env("GIT_TERMINAL_PROMPT", "0")
            // Set and empty: neither a setting nor SSH_ASKPASS stands in for it.
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o ConnectTimeout=20")
            .env("GIT_ATTR_SOURCE", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("LC_ALL", "C")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Ends when the folder takes too much.
    fn limited(&self) -> impl Future<Output = ()> + use<> {
        let folder = self.into.clone();
        async move {
            loop {
                sleep(LOOK).await;
                let folder = folder.clone();
                let bytes = spawn::blocking(move || bytes_below(&folder)).await.unwrap_or(0);
                if bytes > REPOSITORY_BYTES {
                    return;
                }
            }
        }
    }
}

/// Of what can be seen; files come and go meanwhile.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        bytes += if about.is_dir() { bytes_below(&entry.path()) } else { about.len() };
        if bytes > REPOSITORY_BYTES {
            break;
        }
    }
    bytes
}
