//! `POST /mcp`: the Model Context Protocol over streamable HTTP (docs/mcp-server.md). Each request comes alone and is answered
//! with one JSON document, or, where its client wants to see progress or changes of resources, with a stream that ends with it. Nothing is kept for a
//! client between two requests.

use std::pin::Pin;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use holon_api::{Client, PROMPT_BODY_BYTES};
use holon_mcp_server::Server;
use holon_rpc::{Call, Error, Message, Peer, Service, answer};
use serde_json::Value;
use tokio::sync::mpsc;

use super::App;
use super::auth::Caller;
use super::console::leased;
use super::resource::sse::{ALIVE, HEARTBEAT, Steps, stream};
use super::route::of_protocol;

/// Notifications that a client has not read yet; then the call waits.
const UNREAD: usize = 16;

/// Lasts until its client ends it.
const LISTEN: &str = "subscriptions/listen";

/// What a stream begins with.
const BEGIN: &str = ": answer\n\n";

/// What answers a call.
type Answering = Pin<Box<dyn Future<Output = Result<Value, Error>> + Send>>;

pub(super) async fn speak(State(app): State<App>, request: Request) -> Response {
    let streams = takes_streams(request.headers());
    let lease = app.console.lease(request.headers());
    let (caller, body) = match of_protocol(&app, request, PROMPT_BODY_BYTES).await {
        Ok(received) => received,
        Err(failure) => return failure.into_response(),
    };
    // A subscription of a session ends with it.
    let lease = match (caller, lease) {
        (Caller::Session, Err(failure)) => return failure.into_response(),
        (Caller::Session, Ok(lease)) => Some(lease),
        (Caller::Token | Caller::Socket | Caller::Owner | Caller::Loopback, _) => None,
    };
    let response = spoken(app, caller, streams, &body).await;
    match lease {
        Some(lease) => leased(lease, response),
        None => response,
    }
}

async fn spoken(app: App, caller: Caller, streams: bool, body: &[u8]) -> Response {
    match Message::read(body) {
        Message::Invalid(refusal) => (StatusCode::BAD_REQUEST, Json(refusal)).into_response(),
        Message::Notification { .. } | Message::Response => StatusCode::ACCEPTED.into_response(),
        Message::Request { id, method, params } => {
            let listens = method == LISTEN;
            if listens && !streams {
                let refusal = Error::invalid_params("a subscription is a stream: accept text/event-stream");
                return Json(answer(id, Err(refusal))).into_response();
            }
            let shows = listens || streams && !params["_meta"]["progressToken"].is_null();
            let (sender, notifications) = mpsc::channel(UNREAD);
            let call = Call { id: id.clone(), method, params, peer: Peer::new(sender) };
            let answering: Answering = match app.process.door().filter(|_| app.names.are_shared()) {
                // Agents of other cells are reached as a client of this process reaches them.
                Some(door) => Box::pin(Server::for_all(Client::over(door.asked_by(caller))).call(call)),
                None => Box::pin(Server::for_all(app.asked_by(caller)).call(call)),
            };
            if shows {
                return stream(Conversation { id, answering: Some(answering), notifications }, BEGIN).0;
            }
            // What would be notified meanwhile has no way to this client.
            drop(notifications);
            Json(answer(id, answering.await)).into_response()
        }
    }
}

fn takes_streams(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// A call, and what is notified until its answer. It ends with its client.
struct Conversation {
    id: Value,
    /// None once it was answered.
    answering: Option<Answering>,
    notifications: mpsc::Receiver<String>,
}

impl Steps for Conversation {
    async fn step(mut self) -> Option<(Self, Bytes)> {
        let Self { id, answering, notifications } = &mut self;
        let line = tokio::select! {
            biased;
            Some(line) = notifications.recv() => line,
            told = answering.as_mut()? => {
                let line = answer(id.take(), told).to_string();
                *answering = None;
                line
            }
            () = tokio::time::sleep(HEARTBEAT) => return Some((self, ALIVE)),
        };
        Some((self, Bytes::from(format!("data: {line}\n\n"))))
    }
}
