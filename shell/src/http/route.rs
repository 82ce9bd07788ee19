//! One row of the table of routes. The same row becomes a route of the server and an operation of its
//! description; the types of a handler are what is described, so the two can't differ.

use std::future::Future;

use axum::body::Body as HttpBody;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter, on};
use bytes::Bytes;
use holon_core::ids::{TaskId, TimerId, WorkItemId};
use holon_core::{AgentId, Reject};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::App;
use super::auth::{Access, Caller};
use super::body::{self, Body, Empty};
use super::code::Code;
use super::failure::Failure;
use super::field;
use super::peer::OtherEnd;
use super::reply::Reply;
use super::resource::triggers;

/// Result of a handler.
pub(super) type Handled<R> = Result<R, Box<Failure>>;

/// A request after everything about it was checked.
pub(super) struct Call<Q, B> {
    /// The agent of the path, or the default agent where the path names none.
    pub(super) agent: AgentId,
    /// The task of the path, on routes whose path names one.
    pub(super) task: Option<TaskId>,
    /// The timer of the path, on routes whose path names one.
    pub(super) timer: Option<TimerId>,
    /// The work item of the path, on routes whose path names one.
    pub(super) work_item: Option<WorkItemId>,
    /// The agent and the generation of the address, on routes that have a token in their path.
    pub(super) trigger: Option<(AgentId, u64)>,
    pub(super) query: Q,
    pub(super) body: B,
    pub(super) headers: HeaderMap,
    pub(super) other_end: OtherEnd,
    /// None where nobody was asked: on an open route, or where a token or a signature speaks for itself.
    pub(super) caller: Option<Caller>,
}

/// What a route is called, and who may use it.
pub(super) struct Name {
    pub(super) method: Method,
    /// With `{agent_id}` where an agent is named, `{task_id}`, `{timer_id}` or `{work_item_id}` where one of its own things is,
    /// and `{token}` where that says whose.
    pub(super) path: &'static str,
    /// One line.
    pub(super) summary: &'static str,
    pub(super) access: Access,
}

/// A header that a route looks at.
pub(super) struct Header {
    pub(super) name: &'static str,
    /// One line.
    pub(super) about: &'static str,
    pub(super) value: Value,
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// Visible ASCII characters, at most 256.
    Name,
    Number,
}

pub(super) struct Route {
    pub(super) name: Name,
    /// Codes beyond those that the row itself brings along.
    pub(super) fails: &'static [Code],
    /// Headers that it looks at, each with what it means.
    pub(super) headers: &'static [Header],
    pub(super) describe: fn(&mut SchemaGenerator) -> Described,
    pub(super) service: MethodRouter<App>,
}

/// The types of a handler, for people and programs.
pub(super) struct Described {
    pub(super) query: Schema,
    pub(super) body: Option<BodyDescribed>,
    pub(super) reply: Schema,
    pub(super) status: StatusCode,
    pub(super) media: &'static str,
}

pub(super) struct BodyDescribed {
    pub(super) schema: Schema,
    pub(super) required: bool,
    pub(super) media: &'static str,
    pub(super) bytes: usize,
}

impl Route {
    /// A route that anybody may read who can connect.
    pub(super) fn open<Q, R, F, Fut>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        R: Reply + 'static,
        F: Fn(App, Call<Q, Empty>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        let name = Name { method: Method::GET, path, summary, access: Access::Open };
        Self::new(name, handler)
    }

    /// A route that reads.
    pub(super) fn get<Q, R, F, Fut>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        R: Reply + 'static,
        F: Fn(App, Call<Q, Empty>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        let name = Name { method: Method::GET, path, summary, access: Access::Control };
        Self::new(name, handler)
    }

    /// A route that asks for something.
    pub(super) fn post<Q, B, R, F, Fut>(path: &'static str, summary: &'static str, handler: F) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: Body + 'static,
        R: Reply + 'static,
        F: Fn(App, Call<Q, B>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        Self::post_by(Access::Control, path, summary, handler)
    }

    /// The same for whoever may by this.
    pub(super) fn post_by<Q, B, R, F, Fut>(
        access: Access,
        path: &'static str,
        summary: &'static str,
        handler: F,
    ) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: Body + 'static,
        R: Reply + 'static,
        F: Fn(App, Call<Q, B>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        let name = Name { method: Method::POST, path, summary, access };
        Self::new(name, handler)
    }

