//! The door of a node (contract: scale.md): the routers of the cells that it owns, and the ways to the owners of the others. A
//! request goes to the cell of the agent that it is about. None is lost between two owners: it waits a while, and is refused
//! with `moving` then; what comes from outside is kept in the database for the next owner (`deposit`).

mod across;
mod deposit;
mod others;
mod target;
mod under_way;
mod vouching;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use bytes::Bytes;
use holon_api::{Code, Health, Readiness, RuntimeStatus, Shutdown as Leaves};
use holon_facts::AgentId;
use holon_ledger::postgres::node::{CellId, Deposits, Directory, Epoch, Routes, chosen};
use holon_platform::spawn;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::ServiceExt as _;

pub use self::across::across;
use self::deposit::Judge;
use self::others::Others;
pub use self::others::{Connector, Link, to_other_nodes};
use self::target::Target;
use super::app::Process;
use super::auth::Policy;
use super::failure::Failure;
use super::metrics;
use super::peer::{OtherEnd, Peers};
use super::route::IDEMPOTENCY_KEY;
use super::shutdown::Shutdown;
use super::signature::Signatures;
use crate::trigger_address::TriggerAddresses;

/// Tells the node that has passed a request on that it was not taken: it looks for the owner again.
const NOT_TAKEN: HeaderName = HeaderName::from_static("x-holon-not-taken");
/// Between two looks for the owner.
const LOOK: Duration = Duration::from_millis(50);
/// How long a request waits for an owner.
const WAITS: Duration = Duration::from_secs(5);
/// The same for one that is kept then, and whose sender is not known to be patient.
const WAITS_TO_BE_KEPT: Duration = Duration::from_secs(1);
const SHUTDOWN: &str = "/control/runtime/shutdown";
const HEALTH: &str = "/healthz";
const STATUS: &str = "/control/runtime/status";
const READINESS: &str = "/control/runtime/readiness";
const METRICS: &str = "/metrics";

/// Cheap to clone.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    /// Serve the cells that this node owns.
    own: watch::Sender<BTreeMap<CellId, Router>>,
    /// Judge what was deposited for them.
    judges: Mutex<BTreeMap<CellId, Judge>>,
    deposits: Arc<Deposits>,
    routes: watch::Receiver<Routes>,
    directory: Arc<Directory>,
    policy: Policy,
    about: AboutFront,
    /// Shown to other nodes.
    bearer: HeaderValue,
    shutdown: Shutdown,
    others: Others,
}

/// What a door knows of its node.
#[derive(Clone)]
pub struct AboutFront {
    /// What the process says of itself while it owns nothing.
    pub itself: RuntimeStatus,
    pub default_agent: AgentId,
    /// What nodes have that have the folders of this machine; none where all nodes have them.
    pub folders: Option<String>,
    pub triggers: TriggerAddresses,
    pub signatures: Signatures,
    pub peers: Peers,
    /// What keeps the process from working.
    pub process: Process,
    /// How other nodes are reached.
    pub connector: Connector,
}

/// Where a request goes.
#[derive(Clone)]
enum Way {
    Here(Router),
    To(String),
}

impl Way {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Here(_), Self::Here(_)) => true,
            (Self::To(url), Self::To(other)) => url == other,
            (Self::Here(_), Self::To(_)) | (Self::To(_), Self::Here(_)) => false,
        }
    }
}

/// What only the node that is asked can answer.
#[derive(Clone, Copy)]
enum Asked {
    Shutdown,
    Readiness,
    Status,
    Metrics,
    /// For everybody, as at the owner.
    Health,
}

/// How another node did not answer.
enum Lost {
    /// It did not get the request.
    NotSent(String),
    /// It may have carried it out.
    Unknown(String),
}

