//! The door of a node (contract: scale.md): the router of the ledger that it owns, or the way to the node that owns it. No
//! request is lost between two owners: it waits a while, and is refused with `moving` then.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, COOKIE, TRANSFER_ENCODING, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use bytes::Bytes;
use holon_api::{Code, Health, Readiness, RuntimeStatus, Shutdown as Leaves};
use holon_ledger::postgres::node::{CellId, Routes};
use holon_supervise::confine::peer::Standing;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::auth::Policy;
use super::failure::Failure;
use super::peer::{OtherEnd, Peer, Peers};
use super::route::IDEMPOTENCY_KEY;
use super::shutdown::Shutdown;

/// Tells that a node has passed a request on: it goes no further, and where it came from proves nothing.
const PASSED_ON: HeaderName = HeaderName::from_static("x-holon-passed-on");
/// Tells the node that has passed a request on that it was not taken: it looks for the owner again.
const NOT_TAKEN: HeaderName = HeaderName::from_static("x-holon-not-taken");
/// Between two looks for the owner.
const LOOK: Duration = Duration::from_millis(50);
/// How long a request waits for an owner.
const WAITS: Duration = Duration::from_secs(5);
/// How long another node may take to take a connection.
const CONNECTS: Duration = Duration::from_secs(1);
/// Bytes of a body that are kept until its request was answered.
const BODY: usize = 64 << 20;
const SHUTDOWN: &str = "/control/runtime/shutdown";
const HEALTH: &str = "/healthz";
const STATUS: &str = "/control/runtime/status";
const READINESS: &str = "/control/runtime/readiness";

/// Cheap to clone.
#[derive(Clone)]
pub struct Front(Arc<Inner>);

struct Inner {
    /// Serves the ledger, while this node owns it.
    own: watch::Sender<Option<Router>>,
    routes: watch::Receiver<Routes>,
    cell: CellId,
    policy: Policy,
    peers: Peers,
    /// What the process says of itself while it does not own the ledger.
    itself: RuntimeStatus,
    /// Shown to other nodes.
    bearer: HeaderValue,
    shutdown: Shutdown,
    client: Client<HttpConnector, Body>,
}

/// Where a request goes.
enum Way {
    Here(Router),
    To(String),
}

/// What only the node that is asked can answer.
#[derive(Clone, Copy)]
enum Asked {
    Shutdown,
    Readiness,
    Status,
    /// For everybody, as at the owner.
    Health,
}

/// How another node did not answer.
enum Lost {
    /// It did not get the request.
    NotSent,
    /// It may have carried it out.
    Unknown(hyper_util::client::legacy::Error),
}

