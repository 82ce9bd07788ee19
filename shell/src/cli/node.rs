//! A node: one of several runtimes over one database (contract: scale.md). It listens from its first moment to its last; what
//! is behind its door is the ledger while it owns it, and the way to its owner otherwise.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use holon_api::{Activity, RuntimeStatus};
use holon_ledger::LedgerPlace;
use holon_ledger::postgres::Server;
use holon_ledger::postgres::node::{
    AboutNode, CellId, Cluster, Dropped, Epoch, Event, Lot, Node, NodeStart, Stopped,
};
use holon_ledger::sqlite::LedgerError;
use holon_platform::{Environment, build, hex, spawn};
use holon_supervise::confine::Confinement;
use holon_supervise::lease;
use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::addresses::Addresses;
use super::exit::Exit;
use super::hosted::{self, Hosted, OfNode, Place};
use super::interrupts::Ending;
use super::output::Failure;
use super::server::metadata;
use super::server_options::{Effective, ServerOptions};
use super::service_manager::notify;
use crate::daemon::{Endpoint, Fingerprint, LastFailure, Metadata};
use crate::driver::StartError;
use crate::home::{Home, secret};
use crate::http::{Front, Shutdown};
use crate::perform::tool::end_all_commands;
use crate::settings::Origin;
use crate::trigger_address::{TriggerAddresses, TriggerKey};

/// The cell that the nodes of a database share.
const CELL: CellId = CellId(1);
/// Requests under way are answered within so long when the node ends.
const ANSWERS: Duration = Duration::from_secs(5);
/// For commands that are asked to end when the ledger goes elsewhere; supervisors kill them after `runtime.command_grace_ms`.
const COMMANDS_END_WITHIN: Duration = Duration::from_secs(15);

/// What a node needs for as long as it lives.
pub(super) struct NodePlace<'a> {
    pub(super) home: &'a Home,
    pub(super) environment: &'a Environment,
    pub(super) options: &'a ServerOptions,
    pub(super) server: Server,
    pub(super) cluster: Cluster,
}

/// A runtime of this node, from its claim to its end.
struct Tenure {
    cell: CellId,
    epoch: Epoch,
    /// Ends what follows this runtime.
    shutdown: Shutdown,
    state: State,
    /// Whether its first batch is durable.
    serves: bool,
    lease: LeaseFile,
}

/// Until when the commands of a tenure may run, where their supervisors look. They run no longer when it is gone.
struct LeaseFile {
    path: PathBuf,
    keeping: JoinHandle<()>,
}

enum State {
    Starting(JoinHandle<Result<Hosted, Failure>>),
    Hosted(Hosted),
    /// What it has become is on its way.
    Over,
}

/// Everything that tenures share.
struct Running<'a> {
    place: NodePlace<'a>,
    node: Node,
    front: Front,
    metadata: Metadata,
    listen: std::net::SocketAddr,
    triggers: TriggerAddresses,
    shutdown: Shutdown,
    tenure: Option<Tenure>,
}

/// What a node woke up for.
enum Woken {
    Leave,
    Event(Event),
    Started(Result<Hosted, Failure>),
    /// The runtime has ended by itself.
    BrokeDown(String),
}

