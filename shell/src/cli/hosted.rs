//! A ledger with its runtime and everything that is asked of it, behind whatever listens.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::anyhow;
use axum::Router;
use holon_core::summary::workspaces::WorkspaceState;
use holon_core::view::View;
use holon_core::{Answer, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::{AgentId, Millis, Record, Reject, Wall};
use holon_ledger::LedgerPlace;
use holon_ledger::postgres::node::{CellId, Directory, Epoch, Grants, Tenant};
use holon_ledger::read::Reader;
use holon_platform::{Environment, clock, spawn};
use holon_supervise::confine::Confinement;
use holon_text::Texts;
use tokio::sync::Semaphore;

use super::output::Failure;
use super::server_options::Effective;
use crate::daemon::{Endpoint, Fingerprint, Metadata, Token, journal, remove_drafts};
use crate::driver::{Driver, Observer, Start};
use crate::events::Hub;
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::signature::Signatures;
use crate::http::{self, About, App, Console, Metrics, Parts, Peers, Process, Shutdown, StreamTokens};
use crate::ledger_check::LedgerChecks;
use crate::lender::Lender;
use crate::memory::{Follower, Memory};
use crate::names::Names;
use crate::runtime::{Ended, Runtime};
use crate::settings::TelemetrySettings;
use crate::shared_roots::{NodeFolders, SharedRoots};
use crate::shared_turns::SharedTurns;
use crate::skills::{Roots, install};
use crate::telemetry::{Contents, Exporter, Following, Reporter, Signal, Target};
use crate::templates::{self, Templates};
use crate::trigger_address::TriggerAddresses;
use crate::workplace;

/// A runtime that is ready, and the routes to it.
pub(super) struct Hosted {
    pub(super) runtime: Runtime,
    pub(super) ended: Ended,
    pub(super) router: Router,
    /// Keeps the index of the memory close behind the ledger.
    pub(super) follower: Follower,
}

/// What is around a runtime.
pub(super) struct Place<'a> {
    pub(super) home: &'a Home,
    /// Where what belongs to this runtime is kept: the home itself, unless a node has several runtimes.
    pub(super) own: &'a Home,
    pub(super) environment: &'a Environment,
    pub(super) ledger: LedgerPlace,
    pub(super) listen: SocketAddr,
    pub(super) metadata: &'a Metadata,
    pub(super) triggers: TriggerAddresses,
    /// Asked for by requests.
    pub(super) shutdown: Shutdown,
    /// Where there are several.
    pub(super) node: Option<OfNode<'a>>,
}

/// What a runtime has from its node.
pub(super) struct OfNode<'a> {
    /// What nodes know each other by.
    pub(super) secret: &'a str,
    /// The file that says until when commands may run.
    pub(super) lease: PathBuf,
    pub(super) cell: CellId,
    pub(super) epoch: Epoch,
    /// Which agents are in it.
    pub(super) directory: Arc<Directory>,
    /// What is lent to it of the budgets of all cells.
    pub(super) grants: Arc<Grants>,
    /// The folders that its agents work in.
    pub(super) folders: NodeFolders,
    /// Of how many turns it has a part.
    pub(super) turns: SharedTurns,
    /// What browsers and streams are let in by, at whichever cell they ask.
    pub(super) doors: Doors,
}

/// What lets requests in, the same for all runtimes of a process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Doors {
    pub(super) console: Console,
    pub(super) stream_tokens: Arc<StreamTokens>,
    pub(super) peers: Peers,
    pub(super) process: Process,
}

impl Doors {
    /// # Errors
    /// The kernel has no randomness.
    pub(super) fn of(home: &Home, web_console: bool) -> io::Result<Self> {
        let (stream_tokens, peers, process) = (Arc::default(), Peers::default(), Process::default());
        Ok(Self { console: Console::of(home, web_console)?, stream_tokens, peers, process })
    }
}

