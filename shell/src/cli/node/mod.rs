//! A node: one of several runtimes over one database (contract: scale.md). It listens from its first moment to its last; what
//! is behind its door are the cells that it owns, and the ways to the owners of the others.

mod lease_file;
mod problems;
mod tenure;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, anyhow};
use holon_api::{Activity, Bearer, RuntimeStatus};
use holon_facts::AgentId;
use holon_ledger::StoreError as _;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::Server;
use holon_ledger::postgres::node::{
    AboutNode, CellId, Cluster, Deposits, Directory, Dropped, Epoch, Event, Grants, Lot, Node, NodeStart,
    Roots, Routes, Stopped,
};
use holon_platform::{Environment, build, hex, spawn};
use holon_supervise::confine::Confinement;
use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::problems::Problems;
use self::tenure::{Change, Tenure};
use super::addresses::Addresses;
use super::exit::Exit;
use super::hosted::{self, Doors};
use super::interrupts::Ending;
use super::output::Failure;
use super::server::metadata;
use super::server_options::{Effective, ServerOptions};
use super::service_manager::notify;
use crate::daemon::{Endpoint, Fingerprint, LastFailure, Metadata};
use crate::driver::StartError;
use crate::home::{Home, secret};
use crate::http::signature::Signatures;
use crate::http::{AboutFront, Front, InProcess, Shutdown, to_other_nodes};
use crate::settings::Origin;
use crate::shared_roots::NodeFolders;
use crate::shared_turns::SharedTurns;
use crate::trigger_address::{TriggerAddresses, TriggerKey};

/// Requests under way are answered within so long when the node ends.
const ANSWERS: Duration = Duration::from_secs(5);

/// What a node needs for as long as it lives.
pub(super) struct NodePlace<'a> {
    pub(super) home: &'a Home,
    pub(super) environment: &'a Environment,
    pub(super) options: &'a ServerOptions,
    pub(super) server: Server,
    pub(super) cluster: Cluster,
}

/// What the runtimes of all cells begin with.
#[derive(Clone)]
struct Common {
    home: Home,
    environment: Environment,
    options: ServerOptions,
    secret: String,
    listen: SocketAddr,
    metadata: Metadata,
    triggers: TriggerAddresses,
    directory: Arc<Directory>,
    grants: Arc<Grants>,
    folders: NodeFolders,
    turns: SharedTurns,
    doors: Doors,
}

/// The cells of a node.
struct Running {
    common: Common,
    node: Node,
    routes: watch::Receiver<Routes>,
    front: Front,
    /// Asked for when the node is to leave.
    leave: Shutdown,
    problems: Problems,
    tenures: BTreeMap<CellId, Tenure>,
    /// Cells whose runtimes give their last batch.
    draining: Vec<(CellId, Epoch, JoinHandle<()>)>,
}

/// What a node woke up for.
enum Woken {
    Leave,
    Event(Event),
    Changed(CellId, Change),
    Drained(CellId, Epoch),
    Routes,
}

impl Common {
    /// Where what belongs to the runtime of a cell is kept.
    fn home_of(&self, cell: CellId) -> Home {
        self.home.of_cell(i64::try_from(cell.0).unwrap_or(i64::MAX))
    }
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
    let (listen, url) = (addresses.listen, addresses.url(&endpoint));
    let (shutdown, leave) = (Shutdown::default(), Shutdown::default());
    let metadata = metadata(place.home, &effective, listen)?;
    let among_commands = effective.setup.confinement.as_ref().is_some_and(Confinement::has_network);
    let secret = place.cluster.secret.clone();
    let policy = hosted::policy(&endpoint, effective.own_token.as_ref(), listen)?;
    let policy = policy.among_commands(among_commands).with_nodes(&secret);
    let node = Node::begin(about_node(&place, &effective, &url))?;
    let directory = Arc::new(Directory::new(place.server.clone(), &place.cluster));
    let doors = Doors::of(place.home, effective.setup.settings.server.web_console)?;
    let default_agent = AgentId::new(&effective.setup.settings.server.default_agent)?;
    let triggers = TriggerAddresses::new(&url, TriggerKey::of_nodes(&secret));
    let roots = Arc::new(Roots::new(place.server.clone()));
    let folders = NodeFolders { roots, label: effective.setup.settings.workspace_node.clone() };
    let about = AboutFront {
        itself: itself(place.home, &metadata, &endpoint),
        folders: folders.label.clone(),
        default_agent,
        triggers: triggers.clone(),
        signatures: Signatures::new(effective.webhook_key.as_deref()),
        peers: doors.peers.clone(),
        process: doors.process.clone(),
        connector: to_other_nodes(),
    };
    let turns = SharedTurns::new(effective.setup.config.limits.concurrent_turns);
    let deposits = Arc::new(Deposits::new(place.server.clone()));
    let front =
        Front::new((node.routes(), directory.clone(), deposits), policy, &secret, about, leave.clone());
    let front = front.ok_or_else(|| anyhow!("the secret of the cluster can't stand in a header"))?;
    doors.process.set_node(node.tally());
    doors.process.set_door(InProcess::serve(front.router()).with_bearer(Bearer::new(&secret)));
    let (socket, serving) = addresses.serve(&front.router(), &shutdown)?;
    metadata.write(place.home).context("daemon.json")?;
    if let Err(error) = LastFailure::clear(place.home) {
        tracing::warn!("the last failure can't be cleared: {error}");
    }
    tracing::info!("ready as a node of {} at {} and {url}", place.server, endpoint.socket.display());
    tracing::info!("{}", endpoint.who_may_ask(place.home, among_commands));
    notify(&[NotifyState::Ready]);
    let home = place.home;
    let common = Common {
        home: home.clone(),
        environment: place.environment.clone(),
        options: place.options.clone(),
        secret,
        listen,
        metadata,
        triggers,
        directory,
        grants: Arc::new(Grants::new(place.server.clone())),
        folders,
        turns,
        doors,
    };
    let (tenures, draining) = (BTreeMap::new(), Vec::new());
    let (routes, problems) = (node.routes(), Problems::of(common.doors.process.clone(), place.server));
    let running = Running { common, node, routes, front, leave, problems, tenures, draining };
    running.until_the_end(ending).await;
    if let Err(error) = Metadata::remove(home) {
        tracing::warn!("daemon.json can't be removed: {error}");
    }
    shutdown.ask();
    answered(serving).await;
    answered([socket]).await;
    Ok(())
}