/// Serves as a node until somebody asks for the end.
pub(super) async fn serve(
    place: NodePlace<'_>,
    effective: Effective,
    ending: &Ending,
) -> Result<(), Failure> {
    let endpoint = effective.endpoint.clone();
    let by_choice = effective.setup.settings.origin("server.listen") != Origin::Default;
    let addresses = Addresses::take(&endpoint, by_choice)?;
    let (listen, url, shutdown) = (addresses.listen, addresses.url(&endpoint), Shutdown::default());
    let metadata = metadata(place.home, &endpoint, listen, effective.fingerprint.clone())?;
    let among_commands = effective.setup.confinement.as_ref().is_some_and(Confinement::has_network);
    let secret = place.cluster.secret.clone();
    LeaseFile::remove_old(place.home);
    share_memory_key(place.home, &secret);
    let policy = hosted::policy(&endpoint, effective.own_token.as_ref(), listen)?;
    let policy = policy.among_commands(among_commands).with_nodes(&secret);
    let node = Node::begin(NodeStart {
        server: place.server.clone(),
        about: AboutNode { name: machine(), url: url.clone(), build: build::id().to_owned() },
        labels: Vec::new(),
        heads: place.home.root().to_owned(),
        lease: place.cluster.lease,
        grace: place.cluster.grace,
    })?;
    let itself = itself(place.home, &metadata, &endpoint);
    let front = Front::new(node.routes(), CELL, policy, (&secret, itself), shutdown.clone());
    let front = front.ok_or_else(|| anyhow!("the secret of the cluster can't stand in a header"))?;
    let triggers = TriggerAddresses::new(&url, TriggerKey::of_nodes(&secret));
    let (socket, serving) = addresses.serve(&front.router(), &shutdown)?;
    metadata.write(place.home).context("daemon.json")?;
    if let Err(error) = LastFailure::clear(place.home) {
        tracing::warn!("the last failure can't be cleared: {error}");
    }
    tracing::info!("ready as a node of {} at {} and {url}", place.server, endpoint.socket.display());
    tracing::info!("{}", endpoint.who_may_ask(place.home, among_commands));
    notify(&[NotifyState::Ready]);
    let home = place.home;
    let running =
        Running { place, node, front, metadata, listen, triggers, shutdown: shutdown.clone(), tenure: None };
    running.until_the_end(ending).await;
    if let Err(error) = Metadata::remove(home) {
        tracing::warn!("daemon.json can't be removed: {error}");
    }
    shutdown.ask();
    for server in serving {
        // Whoever still follows something connects to another node.
        drop(tokio::time::timeout(ANSWERS, server).await);
    }
    drop(tokio::time::timeout(ANSWERS, socket).await);
    Ok(())
}