impl Hosted {
    /// Recovers everything, and makes sure that there is a default agent.
    ///
    /// # Errors
    /// A ledger that can't be opened, or an agent that can't be made.
    pub(super) async fn start(place: Place<'_>, effective: Effective) -> Result<Self, Failure> {
        let Place { home, own, environment, ledger, listen, metadata, triggers, shutdown, node } = place;
        let Effective { setup, endpoint, webhook_key, own_token, fingerprint: _, options: _ } = effective;
        let templates = Templates::new(home, environment).with_github(&setup.settings.skills.github_url);
        remove_leftovers(own, &templates);
        let confinement = setup.confinement.clone();
        let among_commands = confinement.as_ref().is_some_and(Confinement::has_network);
        let default_agent = AgentId::new(&setup.settings.server.default_agent)?;
        let (server, idle_limit) = (setup.settings.server.clone(), setup.settings.run.idle_limit);
        let (hub, ledger_checks) = (Hub::default(), LedgerChecks::default());
        let cell = node.as_ref().filter(|node| node.directory.has_several()).map(|node| node.cell);
        let metrics = Metrics::labelling(server.agent_labels, cell.map(|cell| cell.0));
        // It is there once the driver is.
        let memory = Arc::new(OnceLock::<Memory>::new());
        let (traces, telemetry) = (metrics.traces(), setup.settings.telemetry.clone());
        let observer = observer(hub.clone(), metrics.clone(), memory.clone());
        let (models, providers) = (setup.config.models.clone(), setup.providers.clone());
        let mut start = setup.start(home, environment, hub.live(), observer);
        settle(&mut start, own, &ledger, node.as_ref());
        start.performing.triggers = Some(triggers.clone());
        let of = &start.performing;
        let (names, roots, skills) = (of.names.clone(), of.roots.clone(), of.skills.clone());
        let driver = Driver::start(start).await?;
        let follower = memory.get_or_init(|| driver.performers().memory().clone()).follow()?;
        let contents = Some(driver.texts().clone()).filter(|_| telemetry.include_content);
        export_traces((own, environment), &ledger, &telemetry, (traces, contents), &shutdown)?;
        let (runtime, ended) = Runtime::spawn(driver, |warning| tracing::warn!("{warning}"));
        if names.begins_here(&default_agent).await? {
            ensure_default_agent(&runtime, home, &default_agent).await?;
        }
        begin_tidying((home, confinement.is_some()), skills.user, (&templates, server.seed_templates));
        let policy = policy(&endpoint, own_token.as_ref(), listen)?.among_commands(among_commands);
        let (policy, doors) = match node {
            Some(node) => (policy.with_nodes(node.secret), node.doors),
            None => (policy, Doors::of(home, server.web_console)?),
        };
        let (reader, overview) = readers(&ledger, cell.is_some())?;
        let started_at = metadata.started_at.unwrap_or_else(|| clock::now().wall);
        let app = App::new(Parts {
            runtime: runtime.clone(),
            hub,
            reader,
            overview,
            names,
            roots,
            process: doors.process.clone(),
            home: own.clone(),
            templates,
            about: about((&endpoint, home), metadata, default_agent, (started_at, confinement)),
            policy,
            peers: doors.peers,
            signatures: Signatures::new(webhook_key.as_deref()),
            triggers,
            metrics,
            shutdown: shutdown.clone(),
            models,
            providers,
            idle_limit,
            waits: Semaphore::new(http::WAITS),
            allowed_origins: server.allowed_origins,
            stream_tokens: doors.stream_tokens,
            console: doors.console,
            ledger_checks: ledger_checks.clone(),
        });
        if let Some(cell) = cell {
            doors.process.add(cell.0, app.clone());
        }
        report_metrics(&app, environment, &telemetry, &shutdown);
        check_again_and_again(ledger_checks, ledger, server.verify_every, &shutdown);
        Ok(Self { runtime, ended, router: http::router(app), follower })
    }
}

