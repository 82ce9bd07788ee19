//! One server: whether it runs, what it listed, and when it may be tried again.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Plain, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use holon_facts::{Millis, Mono};
use holon_platform::{clock, spawn};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use super::{Host, Listed, ServerState, Unavailable, backoff, unavailable};
use crate::approval::{self, Approvals};
use crate::arguments::checked;
use crate::connection::{CallError, CallResult, Connection};
use crate::definition::Definition;
use crate::listing::Listing;

/// A call waits so long until a server may be started again; beyond that it fails at once.
const WAIT_FOR_START: Millis = Millis(1_000);
/// Why nothing is started.
const NOT_APPROVED: &str = "an operator has to approve it: `holon mcp approve WORKSPACE NAME`";
/// A turn that begins waits so long for the list of a server that reports a change: what it listed before is known.
const WAIT_FOR_CHANGE: Duration = Duration::from_secs(1);
/// A server that has ended later than that after its start was fine.
const FINE: Millis = Millis::minutes(1);

pub(super) struct Slot {
    pub(super) definition: Definition,
    host: Host,
    /// Held while the server is started or ended: whoever else needs it waits.
    life: Mutex<Life>,
    seen: Plain<Seen>,
    /// What it listed last; that of all agents, where each has a server of its own.
    listing: Known,
    starts: AtomicU64,
    calls: AtomicU64,
    failed: AtomicU64,
}

#[derive(Default)]
struct Life {
    live: Option<Arc<Live>>,
    /// In a row.
    failures: u32,
    /// Not before.
    again: Option<Mono>,
}

/// A server that runs.
struct Live {
    connection: Box<dyn Connection>,
    begun: Mono,
    busy: AtomicUsize,
    used: Plain<Mono>,
}

/// What is known without waiting.
#[derive(Default)]
struct Seen {
    state: Standing,
    problem: Option<String>,
}

type Known = Arc<Plain<Option<Arc<Listing>>>>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Configured,
    Starting,
    Ready,
    Failed,
}

