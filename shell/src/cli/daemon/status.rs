//! `daemon status`: the first look at a runtime. Files and the lock tell most of it, so it has something to say
//! whatever state the runtime is in; answers of other versions are read as far as they go.

use std::path::PathBuf;

use holon_api::{Activity, ClientError, Control as _, Document, ToolServer};
use holon_core::summary::spending::Spending;
use holon_facts::Wall;
use holon_text::moment::near;
use serde::Serialize;

use super::find::find;
use super::{DaemonHome, ledger};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::server_options::{Effective, ServerOptions};
use crate::cli::spending;
use crate::daemon::{
    Fingerprint, LastFailure, Metadata, ProbeResult, TOKEN_VARIABLE, Unit, leftovers, log, socket,
};

/// The place of a token that only the runtime has.
const GIVEN_TOKEN: &str = "given at the start (--token, --token-file or HOLON_CONTROL_TOKEN)";

#[derive(Debug, Serialize)]
struct Status {
    /// Whether a runtime is there and answers.
    ok: bool,
    state: State,
    pid: Option<u32>,
    version: Option<String>,
    started_at: Option<Wall>,
    home_dir: PathBuf,
    socket_path: PathBuf,
    /// What stands where a runtime would listen, and keeps it from starting.
    socket_problem: Option<String>,
    /// The ledger and what keeps it from being read, where no runtime can be asked.
    ledger_problem: Option<String>,
    /// What helps against what stands there.
    #[serde(skip)]
    next: Option<&'static str>,
    http_addr: Option<String>,
    advertise_url: Option<String>,
    access: Option<String>,
    auth: Option<String>,
    /// Where the control token is that the runtime, or else a start, asks others for; null where none is asked for, or
    /// made yet.
    control_token: Option<String>,
    control: Control,
    config: Config,
    /// What keeps new work out, as the runtime tells it.
    problem: Option<String>,
    /// As the runtime tells it; null when it can't be asked.
    activity: Option<Document<Activity>>,
    /// What all agents have spent together, as the runtime tells it.
    spending: Option<Document<Spending>>,
    last_failure: Option<Document<holon_api::LastFailure>>,
    /// As the runtime shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_servers: Vec<Document<ToolServer>>,
    /// The end of the runtime would end commands of agents, too.
    service_problem: Option<String>,
    /// What helps against that.
    #[serde(skip)]
    service_remedy: Option<String>,
    stale_files: Vec<PathBuf>,
    log_path: PathBuf,
    metadata_path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Running,
    /// The process is there, and does not answer.
    NotAnswering,
    /// A process has the home and did not say that it is ready.
    Busy,
    NotRunning,
}

/// Whether the control surface answers.
#[derive(Debug, Serialize)]
struct Control {
    ok: bool,
    problem: Option<String>,
}

/// Whether a start would be the same runtime.
#[derive(Debug, Default, Serialize)]
struct Config {
    running: Option<String>,
    configured: Option<String>,
    /// Null when one of the two is not known.
    fingerprint_match: Option<bool>,
    differences: Vec<Difference>,
    /// Why there is no effective configuration.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Difference {
    key: String,
    running: String,
    configured: String,
}

pub(super) async fn status(daemon: &DaemonHome, json: bool) -> Result<Exit, Failure> {
    let status = Box::pin(gather(daemon)).await?;
    if json {
        output::document(&status)?;
    } else {
        show(&status)?;
    }
    Ok(if status.ok { Exit::Completed } else { Exit::NotReachable })
}