/// Where a runtime works: in what is its own of the home.
fn settle(start: &mut Start, own: &Home, ledger: &LedgerPlace, node: Option<&OfNode<'_>>) {
    start.ledger = ledger.clone();
    start.reserve = Some(own.root().to_owned());
    start.performing.home = own.clone();
    let tenant = |node: &OfNode<'_>| Tenant { cell: node.cell, epoch: node.epoch };
    start.performing.names = Names::of(node.map(|node| (node.directory.clone(), tenant(node))));
    start.performing.lease = node.map(|node| node.lease.clone());
    let lends = node.map(|node| (node.grants.clone(), node.directory.clone(), node.cell));
    start.performing.lender = Lender::of(lends);
    start.turns = node.filter(|node| node.directory.has_several()).map(|node| node.turns.clone());
    let folders = node.map(|node| (node.folders.clone(), tenant(node)));
    let of_agents = [start.performing.real_homes(), start.performing.real_worktrees()];
    let several = node.is_some_and(|node| node.directory.has_several());
    start.performing.roots = SharedRoots::of(folders, several, of_agents);
}

/// For requests: what reads the ledger, and what reads those of all agents, also in other cells.
fn readers(ledger: &LedgerPlace, several: bool) -> Result<(Arc<Reader>, Arc<Reader>), Failure> {
    let reader = Arc::new(ledger.reader()?);
    let overview = if several { Arc::new(ledger.reader_of_all()?) } else { reader.clone() };
    Ok((reader, overview))
}

/// What nobody waits for.
fn begin_tidying(
    (home, confined): (&Home, bool),
    user: Option<Roots>,
    (templates, seeds): (&Templates, bool),
) {
    if seeds {
        seed(templates);
    }
    let agents = home.real_agents();
    drop(spawn::blocking(move || finish_installations((&agents, confined), user.as_ref())));
}

/// Checks the whole ledger as long as the runtime lives, where that is wanted.
fn check_again_and_again(checks: LedgerChecks, ledger: LedgerPlace, every: Millis, shutdown: &Shutdown) {
    if every.0 == 0 {
        return;
    }
    let (shutdown, every) = (shutdown.clone(), Duration::from_millis(every.0));
    drop(spawn::task(async move {
        tokio::select! {
            () = shutdown.asked() => {}
            () = checks.repeat(ledger, every) => {}
        }
    }));
}

/// Where somebody wants something sent. What can't be a collector is in nobody's way.
fn collector(signal: Signal, environment: &Environment, telemetry: &TelemetrySettings) -> Option<Target> {
    let found = Target::find(signal, telemetry.otlp_endpoint.as_deref(), environment);
    found.unwrap_or_else(|problem| {
        tracing::error!("no {} are exported: {problem}", signal.name());
        None
    })
}

/// Sends metrics as long as the runtime lives.
fn report_metrics(app: &App, environment: &Environment, telemetry: &TelemetrySettings, shutdown: &Shutdown) {
    let Some(target) = collector(Signal::Metrics, environment, telemetry) else { return };
    let reporter = match Reporter::new(target, environment) {
        Ok(reporter) => reporter,
        Err(problem) => return tracing::error!("no metrics are exported: {problem}"),
    };
    let (app, shutdown) = (app.clone(), shutdown.clone());
    drop(spawn::task(async move {
        tokio::select! {
            () = shutdown.asked() => {}
            () = http::report(app, reporter) => {}
        }
    }));
}

/// Sends traces as long as the runtime lives.
fn export_traces(
    (home, environment): (&Home, &Environment),
    ledger: &LedgerPlace,
    telemetry: &TelemetrySettings,
    (following, contents): (Following, Option<Texts>),
    shutdown: &Shutdown,
) -> Result<(), Failure> {
    let Some(target) = collector(Signal::Traces, environment, telemetry) else { return Ok(()) };
    let (reader, cursor) = (Arc::new(ledger.reader()?), home.run_file("telemetry.cursor"));
    let contents = contents.map(Contents::of).unwrap_or_default();
    let exporter = Exporter::new(target, reader, cursor, contents, following);
    let shutdown = shutdown.clone();
    drop(spawn::task(async move {
        tokio::select! {
            () = shutdown.asked() => {}
            () = exporter.run() => {}
        }
    }));
    Ok(())
}

/// Who sees every durable record.
fn observer(hub: Hub, metrics: Metrics, memory: Arc<OnceLock<Memory>>) -> Observer {
    Box::new(move |record: &Record| {
        journal::see(record);
        metrics.see(record);
        hub.publish(record);
        if Memory::is_about(record.event.kind()) {
            memory.get().into_iter().for_each(Memory::notify);
        }
    })
}

