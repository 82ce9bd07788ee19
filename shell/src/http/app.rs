//! What every handler can reach.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, EventSeq, Millis, Wall};
use holon_ledger::postgres::node::Tally;
use holon_ledger::read::Reader;
use holon_models::Providers;
use holon_platform::spawn;
use holon_supervise::confine::Confinement;
use tokio::sync::{Semaphore, oneshot};

use super::auth::{Caller, Policy};
use super::console::Console;
use super::failure::Failure;
use super::ids::KnownIds;
use super::in_process::InProcess;
use super::metrics::Metrics;
use super::peer::Peers;
use super::route::Handled;
use super::server::CONNECTIONS;
use super::shutdown::Shutdown;
use super::signature::Signatures;
use super::stream_tokens::StreamTokens;
use crate::events::Hub;
use crate::home::Home;
use crate::ledger_check::LedgerChecks;
use crate::names::Names;
use crate::runtime::Runtime;
use crate::settings::{Access, PageOrigin};
use crate::shared_roots::SharedRoots;
use crate::templates::Templates;
use crate::trigger_address::TriggerAddresses;

/// Requests at once that wait for what comes of a prompt: as many as there are connections.
pub const WAITS: usize = CONNECTIONS;

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct App {
    parts: Arc<Parts>,
    pub(super) ids: Arc<KnownIds>,
    /// Who asks where this is asked as a `Control`.
    asks: Caller,
}

/// The runtimes of one process, where a node has several. Cheap to clone.
#[derive(Clone, Default)]
pub struct Process(Arc<Mutex<OfProcess>>);

#[derive(Default)]
struct OfProcess {
    apps: BTreeMap<u64, App>,
    /// What keeps all of them from working.
    problem: Option<String>,
    /// Reaches agents of all cells, in this process or another.
    door: Option<InProcess>,
    /// What the node counts, where the process is one.
    node: Option<Arc<Tally>>,
}

impl Process {
    /// A runtime of a cell is ready.
    pub fn add(&self, cell: u64, app: App) {
        self.lock().apps.insert(cell, app);
    }

    /// It is no more.
    pub fn remove(&self, cell: u64) {
        self.lock().apps.remove(&cell);
    }

    /// What keeps all runtimes of the process from working; none: nothing.
    pub fn set_problem(&self, problem: Option<String>) {
        self.lock().problem = problem;
    }

    /// What reaches agents of all cells.
    pub fn set_door(&self, door: InProcess) {
        self.lock().door = Some(door);
    }

    pub(super) fn door(&self) -> Option<InProcess> {
        self.lock().door.clone()
    }

    /// The process is a node, which counts this.
    pub fn set_node(&self, node: Arc<Tally>) {
        self.lock().node = Some(node);
    }

    pub(super) fn node(&self) -> Option<Arc<Tally>> {
        self.lock().node.clone()
    }

    pub fn problem(&self) -> Option<String> {
        self.lock().problem.clone()
    }

    /// One of the runtimes, for what they share.
    pub(super) fn any(&self) -> Option<App> {
        self.lock().apps.values().next().cloned()
    }

    fn all(&self) -> Vec<App> {
        self.lock().apps.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, OfProcess> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an [`App`] is made of.
pub struct Parts {
    pub runtime: Runtime,
    pub hub: Hub,
    /// Reads the ledger for requests: a long read is in nobody else's way.
    pub reader: Arc<Reader>,
    /// Reads what is listed of all agents, also of those in other cells.
    pub overview: Arc<Reader>,
    /// Names of agents, where other cells have some too.
    pub names: Names,
    /// Folders that agents may have.
    pub roots: SharedRoots,
    /// The runtimes of this process.
    pub process: Process,
    /// What belongs to this runtime.
    pub home: Home,
    /// What new agents are made from.
    pub templates: Templates,
    pub about: About,
    pub policy: Policy,
    pub peers: Peers,
    /// Of webhooks.
    pub signatures: Signatures,
    pub triggers: TriggerAddresses,
    pub metrics: Metrics,
    /// Asked for by a request, or by whoever started the server.
    pub shutdown: Shutdown,
    /// The configured chain of models.
    pub models: Vec<ModelRef>,
    pub providers: Providers,
    /// What is due later is not waited for by whoever waits for a prompt.
    pub idle_limit: Millis,
    /// Whose pages may read replies, besides those of this machine.
    pub allowed_origins: Vec<PageOrigin>,
    pub stream_tokens: Arc<StreamTokens>,
    /// Of the whole ledger, on demand.
    pub ledger_checks: LedgerChecks,
    /// Of browsers.
    pub console: Console,
    /// A place for each request that waits for a prompt.
    pub waits: Semaphore,
}

/// What the runtime reports itself.
#[derive(Debug, Clone)]
pub struct About {
    pub default_agent: AgentId,
    /// The home as people know it.
    pub home: Home,
    pub socket_path: String,
    /// The address on TCP; none where only the socket is served.
    pub listen: Option<String>,
    pub advertise_url: Option<String>,
    pub access: Access,
    /// Of the configuration that is in effect.
    pub config_fingerprint: Option<String>,
    pub started_at: Wall,
    /// What commands are held back from; none under `host_local`.
    pub confinement: Option<Confinement>,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl App {
    /// Whoever asks in this process is as good as who may open the socket.
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts), ids: Arc::default(), asks: Caller::Socket }
    }

    /// The same for somebody who was let in.
    pub(super) fn asked_by(&self, caller: Caller) -> Self {
        Self { asks: caller, ..self.clone() }
    }

    /// The runtimes of this process, each with what is around it.
    pub(super) fn of_process(&self) -> Vec<Self> {
        let all = self.process.all();
        if all.is_empty() { vec![self.clone()] } else { all }
    }

    pub(super) fn asks(&self) -> Caller {
        self.asks
    }

    /// Work that blocks on the disk.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Handled<T> + Send + 'static,
    ) -> Handled<T> {
        let (app, (sender, mut receiver)) = (self.clone(), oneshot::channel());
        spawn::blocking(move || drop(sender.send(work(&app)))).await.map_err(Failure::internal)?;
        receiver.try_recv().map_err(Failure::internal)?
    }

    /// The last event of an agent.
    ///
    /// # Errors
    /// When there is none of that name, or its log can't even be begun to be read.
    pub(super) fn last_event(&self, agent: &AgentId) -> Handled<EventSeq> {
        let last = self.reader.last_event(agent)?;
        self.reader.record(agent, EventSeq(1))?;
        Ok(last)
    }
}
