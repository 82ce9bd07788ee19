//! The `git` program, asked briefly and without side effects.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use holon_platform::{Environment, spawn};
use holon_supervise::Helper;
use tokio::process::Command;

use super::status::{self, Status};

/// The longest time that one call of git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Most files that differ from the last commit; beyond them a comparison says nothing.
const FILES: usize = 20_000;
/// What git sees of the environment: where it is, whose settings count, and nothing that could be a secret.
const VARIABLES: [&str; 5] = ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "LD_LIBRARY_PATH"];

/// One repository, seen from a workspace.
#[derive(Debug, Clone)]
pub(super) struct Git {
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    helper: Option<Helper>,
}

impl Git {
    pub(super) fn new(folder: &Path, environment: &Environment, helper: Option<Helper>) -> Self {
        let known = |name: &str| Some((name.into(), environment.get(name)?.into()));
        let variables = VARIABLES.into_iter().filter_map(known).collect();
        Self { folder: folder.to_owned(), variables, helper }
    }

    /// The files of the whole repository that differ from the last commit.
    pub(super) async fn status(&self) -> Result<Status, String> {
        let printed = self
            .ask(&[
                "status",
                "--porcelain=v2",
                "--branch",
                "--no-ahead-behind",
                "-z",
                "--untracked-files=all",
                // Where a submodule stands; its own files would be asked of another git, with its configuration.
                "--ignore-submodules=dirty",
                "--no-renames",
            ])
            .await?;
        let status = status::parse(&printed)?;
        if status.dirty.len() > FILES {
            return Err(format!("more than {FILES} files differ from the last commit"));
        }
        Ok(status)
    }

    /// The files that differ between two commits; none is the one before the first.
    pub(super) async fn committed(
        &self,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Result<BTreeSet<String>, String> {
        let printed = match (from, to) {
            (Some(from), Some(to)) => {
                let diff =
                    ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none"];
                self.ask(&[&diff[..], &[from, to]].concat()).await?
            }
            (None, Some(only)) | (Some(only), None) => {
                self.ask(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", only]).await?
            }
            (None, None) => Vec::new(),
        };
        Ok(status::names(&printed))
    }

    async fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        // In a group of its own: a Ctrl-C is for the run, which decides what it still wants to know.
        let command = Helper::command(self.helper.as_ref(), "git").map_err(|error| error.to_string())?;
        let mut command = Command::from(command);
        command
            // A program that the repository names would run before anyone agreed to anything.
            .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-pager"])
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Starting a program takes its time, which is not the run's.
        let child = spawn::blocking(move || command.spawn()).await.map_err(|error| error.to_string())?;
        let child = child.map_err(|error| format!("git can't be started: {error}"))?;
        let asked = arguments.first().copied().unwrap_or_default();
        let Output { status, stdout, stderr } =
            match tokio::time::timeout(GIT_TIMEOUT, child.wait_with_output()).await {
                Ok(ended) => ended.map_err(|error| format!("git {asked}: {error}"))?,
                Err(_) => return Err(format!("git {asked} took longer than {} s", GIT_TIMEOUT.as_secs())),
            };
        if status.success() {
            return Ok(stdout);
        }
        let said = String::from_utf8_lossy(&stderr);
        Err(format!("git {asked}: {}", said.lines().next().unwrap_or("it failed without output")))
    }
}
