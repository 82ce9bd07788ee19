//! Starts `serve` in the background, and learns how that went.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, anyhow};
use holon_supervise::program;

use super::{DaemonHome, ledger};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::server_options::ServerOptions;
use crate::daemon::{LastFailure, Phase, TOKEN_VARIABLE, log};
use holon_ledger::sqlite::HomeLock;

/// Less than this is no room.
const SCRAP: u64 = 64 << 10;

/// Starts it, away from this terminal. It keeps no folder busy but its home's.
pub(super) fn launch(daemon: &DaemonHome, options: &ServerOptions) -> Result<Child, Failure> {
    daemon.home.create()?;
    let home = daemon.home.root();
    let path = log::path(&daemon.home);
    let stream = || -> io::Result<Stdio> { Ok(log::open(&path)?.into()) };
    let out = stream().with_context(|| path.display().to_string())?;
    let mut command = Command::new(program());
    command
        .arg0("holon")
        .arg("--home")
        .arg(home)
        .args(["serve", "--detached"])
        .args(options.arguments()?)
        .current_dir(fs::canonicalize(home)?)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(stream()?)
        // Readiness is for whoever manages the runtime, which is nobody's service here.
        .env_remove("NOTIFY_SOCKET");
    if let Some(token) = options.token() {
        command.env(TOKEN_VARIABLE, token);
    }
    Ok(command.spawn().context("the runtime can't be started")?)
}

/// A start that failed before the runtime had the home is remembered like one that failed after it. Where somebody
/// has the home, the failure of somebody else is not for its files.
pub(super) fn kept(daemon: &DaemonHome, failure: Failure) -> Failure {
    let Ok(lock) = HomeLock::acquire(daemon.home.root()) else { return failure };
    let summary = output::said_once(&failure.error);
    let written = LastFailure {
        exit_code: Some(failure.exit.code()),
        ..LastFailure::now(Phase::Startup, summary, failure.hint.clone())
    };
    if let Err(error) = written.write(&daemon.home) {
        output::note(&format!("holon: {}: {error}", LastFailure::path(&daemon.home).display()));
    }
    drop(lock);
    failure
}

/// Why a runtime ended at once, as it wrote it down itself.
pub(super) fn ended(daemon: &DaemonHome, pid: u32, status: ExitStatus) -> Failure {
    let written = LastFailure::read(&daemon.home).filter(|failure| failure.pid == Some(pid));
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let exit = code.and_then(Exit::of).filter(|exit| *exit != Exit::Completed).unwrap_or(Exit::Failed);
    match written {
        Some(failure) => {
            let error = anyhow!("the runtime could not start: {}", failure.summary);
            let hint = failure.detail_hint.unwrap_or_else(|| "holon daemon logs".to_owned());
            Failure::new(exit, error).hint(hint)
        }
        None => kept(daemon, silent(daemon, exit, status)),
    }
}

/// It could not even write down why.
fn silent(daemon: &DaemonHome, exit: Exit, status: ExitStatus) -> Failure {
    let home = daemon.home.root();
    let full = is_full(home).then(|| format!("the disk under {} is full", home.display()));
    let problems: Vec<String> = ledger::look(&daemon.home.ledger()).into_iter().chain(full.clone()).collect();
    if !problems.is_empty() {
        let error = anyhow!("the runtime could not start ({status}): {}", problems.join("; "));
        let hint =
            if full.is_some() { "free space on it, then holon daemon start" } else { "holon daemon logs" };
        return Failure::new(exit, error).hint(hint);
    }
    Failure::new(exit, anyhow!("the runtime ended before it was ready ({status})")).hint("holon daemon logs")
}

/// Whether a file system has no room for anything.
fn is_full(daemon: &Path) -> bool {
    rustix::fs::statvfs(daemon).is_ok_and(|about| about.f_bavail.saturating_mul(about.f_frsize) < SCRAP)
}