impl Front {
    /// `secret` is what nodes know each other by; none if it can't stand in a header.
    pub fn new(
        routes: watch::Receiver<Routes>,
        cell: CellId,
        policy: Policy,
        (secret, itself): (&str, RuntimeStatus),
        shutdown: Shutdown,
    ) -> Option<Self> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {secret}")).ok()?;
        bearer.set_sensitive(true);
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECTS));
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let (own, peers) = (watch::channel(None).0, Peers::default());
        Some(Self(Arc::new(Inner { own, routes, cell, policy, peers, itself, bearer, shutdown, client })))
    }

    /// What listeners of the node serve.
    pub fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }

    /// Serves the ledger here, from now on.
    pub fn open(&self, router: Router) {
        self.0.own.send_replace(Some(router));
    }

    /// The ledger is not this node's any more.
    pub fn close(&self) {
        self.0.own.send_replace(None);
    }

    async fn answer(&self, mut request: Request) -> Response {
        let Some(end) = request.extensions().get::<OtherEnd>().cloned() else {
            return Failure::internal("the connection does not name its peer").into_response();
        };
        let passed_on = request.headers().contains_key(PASSED_ON);
        if passed_on {
            request.extensions_mut().insert(OtherEnd::known(Peer::Tcp(Standing::Remote)));
        }
        let owns = self.0.own.borrow().is_some();
        if !owns && let Some(asked) = asked_itself(request.method(), request.uri().path()) {
            let headers = request.headers().clone();
            return self.of_itself(asked, &headers, &end).await;
        }
        let until = Instant::now() + WAITS;
        if passed_on && !owns {
            let mut refused = self.moving();
            refused.headers_mut().insert(NOT_TAKEN, HeaderValue::from_static("1"));
            return refused;
        }
        match self.way(until).await {
            None => self.moving(),
            Some(Way::Here(router)) => served(router, request).await,
            Some(Way::To(_)) => self.pass_on(request, &end, until).await,
        }
    }

    /// What a node answers for itself while another one owns the ledger.
    async fn of_itself(&self, asked: Asked, headers: &HeaderMap, end: &OtherEnd) -> Response {
        if !matches!(asked, Asked::Health) {
            let peer = end.peer(&self.0.peers, self.0.policy.care(headers)).await;
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
                    (problem.is_none(), self.0.itself.config_fingerprint.clone());
                Json(Readiness { ok: true, ready, problem, pid, config_fingerprint }).into_response()
            }
            Asked::Status => {
                let status = RuntimeStatus { problem: self.problem(), ..self.0.itself.clone() };
                Json(status).into_response()
            }
        }
    }

    /// What keeps requests from their owner.
    fn problem(&self) -> Option<String> {
        let nobody = || self.owner().is_none().then(|| "no node owns the ledger at this moment".to_owned());
        self.0.routes.borrow().problem.clone().or_else(nobody)
    }

    /// Where another node that owns the ledger is reached.
    fn owner(&self) -> Option<String> {
        let routes = self.0.routes.borrow();
        let (node, url) = routes.owners.get(&self.0.cell)?;
        (Some(*node) != routes.own).then(|| url.clone())
    }

    /// Waits until somebody owns the ledger.
    async fn way(&self, until: Instant) -> Option<Way> {
        let (mut own, mut routes) = (self.0.own.subscribe(), self.0.routes.clone());
        loop {
            own.mark_unchanged();
            routes.mark_unchanged();
            if let Some(router) = self.0.own.borrow().clone() {
                return Some(Way::Here(router));
            }
            if let Some(url) = self.owner() {
                return Some(Way::To(url));
            }
            tokio::select! {
                changed = own.changed() => changed.ok()?,
                changed = routes.changed() => changed.ok()?,
                () = tokio::time::sleep_until(until) => return None,
            }
        }
    }

    async fn pass_on(&self, request: Request, end: &OtherEnd, until: Instant) -> Response {
        let (mut parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, BODY).await else {
            let text = format!("the body did not come, or has more than {BODY} bytes");
            return Failure::new(Code::TooLarge, text).into_response();
        };
        self.vouch(&mut parts, end).await;
        let repeatable = parts.method == Method::GET || parts.headers.contains_key(IDEMPOTENCY_KEY);
        loop {
            let url = match self.way(until).await {
                None => return self.moving(),
                Some(Way::Here(router)) => {
                    let request = Request::from_parts(parts, Body::from(body));
                    return served(router, request).await;
                }
                Some(Way::To(url)) => url,
            };
            match self.send(&url, &parts, body.clone()).await {
                Ok(response) if !response.headers().contains_key(NOT_TAKEN) => return response,
                Ok(_) | Err(Lost::NotSent) => {}
                Err(Lost::Unknown(error)) if !repeatable => {
                    let text = format!(
                        "the connection to the node that owns the ledger was lost ({error}): whether the request was \
                         carried out is not known"
                    );
                    let hint = "look, or ask again with an Idempotency-Key from the beginning";
                    return Failure::new(Code::Moving, text).hint(hint).into_response();
                }
                Err(Lost::Unknown(_)) => {}
            }
            if Instant::now() >= until {
                return self.moving();
            }
            // Somebody else may own it by then, or this node.
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What this node has found out about whoever asks, for the other one. A browser's session speaks for itself.
    async fn vouch(&self, parts: &mut Parts, end: &OtherEnd) {
        let headers = &mut parts.headers;
        headers.insert(PASSED_ON, HeaderValue::from_static("1"));
        for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
            headers.remove(name);
        }
        if headers.contains_key(COOKIE) && !headers.contains_key(AUTHORIZATION) {
            return;
        }
        let peer = end.peer(&self.0.peers, self.0.policy.care(headers)).await;
        if self.0.policy.admit(peer, headers).is_ok() {
            headers.insert(AUTHORIZATION, self.0.bearer.clone());
        }
    }

    async fn send(&self, url: &str, parts: &Parts, body: Bytes) -> Result<Response, Lost> {
        let rest = parts.uri.path_and_query().map_or("/", |rest| rest.as_str());
        let uri = format!("{}{rest}", url.trim_end_matches('/')).parse::<Uri>().map_err(|_| Lost::NotSent)?;
        let mut request = Request::new(Body::from(body));
        (*request.method_mut(), *request.uri_mut()) = (parts.method.clone(), uri);
        *request.headers_mut() = parts.headers.clone();
        match self.0.client.request(request).await {
            Ok(response) => {
                let mut response = response.map(Body::new);
                response.headers_mut().remove(CONNECTION);
                response.headers_mut().remove(TRANSFER_ENCODING);
                Ok(response)
            }
            Err(error) if error.is_connect() => Err(Lost::NotSent),
            Err(error) => Err(Lost::Unknown(error)),
        }
    }

    fn moving(&self) -> Response {
        let problem = self.0.routes.borrow().problem.clone();
        let why = problem.map_or(String::new(), |problem| format!(" ({problem})"));
        let text = format!("no node owns the ledger at this moment{why}: the request was not accepted");
        let hint = "ask again; `holon cluster status` shows nodes and cells";
        Failure::new(Code::Moving, text).hint(hint).into_response()
    }
}

fn asked_itself(method: &Method, path: &str) -> Option<Asked> {
    match path {
        SHUTDOWN if method == Method::POST => Some(Asked::Shutdown),
        READINESS if method == Method::GET => Some(Asked::Readiness),
        HEALTH if method == Method::GET => Some(Asked::Health),
        STATUS if method == Method::GET => Some(Asked::Status),
        _ => None,
    }
}

async fn answer(State(front): State<Front>, request: Request) -> Response {
    front.answer(request).await
}

async fn served(router: Router, request: Request) -> Response {
    router.oneshot(request).await.unwrap_or_else(|never| match never {})
}