impl Running<'_> {
    async fn until_the_end(mut self, ending: &Ending) {
        let mut leaving = false;
        loop {
            match self.next(ending, leaving).await {
                Woken::Leave => {
                    leaving = true;
                    notify(&[NotifyState::Stopping]);
                    tracing::info!("this node leaves: its cells go to others");
                    self.node.stop();
                }
                Woken::Event(Event::Ended) => break,
                Woken::Event(event) => self.handle(event).await,
                Woken::Started(started) => self.started(started),
                Woken::BrokeDown(problem) => self.broke_down(&problem),
            }
        }
        self.end();
    }

    async fn next(&mut self, ending: &Ending, leaving: bool) -> Woken {
        let asked = self.shutdown.asked();
        let of_tenure = self.tenure.as_ref().map(|tenure| tenure.shutdown.asked());
        let of_tenure = async move {
            match of_tenure {
                Some(asked) => asked.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ending.wait(), if !leaving => Woken::Leave,
            () = asked, if !leaving => Woken::Leave,
            () = of_tenure, if !leaving => Woken::Leave,
            event = self.node.next() => Woken::Event(event),
            woken = changed(&mut self.tenure) => woken,
        }
    }

    async fn handle(&mut self, event: Event) {
        match event {
            Event::TakeOver(lot) => self.take_over(lot),
            Event::Serve { cell, epoch } => {
                if let Some(tenure) = self.tenure(cell, epoch) {
                    tenure.serves = true;
                    self.open();
                }
            }
            Event::Drain { cell, epoch } => self.drain(cell, epoch).await,
            Event::Drop { cell, epoch, why } => {
                if self.tenure(cell, epoch).is_some() {
                    self.end();
                    match why {
                        Dropped::HandedOver => tracing::info!("the ledger was handed over"),
                        Dropped::LeaseLost => {
                            tracing::warn!("this node was late: others go on with the ledger");
                        }
                        Dropped::Fenced { own, found } => tracing::warn!(
                            "another node goes on with the ledger (epoch {}, this one had {})",
                            found.0,
                            own.0
                        ),
                        Dropped::TookTooLong => tracing::warn!("the ledger was not recovered in time"),
                    }
                }
            }
            Event::Stop { cell, epoch, why } => {
                if self.tenure(cell, epoch).is_some() {
                    self.end();
                }
                self.stopped(cell, epoch, why);
            }
            Event::Ended => {}
        }
    }

    fn tenure(&mut self, cell: CellId, epoch: Epoch) -> Option<&mut Tenure> {
        self.tenure.as_mut().filter(|tenure| tenure.cell == cell && tenure.epoch == epoch)
    }

    /// Begins a runtime beside whatever else the node does.
    fn take_over(&mut self, lot: Lot) {
        self.end();
        let (cell, epoch, shutdown) = (lot.cell(), lot.epoch(), Shutdown::default());
        tracing::info!("this node takes the ledger over (epoch {})", epoch.0);
        let (home, environment) = (self.place.home.clone(), self.place.environment.clone());
        let (options, secret) = (self.place.options.clone(), self.place.cluster.secret.clone());
        let (listen, metadata) = (self.listen, self.metadata.clone());
        let (triggers, of_tenure) = (self.triggers.clone(), shutdown.clone());
        let lease = LeaseFile::keep(&home, epoch, self.node.lease());
        let path = lease.path.clone();
        let starting = spawn::task(async move {
            // What was configured meanwhile is in effect from now on.
            let effective = Effective::load(&home, &environment, &options)?.with_secrets_of(&home)?;
            let place = Place {
                home: &home,
                environment: &environment,
                ledger: LedgerPlace::Lot(lot),
                listen,
                metadata: &metadata,
                triggers,
                shutdown: of_tenure,
                node: Some(OfNode { secret: &secret, lease: path }),
            };
            Box::pin(Hosted::start(place, effective)).await
        });
        let state = State::Starting(starting);
        self.tenure = Some(Tenure { cell, epoch, shutdown, state, serves: false, lease });
    }

    fn started(&mut self, started: Result<Hosted, Failure>) {
        let Some(tenure) = &mut self.tenure else { return };
        match started {
            Ok(hosted) => {
                tenure.state = State::Hosted(hosted);
                self.open();
            }
            Err(failure) if is_of_this_node(&failure) => {
                tracing::error!(
                    "{:#}; this node hands over, and takes nothing until it is started again",
                    failure.error
                );
                self.node.drain();
            }
            Err(failure) => {
                let problem = format!("{:#}", failure.error);
                self.broke_down(&problem);
            }
        }
    }

    /// Lets requests in, once the runtime is ready and its first batch durable.
    fn open(&mut self) {
        if let Some(Tenure { serves: true, state: State::Hosted(hosted), .. }) = &self.tenure {
            self.front.open(hosted.router.clone());
            tracing::info!("this node serves the ledger");
        }
    }

    /// Whether the ledger is lost to this node, the keeper knows; else an operator has to look.
    fn broke_down(&mut self, problem: &str) {
        let Some(Tenure { cell, epoch, .. }) = self.tenure else { return };
        tracing::error!("the runtime broke down: {problem}");
        self.end();
        self.tell_problem(cell, epoch, problem.to_owned());
        self.node.failed(cell, epoch);
    }

    fn stopped(&mut self, cell: CellId, epoch: Epoch, why: Stopped) {
        let problem = match why {
            Stopped::HistoryLost { remembered, found } => format!(
                "the database has lost something that was acknowledged: it ends with batch {}, and batch {} was \
                 acknowledged to this node",
                found.batch.0, remembered.batch.0
            ),
            Stopped::Conflict { expected, found } => format!(
                "the database ends with batch {}, which is not batch {} of this node",
                found.batch.0, expected.batch.0
            ),
            Stopped::Defect => "a batch breaks a rule of the database: the log names it".to_owned(),
            // It was told when it broke down.
            Stopped::HostFailed => return,
        };
        tracing::error!("{problem}; nothing is performed until holon cluster accept {}", cell.0);
        self.tell_problem(cell, epoch, problem);
    }

    /// For whoever looks at the cluster. The log has it, too.
    fn tell_problem(&self, cell: CellId, epoch: Epoch, problem: String) {
        let server = self.place.server.clone();
        drop(spawn::blocking(move || {
            if let Err(error) = Cluster::tell_problem(&server, cell.0, epoch.0, &problem) {
                tracing::warn!("the problem can't be shown to others: {error}");
            }
        }));
    }

    /// The last batch in good order: runs are interrupted, everything decided becomes durable.
    async fn drain(&mut self, cell: CellId, epoch: Epoch) {
        if self.tenure(cell, epoch).is_none() {
            return;
        }
        self.front.close();
        let Some(tenure) = self.tenure.take() else { return };
        tenure.shutdown.ask();
        match tenure.state {
            State::Hosted(Hosted { runtime, ended, follower, .. }) => {
                runtime.leave().await;
                match ended.await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!("the runtime did not leave in good order: {error}"),
                    Err(error) => tracing::warn!("the runtime broke down: {error}"),
                }
                drop(follower);
            }
            State::Starting(starting) => starting.abort(),
            State::Over => {}
        }
        // The next owner can't reach its commands, and writes them off: none begins any more, and those that run end.
        drop(tenure.lease);
        end_all_commands(self.place.home.root(), COMMANDS_END_WITHIN).await;
        self.node.drained(cell, epoch);
    }

    /// Without another batch: nothing of it counts any more.
    fn end(&mut self) {
        self.front.close();
        let Some(tenure) = self.tenure.take() else { return };
        tenure.shutdown.ask();
        match tenure.state {
            State::Hosted(hosted) => hosted.ended.abort(),
            State::Starting(starting) => starting.abort(),
            State::Over => {}
        }
    }
}