async fn gather(daemon: &DaemonHome) -> Result<Status, Failure> {
    let found = find(daemon).await?;
    let (pid, stale_files, metadata) = match found {
        ProbeResult::Nobody => (None, leftovers(&daemon.home), None),
        ProbeResult::Busy { pid } => (pid, Vec::new(), None),
        ProbeResult::Ready(metadata) => (Some(metadata.process.pid), Vec::new(), Some(*metadata)),
    };
    let effective = Effective::load(&daemon.home, &daemon.environment, &ServerOptions::default());
    let said_socket = metadata.as_ref().and_then(|metadata| metadata.socket_path.clone());
    let socket = said_socket.unwrap_or_else(|| daemon.socket());
    let asked = match &metadata {
        Some(_) => daemon.client(socket.clone()).runtime_status().await.map_err(Some),
        None => Err(None),
    };
    let state = match (&metadata, &asked, pid) {
        // A refusal is an answer: the token may be another one, or the version. So is one that is of another version.
        (Some(_), Ok(_) | Err(Some(ClientError::Refused { .. } | ClientError::Odd { .. })), _) => {
            State::Running
        }
        (Some(_), Err(_), _) => State::NotAnswering,
        (None, _, Some(_)) => State::Busy,
        (None, _, None) => State::NotRunning,
    };
    let in_the_way = match state {
        State::NotRunning => socket::is_leftover(&socket).err(),
        State::Running | State::NotAnswering | State::Busy => None,
    };
    let ledger_problem = match state {
        State::Running => None,
        State::NotAnswering | State::Busy | State::NotRunning => ledger::problem(&daemon.home).await?,
    };
    let running = metadata.as_ref().and_then(|metadata| metadata.fingerprint.as_ref());
    let control_token = effective.as_ref().ok().and_then(|effective| token(daemon, effective, running));
    let own = LastFailure::read(&daemon.home).and_then(|failure| serde_json::to_value(failure).ok());
    let own = own.and_then(|failure| serde_json::from_value(failure).ok());
    let (problem, runtime) = match asked {
        Ok(runtime) => (None, Some(runtime.into_reply())),
        Err(problem) => (Some(problem), None),
    };
    let told = runtime.as_ref().and_then(|runtime| runtime.config_fingerprint.clone());
    let unit = pid.and_then(Unit::that_kills_all);
    Ok(Status {
        ok: state == State::Running,
        state,
        pid,
        service_problem: unit.as_ref().map(Unit::warning),
        service_remedy: unit.as_ref().map(Unit::remedy),
        stale_files,
        home_dir: daemon.home.root().to_owned(),
        socket_path: socket,
        socket_problem: in_the_way.as_ref().map(ToString::to_string),
        next: in_the_way.and_then(|error| error.hint()),
        ledger_problem,
        control: control(problem),
        config: config(metadata.as_ref(), told, effective),
        problem: runtime.as_ref().and_then(|runtime| runtime.problem.clone()),
        activity: runtime.as_ref().map(|runtime| runtime.activity.clone()),
        spending: runtime.as_ref().and_then(|runtime| runtime.spending.clone()),
        tool_servers: runtime.as_ref().map(|runtime| runtime.tool_servers.clone()).unwrap_or_default(),
        last_failure: own.or_else(|| runtime?.last_failure),
        log_path: log::path(&daemon.home),
        metadata_path: Metadata::path(&daemon.home),
        version: metadata.as_ref().and_then(|metadata| metadata.version.clone()),
        started_at: metadata.as_ref().and_then(|metadata| metadata.started_at),
        http_addr: metadata.as_ref().and_then(|metadata| metadata.http_addr.clone()),
        advertise_url: metadata.as_ref().and_then(|metadata| metadata.advertise_url.clone()),
        access: metadata.as_ref().and_then(|metadata| metadata.access.clone()),
        auth: metadata.and_then(|metadata| metadata.auth),
        control_token,
    })
}

/// Where the token is, never what it is. One that the runtime alone was started with is nowhere that can be named.
fn token(daemon: &DaemonHome, effective: &Effective, running: Option<&Fingerprint>) -> Option<String> {
    if running.is_some_and(|running| running.has_another_token(&effective.fingerprint)) {
        return Some(GIVEN_TOKEN.to_owned());
    }
    let own = daemon.home.control_token();
    if effective.endpoint.has_own_token() {
        return own.exists().then(|| own.display().to_string());
    }
    effective.endpoint.token.as_ref()?;
    let file = effective.setup.settings.server.token_file.as_ref();
    let named = file.filter(|_| daemon.environment.get(TOKEN_VARIABLE).is_none());
    Some(named.map_or_else(|| TOKEN_VARIABLE.to_owned(), |file| file.display().to_string()))
}

fn control(problem: Option<Option<ClientError>>) -> Control {
    let problem = problem.map(|error| {
        error.map_or_else(|| "there is no runtime that is ready".to_owned(), |error| error.to_string())
    });
    Control { ok: problem.is_none(), problem }
}

fn config(
    metadata: Option<&Metadata>,
    told: Option<String>,
    effective: Result<Effective, Failure>,
) -> Config {
    let name = Fingerprint::digest;
    let running = metadata.and_then(|metadata| metadata.fingerprint.as_ref());
    match (running, effective) {
        (running, Err(failure)) => Config {
            running: running.map(name).or(told),
            problem: Some(output::said_once(&failure.error)),
            ..Config::default()
        },
        (None, Ok(effective)) => {
            let configured = name(&effective.fingerprint);
            let fingerprint_match = told.as_ref().map(|running| *running == configured);
            Config { running: told, configured: Some(configured), fingerprint_match, ..Config::default() }
        }
        (Some(running), Ok(effective)) => {
            let differences = running.differences(&effective.fingerprint).into_iter();
            let differences: Vec<Difference> = differences
                .map(|(key, running, configured)| Difference { key, running, configured })
                .collect();
            Config {
                running: Some(name(running)),
                configured: Some(name(&effective.fingerprint)),
                fingerprint_match: Some(differences.is_empty()),
                differences,
                problem: None,
            }
        }
    }
}