    fn new<Q, B, R, F, Fut>(name: Name, handler: F) -> Self
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: Body + 'static,
        R: Reply + 'static,
        F: Fn(App, Call<Q, B>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Handled<R>> + Send,
    {
        let filter = if name.method == Method::GET { MethodFilter::GET } else { MethodFilter::POST };
        let access = name.access;
        let service = on(filter, move |State(app): State<App>, request: Request| {
            let handler = handler.clone();
            async move {
                let answered = match Call::read(&app, access, request).await {
                    Ok(call) => handler(app, call).await,
                    Err(failure) => Err(failure),
                };
                answered.map_or_else(IntoResponse::into_response, Reply::respond)
            }
        });
        Self { name, fails: &[], headers: &[], describe: describe::<Q, B, R>, service }
    }

    /// What can go wrong besides what every route of its kind has.
    pub(super) fn fails(mut self, codes: &'static [Code]) -> Self {
        self.fails = codes;
        self
    }

    pub(super) fn headers(mut self, headers: &'static [Header]) -> Self {
        self.headers = headers;
        self
    }

    /// Every code that the route can answer with.
    pub(super) fn codes(&self) -> Vec<Code> {
        let mut codes = vec![Code::InvalidHead, Code::InvalidQuery, Code::Draining, Code::Internal];
        if matches!(self.name.access, Access::Control | Access::Signed) {
            codes.extend([Code::MissingToken, Code::WrongToken, Code::ForbiddenOrigin, Code::ConfinedCaller]);
        }
        if self.name.access == Access::Signed {
            codes.extend([Code::MissingSignature, Code::WrongSignature]);
        }
        if self.name.path.contains("{agent_id}") {
            codes.push(Code::InvalidPath);
        }
        if self.name.method == Method::POST {
            codes.extend([
                Code::InvalidBody,
                Code::RequestTimeout,
                Code::TooLarge,
                Code::UnsupportedMediaType,
                Code::DiskFull,
                Code::LedgerLocked,
                Code::NotStoredYet,
            ]);
        }
        codes.extend(self.fails);
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

impl<Q: DeserializeOwned, B: Body> Call<Q, B> {
    /// Checks whoever asks before anything that they sent is looked at.
    async fn read(app: &App, access: Access, request: Request) -> Handled<Self> {
        let (mut parts, body) = request.into_parts();
        let Some(other_end) = parts.extensions.get::<OtherEnd>().cloned() else {
            return Err(Failure::internal("the connection does not say who is at its other end"));
        };
        if parts.headers.get_all(HOST).iter().count() > 1 {
            let text = "the head of the request names more than one Host";
            return Err(Failure::new(Code::InvalidHead, text).hint("send the header Host once"));
        }
        let caller = match access {
            Access::Open | Access::Token => None,
            Access::Signed if app.signatures.are_required() => None,
            Access::Signed | Access::Control => {
                let peer = other_end.peer(&app.peers, app.policy.care(&parts.headers)).await;
                Some(app.policy.admit(peer, &parts.headers)?)
            }
        };
        let named = Named::read(app, &mut parts).await;
        let Named { agent, task, timer, work_item, token } = match named {
            Err(_) if access == Access::Token => return Err(Reject::UnknownTrigger.into()),
            named => named?,
        };
        let trigger = token.and_then(|token| app.triggers.read(&token));
        if access == Access::Token && trigger.is_none() {
            return Err(Reject::UnknownTrigger.into());
        }
        let (query, body) = match Self::sent(app, access, &parts, body).await {
            Err(failure) => return Err(triggers::refusal(app, trigger.as_ref(), failure).await),
            Ok(sent) => sent,
        };
        Ok(Self {
            agent,
            task,
            timer,
            work_item,
            trigger,
            query,
            body,
            headers: parts.headers,
            other_end,
            caller,
        })
    }
}

impl<Q: DeserializeOwned, B: Body> Call<Q, B> {
    async fn sent(app: &App, access: Access, parts: &Parts, body: HttpBody) -> Handled<(Q, B)> {
        let query = Query::<Q>::try_from_uri(&parts.uri).map_err(|rejection| bad_query(&rejection))?.0;
        let body = if B::BYTES == 0 { Bytes::new() } else { body::collect(body, B::BYTES).await? };
        if access == Access::Signed {
            app.signatures.check(&parts.headers, &body)?;
        }
        if access == Access::Control && parts.method == Method::POST {
            // A form of any page could be sent without one, and do what needs no body.
            body::json(&parts.headers)?;
        }
        Ok((query, B::read(&parts.headers, &body)?))
    }
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

/// What a path names, parsed once: nothing later sees a name that is none.
struct Named {
    agent: AgentId,
    task: Option<TaskId>,
    timer: Option<TimerId>,
    work_item: Option<WorkItemId>,
    token: Option<String>,
}

impl Named {
    async fn read(app: &App, parts: &mut Parts) -> Handled<Self> {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params = params.map_err(|rejection| invalid("agent_id", rejection.body_text()))?;
        let named = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text);
        let agent = match named("agent_id") {
            Some(text) => AgentId::new(text).map_err(|error| invalid("agent_id", error))?,
            None => app.about.default_agent.clone(),
        };
        let token = named("token").map(str::to_owned);
        let task = named("task_id").map(str::parse).transpose();
        let timer = named("timer_id").map(str::parse).transpose();
        let work_item = named("work_item_id").map(str::parse).transpose();
        Ok(Self {
            agent,
            task: task.map_err(|error| invalid("task_id", error))?,
            timer: timer.map_err(|error| invalid("timer_id", error))?,
            work_item: work_item.map_err(|error| invalid("work_item_id", error))?,
            token,
        })
    }
}

fn invalid(field: &str, problem: impl ToString) -> Box<Failure> {
    Failure::new(Code::InvalidPath, problem).detail("field", field)
}

fn describe<Q: JsonSchema, B: Body, R: Reply>(generator: &mut SchemaGenerator) -> Described {
    let schema = B::schema(generator);
    Described {
        query: Q::json_schema(generator),
        body: schema.map(|schema| BodyDescribed {
            schema,
            required: B::REQUIRED,
            media: B::MEDIA,
            bytes: B::BYTES,
        }),
        reply: R::schema(generator),
        status: R::STATUS,
        media: R::MEDIA,
    }
}
