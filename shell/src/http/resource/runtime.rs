//! The runtime as a whole: what it is, whether it is well, and its end.

use axum::http::{HeaderMap, Method};
use holon_api::rows::{ShowHandshake, ShowHealth, ShowReadiness, ShowRoot, ShowRuntime, ShutDown};
use holon_api::{
    Activity, Auth, FailurePhase, Handshake, Health, LastFailure, PROTOCOL, PROTOCOL_VERSION, Protocol,
    Readiness, Root, RuntimeInfo, RuntimeState, RuntimeStatus, Shutdown, ToolServer,
};
use holon_core::summary::SchedulingPosture;
use holon_core::summary::spending::Spending;
use holon_core::view::View;
use holon_facts::identity::Visibility;
use holon_facts::lifecycle::Status;
use holon_ledger::unreadable;
use holon_mcp::ServerState;
use holon_platform::build;

use super::super::App;
use super::super::route::{Call, Handled};

/// Groups of routes that this build has.
const CAPABILITIES: &[&str] = &[
    "agents",
    "briefs",
    "control",
    "enqueue",
    "events",
    "events_stream",
    "metrics",
    "models",
    "prompt",
    "tasks",
    "transcript",
    "webhooks",
    "why",
];

pub(in super::super) async fn root(app: App, _: Call<ShowRoot>) -> Handled<Root> {
    let links = [("handshake", "/handshake"), ("openapi", "/openapi.json"), ("agents", "/agents/list")];
    Ok(Root {
        ok: true,
        name: "holon".to_owned(),
        version: build::version().to_owned(),
        default_agent: app.about.default_agent.clone(),
        links: links.map(|(name, path)| (name.to_owned(), path.to_owned())).into(),
    })
}

pub(in super::super) async fn handshake(app: App, call: Call<ShowHandshake>) -> Handled<Handshake> {
    // As if nothing had been shown: what would be asked for is told.
    let peer = call.from.other_end.peer(&app.peers, app.policy.care(&HeaderMap::new())).await;
    let required = app.policy.requires(peer);
    let known = app.admit(&call.from.other_end, &Method::GET, &call.from.headers).await.is_ok();
    let about = &app.about;
    Ok(Handshake {
        ok: true,
        protocol: Protocol { name: PROTOCOL.to_owned(), version: PROTOCOL_VERSION },
        auth: Auth { mode: app.policy.mode(), required },
        capabilities: CAPABILITIES.iter().map(|&name| name.to_owned()).collect(),
        runtime: RuntimeInfo {
            default_agent: about.default_agent.clone(),
            home_dir: known.then(|| app.about.home.root().display().to_string()),
            listen: about.listen.clone(),
            advertise_url: about.advertise_url.clone(),
            version: build::version().to_owned(),
        },
    })
}

pub(in super::super) async fn healthz(app: App, _: Call<ShowHealth>) -> Handled<Health> {
    app.runtime.read(None, |_| ()).await?;
    Ok(Health { ok: true })
}

pub(in super::super) async fn readiness(app: App, _: Call<ShowReadiness>) -> Handled<Readiness> {
    let apps = app.of_process();
    let of_runtimes = || apps.iter().find_map(|app| app.runtime.problem()).map(|problem| problem.to_string());
    let problem = app.process.problem().or_else(of_runtimes);
    if problem.is_none() {
        for app in &apps {
            // Whoever can ask has waited for the recovery: listeners come after it.
            app.runtime.read(None, |_| ()).await?;
        }
    }
    let config_fingerprint = app.about.config_fingerprint.clone();
    Ok(Readiness { ok: true, ready: problem.is_none(), problem, pid: std::process::id(), config_fingerprint })
}

