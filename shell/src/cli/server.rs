//! The runtime with its listeners, from recovery to drain. Agents with open work are recovered before anybody can
//! connect; addresses are taken before that, so that one which is in use is known at once.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, anyhow};
use axum::Router;
use holon_core::summary::workspaces::WorkspaceState;
use holon_core::view::View;
use holon_core::{Answer, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::{AgentId, Millis, Record, Reject, Wall};
use holon_platform::crash_point::{Point, reached};
use holon_platform::{Environment, clock, process, spawn};
use holon_supervise::confine::Confinement;
use sd_notify::NotifyState;
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

use super::interrupts::Ending;
use super::output::Failure;
use super::server_options::Effective;
use crate::daemon::socket::Claim;
use crate::daemon::watch::Removals;
use crate::daemon::{Endpoint, Fingerprint, LastFailure, Metadata, Token, journal, remove_drafts};
use crate::driver::{Driver, DriverError, Observer};
use crate::events::Hub;
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::signature::Signatures;
use crate::http::{self, About, App, Console, Metrics, Parts, Peers, Shutdown, StreamTokens};
use crate::ledger_check::LedgerChecks;
use crate::memory::{Follower, Memory};
use crate::runtime::{Ended, Runtime};
use crate::settings::Origin;
use crate::skills::{Roots, install};
use crate::templates::{self, Templates};
use crate::trigger_address::{TriggerAddresses, TriggerKey};
use crate::workplace;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1_024;
/// Requests under way are answered within so long before runs are interrupted.
const ANSWERS: Duration = Duration::from_secs(1);

/// A runtime that is ready.
pub(super) struct Server {
    home: Home,
    runtime: Runtime,
    ended: Ended,
    shutdown: Shutdown,
    serving: Vec<JoinHandle<()>>,
    socket: JoinHandle<Claim>,
    /// Keeps the index of the memory close behind the ledger.
    follower: Follower,
}

/// Addresses that are taken, but not listened on.
struct Addresses {
    socket: Claim,
    tcp: TcpSocket,
    listen: SocketAddr,
}

impl Server {
    /// Recovers everything, makes sure that there is a default agent, listens, and says so.
    pub(super) async fn start(
        home: &Home,
        environment: &Environment,
        effective: Effective,
    ) -> Result<Self, Failure> {
        let Effective { setup, endpoint, fingerprint, webhook_key, own_token } = effective;
        let templates = Templates::new(home, environment).with_github(&setup.settings.skills.github_url);
        remove_leftovers(home, &templates);
        let addresses =
            Addresses::take(&endpoint, setup.settings.origin("server.listen") != Origin::Default)?;
        reached(Point::SocketClaimed);
        let confinement = setup.confinement.clone();
        let among_commands = confinement.as_ref().is_some_and(Confinement::has_network);
        let default_agent = AgentId::new(&setup.settings.server.default_agent)?;
        let idle_limit = setup.settings.run.idle_limit;
        let server = setup.settings.server.clone();
        let (hub, shutdown, ledger_checks) = (Hub::default(), Shutdown::default(), LedgerChecks::default());
        let metrics = Metrics::labelling(server.agent_labels);
        // It is there once the driver is.
        let memory = Arc::new(OnceLock::<Memory>::new());
        let observer = observer(hub.clone(), metrics.clone(), memory.clone());
        let (models, providers) = (setup.config.models.clone(), setup.providers.clone());
        let triggers = addresses.of_triggers(home, &endpoint)?;
        let mut start = setup.start(home, environment, hub.live(), observer);
        start.performing.triggers = Some(triggers.clone());
        let skills = start.performing.skills.clone();
        let driver = Driver::start(start).await?;
        let follower = memory.get_or_init(|| driver.performers().memory().clone()).follow()?;
        let (runtime, ended) = Runtime::spawn(driver, |warning| tracing::warn!("{warning}"));
        ensure_default_agent(&runtime, home, &default_agent).await?;
        if server.seed_templates {
            seed(&templates);
        }
        let (agents, user) = (home.agents(), skills.user);
        drop(spawn::blocking(move || finish_installations(&agents, user.as_ref())));
        let started_at = clock::now().wall;
        let metadata = Metadata {
            started_at: Some(started_at),
            ..metadata(home, &endpoint, addresses.listen, fingerprint)?
        };
        let app = App::new(Parts {
            runtime: runtime.clone(),
            hub,
            reader: Arc::new(home.ledger().reader()?),
            home: home.clone(),
            templates,
            about: about(&endpoint, &metadata, default_agent, (started_at, confinement)),
            policy: policy(&endpoint, own_token.as_ref(), addresses.listen)?.among_commands(among_commands),
            peers: Peers::default(),
            signatures: Signatures::new(webhook_key.as_deref()),
            triggers,
            metrics,
            shutdown: shutdown.clone(),
            models,
            providers,
            idle_limit,
            waits: Semaphore::new(http::WAITS),
            allowed_origins: server.allowed_origins,
            stream_tokens: StreamTokens::default(),
            console: Console::of(home, server.web_console)?,
            ledger_checks: ledger_checks.clone(),
        });
        check_again_and_again(ledger_checks, home, server.verify_every, &shutdown);
        let (socket, serving) = addresses.serve(&http::router(app), &shutdown)?;
        reached(Point::Listening);
        metadata.write(home).context("daemon.json")?;
        reached(Point::Announced);
        clear_last_failure(home);
        let socket_path = endpoint.socket.display();
        tracing::info!("ready at {socket_path} and http://{}", metadata.http_addr.unwrap_or_default());
        tracing::info!("{}", endpoint.who_may_ask(home, among_commands));
        notify(&[NotifyState::Ready]);
        Ok(Self { home: home.clone(), runtime, ended, shutdown, serving, socket, follower })
    }

    /// Serves until somebody asks for the end, then drains: no new connection, requests under way are answered,
    /// runs are interrupted, everything decided becomes durable.
    pub(super) async fn until_the_end(self, ending: &Ending) -> Result<(), Failure> {
        let Self { home, runtime, mut ended, shutdown, serving, socket, follower } = self;
        let left = tokio::select! {
            biased;
            () = ending.wait() => None,
            () = shutdown.asked() => None,
            left = &mut ended => Some(left),
        };
        notify(&[NotifyState::Stopping]);
        tracing::info!("the runtime leaves");
        reached(Point::LeaveBegins);
        if let Err(error) = Metadata::remove(&home) {
            tracing::warn!("daemon.json can't be removed: {error}");
        }
        shutdown.ask();
        let mut answered = spawn::task(async move {
            for server in serving {
                server.await?;
            }
            Ok::<(), JoinError>(())
        });
        // Whoever asked before gets an answer, unless the runtime itself is in no state to give one.
        let early = tokio::time::timeout(ANSWERS, &mut answered).await;
        runtime.leave().await;
        let left = match left {
            Some(left) => left,
            None => ended.await,
        };
        let answered = match early {
            Ok(answered) => answered,
            Err(_) => answered.await,
        };
        // Nothing becomes durable any more.
        drop(follower);
        left.context("the runtime broke down")?.map_err(|error| broke_down(error, &home))?;
        answered.context("a listener broke down")?.context("a listener broke down")?;
        drop(socket.await.context("the watch over the socket broke down")?);
        Ok(())
    }
}

fn clear_last_failure(home: &Home) {
    if let Err(error) = LastFailure::clear(home) {
        tracing::warn!("the last failure can't be cleared: {error}");
    }
}

/// Checks the whole ledger as long as the runtime lives, where that is wanted.
fn check_again_and_again(checks: LedgerChecks, home: &Home, every: Millis, shutdown: &Shutdown) {
    if every.0 == 0 {
        return;
    }
    let (ledger, shutdown, every) = (home.ledger(), shutdown.clone(), Duration::from_millis(every.0));
    drop(spawn::task(async move {
        tokio::select! {
            () = shutdown.asked() => {}
            () = checks.repeat(ledger, every) => {}
        }
    }));
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

impl Addresses {
    /// An address that nobody has chosen may be the one of another home's runtime: then a free port does as well.
    fn take(endpoint: &Endpoint, by_choice: bool) -> Result<Self, Failure> {
        let socket = Claim::new(&endpoint.socket).map_err(|error| match error.hint() {
            Some(hint) => Failure::new(super::Exit::NotReachable, error).hint(hint),
            None => Failure::from(error),
        })?;
        let listen = endpoint.listen;
        let in_use = |error: std::io::Error| {
            Failure::new(super::Exit::NotReachable, anyhow!("{listen} can't be listened on: {error}"))
                .hint("--port with another one, or --port 0 for any that is free")
        };
        let tcp = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A runtime that is started again right away must get its port.
        tcp.set_reuseaddr(true)?;
        match tcp.bind(listen) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && !by_choice => {
                tcp.bind(SocketAddr::new(listen.ip(), 0)).map_err(in_use)?;
                let free = tcp.local_addr()?;
                tracing::warn!(
                    "another process listens at {listen}; this runtime listens at {free} until it ends; \
                     `holon config set server.listen ADDRESS` chooses one"
                );
            }
            bound => bound.map_err(in_use)?,
        }
        let listen = tcp.local_addr()?;
        Ok(Self { socket, tcp, listen })
    }

    /// How other systems reach triggers: as others reach the runtime.
    fn of_triggers(&self, home: &Home, endpoint: &Endpoint) -> Result<TriggerAddresses, Failure> {
        let key = TriggerKey::of(home).map_err(|error| {
            let hint = error.hint();
            Failure::usage(error).hint(hint)
        })?;
        let base = endpoint.advertise.clone().unwrap_or_else(|| format!("http://{}", self.listen));
        Ok(TriggerAddresses::new(&base, key))
    }

    /// Lets everybody in.
    fn serve(
        self,
        router: &Router,
        shutdown: &Shutdown,
    ) -> Result<(JoinHandle<Claim>, Vec<JoinHandle<()>>), Failure> {
        let Self { socket, tcp, listen } = self;
        let unix = UnixListener::from_std(socket.listen()?)?;
        let tcp: TcpListener = tcp.listen(BACKLOG).map_err(|error| {
            Failure::new(super::Exit::NotReachable, anyhow!("{listen} can't be listened on: {error}"))
                .hint("--port with another one, or --port 0 for any that is free")
        })?;
        let serving = vec![
            spawn::task(http::serve(unix, router.clone(), shutdown.asked())),
            spawn::task(http::serve(tcp, router.clone(), shutdown.asked())),
        ];
        Ok((spawn::task(keep_in_place(socket, router.clone(), shutdown.clone())), serving))
    }
}

/// Makes the socket again when somebody has removed it, until the runtime leaves.
async fn keep_in_place(mut socket: Claim, router: Router, shutdown: Shutdown) -> Claim {
    let mut serving = Vec::new();
    let folder = socket.path().parent().unwrap_or(Path::new("/")).to_owned();
    let removals = Removals::in_folder(&folder)
        .inspect_err(|error| tracing::warn!("{} can't be watched: {error}", folder.display()));
    while let Ok(removals) = &removals {
        let removed = tokio::select! {
            biased;
            () = shutdown.asked() => break,
            removed = removals.next() => removed,
        };
        if removed.is_err() {
            break;
        }
        if !socket.is_in_place() {
            match again(socket.path(), &router, &shutdown) {
                Ok((made, server)) => {
                    tracing::warn!("{} was removed, and is made again", made.path().display());
                    socket = made;
                    serving.push(server);
                }
                Err(error) => {
                    tracing::warn!(
                        "{} was removed, and can't be made again: {error:#}",
                        socket.path().display()
                    );
                }
            }
        }
    }
    shutdown.asked().await;
    for server in serving {
        drop(server.await);
    }
    socket
}

fn again(path: &Path, router: &Router, shutdown: &Shutdown) -> anyhow::Result<(Claim, JoinHandle<()>)> {
    let socket = Claim::new(path)?;
    let unix = UnixListener::from_std(socket.listen()?)?;
    let server = spawn::task(http::serve(unix, router.clone(), shutdown.asked()));
    Ok((socket, server))
}

fn about(
    endpoint: &Endpoint,
    metadata: &Metadata,
    default_agent: AgentId,
    (started_at, confinement): (Wall, Option<Confinement>),
) -> About {
    About {
        default_agent,
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
fn policy(endpoint: &Endpoint, own: Option<&Token>, listen: SocketAddr) -> Result<Policy, Failure> {
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
fn finish_installations(agents: &Path, user: Option<&Roots>) {
    let homes = agents.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let own = homes.filter_map(|home| Roots::of_agent(&home).for_install(Some(&home)).ok());
    for root in own.chain(user.and_then(|user| user.for_install(None).ok())) {
        if let Err(error) = install::finish(&root) {
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
        if workplace::has_moved(&execution, &folder) {
            tracing::warn!(
                "{agent} would work in {}, which is not there: if the home was moved, holon workspace use agent_home \
                 --agent {agent}; holon config doctor names the others",
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

fn metadata(
    home: &Home,
    endpoint: &Endpoint,
    listen: SocketAddr,
    fingerprint: Fingerprint,
) -> Result<Metadata, Failure> {
    Ok(Metadata {
        version: Some(holon_platform::build::version().to_owned()),
        home_dir: Some(home.root().to_owned()),
        socket_path: Some(endpoint.socket.clone()),
        http_addr: Some(listen.to_string()),
        advertise_url: endpoint.advertise.clone(),
        access: Some(endpoint.access.name().to_owned()),
        auth: Some(endpoint.auth.name().to_owned()),
        fingerprint: Some(fingerprint),
        ..Metadata::of(process::own_identity()?)
    })
}

/// What is acknowledged is safe, so a start is right as soon as the cause is gone.
fn broke_down(error: DriverError, home: &Home) -> Failure {
    let look = match &error {
        DriverError::Ledger(_) | DriverError::DiskFull(_) => {
            format!("the disk and the files of {}, then holon daemon start", home.root().display())
        }
        DriverError::Law(_) | DriverError::Damaged { .. } => {
            "holon ledger verify, then holon daemon start".to_owned()
        }
    };
    Failure::from(error).hint(look)
}

/// Tells the service manager, where there is one.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager can't be notified: {error}");
    }
}
