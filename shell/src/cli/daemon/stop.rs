//! `daemon stop`: asks for a drain, then asks the process to end, and never touches one that it does not know.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use holon_api::{Control, Nothing};
use holon_platform::process;
use holon_platform::process::Identity;
use serde_json::json;
use tokio::time::Instant;

use super::find::find;
use super::{DaemonHome, LOOK, MOMENT, StopArgs, unusable};
use crate::cli::Cli;
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::daemon::{LastFailure, Metadata, Phase, ProbeResult, look};

/// A command that starts or stops a runtime has the home for less than this.
const COMMAND_LOCK_TIME: Duration = Duration::from_millis(500);

pub(super) async fn stop(daemon: &DaemonHome, args: StopArgs) -> Result<Exit, Failure> {
    let ended = end(daemon, &args).await?;
    if args.json {
        output::document(&json!({ "ok": true, "stopped_pid": ended }))?;
    } else {
        output::line(&match ended {
            Some(pid) => format!("stopped: process {pid} has ended"),
            None => "not running".to_owned(),
        })?;
    }
    Ok(Exit::Completed)
}

/// Ends the runtime of the home, if there is one; says which process it was.
pub(super) async fn end(daemon: &DaemonHome, args: &StopArgs) -> Result<Option<u32>, Failure> {
    let (process, socket) = match holder(daemon).await? {
        Holder::Nobody => {
            settled(daemon)?;
            return Ok(None);
        }
        Holder::Ready(metadata) => {
            (metadata.process, Some(metadata.socket_path.unwrap_or_else(|| daemon.socket())))
        }
        Holder::Starting(process) => (process, None),
    };
    let begun = Instant::now();
    let wait = Duration::from_secs(args.wait.into());
    let mut asked_politely = match socket {
        Some(socket) => ask(daemon, &process, socket).await,
        None => false,
    };
    if !asked_politely {
        process::terminate(&process);
    }
    while process::is_alive(&process) {
        let waited = begun.elapsed();
        if waited >= wait {
            return Err(stays(daemon, &process, args.wait));
        }
        if asked_politely && waited >= wait / 2 {
            process::terminate(&process);
            asked_politely = false;
        }
        tokio::time::sleep(LOOK).await;
    }
    settled(daemon)?;
    Ok(Some(process.pid))
}

/// Whom a stop has to do with.
enum Holder {
    Nobody,
    Ready(Box<Metadata>),
    /// A runtime that did not get as far as being ready: known by its command line and by holding the lock.
    Starting(Identity),
}

/// Who has the home. A process that has lost its arguments is on its way out, and waited for; other commands have a
/// home while they look after it.
async fn holder(daemon: &DaemonHome) -> Result<Holder, Failure> {
    let (mut begun, mut last) = (Instant::now(), None);
    loop {
        let pid = match find(daemon).await? {
            ProbeResult::Nobody => return Ok(Holder::Nobody),
            ProbeResult::Ready(metadata) => return Ok(Holder::Ready(metadata)),
            ProbeResult::Busy { pid } => pid,
        };
        if last != Some(pid) {
            (begun, last) = (Instant::now(), Some(pid));
        }
        let words = pid.and_then(process::arguments);
        let serves = words.as_ref().is_some_and(|words| Cli::serves(words));
        let identity = pid.filter(|_| serves).and_then(|pid| process::identity(pid).ok());
        // Its number may have become a stranger's since the lock was looked at: then somebody else has that now.
        let still = || matches!(look(&daemon.home), Ok(ProbeResult::Busy { pid: now }) if now == pid);
        if let Some(process) = identity.filter(|_| still()) {
            return Ok(Holder::Starting(process));
        }
        let patience = if words.is_none() || serves { MOMENT } else { COMMAND_LOCK_TIME };
        if begun.elapsed() >= patience {
            let who = pid.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
            let error = anyhow!("{who} has the home and is no runtime: it was left alone");
            return Err(
                Failure::new(Exit::RefusedByState, error).hint("wait for its end, or end it yourself")
            );
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Asks for a drain over the control surface, if it is that process that answers there. A runtime that can't be
/// asked is ended by its process.
async fn ask(daemon: &DaemonHome, process: &Identity, socket: PathBuf) -> bool {
    let client = daemon.client(socket);
    let readiness = client.readiness().await;
    readiness.is_ok_and(|runtime| runtime.pid == process.pid) && client.shut_down(Nothing {}).await.is_ok()
}

/// Nobody has the home: what was left behind goes, and so does the memory of failures.
fn settled(daemon: &DaemonHome) -> Result<(), Failure> {
    // Somebody else may have started it again at once.
    if matches!(look(&daemon.home).map_err(unusable)?, ProbeResult::Nobody) {
        daemon.clean()?;
        LastFailure::clear(&daemon.home)?;
    }
    Ok(())
}

fn stays(daemon: &DaemonHome, process: &Identity, seconds: u32) -> Failure {
    let pid = process.pid;
    let summary = format!("the runtime (process {pid}) did not end within {seconds} s");
    let hint = format!("holon daemon logs; kill -9 {pid} ends it at once, and the ledger stays whole");
    let failure = LastFailure::now(Phase::Shutdown, summary.clone(), Some(hint.clone()));
    if let Err(error) = failure.write(&daemon.home) {
        output::note(&format!("holon: {}: {error}", LastFailure::path(&daemon.home).display()));
    }
    Failure::new(Exit::Failed, anyhow!(summary)).hint(hint)
}
