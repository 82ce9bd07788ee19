//! Where a supervisor leaves its traces: a folder for its socket and its record, and the logs of its commands.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fs, slice};

use holon_facts::AgentId;
use holon_facts::outcome::SupervisorIdentity;
use holon_platform::entropy;
use holon_supervise::{KEY, confine, log_files};

use crate::perform::Settings;
use crate::tasks;

/// Folders of supervisors, relative to the home.
pub(super) const FOLDERS: &str = "run/commands";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunDirectory {
    pub(super) folder: PathBuf,
    /// The folder of the agent's logs.
    pub(super) outputs: PathBuf,
    /// Under `confined` nothing is written outside of this one on the agent's behalf: commands can put links into it.
    home: Option<PathBuf>,
    /// Logs that are raw material: they go with the folder.
    pub(super) logs: Vec<PathBuf>,
    /// The command is a task: its log stays.
    pub(super) kept: bool,
}

impl RunDirectory {
    /// In the folder of a supervisor that is up.
    pub(super) fn new(settings: &Settings, agent: &AgentId, folder: PathBuf, logs: Vec<PathBuf>) -> Self {
        let (outputs, home) = (outputs(settings, agent), settings.bound(agent));
        Self { folder, outputs, home, logs, kept: false }
    }

    /// Where a supervisor of an earlier process is.
    pub(super) fn of(
        settings: &Settings,
        agent: &AgentId,
        supervisor: &SupervisorIdentity,
        log: Option<&Path>,
        kept: bool,
    ) -> Self {
        let socket = settings.home.root().join(&supervisor.socket);
        let folder = socket.parent().map(PathBuf::from).unwrap_or_default();
        let logs = log.map(PathBuf::from).into_iter().collect();
        Self { folder, outputs: outputs(settings, agent), home: settings.bound(agent), logs, kept }
    }

    /// Removes all traces. What can't be removed now is removed by the next start.
    pub(super) fn remove(&self) {
        if !self.kept {
            self.among_outputs(|| self.logs.iter().for_each(|log| drop(log_files::remove(log))));
        }
        remove(&self.folder);
    }

    /// Does something to logs. None when it had to be confined, and could not.
    pub(super) fn among_outputs<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Option<T> {
        confine::within(self.home.as_ref().map(slice::from_ref), work).ok()
    }
}

/// A new folder, for its owner alone; its name is relative to the home.
pub(super) fn make(settings: &Settings) -> io::Result<(PathBuf, String)> {
    let name = format!("{FOLDERS}/{}", entropy::name()?);
    let folder = settings.home.root().join(&name);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut key = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(KEY))?;
    key.write_all(entropy::key()?.as_bytes())?;
    Ok((folder, name))
}

/// What proves to a supervisor that a runtime of its home speaks; none for one of an earlier version.
pub(super) fn key(folder: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(folder.join(KEY)) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn remove(folder: &Path) {
    fs::remove_dir_all(folder).ok();
}

/// Where the logs of an agent's commands are.
pub(super) fn outputs(settings: &Settings, agent: &AgentId) -> PathBuf {
    tasks::outputs(&settings.agent_home(agent))
}
