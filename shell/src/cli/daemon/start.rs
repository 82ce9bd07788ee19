//! `daemon start` and `daemon restart`.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::anyhow;
use holon_api::{Client, ClientError, Control as _};
use holon_platform::build;
use serde_json::json;
use tokio::time::Instant;

use super::find::{at_socket, filled, find};
use super::launch::{ended, kept, launch};
use super::{
    ANSWER_TIMEOUT, DaemonHome, LOOK, MOMENT, START_SECONDS, StartArgs, StopArgs, may_restart, stop, unusable,
};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::serve::unfiltered;
use crate::cli::server_options::{Effective, ServerOptions};
use crate::client;
use crate::daemon::{Metadata, ProbeResult, journal, look};
use crate::settings::quoted;
use crate::workplace;
use holon_ledger::sqlite::reserve_problem;

/// What helps where nobody knows what a restart would have to keep.
const ANEW: &str = "holon daemon stop, then holon daemon start with the same options";

/// How a start ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Started {
    Now,
    /// By somebody else, with the same configuration.
    Before,
}

pub(super) async fn start(daemon: &DaemonHome, args: StartArgs) -> Result<Exit, Failure> {
    // What is wrong with the options is told here, not in a log.
    let effective = load(daemon, &args)?;
    let (started, metadata) = Box::pin(begin(daemon, &args, &effective)).await?;
    let client = client(metadata.socket_path.clone().unwrap_or_else(|| daemon.socket()), &effective);
    let exit = tell(started, &metadata, args.json)?;
    if started == Started::Now && !args.json {
        if let Some(chosen) = effective.setup.settings.chosen_model() {
            output::note(&format!("holon: {chosen}"));
        }
        if let Some(guess) = effective.setup.settings.guessed_window() {
            output::note(&format!("holon: {guess}"));
        }
        offer_repository(daemon, &client).await;
    }
    Ok(exit)
}

/// Whoever starts the runtime in a repository may want the default agent to work there. What can't be found out is not
/// offered.
async fn offer_repository(daemon: &DaemonHome, client: &Client) {
    let here = std::env::current_dir().ok().and_then(|current| {
        let home = daemon.environment.get("HOME").map(Path::new);
        workplace::repository(&current, home)
    });
    let (Some(repository), Ok(handshake)) = (here, client.handshake().await) else { return };
    let agent = &handshake.runtime.default_agent;
    let Ok(status) = client.status(agent).await else { return };
    let works_in = &status.summary.workspace.execution.workspace_anchor;
    if Path::new(works_in) != repository {
        output::note(&format!("holon: {agent} works in {works_in}"));
        let folder = quoted(&repository.display().to_string());
        output::hint("to let it work in this repository", &format!("holon workspace use {folder}"));
    }
}

/// Starts the runtime unless a process has the home; gives the process that was started.
pub(super) async fn ensure(daemon: &DaemonHome) -> Result<Option<u32>, Failure> {
    let busy_until = Instant::now() + MOMENT;
    loop {
        match find(daemon).await? {
            ProbeResult::Ready(_) => return Ok(None),
            ProbeResult::Nobody => break,
            // It starts, or is a one-shot run; what is asked next says so.
            ProbeResult::Busy { .. } if Instant::now() >= busy_until => return Ok(None),
            ProbeResult::Busy { .. } => tokio::time::sleep(LOOK).await,
        }
    }
    let args = StartArgs { options: ServerOptions::default(), wait: START_SECONDS, json: false };
    let effective = load(daemon, &args)?;
    let (started, metadata) = Box::pin(begin(daemon, &args, &effective)).await?;
    Ok((started == Started::Now).then_some(metadata.process.pid))
}

fn load(daemon: &DaemonHome, args: &StartArgs) -> Result<Effective, Failure> {
    journal::filter(&daemon.environment)
        .map_err(unfiltered)
        .and_then(|_| Effective::load(&daemon.home, &daemon.environment, &args.options))
        .map_err(|failure| kept(daemon, failure))
}

/// Nothing is stopped that could not be started again, as it was started.
pub(super) async fn restart(daemon: &DaemonHome, args: StartArgs) -> Result<Exit, Failure> {
    let found = find(daemon).await?;
    let args = match &found {
        ProbeResult::Ready(metadata) => {
            let kept = metadata.options.as_deref().unwrap_or_default();
            StartArgs { options: args.options.or_kept(kept, &daemon.environment)?, ..args }
        }
        ProbeResult::Busy { .. } | ProbeResult::Nobody => args,
    };
    let effective = load(daemon, &args)?;
    match found {
        ProbeResult::Ready(metadata) => {
            let socket = metadata.socket_path.clone().unwrap_or_else(|| daemon.socket());
            let metadata = told(*metadata, &client(socket, &effective)).await;
            keeps_token(&metadata, &effective)?;
            keeps_options(daemon, &metadata, &args.options, &effective)?;
            let running = (metadata.process.pid, Some(&metadata));
            may_restart::check(daemon, &args, &effective, running).await?;
        }
        ProbeResult::Busy { pid: Some(pid) } => {
            may_restart::check(daemon, &args, &effective, (pid, None)).await?;
        }
        ProbeResult::Busy { pid: None } | ProbeResult::Nobody => {}
    }
    stop::end(daemon, &StopArgs { wait: args.wait, json: args.json }).await?;
    let (started, metadata) = Box::pin(begin(daemon, &args, &effective)).await?;
    tell(started, &metadata, args.json)
}