/// What runtimes of a process are up to together, and what is wrong with their ledgers.
async fn together(apps: &[App]) -> Handled<(Activity, Spending, Vec<String>)> {
    let (mut all, mut spent, mut problems) = (Activity::default(), None::<Spending>, Vec::new());
    for app in apps {
        let agents = app.blocking(|app| Ok(app.reader.agents())).await?;
        let (mut activity, spending) =
            app.runtime.read(None, |view| (activity(view), view.spending())).await?;
        problems.extend(app.runtime.problem().map(|problem| problem.to_string()));
        match agents {
            Ok(agents) => {
                let active = agents.iter().filter(|row| row.status != Status::Stopped).count();
                activity.active_agent_count = active as u64;
            }
            Err(error) => problems.push(unreadable(&app.home.ledger(), &error)),
        }
        problems.extend(app.ledger_checks.fault());
        all = all.and(&activity);
        spent = Some(spent.map_or_else(|| spending.clone(), |spent| spent.and(&spending)));
    }
    Ok((all, spent.unwrap_or_default(), problems))
}

pub(in super::super) async fn status(app: App, _: Call<ShowRuntime>) -> Handled<RuntimeStatus> {
    let apps = app.of_process();
    let (activity, spending, problems) = together(&apps).await?;
    let problems = app.process.problem().into_iter().chain(problems);
    let failures = apps.iter().filter_map(|app| app.metrics.last_failure());
    let newest = failures.max_by_key(|(occurred_at, ..)| *occurred_at);
    let last_failure = newest.map(|(occurred_at, agent, summary)| LastFailure {
        occurred_at,
        summary,
        phase: FailurePhase::RuntimeTurn,
        detail_hint: Some(format!("holon transcript {agent}")),
        agent_id: Some(agent),
    });
    Ok(RuntimeStatus {
        ok: true,
        pid: std::process::id(),
        version: build::version().to_owned(),
        home_dir: app.about.home.root().display().to_string(),
        socket_path: app.about.socket_path.clone(),
        http_addr: app.about.listen.clone(),
        advertise_url: app.about.advertise_url.clone(),
        access: Some(app.about.access),
        auth: Some(app.policy.mode()),
        config_fingerprint: app.about.config_fingerprint.clone(),
        started_at: Some(app.about.started_at),
        problem: problems.reduce(|first, second| format!("{first}; {second}")),
        activity: activity.into(),
        spending: Some(spending.into()),
        last_failure: last_failure.map(holon_api::Document::from),
        tool_servers: apps.iter().flat_map(|app| app.runtime.tool_servers()).map(tool_server).collect(),
    })
}

pub(in super::super) async fn shutdown(app: App, _: Call<ShutDown>) -> Handled<Shutdown> {
    app.shutdown.ask();
    Ok(Shutdown { ok: true, pid: std::process::id() })
}

fn tool_server(server: ServerState) -> holon_api::Document<ToolServer> {
    let ServerState { name, state, problem, starts, calls, failed_calls } = server;
    ToolServer { name, state: state.to_owned(), problem, starts, calls, failed_calls }.into()
}

/// Whoever has something to do is in memory.
fn activity(view: View<'_>) -> Activity {
    let mut activity = Activity::default();
    for agent in view.agent_ids() {
        let Some(summary) = view.summary(agent) else { continue };
        if summary.identity.visibility == Visibility::Private {
            continue;
        }
        activity.active_task_count += summary.active_task_count;
        let processes = matches!(summary.status, Status::Booting | Status::AwakeRunning);
        let pending = matches!(
            summary.scheduling_posture,
            SchedulingPosture::HasQueuedInput | SchedulingPosture::HasRunnableWork
        );
        let waits = pending || summary.hold.is_some();
        activity.processing_agent_count += u64::from(processes);
        activity.waiting_agent_count += u64::from(!processes && waits);
    }
    activity.state = match (activity.processing_agent_count, activity.waiting_agent_count) {
        (0, 0) => RuntimeState::Idle,
        (0, _) => RuntimeState::Waiting,
        (_, _) => RuntimeState::Processing,
    };
    activity
}