fn about(
    (endpoint, home): (&Endpoint, &Home),
    metadata: &Metadata,
    default_agent: AgentId,
    (started_at, confinement): (Wall, Option<Confinement>),
) -> About {
    About {
        default_agent,
        home: home.clone(),
        socket_path: endpoint.socket.display().to_string(),
        listen: metadata.http_addr.clone(),
        advertise_url: metadata.advertise_url.clone(),
        access: endpoint.access,
        config_fingerprint: metadata.fingerprint.as_ref().map(Fingerprint::digest),
        started_at,
        confinement,
    }
}

/// Who needs the token: [`Endpoint::new`] has refused what would let strangers in, and this does so again.
pub(super) fn policy(
    endpoint: &Endpoint,
    own: Option<&Token>,
    listen: SocketAddr,
) -> Result<Policy, Failure> {
    let policy = Policy::new(endpoint.auth, endpoint.token.as_ref().map(Token::expose), Some(listen));
    let policy = policy.map_err(Failure::usage)?;
    Ok(own.map_or_else(|| policy.clone(), |token| policy.clone().with_own(token.expose())))
}

/// Removes what earlier processes left unfinished; what can't be removed is in nobody's way.
fn remove_leftovers(home: &Home, templates: &Templates) {
    if let Err(error) = remove_drafts(home) {
        tracing::warn!("what earlier processes left unfinished in run/ stays: {error}");
    }
    if let Err(error) = templates.remove_drafts() {
        tracing::warn!("what earlier processes left unfinished of templates stays: {error}");
    }
}

/// Finishes what processes that died while they installed skills have left, in the roots of all agents and of the user.
/// Nobody waits for it: no turn looks at what is unfinished.
fn finish_installations((agents, confined): (&Path, bool), user: Option<&Roots>) {
    let homes = agents.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let own = homes.filter_map(|home| {
        let root = Roots::of_agent(&home).for_install(Some(&home)).ok()?;
        Some((root, confined.then_some(home)))
    });
    let of_user = user.and_then(|user| user.for_install(None).ok()).map(|root| (root, None));
    for (root, bound) in own.chain(of_user) {
        if let Err(error) = install::within(bound.as_deref(), || install::finish(&root)) {
            tracing::warn!("what was left unfinished of skills stays: {error}");
        }
    }
}

/// The templates of this build in the folder of the user. Agents can be made of them without that.
fn seed(templates: &Templates) {
    match templates::seed(templates) {
        Ok(seeded) if seeded.written.is_empty() => {}
        Ok(seeded) => tracing::info!("templates written: {}", seeded.written.join(", ")),
        Err(problem) => tracing::warn!("the templates of this build can't be written: {problem}"),
    }
}

/// The agent that is meant when none is named, made with the first start. It works in its own home: a runtime is
/// not bound to the folder that it happened to be started in.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
async fn ensure_default_agent(runtime: &Runtime, home: &Home, agent: &AgentId) -> Result<(), Failure> {
    let folder = home.create_agent(agent, &templates::instructions_of_default())?;
    let named = agent.clone();
    let place = move |view: View<'_>| Some(WorkspaceState::of(view.agent(&named)?).execution);
    if let Some(execution) = runtime.read(Some(agent), place).await? {
        if workplace::has_moved(&execution, &folder, home.database().is_none()) {
            tracing::warn!(
                "{agent} works in {}, which is not in this home: if that was moved, copied or restored, holon workspace use \
                 agent_home --agent {agent}; holon config doctor names the others",
                execution.execution_root
            );
        }
        return Ok(());
    }
    let spec = AgentSpec::named(AgentKind::Default, workplace::agent_home(&folder)?);
    let named = agent.clone();
    let answer = runtime
        .ask(Some(agent), |reply| Input::CreateAgent {
            agent: named,
            spec,
            settings: InitialSettings::default(),
            reply,
        })
        .await?;
    match answer {
        Answer::Created { .. } | Answer::Refused { reject: Reject::AgentExists { .. } } => Ok(()),
        Answer::Refused { reject } => Err(Failure::new((&reject).into(), reject)),
        _ => Err(anyhow!("the creation of an agent was answered with {answer:?}").into()),
    }
}