/// Whoever still follows something after a while connects to another node.
async fn answered<T>(servers: impl IntoIterator<Item = JoinHandle<T>>) {
    for server in servers {
        drop(tokio::time::timeout(ANSWERS, server).await);
    }
}

fn about_node(place: &NodePlace<'_>, effective: &Effective, url: &str) -> NodeStart {
    let settings = &effective.setup.settings;
    let labels: BTreeSet<_> = settings.store_labels.iter().chain(&settings.workspace_node).cloned().collect();
    NodeStart {
        server: place.server.clone(),
        about: AboutNode { name: machine(), url: url.to_owned(), build: build::id().to_owned() },
        labels: labels.into_iter().collect(),
        heads: place.home.root().to_owned(),
        lease: place.cluster.lease,
        grace: place.cluster.grace,
    }
}

impl Running {
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
                Woken::Event(event) => self.handle(event),
                Woken::Changed(cell, change) => self.changed(cell, change),
                Woken::Drained(cell, epoch) => self.node.drained(cell, epoch),
                Woken::Routes => self.follow_routes(),
            }
        }
        self.front.close_all();
        self.tenures.into_values().for_each(Tenure::end);
    }

    fn follow_routes(&mut self) {
        self.problems.follow(&self.routes.borrow_and_update());
    }

    async fn next(&mut self, ending: &Ending, leaving: bool) -> Woken {
        let asked = self.leave.asked();
        tokio::select! {
            () = ending.wait(), if !leaving => Woken::Leave,
            () = asked, if !leaving => Woken::Leave,
            event = self.node.next() => Woken::Event(event),
            (cell, change) = first_changed(&mut self.tenures) => Woken::Changed(cell, change),
            (cell, epoch) = first_drained(&mut self.draining) => Woken::Drained(cell, epoch),
            Ok(()) = self.routes.changed() => Woken::Routes,
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::TakeOver(lot) => self.take_over(lot),
            Event::Serve { cell, epoch } => {
                if let Some(tenure) = self.tenure(cell, epoch) {
                    tenure.serves = true;
                    self.open(cell);
                }
            }
            Event::Drain { cell, epoch } => self.drain(cell, epoch),
            Event::Drop { cell, epoch, why } => {
                if self.tenure(cell, epoch).is_some() {
                    self.end(cell);
                    dropped(cell, why);
                }
            }
            Event::Stop { cell, epoch, why } => {
                if self.tenure(cell, epoch).is_some() {
                    self.end(cell);
                }
                self.stopped(cell, epoch, why);
            }
            Event::Ended => {}
        }
    }

    fn tenure(&mut self, cell: CellId, epoch: Epoch) -> Option<&mut Tenure> {
        self.tenures.get_mut(&cell).filter(|tenure| tenure.epoch == epoch)
    }

    fn take_over(&mut self, lot: Lot) {
        let (cell, epoch) = (lot.cell(), lot.epoch());
        self.end(cell);
        self.problems.taken(cell);
        tracing::info!("this node takes cell {} over (epoch {})", cell.0, epoch.0);
        let tenure = Tenure::begin(&self.common, lot, self.node.lease(), &self.leave);
        self.tenures.insert(cell, tenure);
    }

    fn changed(&mut self, cell: CellId, change: Change) {
        match change {
            Change::Ready => self.open(cell),
            Change::NotStarted(failure) if is_of_this_node(&failure) => {
                let problem = format!(
                    "{:#}; this node hands over, and takes nothing until it is started again",
                    failure.error
                );
                self.problems.unfit(problem);
                self.node.drain();
            }
            Change::NotStarted(failure) if is_of_the_moment(&failure) => {
                self.give_back(cell, &format!("{:#}", failure.error));
            }
            Change::NotStarted(failure) if is_of_another(&failure) => {}
            Change::NotStarted(failure) => self.broke_down(cell, &format!("{:#}", failure.error)),
            Change::Interrupted(problem) => self.give_back(cell, &problem),
            // The actor of the node has taken it away, and why is on its way.
            Change::Lost => {}
            // It has asked the node to leave, and the end of it is on its way.
            Change::BrokeDown(problem) => self.broke_down(cell, &problem),
        }
    }

    /// Lets requests in, once the runtime is ready and its first batch durable.
    fn open(&self, cell: CellId) {
        let Some(tenure) = self.tenures.get(&cell) else { return };
        if let Some(hosted) = tenure.open() {
            self.front.open(cell, tenure.epoch, hosted.router.clone());
            tracing::info!("this node serves cell {}", cell.0);
        }
    }

    /// Its database did not answer: it is taken over anew, here or elsewhere.
    fn give_back(&mut self, cell: CellId, problem: &str) {
        let Some(epoch) = self.tenures.get(&cell).map(|tenure| tenure.epoch) else { return };
        tracing::warn!("the runtime of cell {} can't go on, and begins anew: {problem}", cell.0);
        self.end(cell);
        self.node.give_back(cell, epoch);
    }

    /// Whether the cell is lost to this node, its actor knows; else an operator has to look.
    fn broke_down(&mut self, cell: CellId, problem: &str) {
        let Some(epoch) = self.tenures.get(&cell).map(|tenure| tenure.epoch) else { return };
        tracing::error!("the runtime of cell {} broke down: {problem}", cell.0);
        self.end(cell);
        self.problems.stopped(cell, epoch, problem.to_owned());
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
        self.problems.stopped(cell, epoch, problem);
    }

    /// Requests wait from now on, and the runtime gives its last batch.
    fn drain(&mut self, cell: CellId, epoch: Epoch) {
        if self.tenure(cell, epoch).is_none() {
            return;
        }
        self.front.close(cell);
        self.common.doors.process.remove(cell.0);
        if let Some(tenure) = self.tenures.remove(&cell) {
            self.draining.push((cell, epoch, spawn::task(tenure.drain())));
        }
    }

    fn end(&mut self, cell: CellId) {
        self.front.close(cell);
        self.common.doors.process.remove(cell.0);
        if let Some(tenure) = self.tenures.remove(&cell) {
            tenure.end();
        }
    }
}