impl Standing {
    fn name(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// A call in progress: a server is not idle meanwhile.
struct Busy<'a>(&'a Live);

impl<'a> Busy<'a> {
    fn with(live: &'a Live) -> Self {
        live.busy.fetch_add(1, Ordering::Relaxed);
        Busy(live)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *lock(&self.0.used) = clock::now().mono;
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A start in progress. One that nobody waits for any more is none.
struct Starting<'a>(&'a Slot);

impl<'a> Starting<'a> {
    fn of(slot: &'a Slot) -> Self {
        slot.stands(Standing::Starting, None);
        slot.starts.fetch_add(1, Ordering::Relaxed);
        Starting(slot)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut seen = lock(&self.0.seen);
        if seen.state == Standing::Starting {
            seen.state = Standing::Configured;
        }
    }
}

fn lock<T>(mutex: &Plain<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    pub(super) fn new(definition: Definition, host: Host) -> Arc<Self> {
        let digest = definition.digest_of_own(&host.variables);
        let listing = Listing::read(&host.folder, &definition.name, digest).map(Arc::new);
        Self::with(definition, host, Arc::new(Plain::new(listing)))
    }

    /// Another server of the same definition.
    pub(super) fn another(&self) -> Arc<Self> {
        Self::with(self.definition.clone(), self.host.clone(), self.listing.clone())
    }

    fn with(definition: Definition, host: Host, listing: Known) -> Arc<Self> {
        Arc::new(Self {
            definition,
            host,
            life: Mutex::default(),
            seen: Plain::default(),
            listing,
            starts: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        })
    }

    pub(super) fn state(&self) -> ServerState {
        let seen = lock(&self.seen);
        ServerState {
            name: self.definition.name.clone(),
            state: seen.state.name(),
            problem: seen.problem.clone(),
            starts: self.starts.load(Ordering::Relaxed),
            calls: self.calls.load(Ordering::Relaxed),
            failed_calls: self.failed.load(Ordering::Relaxed),
        }
    }

    /// Whether it runs, or is about to.
    pub(super) fn is_used(&self) -> bool {
        matches!(lock(&self.seen).state, Standing::Starting | Standing::Ready)
    }

    fn unavailable(&self, problem: &str) -> Unavailable {
        unavailable(&self.definition.name, problem)
    }

    fn stands(&self, state: Standing, problem: Option<String>) {
        let mut seen = lock(&self.seen);
        (seen.state, seen.problem) = (state, problem);
    }

    /// Whether it reports that its tools have changed. One that is being started lists them anyway.
    pub(super) fn has_changed(&self) -> bool {
        let life = self.life.try_lock();
        life.is_ok_and(|life| life.live.as_ref().is_some_and(|live| live.connection.has_changed()))
    }

    /// The tools that it is known to have: what it listed last. It is asked where nothing is known, and for a moment where they
    /// have changed; it goes on to answer, for the next turn.
    pub(super) async fn known_or_list(self: &Arc<Self>) -> Result<Listed, Unavailable> {
        let Some(known) = lock(&self.listing).clone() else { return self.list().await };
        if self.has_changed() {
            let slot = self.clone();
            let listed = timeout(WAIT_FOR_CHANGE, spawn::task(async move { slot.list().await })).await;
            if let Ok(Ok(Ok(listed))) = listed {
                return Ok(listed);
            }
        }
        Ok(self.offered(&known))
    }

    /// The tools that it has now.
    pub(super) async fn list(self: &Arc<Self>) -> Result<Listed, Unavailable> {
        let begun = clock::now().mono;
        let live = self.live().await?;
        if live.begun < begun {
            let _busy = Busy::with(&live);
            self.ask(&*live.connection).await.map_err(|problem| self.unavailable(&problem))?;
        }
        let listing = lock(&self.listing).clone();
        listing.map(|listing| self.offered(&listing)).ok_or_else(|| self.unavailable("it lists nothing"))
    }

    /// The ones of its owner's choice.
    fn offered(&self, listing: &Listing) -> Listed {
        let chosen = |name: &String| self.definition.tools.as_ref().is_none_or(|tools| tools.contains(name));
        let tools = listing.tools.iter().filter(|tool| chosen(&tool.name)).cloned().collect();
        Listed { revision: listing.revision.clone(), server: listing.server.clone(), tools }
    }

    pub(super) async fn call(
        self: &Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, CallError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let result = self.call_once(tool, arguments).await;
        if !matches!(result, Ok(CallResult { is_error: false, .. })) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    async fn call_once(
        self: &Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<CallResult, CallError> {
        let (live, answer) = self.attempt(tool, arguments.clone()).await?;
        // A server that has forgotten the conversation has done nothing: the call is sent in another one, once.
        let (live, answer) = match answer {
            Err(CallError::NotSent(_)) if live.connection.has_expired() => {
                self.attempt(tool, arguments).await?
            }
            answer => (live, answer),
        };
        match &answer {
            // One that is slow is there still.
            Err(CallError::Lost(why)) if !live.connection.is_open() => self.lost(&live, why).await,
            Err(_) => {}
            Ok(_) => self.life.lock().await.failures = 0,
        }
        answer
    }

    /// What came of a call, and of which connection.
    async fn attempt(
        self: &Arc<Self>,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<(Arc<Live>, Result<CallResult, CallError>), CallError> {
        let live = self.live().await.map_err(|problem| CallError::NotSent(problem.to_string()))?;
        let schema = lock(&self.listing).as_ref().and_then(|listing| {
            listing.tools.iter().find(|known| known.name == tool).map(|known| known.schema.clone())
        });
        let Some(schema) = schema else {
            let name = &self.definition.name;
            return Err(CallError::NoTool(format!("{name} has no tool {tool:?}")));
        };
        checked(schema, &arguments).await?;
        let busy = Busy::with(&live);
        let patience = Duration::from_millis(self.definition.call_timeout.0);
        let answer = live.connection.call(tool, arguments, patience).await;
        drop(busy);
        Ok((live, answer))
    }

    /// The server, started where it does not run.
    async fn live(self: &Arc<Self>) -> Result<Arc<Live>, Unavailable> {
        let mut life = self.life.lock().await;
        if !self.is_allowed() {
            if let Some(live) = life.live.take() {
                live.connection.close().await;
            }
            self.stands(Standing::Configured, Some(NOT_APPROVED.to_owned()));
            return Err(self.unavailable(NOT_APPROVED));
        }
        if let Some(live) = life.live.clone() {
            if live.connection.is_open() {
                return Ok(live);
            }
            if live.connection.has_expired() {
                life.live = None;
            } else {
                self.gone(&mut life, &live, "the server has ended");
            }
            live.connection.close().await;
        }
        let wait = life.again.map_or(Millis(0), |again| clock::now().mono.until(again));
        if wait > WAIT_FOR_START {
            let problem = lock(&self.seen).problem.clone().unwrap_or_default();
            let seconds = wait.0.div_ceil(1_000);
            return Err(self.unavailable(&format!("{problem}; it is tried again in {seconds} s")));
        }
        tokio::time::sleep(Duration::from_millis(wait.0)).await;
        let _starting = Starting::of(self);
        let patience = Duration::from_millis(self.definition.start_timeout.0);
        let begun = match timeout(patience, self.begin()).await {
            Ok(begun) => begun,
            Err(_) => Err(format!("it has not started within {} ms", patience.as_millis())),
        };
        match begun {
            Ok(connection) => Ok(self.started(&mut life, connection)),
            Err(problem) => {
                self.failed_once(&mut life, &problem);
                Err(self.unavailable(&problem))
            }
        }
    }

    /// What a workspace proposes runs only while it is approved. The configuration is the operator's own word.
    fn is_allowed(&self) -> bool {
        let approvals = Approvals::of(&self.host.folder);
        let approved = |proposal| approvals.standing(proposal) == approval::Standing::Approved;
        self.definition.proposal.as_ref().is_none_or(approved)
    }

    fn started(self: &Arc<Self>, life: &mut Life, connection: Box<dyn Connection>) -> Arc<Live> {
        let begun = clock::now().mono;
        let (busy, used) = (AtomicUsize::new(0), Plain::new(begun));
        let live = Arc::new(Live { connection, begun, busy, used });
        life.live = Some(live.clone());
        life.again = None;
        self.stands(Standing::Ready, None);
        let (slot, watched) = (Arc::downgrade(self), Arc::downgrade(&live));
        drop(spawn::task(end_when_idle(slot, watched, self.definition.idle)));
        live
    }

    /// Starts it, agrees on a revision, and asks for its tools.
    async fn begin(&self) -> Result<Box<dyn Connection>, String> {
        let spoke = lock(&self.listing).as_ref().map(|listing| listing.revision.clone());
        let connection = Box::pin(connect(&self.definition, &self.host, spoke.as_deref())).await?;
        self.ask(&*connection).await?;
        Ok(connection)
    }

    /// Asks for its tools, and keeps them.
    async fn ask(&self, connection: &dyn Connection) -> Result<(), String> {
        let patience = Duration::from_millis(self.definition.start_timeout.0);
        let tools = match timeout(patience, connection.list()).await {
            Ok(tools) => tools.map_err(|error| format!("it does not list its tools: {error}"))?,
            Err(_) => return Err(format!("it has not listed its tools within {} ms", patience.as_millis())),
        };
        let (revision, server) = (connection.revision(), connection.server());
        let definition = self.definition.digest_of_own(&self.host.variables);
        let listing = Listing { definition, revision, server, tools };
        // Where it can't be kept it is asked for again at the next start.
        listing.write(&self.host.folder, &self.definition.name).ok();
        *lock(&self.listing) = Some(Arc::new(listing));
        Ok(())
    }

    fn failed_once(&self, life: &mut Life, problem: &str) {
        life.failures = life.failures.saturating_add(1);
        life.again = Some(clock::now().mono.after(backoff(life.failures)));
        self.stands(Standing::Failed, Some(problem.to_owned()));
    }

    /// It has ended by itself.
    fn gone(&self, life: &mut Life, live: &Live, why: &str) {
        life.live = None;
        if clock::now().mono.since(live.begun) >= FINE {
            life.failures = 0;
        }
        self.failed_once(life, why);
    }

    /// Whoever has called is answered once that is known. The next one is not started before nobody is left of this one.
    async fn lost(self: &Arc<Self>, live: &Arc<Live>, why: &str) {
        let (slot, live, why) = (self.clone(), live.clone(), why.to_owned());
        let (known, is_known) = oneshot::channel();
        drop(spawn::task(async move {
            let mut life = slot.life.lock().await;
            let is_current = life.live.as_ref().is_some_and(|current| Arc::ptr_eq(current, &live));
            if is_current {
                slot.gone(&mut life, &live, &why);
            }
            known.send(()).ok();
            if is_current {
                live.connection.close().await;
            }
        }));
        is_known.await.ok();
    }

    pub(super) async fn close(&self) {
        let mut life = self.life.lock().await;
        if let Some(live) = life.live.take() {
            live.connection.close().await;
            self.stands(Standing::Configured, None);
        }
    }
}

/// Ends a server that nobody has called for so long.
async fn end_when_idle(slot: Weak<Slot>, live: Weak<Live>, idle: Millis) {
    loop {
        let wait = match live.upgrade() {
            Some(live) if live.busy.load(Ordering::Relaxed) > 0 => idle,
            Some(live) => clock::now().mono.until(lock(&live.used).after(idle)),
            None => return,
        };
        if wait.0 > 0 {
            tokio::time::sleep(Duration::from_millis(wait.0)).await;
            continue;
        }
        let (Some(slot), Some(live)) = (slot.upgrade(), live.upgrade()) else { return };
        let mut life = slot.life.lock().await;
        // Somebody may have called it since.
        let idles = live.busy.load(Ordering::Relaxed) == 0;
        if idles && life.live.as_ref().is_some_and(|current| Arc::ptr_eq(current, &live)) {
            life.live = None;
            live.connection.close().await;
            slot.stands(Standing::Configured, None);
            return;
        }
    }
}

#[cfg(feature = "client")]
async fn connect(
    definition: &Definition,
    host: &Host,
    spoke: Option<&str>,
) -> Result<Box<dyn Connection>, String> {
    use crate::definition::{Reach, Revision};
    use crate::logins::Logins;
    use crate::protocol::{self, Opening, Terms};

    let terms = Terms { revision: definition.revision, passes_on: definition.passes_on };
    let client = match &definition.reach {
        Reach::Program { .. } => {
            // What it spoke last it is likely to speak still. Some end when they hear a question that they don't know.
            let handshake = spoke.is_some_and(|revision| revision != Revision::V20260728.name());
            let mut openings = [Opening::Discovery, Opening::Handshake];
            if handshake {
                openings.reverse();
            }
            let first = protocol::with_program(terms, openings[0], start(definition, host)?).await;
            match first {
                Err(_) if definition.revision == Revision::Newest => {
                    protocol::with_program(terms, openings[1], start(definition, host)?).await?
                }
                first => first?,
            }
        }
        Reach::Address { url, headers } => {
            let login = Logins::of(&host.folder).of_server(definition);
            let login = login.ok_or("it has no address")?;
            protocol::over_http(terms, url, headers, &login).await?
        }
        Reach::Nowhere { problem } => return Err(problem.clone()),
    };
    Ok(Box::new(client))
}

#[cfg(feature = "client")]
fn start(definition: &Definition, host: &Host) -> Result<crate::process::Process, String> {
    use crate::definition::Reach;
    use crate::log::Log;
    use crate::process::{Process, Start};

    let Reach::Program { command, args, environment, folder } = &definition.reach else {
        return Err("it is no program".to_owned());
    };
    let log = Log::of(&host.folder, &definition.name);
    let (helper, secrets) = (host.helper.as_path(), host.secrets.clone());
    let start = Start { helper, command, args, environment, folder, log, secrets };
    Process::start(start).map_err(|problem| format!("it can't be started: {problem}"))
}

#[cfg(not(feature = "client"))]
#[expect(clippy::unused_async, reason = "the same as with the protocol")]
async fn connect(_: &Definition, _: &Host, _: Option<&str>) -> Result<Box<dyn Connection>, String> {
    Err("this build was made without the protocol of tool servers".to_owned())
}