impl LeaseFile {
    /// Names of these files in `run/`.
    const BEGINS: &str = "lease-";

    fn keep(home: &Home, epoch: Epoch, mut until: watch::Receiver<Option<u64>>) -> Self {
        let path = home.run_file(&format!("{}{}", Self::BEGINS, epoch.0));
        let file = path.clone();
        let write = move |until: Option<u64>| {
            // Supervisors that can't read it end their commands.
            if let Err(error) = until.map_or(Ok(()), |until| lease::write(&file, until)) {
                tracing::warn!("{} can't be written, so commands end: {error}", file.display());
            }
        };
        write(*until.borrow_and_update());
        let keeping = spawn::task(async move {
            while until.changed().await.is_ok() {
                write(*until.borrow_and_update());
            }
        });
        Self { path, keeping }
    }

    /// What a process of this home that was killed has left.
    fn remove_old(home: &Home) {
        let run = home.run_file("");
        let entries = run.read_dir().into_iter().flatten().flatten();
        let old = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(Self::BEGINS));
        old.for_each(|entry| drop(std::fs::remove_file(entry.path())));
    }
}

impl Drop for LeaseFile {
    fn drop(&mut self) {
        self.keeping.abort();
        drop(std::fs::remove_file(&self.path));
    }
}

/// Waits for what a runtime comes to.
async fn changed(tenure: &mut Option<Tenure>) -> Woken {
    let Some(tenure) = tenure else { return std::future::pending().await };
    match &mut tenure.state {
        State::Starting(starting) => {
            let started = starting.await;
            tenure.state = State::Over;
            Woken::Started(
                started.unwrap_or_else(|error| Err(anyhow!("the start broke down: {error}").into())),
            )
        }
        State::Hosted(hosted) => {
            let ended = (&mut hosted.ended).await;
            tenure.state = State::Over;
            Woken::BrokeDown(match ended {
                Ok(Ok(())) => "it has left".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            })
        }
        State::Over => std::future::pending().await,
    }
}

/// Whether another node may start what this one can't: its configuration is wrong, or its build older than the ledger.
fn is_of_this_node(failure: &Failure) -> bool {
    let older = |error: &LedgerError| {
        matches!(error, LedgerError::NewerEvents { .. } | LedgerError::NewerSchema { .. })
    };
    failure.exit == Exit::Usage
        || failure.error.downcast_ref::<StartError>().is_some_and(|error| match error {
            StartError::Ledger(error) => older(error),
            StartError::Config(_) => true,
            StartError::Driver(_) | StartError::System(_) => false,
        })
}

/// References to texts of the memory that one node has shown hold at the others. A home that has a key keeps it.
fn share_memory_key(home: &Home, secret: &str) {
    let path = home.memory_key();
    if path.exists() {
        return;
    }
    let key = holon_text::hash(format!("references to the memory {secret}").as_bytes());
    if let Err(error) = secret::put(&path, &hex::write(&key.0)) {
        tracing::warn!("{} can't be written: {error}", path.display());
    }
}

/// What the process says of itself while another node works.
fn itself(home: &Home, metadata: &Metadata, endpoint: &Endpoint) -> RuntimeStatus {
    RuntimeStatus {
        ok: true,
        pid: std::process::id(),
        version: build::version().to_owned(),
        home_dir: home.root().display().to_string(),
        socket_path: endpoint.socket.display().to_string(),
        http_addr: metadata.http_addr.clone(),
        advertise_url: metadata.advertise_url.clone(),
        access: Some(endpoint.access),
        auth: Some(endpoint.auth),
        config_fingerprint: metadata.fingerprint.as_ref().map(Fingerprint::digest),
        started_at: metadata.started_at,
        problem: None,
        activity: Activity::default().into(),
        spending: None,
        tool_servers: Vec::new(),
        last_failure: None,
    }
}

/// What this machine is called.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "unnamed".to_owned() } else { name.trim().to_owned() }
}