/// The first tenure that comes to something.
async fn first_changed(tenures: &mut BTreeMap<CellId, Tenure>) -> (CellId, Change) {
    poll_fn(|context| {
        for (cell, tenure) in tenures.iter_mut() {
            if let Poll::Ready(change) = pin!(tenure.changed()).poll(context) {
                return Poll::Ready((*cell, change));
            }
        }
        Poll::Pending
    })
    .await
}

/// The first cell whose runtime has given its last batch.
async fn first_drained(draining: &mut Vec<(CellId, Epoch, JoinHandle<()>)>) -> (CellId, Epoch) {
    let at = poll_fn(|context| {
        for (at, (_, _, draining)) in draining.iter_mut().enumerate() {
            if pin!(draining).poll(context).is_ready() {
                return Poll::Ready(at);
            }
        }
        Poll::Pending
    })
    .await;
    let (cell, epoch, _) = draining.swap_remove(at);
    (cell, epoch)
}

fn dropped(cell: CellId, why: Dropped) {
    let cell = cell.0;
    match why {
        Dropped::HandedOver => tracing::info!("cell {cell} was handed over"),
        Dropped::LeaseLost => tracing::warn!("this node was late: others go on with cell {cell}"),
        Dropped::Fenced { own, found } => tracing::warn!(
            "another node goes on with cell {cell} (epoch {}, this one had {})",
            found.0,
            own.0
        ),
        Dropped::TookTooLong => tracing::warn!("cell {cell} was not recovered in time"),
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

/// Whether the start may succeed right after this.
fn is_of_the_moment(failure: &Failure) -> bool {
    failure.error.downcast_ref::<StartError>().is_some_and(|error| match error {
        StartError::Ledger(error) => error.is_temporary(),
        StartError::Driver(error) => error.is_temporary(),
        StartError::Config(_) | StartError::System(_) => false,
    })
}

/// Whether the cell was taken away meanwhile.
fn is_of_another(failure: &Failure) -> bool {
    failure.error.downcast_ref::<StartError>().is_some_and(|error| match error {
        StartError::Ledger(error) => error.is_of_another_owner(),
        StartError::Driver(error) => tenure::is_lost(error),
        StartError::Config(_) | StartError::System(_) => false,
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
