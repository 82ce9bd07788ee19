//! One row of the table of routes. The same endpoint becomes a route of the server and an operation of its
//! description; its types are what is read, answered and described, so the three can't differ.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body as HttpBody;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use bytes::Bytes;
use holon_api::{Body, Code, Endpoint, Path as _, RouteAccess as Access};
use holon_facts::ids::DepositId;
use holon_facts::{AgentId, Reject};
use serde::de::value::MapDeserializer;

use super::auth::Caller;
use super::body::{self, ReadBody};
use super::console::Lease;
use super::failure::Failure;
use super::peer::{OtherEnd, Peer};
use super::reply::Respond;
use super::resource::triggers;
use super::stream_tokens::HasToken;
#[cfg(test)]
use super::tests::openapi::Described;
use super::{App, console, field, stream_tokens};

/// Names one intention.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Result of a handler.
pub(super) type Handled<R> = Result<R, Box<Failure>>;

/// A request after everything about it was checked.
pub(super) struct Call<E: Endpoint> {
    pub(super) path: E::Path,
    pub(super) query: E::Query,
    pub(super) body: E::Body,
    pub(super) from: Asker,
}

/// What answers requests at a path: one type for all endpoints, so that the router is compiled once.
type Answer = Arc<dyn Fn(App, Request) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

/// Whoever asks, and what comes along.
pub(super) struct Asker {
    pub(super) headers: HeaderMap,
    pub(super) other_end: OtherEnd,
    /// None where nobody was asked: on an open route, or where a token or a signature speaks for itself.
    pub(super) caller: Option<Caller>,
    /// The agent and the generation of the address, on routes that have a token in their path.
    pub(super) trigger: Option<(AgentId, u64)>,
    /// Where it was kept while nobody owned its agent.
    pub(super) deposit: Option<DepositId>,
    /// The session with which the stream that was asked for ends.
    pub(super) lease: Option<Lease>,
}

/// An endpoint at one of its paths.
pub(super) struct Route {
    pub(super) path: &'static str,
    #[cfg(test)]
    pub(super) of_default: bool,
    pub(super) service: MethodRouter<App>,
    #[cfg(test)]
    pub(super) described: Described,
}

impl Route {
    /// An endpoint at its path, and at the one of the default agent where it has one.
    pub(super) fn of<E, R, F, Fut>(handler: F) -> impl Iterator<Item = Self>
    where
        E: Endpoint<Body: ReadBody>,
        R: Respond<E> + 'static,
        F: Fn(App, Call<E>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        let row = E::ROW;
        let at = |named: (&'static str, &'static str), of_default| Self {
            path: named.0,
            #[cfg(test)]
            of_default,
            service: service::<E, R, F, Fut>(handler.clone(), of_default),
            #[cfg(test)]
            described: Described::of::<E>(named),
        };
        let (own, of_default) =
            (at((row.path, row.summary), false), row.of_default.map(|at_default| at(at_default, true)));
        [Some(own), of_default].into_iter().flatten()
    }
}