/// A control token is kept nowhere: without it the next runtime would let in whoever has the one of the home.
fn keeps_token(running: &Metadata, effective: &Effective) -> Result<(), Failure> {
    let lost = effective.endpoint.token.is_none()
        && running.fingerprint.as_ref().is_some_and(|own| own.has_another_token(&effective.fingerprint));
    if !lost {
        return Ok(());
    }
    let error = anyhow!(
        "the runtime (process {}) was started with a control token (--token, HOLON_CONTROL_TOKEN or server.token_file), and none is given now",
        running.process.pid
    );
    Err(Failure::new(Exit::RefusedByState, error)
        .hint("give it again; to go on without it: holon daemon stop, then holon daemon start"))
}

/// Options are known from `daemon.json` alone. Where they are not known, what they may have set is changed only by
/// options that are given.
fn keeps_options(
    daemon: &DaemonHome,
    running: &Metadata,
    given: &ServerOptions,
    effective: &Effective,
) -> Result<(), Failure> {
    let changes = match (&running.options, &running.fingerprint, &running.fingerprint_digest) {
        (Some(_), Some(_), _) => return Ok(()),
        (None, Some(own), _) => {
            let differences = own.differences(&effective.fingerprint).into_iter();
            let lost = differences.filter(|(key, _, _)| given.leaves_out(key, &daemon.environment));
            let lost: Vec<String> =
                lost.map(|(key, here, there)| format!("{key} is {here}, would be {there}")).collect();
            lost.join("; ")
        }
        (_, None, Some(digest)) if *digest == effective.fingerprint.digest() => String::new(),
        (_, None, Some(_)) => "the configuration would be another one".to_owned(),
        (_, None, None) => "it does not report its configuration".to_owned(),
    };
    if changes.is_empty() {
        return Ok(());
    }
    let pid = running.process.pid;
    let error = anyhow!(
        "daemon.json, which would show the options and the token that the runtime (process {pid}) was started with, is lost or incomplete, and a restart could drop some of them: {changes}"
    );
    Err(Failure::new(Exit::RefusedByState, error)
        .hint("give them again; to go on without them: holon daemon stop, then holon daemon start"))
}