impl Front {
    /// `secret` is what nodes know each other by; none if it can't stand in a header.
    pub fn new(
        (routes, directory, deposits): (watch::Receiver<Routes>, Arc<Directory>, Arc<Deposits>),
        policy: Policy,
        secret: &str,
        about: AboutFront,
        shutdown: Shutdown,
    ) -> Option<Self> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {secret}")).ok()?;
        bearer.set_sensitive(true);
        let others = Others::new(about.connector.clone());
        let (own, judges) = (watch::channel(BTreeMap::new()).0, Mutex::default());
        let inner =
            Inner { own, judges, deposits, routes, directory, policy, about, bearer, shutdown, others };
        Some(Self(Arc::new(inner)))
    }

    /// What listeners of the node serve.
    pub fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    /// Serves a cell here, from now on.
    pub fn open(&self, cell: CellId, epoch: Epoch, router: Router) {
        let judge = self.judge(cell, epoch, router.clone());
        self.0.own.send_modify(|own| drop(own.insert(cell, router)));
        self.judges().insert(cell, judge);
    }

    /// The cell is not this node's any more.
    pub fn close(&self, cell: CellId) {
        self.judges().remove(&cell);
        self.0.own.send_if_modified(|own| own.remove(&cell).is_some());
    }

    /// Nothing is this node's any more.
    pub fn close_all(&self) {
        self.judges().clear();
        self.0.own.send_modify(BTreeMap::clear);
    }

    fn judges(&self) -> MutexGuard<'_, BTreeMap<CellId, Judge>> {
        self.0.judges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, mut request: Request) -> Response {
        let Some(end) = request.extensions().get::<OtherEnd>().cloned() else {
            return Failure::internal("the connection does not name its peer").into_response();
        };
        let passed_on = self.passed_on(&mut request);
        let owns = !self.0.own.borrow().is_empty();
        if !owns && let Some(asked) = asked_itself(request.method(), request.uri().path()) {
            let headers = request.headers().clone();
            return self.of_itself(asked, &headers, &end).await;
        }
        let kept = target::sender(request.method(), request.uri()).is_some();
        let patient = !kept || request.headers().contains_key(IDEMPOTENCY_KEY);
        let until = Instant::now() + if patient { WAITS } else { WAITS_TO_BE_KEPT };
        let cell = match passed_on.and_then(|passed_on| passed_on.cell) {
            Some(cell) => cell,
            None => match self.cell_of(Target::of(request.uri())).await {
                Ok(cell) => cell,
                Err(failure) => return failure.into_response(),
            },
        };
        if passed_on.is_some() {
            return match self.goes_to(cell, request.uri()).await {
                Ok(now) if now == cell => self.take(cell, request).await,
                Ok(_) => not_taken(self.moving(cell)),
                Err(failure) => failure.into_response(),
            };
        }
        self.carry((cell, request), &end, until).await
    }

    /// Serves what another node has passed on. It looks for the owner again where that is not this node, or no more.
    async fn take(&self, cell: CellId, request: Request) -> Response {
        let own = self.0.own.borrow().get(&cell).cloned();
        let repeatable = target::is_repeatable(request.method(), request.uri(), request.headers());
        let response = match own {
            Some(router) => served(router, request).await,
            None => self.moving(cell),
        };
        if is_not_taken(&response, repeatable) { not_taken(response) } else { response }
    }

    /// The cell that a request goes to, where this node owns the one that it was thought to go to: the agent may have left that
    /// one when it was split. One that nobody knows may begin there.
    async fn goes_to(&self, cell: CellId, uri: &Uri) -> Result<CellId, Box<Failure>> {
        let owns = self.0.own.borrow().contains_key(&cell);
        match Target::of(uri) {
            Target::Any => Ok(cell),
            // An address that nobody has is refused by whatever cell it came to.
            Target::Address(token) if self.0.about.triggers.read(&token).is_none() => Ok(cell),
            target if owns => Ok(self.found(target).await?.unwrap_or(cell)),
            // Who was to begin in a cell of this machine begins in another one, where that was handed over meanwhile.
            target if self.0.about.folders.is_some() => self.cell_of(target).await,
            Target::Agent(_) | Target::Default | Target::Address(_) => Ok(cell),
        }
    }

    /// The cell that a request goes to, after it was not taken where it was thought to go.
    async fn cell_anew(&self, uri: &Uri) -> Result<CellId, Box<Failure>> {
        let (directory, target) = (self.0.directory.clone(), Target::of(uri));
        if let Some(agent) = self.agent(target.clone()) {
            directory.forget(&agent);
        }
        spawn::blocking(move || directory.refresh()).await.map_err(Failure::internal)??;
        self.cell_of(target).await
    }

    /// The cell that a request goes to.
    async fn cell_of(&self, target: Target) -> Result<CellId, Box<Failure>> {
        let found = self.found(target.clone()).await?;
        Ok(found
            .unwrap_or_else(|| self.agent(target).map_or_else(|| self.any(), |agent| self.begins(&agent))))
    }

    /// The cell of the agent that a request is about.
    async fn found(&self, target: Target) -> Result<Option<CellId>, Box<Failure>> {
        match self.agent(target).filter(|_| self.0.directory.has_several()) {
            Some(agent) => look_up(&self.0.directory, agent).await,
            None => Ok(None),
        }
    }

    fn agent(&self, target: Target) -> Option<String> {
        match target {
            Target::Agent(agent) => Some(agent),
            Target::Default => Some(self.0.about.default_agent.to_string()),
            Target::Address(token) => self.0.about.triggers.read(&token).map(|(agent, _)| agent.to_string()),
            Target::Any => None,
        }
    }

    /// Where an agent begins whose name nobody has: where the folders of this machine are, or else in a cell that any node may
    /// own. The default agent is begun by its cell.
    fn begins(&self, name: &str) -> CellId {
        let (cells, own) = (self.0.directory.cells(), self.0.own.borrow());
        let (routes, folders) = (self.0.routes.borrow(), self.0.about.folders.as_ref());
        let is_default = name == self.0.about.default_agent.as_str();
        let is_bound = |cell: &CellId| folders.is_some() && routes.labels.get(cell) == folders;
        let is_free = |cell: &CellId| !routes.labels.contains_key(cell);
        let is_own = |cell: &CellId| folders.is_some() && is_free(cell) && own.contains_key(cell);
        let those =
            |wanted: &dyn Fn(&CellId) -> bool| cells.iter().copied().filter(wanted).collect::<Vec<_>>();
        // The first of several: the others stay free for other machines.
        let first = those(&is_own).into_iter().take(1).collect();
        let found = [those(&is_bound), first, those(&is_free)].into_iter().find(|cells| !cells.is_empty());
        chosen(name, &found.filter(|_| !is_default).unwrap_or_else(|| cells.to_vec()))
    }

    /// A cell of this node, or else one that its owner serves.
    fn any(&self) -> CellId {
        let own = self.0.own.borrow().keys().next().copied();
        let owned = || target::any_owned(&self.0.routes.borrow());
        own.or_else(owned).or_else(|| self.0.directory.cells().first().copied()).unwrap_or(CellId(1))
    }

    /// What a node answers for itself while another one owns the ledger.
    async fn of_itself(&self, asked: Asked, headers: &HeaderMap, end: &OtherEnd) -> Response {
        if !matches!(asked, Asked::Health) {
            let peer = end.peer(&self.0.about.peers, self.0.policy.care(headers)).await;
            if let Err(failure) = self.0.policy.admit(peer, headers) {
                return failure.into_response();
            }
        }
        let pid = std::process::id();
        match asked {
            Asked::Shutdown => {
                self.0.shutdown.ask();
                Json(Leaves { ok: true, pid }).into_response()
            }
            Asked::Health => Json(Health { ok: true }).into_response(),
            Asked::Readiness => {
                let problem = self.problem();
                let (ready, config_fingerprint) =
                    (problem.is_none(), self.0.about.itself.config_fingerprint.clone());
                Json(Readiness { ok: true, ready, problem, pid, config_fingerprint }).into_response()
            }
            Asked::Metrics => {
                let node = self.0.about.process.node();
                node.map_or_else(|| self.moving(self.any()), |node| metrics::of_node(&node, headers))
            }
            Asked::Status => {
                let status = RuntimeStatus { problem: self.problem(), ..self.0.about.itself.clone() };
                Json(status).into_response()
            }
        }
    }

    /// What keeps requests from their owners.
    fn problem(&self) -> Option<String> {
        let nobody = || self.nobody_owns().map(|text| format!("{text} at this moment"));
        self.0.about.process.problem().or_else(nobody)
    }

    fn nobody_owns(&self) -> Option<String> {
        let routes = self.0.routes.borrow();
        let cells = self.0.directory.cells();
        let free = cells.iter().find(|cell| !routes.owners.contains_key(cell));
        free.map(|cell| self.nobody(*cell))
    }

    fn nobody(&self, cell: CellId) -> String {
        match self.0.directory.has_several() {
            true => format!("no node owns cell {}{}", cell.0, self.bound(cell)),
            false => format!("no node owns the ledger{}", self.bound(cell)),
        }
    }

    /// Who alone may own a cell.
    fn bound(&self, cell: CellId) -> String {
        let routes = self.0.routes.borrow();
        let label = routes.labels.get(&cell);
        label.map_or_else(String::new, |label| format!(" (only one with the label {label} may)"))
    }

    /// Where another node that owns a cell is reached.
    fn owner(&self, cell: CellId) -> Option<String> {
        let routes = self.0.routes.borrow();
        let (node, url) = routes.owners.get(&cell)?;
        (Some(*node) != routes.own).then(|| url.clone())
    }

    /// Who owns a cell at this moment.
    fn way_now(&self, cell: CellId) -> Option<Way> {
        let own = self.0.own.borrow().get(&cell).cloned();
        own.map(Way::Here).or_else(|| self.owner(cell).map(Way::To))
    }

    /// Waits until somebody owns a cell in a way that is wanted.
    async fn way(&self, cell: CellId, is_wanted: impl Fn(&Way) -> bool) -> Option<Way> {
        let (mut own, mut routes) = (self.0.own.subscribe(), self.0.routes.clone());
        loop {
            own.mark_unchanged();
            routes.mark_unchanged();
            if let Some(way) = self.way_now(cell).filter(&is_wanted) {
                return Some(way);
            }
            tokio::select! {
                changed = own.changed() => changed.ok()?,
                changed = routes.changed() => changed.ok()?,
            }
        }
    }

    /// Comes a while after another node has become the owner of a cell.
    async fn given_up(self, cell: CellId, way: Way) {
        if self.way(cell, |now| !now.is(&way)).await.is_none() {
            return std::future::pending().await;
        }
        tokio::time::sleep(under_way::GRACE).await;
    }

    /// Brings a request to whoever owns its cell, again where that one does not take it any more.
    async fn carry(
        &self,
        (mut cell, request): (CellId, Request),
        end: &OtherEnd,
        mut until: Instant,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let body = match self.body(&parts, body, end).await {
            Ok(body) => body,
            Err(failure) => return failure.into_response(),
        };
        let repeatable = target::is_repeatable(&parts.method, &parts.uri, &parts.headers);
        let mut vouched = None;
        loop {
            let Ok(Some(way)) = tokio::time::timeout_at(until, self.way(cell, |_| true)).await else {
                let kept = self.keep(cell, &parts, &body, end).await;
                return kept.unwrap_or_else(|| self.moving(cell));
            };
            // It may have waited while the cell was split.
            match self.goes_to(cell, &parts.uri).await {
                Ok(now) if now != cell => {
                    (cell, vouched) = (now, None);
                    continue;
                }
                Ok(_) => {}
                Err(failure) => return failure.into_response(),
            }
            let mut given_up = Box::pin(self.clone().given_up(cell, way.clone())) as _;
            let answer = async {
                match &way {
                    Way::Here(router) => {
                        let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
                        Ok(served(router.clone(), request).await)
                    }
                    Way::To(url) => {
                        let vouched = match &vouched {
                            Some(vouched) => vouched,
                            None => match self.vouched(parts.clone(), cell, end).await {
                                Ok(known) => vouched.insert(known),
                                Err(failure) => return Ok(failure.into_response()),
                            },
                        };
                        let answer = self.send(url, &vouched.parts, body.clone()).await;
                        answer.map(|response| vouched.leased(response))
                    }
                }
            };
            let response = match under_way::answered(answer, &mut given_up).await {
                Some(Ok(response)) => under_way::until(response, given_up),
                Some(Err(Lost::Unknown(why))) if !repeatable => return lost(&why),
                Some(Err(Lost::NotSent(why))) => not_reached(&why),
                Some(Err(Lost::Unknown(_))) => self.moving(cell),
                None if !repeatable => return lost("it did not answer, and another node owns the agent now"),
                None => {
                    until = Instant::now() + WAITS;
                    continue;
                }
            };
            if !is_not_taken(&response, repeatable) {
                return response;
            }
            if Instant::now() >= until {
                return self.keep(cell, &parts, &body, end).await.unwrap_or(response);
            }
            // Somebody else may own it by then, or this node; and the agent may be in another cell.
            tokio::time::sleep(LOOK).await;
            match self.cell_anew(&parts.uri).await {
                Ok(now) if now != cell => (cell, vouched) = (now, None),
                // A database that is away is asked again when it is needed.
                Ok(_) | Err(_) => {}
            }
        }
    }

    async fn send(&self, url: &str, parts: &Parts, body: Bytes) -> Result<Response, Lost> {
        let rest = parts.uri.path_and_query().map_or("/", |rest| rest.as_str());
        let uri = format!("{}{rest}", url.trim_end_matches('/')).parse::<Uri>();
        let uri = uri.map_err(|error| Lost::NotSent(format!("{url} is no address: {error}")))?;
        let mut request = Request::new(Body::from(body));
        (*request.method_mut(), *request.uri_mut()) = (parts.method.clone(), uri);
        *request.headers_mut() = parts.headers.clone();
        match self.0.others.request(request).await {
            Ok(mut response) => {
                response.headers_mut().remove(CONNECTION);
                response.headers_mut().remove(TRANSFER_ENCODING);
                Ok(response)
            }
            Err(error) if error.is_connect() => Err(Lost::NotSent(format!("{url}: {}", root_of(&error)))),
            Err(error) => Err(Lost::Unknown(error.to_string())),
        }
    }

    fn moving(&self, cell: CellId) -> Response {
        let problem = self.0.about.process.problem();
        let why = problem.map_or(String::new(), |problem| format!(" ({problem})"));
        let text = format!("{} at this moment{why}: the request was not accepted", self.nobody(cell));
        let is_bound = self.0.routes.borrow().labels.contains_key(&cell);
        let hint = match is_bound {
            true => "start a node with that label, or let every node own the cell (holon cluster label)",
            false => "ask again; `holon cluster status` shows nodes and cells",
        };
        Failure::new(Code::Moving, text).hint(hint).into_response()
    }
}

