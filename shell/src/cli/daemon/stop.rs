//! `daemon stop`: asks for a drain, then asks the process to end, and never touches one that it does not know.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tokio::time::Instant;

use super::find::find;
use super::{LOOK, MOMENT, Place, StopArgs, unusable};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::client::Ask;
use crate::daemon::{Found, LastFailure, Phase, look};
use crate::http::api::Nothing;
use crate::supervise::process;
use crate::supervise::protocol::Identity;

/// A command that starts or stops a runtime has the home for less than this.
const ERRAND: Duration = Duration::from_millis(500);

pub(super) async fn stop(place: &Place, args: StopArgs) -> Result<Exit, Failure> {
    let ended = end(place, &args).await?;
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
pub(super) async fn end(place: &Place, args: &StopArgs) -> Result<Option<u32>, Failure> {
    let (process, socket) = match there_to_stay(place).await? {
        Found::Nobody => {
            settled(place)?;
            return Ok(None);
        }
        Found::Ready(metadata) => {
            (metadata.process, Some(metadata.socket_path.unwrap_or_else(|| place.socket())))
        }
        Found::Busy { pid } => (starting(pid)?, None),
    };
    let begun = Instant::now();
    let wait = Duration::from_secs(args.wait.into());
    let mut asked_politely = match socket {
        Some(socket) => ask(place, &process, socket).await,
        None => false,
    };
    if !asked_politely {
        process::terminate(&process);
    }
    while process::is_alive(&process) {
        let waited = begun.elapsed();
        if waited >= wait {
            return Err(stays(place, &process, args.wait));
        }
        if asked_politely && waited >= wait / 2 {
            process::terminate(&process);
            asked_politely = false;
        }
        tokio::time::sleep(LOOK).await;
    }
    settled(place)?;
    Ok(Some(process.pid))
}

/// Who has the home. A process that has lost its arguments is on its way out, and waited for; other commands have a
/// home while they look after it.
async fn there_to_stay(place: &Place) -> Result<Found, Failure> {
    let begun = Instant::now();
    loop {
        let found = find(place).await?;
        let patience = match found.busy().map(|pid| process::arguments(pid).unwrap_or_default()) {
            None => return Ok(found),
            Some(words) if serves(&words) => return Ok(found),
            Some(words) if words.iter().all(String::is_empty) => MOMENT,
            Some(_) => ERRAND,
        };
        if begun.elapsed() >= patience {
            return Ok(found);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn serves(arguments: &[String]) -> bool {
    arguments.iter().any(|word| word == "serve")
}

/// Asks for a drain over the control surface, if it is that process that answers there. A runtime that can't be
/// asked is ended by its process.
async fn ask(place: &Place, process: &Identity, socket: PathBuf) -> bool {
    let client = place.client(socket);
    let readiness = client.ask(&Ask::get("/control/runtime/readiness", &[])).await;
    let pid = readiness.ok().and_then(|said| said.get("pid")?.as_u64());
    if pid != Some(u64::from(process.pid)) {
        return false;
    }
    let Ok(shutdown) = Ask::post("/control/runtime/shutdown", &Nothing {}) else { return false };
    client.ask(&shutdown).await.is_ok()
}

/// A runtime that did not get as far as being ready is known by its command line and by holding the lock.
fn starting(pid: Option<u32>) -> Result<Identity, Failure> {
    let runtime = |pid: &u32| process::arguments(*pid).is_some_and(|arguments| serves(&arguments));
    let known = pid.filter(runtime).and_then(|pid| Some((pid, process::stat(pid)?.started)));
    match (known, process::boot_id()) {
        (Some((pid, started)), Ok(boot_id)) => Ok(Identity { pid, started, boot_id }),
        (_, _) => {
            let who = pid.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
            let error = anyhow!("{who} has the home and is no runtime: it was left alone");
            Err(Failure::new(Exit::RefusedByState, error).hint("wait for its end, or end it yourself"))
        }
    }
}

/// Nobody has the home: what was left behind goes, and so does the memory of failures.
fn settled(place: &Place) -> Result<(), Failure> {
    // Somebody else may have started it again at once.
    if matches!(look(&place.home).map_err(unusable)?, Found::Nobody) {
        place.clean()?;
        LastFailure::clear(&place.home)?;
    }
    Ok(())
}

fn stays(place: &Place, process: &Identity, seconds: u32) -> Failure {
    let pid = process.pid;
    let summary = format!("the runtime (process {pid}) did not end within {seconds} s");
    let hint = format!("holon daemon logs; kill -9 {pid} ends it at once, and the ledger stays whole");
    let failure = LastFailure::now(Phase::Shutdown, summary.clone(), Some(hint.clone()));
    if let Err(error) = failure.write(&place.home) {
        output::note(&format!("holon: {}: {error}", LastFailure::path(&place.home).display()));
    }
    Failure::new(Exit::Failed, anyhow!(summary)).hint(hint)
}