/// Starts the runtime if nobody has the home, and waits until it is ready.
async fn begin(
    daemon: &DaemonHome,
    args: &StartArgs,
    effective: &Effective,
) -> Result<(Started, Metadata), Failure> {
    let deadline = Instant::now() + Duration::from_secs(args.wait.into());
    let mut child: Option<Child> = None;
    let (mut busy, mut silent) = (Lasting::default(), Lasting::default());
    loop {
        let found = look(&daemon.home).map_err(unusable)?;
        let ours = |pid: u32| child.as_ref().is_some_and(|child| child.id() == pid);
        let stays_busy = busy.is_more_than_a_moment(found.busy());
        let found = match found {
            ProbeResult::Busy { pid: Some(pid) } if !ours(pid) && stays_busy => {
                let metadata = at_socket(daemon, pid, |socket| client(socket, effective)).await;
                metadata.map_or(found, |metadata| ProbeResult::Ready(Box::new(metadata)))
            }
            ProbeResult::Busy { .. } | ProbeResult::Nobody | ProbeResult::Ready(_) => found,
        };
        match found {
            ProbeResult::Ready(metadata) => {
                let pid = metadata.process.pid;
                let ours = ours(pid);
                match checked(daemon, *metadata, effective, ours).await {
                    Ok(metadata) => return Ok((if ours { Started::Now } else { Started::Before }, metadata)),
                    Err(Unfit::Leaves(failure)) if silent.is_more_than_a_moment(Some(pid)) => {
                        return Err(failure);
                    }
                    Err(Unfit::Leaves(_)) => {}
                    Err(Unfit::Stays(failure)) => return Err(failure),
                }
            }
            // It starts or ends: which of the two shows soon.
            ProbeResult::Busy { pid } if Instant::now() >= deadline => {
                let starting = pid.is_some_and(ours);
                return Err(not_ready(daemon, pid, starting, args.wait));
            }
            ProbeResult::Busy { .. } => {}
            ProbeResult::Nobody => match &mut child {
                None => {
                    daemon.clean()?;
                    child = Some(launch(daemon, &args.options).map_err(|failure| kept(daemon, failure))?);
                }
                Some(child) => {
                    if let Some(status) = child.try_wait()? {
                        return Err(ended(daemon, child.id(), status));
                    }
                    if Instant::now() >= deadline {
                        return Err(not_ready(daemon, Some(child.id()), true, args.wait));
                    }
                }
            },
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A state of one process, and since when it is seen.
#[derive(Debug, Default)]
struct Lasting(Option<(u32, Instant)>);

impl Lasting {
    /// Whether this process, if it is in that state now, has been so for long enough to be more than a moment
    /// between two states. Another process has a moment of its own.
    fn is_more_than_a_moment(&mut self, now: Option<u32>) -> bool {
        self.0 = match (self.0, now) {
            (Some((known, since)), Some(pid)) if known == pid => Some((known, since)),
            (_, now) => now.map(|pid| (pid, Instant::now())),
        };
        self.0.is_some_and(|(_, since)| since.elapsed() >= MOMENT)
    }
}

/// Another configuration needs a word of the operator: work would be interrupted.
fn same(metadata: &Metadata, effective: &Effective) -> Result<(), Failure> {
    let pid = metadata.process.pid;
    let differences = match (&metadata.fingerprint, &metadata.fingerprint_digest) {
        (Some(running), _) => running.differences(&effective.fingerprint),
        (None, Some(digest)) if *digest == effective.fingerprint.digest() => Vec::new(),
        (None, Some(_)) => {
            let error = anyhow!(
                "the runtime (process {pid}) was started with another configuration; its daemon.json, which would show the difference, is lost"
            );
            return Err(Failure::new(Exit::RefusedByState, error).hint(ANEW));
        }
        (None, None) => {
            let error = anyhow!("the runtime (process {pid}) does not report its configuration");
            return Err(Failure::new(Exit::RefusedByState, error).hint(ANEW));
        }
    };
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

/// A runtime that is not what a start is to leave.
enum Unfit {
    /// Its connections end: it may be on its way out.
    Leaves(Failure),
    Stays(Failure),
}

/// Whether it answers, and is what would be started. One that dies is no longer asked what it was started with.
async fn checked(
    daemon: &DaemonHome,
    metadata: Metadata,
    effective: &Effective,
    ours: bool,
) -> Result<Metadata, Unfit> {
    let client = client(metadata.socket_path.clone().unwrap_or_else(|| daemon.socket()), effective);
    let pid = metadata.process.pid;
    let silent = |error: ClientError| {
        let failure =
            Failure::new(Exit::NotReachable, anyhow!("the runtime (process {pid}) does not answer: {error}"))
                .hint("holon daemon logs, then holon daemon restart");
        match error {
            ClientError::Broken { .. } | ClientError::NotReachable { .. } => Unfit::Leaves(failure),
            ClientError::TimedOut { .. }
            | ClientError::Refused { .. }
            | ClientError::Odd { .. }
            | ClientError::Token { .. } => Unfit::Stays(failure),
        }
    };
    client.health().await.map_err(silent)?;
    if ours {
        return Ok(metadata);
    }
    let metadata = told(metadata, &client).await;
    same(&metadata, effective).map_err(Unfit::Stays)?;
    Ok(metadata)
}

/// The same with what it leaves out, as far as the runtime answers.
async fn told(metadata: Metadata, client: &Client) -> Metadata {
    let says_little = metadata.fingerprint.is_none() || metadata.socket_path.is_none();
    if !says_little || metadata.fingerprint_digest.is_some() {
        return metadata;
    }
    // Without an answer it is as if it had said nothing.
    filled(metadata.clone(), client).await.unwrap_or(metadata)
}

fn client(socket: PathBuf, effective: &Effective) -> Client {
    client::at(socket, effective.endpoint.token.as_ref()).within(ANSWER_TIMEOUT)
}

fn not_ready(daemon: &DaemonHome, pid: Option<u32>, starting: bool, seconds: u32) -> Failure {
    let pid = pid.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
    let reserve = reserve_problem(daemon.home.root()).filter(|_| starting);
    if let Some(problem) = reserve {
        let error = anyhow!("the runtime ({pid}) is not ready after {seconds} s: {problem}");
        return Failure::new(Exit::NotReachable, error)
            .hint("free space on it; the runtime is still starting");
    }
    let error = if starting {
        anyhow!("the runtime ({pid}) is not ready after {seconds} s; it is still starting")
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
    if version != build::version() {
        output::note(&format!("holon: it is version {version}, this is {}", build::version()));
        output::hint("try", "holon daemon restart");
    }
    Ok(Exit::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_moment_is_of_one_process_in_one_state() {
        let almost = MOMENT - LOOK;
        let mut busy = Lasting::default();
        assert!(!busy.is_more_than_a_moment(Some(1)));
        tokio::time::advance(almost).await;
        assert!(!busy.is_more_than_a_moment(Some(1)));
        tokio::time::advance(LOOK).await;
        assert!(busy.is_more_than_a_moment(Some(1)));
        assert!(!busy.is_more_than_a_moment(Some(2)), "another process has just begun");
        tokio::time::advance(almost).await;
        assert!(!busy.is_more_than_a_moment(None), "it was through");
        tokio::time::advance(LOOK).await;
        assert!(!busy.is_more_than_a_moment(Some(2)), "and is in that state again");
    }
}
