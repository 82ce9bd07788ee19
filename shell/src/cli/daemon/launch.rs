//! Starts `serve` in the background, and learns how that went.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, anyhow};

use super::Place;
use crate::cli::exit::Exit;
use crate::cli::output::Failure;
use crate::cli::server_options::ServerOptions;
use crate::daemon::{LastFailure, TOKEN_VARIABLE, log};
use crate::supervise::program;

/// Less than this is no room.
const SCRAP: u64 = 64 << 10;

/// Starts it, away from this terminal. It keeps no folder busy but its home's.
pub(super) fn launch(place: &Place, options: &ServerOptions) -> Result<Child, Failure> {
    place.home.create()?;
    let home = place.home.root();
    let path = log::path(&place.home);
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

/// Why a runtime ended at once, as it wrote it down itself.
pub(super) fn ended(place: &Place, pid: u32, status: ExitStatus) -> Failure {
    let written = LastFailure::read(&place.home).filter(|failure| failure.pid == Some(pid));
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let exit = code.and_then(Exit::of).filter(|exit| *exit != Exit::Completed).unwrap_or(Exit::Failed);
    match written {
        Some(failure) => {
            let error = anyhow!("the runtime could not start: {}", failure.summary);
            let hint = failure.detail_hint.unwrap_or_else(|| "holon daemon logs".to_owned());
            Failure::new(exit, error).hint(hint)
        }
        // It could not even write down why.
        None if is_full(place.home.root()) => {
            let home = place.home.root().display();
            let error = anyhow!("the runtime could not start ({status}): the disk under {home} is full");
            Failure::new(exit, error).hint("make room on it, then holon daemon start")
        }
        None => Failure::new(exit, anyhow!("the runtime ended before it was ready ({status})"))
            .hint("holon daemon logs"),
    }
}

/// Whether a file system has no room for anything.
fn is_full(place: &Path) -> bool {
    rustix::fs::statvfs(place).is_ok_and(|about| about.f_bavail.saturating_mul(about.f_frsize) < SCRAP)
}