fn show(status: &Status) -> Result<(), Failure> {
    let mut rows = vec![row("state", state(status))];
    if let (State::Running, Some(problem)) = (status.state, &status.control.problem) {
        rows.push(row("control", problem));
    }
    rows.extend(status.problem.as_ref().map(|problem| row("problem", problem)));
    rows.push(row("home", status.home_dir.display()));
    rows.push(row("socket", status.socket_path.display()));
    rows.extend(status.socket_problem.as_ref().map(|problem| row("in the way", problem)));
    rows.extend(
        status.ledger_problem.as_ref().map(|problem| row("ledger", output::error_with_home(problem))),
    );
    rows.extend(status.service_problem.as_ref().map(|problem| row("service", problem)));
    let some = |name: &str, value: &Option<String>| value.as_ref().map(|value| row(name, value));
    rows.extend(some("http", &status.http_addr.as_ref().map(|address| format!("http://{address}"))));
    rows.extend(some("advertised", &status.advertise_url));
    rows.extend(some("access", &status.access));
    rows.extend(some("token", &status.control_token));
    rows.extend(some("version", &status.version));
    rows.extend(status.started_at.map(|at| row("since", near(at))));
    if let Some(activity) = &status.activity {
        let text = format!(
            "{}: {} active, {} processing, {} waiting, {} tasks",
            activity.state.name(),
            activity.active_agent_count,
            activity.processing_agent_count,
            activity.waiting_agent_count,
            activity.active_task_count
        );
        rows.push(row("activity", text));
    }
    rows.extend(status.spending.iter().flat_map(|spending| spending::rows(spending)));
    rows.push(row("configuration", configuration(&status.config)));
    rows.extend(status.tool_servers.iter().map(|server| {
        let problem = server.problem.as_ref().map_or_else(String::new, |problem| format!(": {problem}"));
        let calls = format!("{} calls, {} of them failed", server.calls, server.failed_calls);
        row("tool server", format!("{} {}{problem}; {calls}", server.name, server.state))
    }));
    if let Some(failure) = &status.last_failure {
        let of = failure.agent_id.as_ref().map_or_else(String::new, |agent| format!(" of {agent}"));
        let (phase, at) = (failure.phase.name(), near(failure.occurred_at));
        rows.push(row(
            "last failure",
            format!("{phase}{of} at {at}: {}", output::error_with_home(&failure.summary)),
        ));
        let hint = failure.detail_hint.as_ref().filter(|hint| !hint.is_empty());
        rows.extend(hint.map(|hint| row("about it", output::with_home(hint))));
    }
    rows.extend(status.stale_files.iter().map(|path| row("left behind", path.display())));
    output::table(&rows)?;
    if let Some(remedy) = &status.service_remedy {
        output::hint("try", remedy);
    }
    match status.state {
        State::Running => {}
        State::NotRunning => {
            // A start would be refused for what is wrong with the configuration.
            let usual =
                if status.config.problem.is_some() { "holon config doctor" } else { "holon daemon start" };
            output::hint("try", status.next.unwrap_or(usual));
        }
        State::NotAnswering | State::Busy => output::hint("try", "holon daemon logs"),
    }
    Ok(())
}

fn state(status: &Status) -> String {
    let process = status.pid.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
    match status.state {
        State::Running => format!("running, {process}"),
        State::NotAnswering => {
            format!("{process} does not answer: {}", status.control.problem.as_deref().unwrap_or_default())
        }
        State::Busy => {
            format!("{process} has the home and is not ready: it starts, ends, or is a one-shot run")
        }
        State::NotRunning => "not running".to_owned(),
    }
}

fn configuration(config: &Config) -> String {
    let changed = || {
        let keys = config.differences.iter();
        let keys = keys.map(|one| format!("{} is {}, would be {}", one.key, one.running, one.configured));
        let keys = keys.collect::<Vec<_>>().join("; ");
        let keys =
            if keys.is_empty() { "daemon.json, which would show how, is lost".to_owned() } else { keys };
        format!("changed since the start: {keys}")
    };
    match (&config.problem, config.fingerprint_match) {
        (Some(problem), _) => format!("can't be used: {problem}"),
        (None, Some(true)) => "as it is configured".to_owned(),
        (None, Some(false)) => changed(),
        (None, None) => "can be used".to_owned(),
    }
}

fn row(name: &str, value: impl std::fmt::Display) -> Vec<String> {
    vec![name.to_owned(), crate::screen::harmless(&value.to_string())]
}