/// The cell of an agent; none where nobody has that name. It waits for the database where that is not known yet.
async fn look_up(directory: &Arc<Directory>, agent: String) -> Result<Option<CellId>, Box<Failure>> {
    if let Some(known) = directory.known_cell_of(&agent) {
        return Ok(Some(known));
    }
    let directory = directory.clone();
    let found = spawn::blocking(move || directory.find(&agent)).await.map_err(Failure::internal)?;
    Ok(found?)
}

/// Whether a request was refused because its cell is not here, or goes elsewhere. One that was taken in and not answered can be
/// asked again where it counts once.
fn is_not_taken(response: &Response, repeatable: bool) -> bool {
    let code = response.extensions().get::<Code>();
    response.headers().contains_key(NOT_TAKEN)
        || code.is_some_and(|code| matches!(code, Code::Moving | Code::Draining))
        || (repeatable && code == Some(&Code::NotAnswered))
}

/// Tells the node that has passed a request on to look for the owner again.
fn not_taken(mut response: Response) -> Response {
    response.headers_mut().insert(NOT_TAKEN, HeaderValue::from_static("1"));
    response
}

fn not_reached(why: &str) -> Response {
    let text =
        format!("the node that owns the agent can't be reached at {why}: the request was not accepted");
    let hint = "look at server.advertise of that node, and at the network between the two";
    Failure::new(Code::Moving, text).hint(hint).into_response()
}

/// What an error comes from.
fn root_of(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

fn lost(why: &str) -> Response {
    let text = format!(
        "the node that the request was passed on to was lost ({why}): whether the request was carried out is not known"
    );
    let hint = "look, or ask again with an Idempotency-Key from the beginning";
    Failure::new(Code::Moving, text).hint(hint).into_response()
}

fn asked_itself(method: &Method, path: &str) -> Option<Asked> {
    match path {
        SHUTDOWN if method == Method::POST => Some(Asked::Shutdown),
        READINESS if method == Method::GET => Some(Asked::Readiness),
        HEALTH if method == Method::GET => Some(Asked::Health),
        STATUS if method == Method::GET => Some(Asked::Status),
        METRICS if method == Method::GET => Some(Asked::Metrics),
        _ => None,
    }
}

async fn answer(State(front): State<Front>, request: Request) -> Response {
    front.answer(request).await
}

async fn served(router: Router, request: Request) -> Response {
    router.oneshot(request).await.unwrap_or_else(|never| match never {})
}