fn service<E, R, F, Fut>(handler: F, of_default: bool) -> MethodRouter<App>
where
    E: Endpoint<Body: ReadBody>,
    R: Respond<E> + 'static,
    F: Fn(App, Call<E>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Handled<R>> + Send,
{
    let filter = match E::ROW.method {
        Method::GET => MethodFilter::GET,
        Method::DELETE => MethodFilter::DELETE,
        _ => MethodFilter::POST,
    };
    let answer: Answer = Arc::new(move |app, request| {
        let handler = handler.clone();
        Box::pin(async move {
            let call: Call<E> = match Call::read(&app, request, of_default).await {
                Ok(call) => call,
                Err(failure) => return failure.into_response(),
            };
            let lease = call.from.lease.clone();
            let response =
                handler(app, call).await.map_or_else(IntoResponse::into_response, Respond::respond);
            match lease {
                Some(lease) => console::leased(lease, response),
                None => response,
            }
        })
    });
    answered_by(filter, answer)
}

fn answered_by(filter: MethodFilter, answer: Answer) -> MethodRouter<App> {
    on(filter, move |State(app): State<App>, request: Request| answer(app, request))
}

impl<E: Endpoint> Call<E> {
    /// A request of somebody in this process.
    pub(super) async fn here(app: &App, request: holon_api::Request<E>) -> Handled<Self> {
        let holon_api::Request { mut path, query, body, key } = request;
        resolve(app, &mut path).await?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let key =
                HeaderValue::from_str(&key).map_err(|error| Failure::new(Code::InvalidHeader, error))?;
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        let trigger = path.token().and_then(|token| app.triggers.read(token));
        let other_end = OtherEnd::known(Peer::Socket);
        let caller = Some(app.asks());
        Ok(Self {
            path,
            query,
            body,
            from: Asker { headers, other_end, caller, trigger, deposit: None, lease: None },
        })
    }
}

impl<E: Endpoint<Body: ReadBody>> Call<E> {
    /// Checks whoever asks before anything that they sent is looked at.
    async fn read(app: &App, request: Request, of_default: bool) -> Handled<Self> {
        let row = E::ROW;
        let mut received = Received::of(app, request, row.access).await?;
        let mut path: E::Path = match E::Path::of_default(&app.about.default_agent).filter(|_| of_default) {
            Some(path) => path,
            None => received.named(row.access).await?,
        };
        resolve(app, &mut path).await?;
        received.trigger(app, row.access, path.token())?;
        let sent = match query::<E::Query>(&received.parts.uri) {
            Ok(query) => received.body(app, row.access, E::Body::BYTES).await.map(|body| (query, body)),
            Err(failure) => Err(failure),
        };
        let sent = sent.and_then(|(query, body)| Ok((query, E::Body::read(&received.parts.headers, &body)?)));
        let trigger = received.trigger;
        let (query, body) = match sent {
            Err(failure) => return Err(triggers::refusal(app, trigger.as_ref(), failure).await),
            Ok(sent) => sent,
        };
        let (headers, other_end, caller) = (received.parts.headers, received.other_end, received.caller);
        let (deposit, lease) = (received.parts.extensions.get().copied(), received.lease);
        Ok(Self { path, query, body, from: Asker { headers, other_end, caller, trigger, deposit, lease } })
    }
}

/// A request on its way to its endpoint. Nothing here knows which one that is, so it is compiled once for all.
struct Received {
    parts: Parts,
    body: HttpBody,
    other_end: OtherEnd,
    caller: Option<Caller>,
    trigger: Option<(AgentId, u64)>,
    lease: Option<Lease>,
}

impl Received {
    async fn of(app: &App, request: Request, access: Access) -> Handled<Self> {
        let (parts, body) = request.into_parts();
        let Some(other_end) = parts.extensions.get::<OtherEnd>().cloned() else {
            return Err(Failure::internal("the connection does not name its peer"));
        };
        if parts.headers.get_all(HOST).iter().count() > 1 {
            let text = "the head of the request names more than one Host";
            return Err(Failure::new(Code::InvalidHead, text).hint("send the header Host once"));
        }
        let mut lease = None;
        let caller = match access {
            Access::Open | Access::Token => None,
            Access::Signed if app.signatures.are_required() => None,
            Access::Login => {
                app.admit_login(&other_end, &parts.headers).await?;
                None
            }
            Access::Signed | Access::Control | Access::Stream => {
                let token = stream_tokens::in_query(&parts.uri).filter(|_| access == Access::Stream);
                if let Some(token) = &token
                    && parts.extensions.get::<HasToken>().is_none()
                {
                    lease = app.stream_tokens.check(token)?;
                }
                let caller = match token {
                    Some(_) if !parts.headers.contains_key(AUTHORIZATION) => {
                        let peer = other_end.peer(&app.peers, app.policy.care(&parts.headers)).await;
                        app.policy.admit_known(peer).map(|()| Caller::Token)?
                    }
                    Some(_) | None => app.admit(&other_end, &parts.method, &parts.headers).await?,
                };
                if access == Access::Stream && caller == Caller::Session {
                    lease = Some(app.console.lease(&parts.headers)?);
                }
                Some(caller)
            }
        };
        Ok(Self { parts, body, other_end, caller, trigger: None, lease })
    }

    /// What its path names, parsed once: nothing later sees a name that is none.
    async fn named<P: holon_api::Path>(&mut self, access: Access) -> Handled<P> {
        let params = RawPathParams::from_request_parts(&mut self.parts, &()).await;
        let params = params.map_err(|rejection| invalid("agent_id", &rejection.body_text()));
        let named = params.and_then(|params| {
            let params = MapDeserializer::<_, serde::de::value::Error>::new(params.iter());
            serde_path_to_error::deserialize(params)
                .map_err(|error| invalid(&error.path().to_string(), error.inner()))
        });
        if access == Access::Token { named.map_err(|_| Reject::UnknownTrigger.into()) } else { named }
    }

    /// Whose address it came to, on routes that have a token in their path.
    fn trigger(&mut self, app: &App, access: Access, token: Option<&str>) -> Handled<()> {
        self.trigger = token.and_then(|token| app.triggers.read(token));
        if access == Access::Token && self.trigger.is_none() {
            return Err(Reject::UnknownTrigger.into());
        }
        Ok(())
    }

    async fn body(&mut self, app: &App, access: Access, bytes: usize) -> Handled<Bytes> {
        let body = std::mem::take(&mut self.body);
        let body = if bytes == 0 { Bytes::new() } else { body::collect(body, bytes).await? };
        if access == Access::Signed {
            app.signatures.check(&self.parts.headers, &body)?;
        }
        if access == Access::Control && self.parts.method == Method::POST {
            // A form of any page could be sent without one, and do what needs no body.
            body::json(&self.parts.headers)?;
        }
        Ok(body)
    }
}

/// A request of somebody who was let in, to what is no endpoint: a protocol of its own.
pub(super) async fn of_protocol(app: &App, request: Request, bytes: usize) -> Handled<(Caller, Bytes)> {
    let mut received = Received::of(app, request, Access::Control).await?;
    let body = received.body(app, Access::Control, bytes).await?;
    let nobody = || Failure::internal("nobody was asked who asks");
    Ok((received.caller.ok_or_else(nobody)?, body))
}

fn query<Q: serde::de::DeserializeOwned>(uri: &Uri) -> Handled<Q> {
    Ok(Query::try_from_uri(uri).map_err(|rejection| bad_query(&rejection))?.0)
}

fn invalid(field: &str, problem: &dyn Display) -> Box<Failure> {
    Failure::new(Code::InvalidPath, problem).detail("field", field)
}

/// An agent may be named by its second name: everything after this sees its id.
async fn resolve(app: &App, path: &mut impl holon_api::Path) -> Handled<()> {
    match path.agent() {
        Some(agent) => resolve_agent(app, agent).await,
        None => Ok(()),
    }
}

async fn resolve_agent(app: &App, agent: &mut AgentId) -> Handled<()> {
    if app.ids.contains(agent) {
        return Ok(());
    }
    let name = agent.clone();
    match app.blocking(move |app| Ok(app.reader.agent_called(&name)?)).await? {
        Some(id) if id == *agent => app.ids.remember(id),
        Some(id) => *agent = id,
        None => {}
    }
    Ok(())
}

/// What is wrong with a query, in the words of its parser: those around them are about this program.
fn bad_query(rejection: &QueryRejection) -> Box<Failure> {
    type Parsing = serde_path_to_error::Error<serde::de::value::Error>;
    let mut causes = anyhow::Chain::new(rejection);
    match causes.find_map(|cause| cause.downcast_ref::<Parsing>()) {
        Some(error) => field::at_fault(Code::InvalidQuery, "the query", error),
        None => Failure::new(Code::InvalidQuery, rejection.body_text()),
    }
}
