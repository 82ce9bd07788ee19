//! `daemon start` and `daemon restart`.

use std::process::Child;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tokio::time::Instant;

use super::launch::{ended, launch};
use super::{LOOK, PATIENCE, Place, StartArgs, StopArgs, stop, unusable};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::server_options::Effective;
use crate::client::{Ask, Client};
use crate::daemon::{Found, Metadata, look, socket};
use crate::home::HomeError;

/// How a start ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    Now,
    /// By somebody else, with the same configuration.
    Before,
}

pub(super) async fn start(place: &Place, args: StartArgs) -> Result<Exit, Failure> {
    // What is wrong with the options is told here, not in a log.
    let effective = Effective::load(&place.home, &place.environment, &args.options)?;
    let (started, metadata) = Box::pin(begin(place, &args, &effective)).await?;
    tell(started, &metadata, args.json)
}

/// Nothing is stopped that could not be started again.
pub(super) async fn restart(place: &Place, args: StartArgs) -> Result<Exit, Failure> {
    let effective = Effective::load(&place.home, &place.environment, &args.options)?;
    stop::end(place, &StopArgs { wait: args.wait, json: args.json }).await?;
    let (started, metadata) = Box::pin(begin(place, &args, &effective)).await?;
    tell(started, &metadata, args.json)
}

/// Starts the runtime if nobody has the home, and waits until it is ready.
async fn begin(
    place: &Place,
    args: &StartArgs,
    effective: &Effective,
) -> Result<(Started, Metadata), Failure> {
    let deadline = Instant::now() + Duration::from_secs(args.wait);
    let mut child: Option<Child> = None;
    loop {
        match look(&place.home).map_err(unusable)? {
            Found::Ready(metadata) => {
                let ours = child.as_ref().is_some_and(|child| child.id() == metadata.process.pid);
                if !ours {
                    same(&metadata, effective)?;
                }
                healthy(&metadata, effective).await?;
                return Ok((if ours { Started::Now } else { Started::Before }, *metadata));
            }
            // It starts or ends: which of the two shows soon.
            Found::Busy { pid } if Instant::now() >= deadline => {
                let starting = child.is_some();
                return Err(not_ready(pid, starting, args.wait));
            }
            Found::Busy { .. } => {}
            Found::Nobody { .. } => match &mut child {
                None => {
                    clean(place)?;
                    child = Some(launch(place, &args.options)?);
                }
                Some(child) => {
                    if let Some(status) = child.try_wait()? {
                        return Err(ended(place, child.id(), status));
                    }
                    if Instant::now() >= deadline {
                        return Err(not_ready(Some(child.id()), true, args.wait));
                    }
                }
            },
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Takes away what a runtime that was killed left behind.
pub(super) fn clean(place: &Place) -> Result<(), Failure> {
    let not_writable = |source| HomeError::NotWritable { path: Metadata::path(&place.home), source };
    Metadata::remove(&place.home).map_err(not_writable)?;
    let left = place.home.socket();
    // What is no leftover stays, and is refused in words by whoever wants to listen there.
    socket::make_room(&left).ok();
    Ok(())
}

/// Another configuration needs a word of the operator: work would be interrupted.
fn same(metadata: &Metadata, effective: &Effective) -> Result<(), Failure> {
    let pid = metadata.process.pid;
    let Some(running) = &metadata.fingerprint else {
        let error = anyhow!("the runtime (process {pid}) does not say what it was started with");
        return Err(Failure::new(Exit::RefusedByState, error).hint("holon daemon restart"));
    };
    let differences = running.differences(&effective.fingerprint);
    if differences.is_empty() {
        return Ok(());
    }
    let differences: Vec<String> = differences
        .into_iter()
        .map(|(key, running, configured)| format!("{key} is {running}, would be {configured}"))
        .collect();
    let error = anyhow!(
        "the runtime (process {pid}) was started with another configuration: {}",
        differences.join("; ")
    );
    Err(Failure::new(Exit::RefusedByState, error).hint("holon daemon restart, with the same options"))
}

/// Whether it answers.
async fn healthy(metadata: &Metadata, effective: &Effective) -> Result<(), Failure> {
    let socket = metadata.socket_path.as_ref().unwrap_or(&effective.endpoint.socket);
    let client = Client::at(socket).with_token(effective.endpoint.token.clone()).within(PATIENCE);
    client.ask(&Ask::get("/healthz", &[])).await.map(drop).map_err(|error| {
        let pid = metadata.process.pid;
        Failure::new(Exit::NotReachable, anyhow!("the runtime (process {pid}) does not answer: {error}"))
            .hint("holon daemon logs, then holon daemon restart")
    })
}

fn not_ready(pid: Option<u32>, starting: bool, seconds: u64) -> Failure {
    let pid = pid.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
    let error = if starting {
        anyhow!("the runtime ({pid}) is not ready after {seconds} s; it goes on starting")
    } else {
        anyhow!("{pid} has the home and is no runtime that is ready: it starts, ends, or is a one-shot run")
    };
    Failure::new(Exit::NotReachable, error).hint("holon daemon status, then holon daemon logs")
}

fn tell(started: Started, metadata: &Metadata, json: bool) -> Result<Exit, Failure> {
    let pid = metadata.process.pid;
    if json {
        let already = started == Started::Before;
        output::document(&json!({
            "ok": true, "already_running": already, "pid": pid, "version": metadata.version,
            "home_dir": metadata.home_dir, "socket_path": metadata.socket_path, "http_addr": metadata.http_addr,
            "advertise_url": metadata.advertise_url,
        }))?;
        return Ok(Exit::Completed);
    }
    let socket = metadata.socket_path.as_ref().map_or_else(String::new, |path| path.display().to_string());
    let tcp =
        metadata.http_addr.as_ref().map_or_else(String::new, |address| format!(" and http://{address}"));
    let word = match started {
        Started::Now => "started",
        Started::Before => "runs already",
    };
    output::line(&format!("{word}: process {pid}, at {socket}{tcp}"))?;
    let version = metadata.version.as_deref().unwrap_or("another one");
    if version != env!("CARGO_PKG_VERSION") {
        output::note(&format!("holon: it is version {version}, this is {}", env!("CARGO_PKG_VERSION")));
        output::hint("try", "holon daemon restart");
    }
    Ok(Exit::Completed)
}
