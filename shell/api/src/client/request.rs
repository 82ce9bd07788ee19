//! Requests as they go over a connection, and replies as they come back.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderName, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};

use super::Client;
use crate::{Ask, Asked, Body, ClientError, Code, Endpoint, ErrorBody, Reply, Request};

/// Most bytes of a reply.
const REPLY_BYTES: usize = 64 << 20;
/// A body follows its head at once.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts at a request that can't be done twice, and the pause before the second one.
const ATTEMPTS: u32 = 4;
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Longest address that is sent.
const URI_BYTES: usize = 32 << 10;
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request that can be sent as often as it has to be.
pub(super) struct Prepared {
    method: Method,
    uri: String,
    accept: &'static str,
    body: Option<Bytes>,
    key: Option<String>,
    /// How much longer than usual the answer may take.
    waits: Duration,
}

impl Prepared {
    /// # Errors
    /// What can't be written, which nothing of this crate is.
    pub(super) fn of<E: Endpoint>(request: Request<E>) -> Result<Self, ClientError> {
        let Request { path, query, body, key } = request;
        let waits = E::waits(&query);
        let path = serde_json::to_value(path).map_err(|error| odd(&error))?;
        let query = serde_urlencoded::to_string(query).map_err(|error| odd(&error))?;
        let body = (E::ROW.method == Method::POST).then(|| body.write()).transpose();
        let body = body.map_err(|error| odd(&error))?.map(Bytes::from);
        let uri = uri(E::ROW.path, &path, &query)?;
        Ok(Self { method: E::ROW.method, uri, accept: E::Reply::MEDIA, body, key, waits })
    }

    pub(super) fn request(&self, client: &Client) -> Result<http::Request<Full<Bytes>>, ClientError> {
        let builder = http::Request::builder().method(self.method.clone()).uri(&self.uri);
        let mut builder = builder.header(HOST, "localhost").header(ACCEPT, self.accept);
        if let Some(bearer) = &client.bearer {
            builder = builder.header(AUTHORIZATION, &bearer.0);
        }
        if let Some(key) = &self.key {
            builder = builder.header(KEY, key);
        }
        if self.body.is_some() {
            builder = builder.header(CONTENT_TYPE, "application/json");
        }
        builder.body(Full::new(self.body.clone().unwrap_or_default())).map_err(|error| odd(&error))
    }
}

impl<E: Endpoint> Ask<E> for Client {
    async fn ask(&self, request: Request<E>) -> Asked<E::Reply> {
        let prepared = Prepared::of(request)?;
        let body = self.body_of(&prepared).await?;
        E::Reply::read(&body).map_err(|error| odd(&error))
    }
}

impl Client {
    /// Sends a request with a key again when its answer is missing: the runtime takes it once.
    async fn body_of(&self, prepared: &Prepared) -> Result<Bytes, ClientError> {
        let mut pause = RETRY_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.attempt(prepared).await {
                Err(error) if prepared.key.is_some() && error.may_pass() => {
                    tokio::time::sleep(pause).await;
                    pause *= 4;
                }
                answered => return answered,
            }
        }
        self.attempt(prepared).await
    }

    async fn attempt(&self, prepared: &Prepared) -> Result<Bytes, ClientError> {
        let answer = self.send(prepared.request(self)?, prepared.waits).await?;
        let status = answer.status();
        let body = body(answer.into_body()).await?;
        if status.is_success() { Ok(body) } else { Err(refused(status, &body)) }
    }
}

/// The whole body of an answer.
pub(super) async fn body(body: Incoming) -> Result<Bytes, ClientError> {
    let collected = tokio::time::timeout(REPLY_TIMEOUT, Limited::new(body, REPLY_BYTES).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) => Err(ClientError::Broken { problem: error.to_string() }),
        Err(_) => Err(ClientError::TimedOut { seconds: REPLY_TIMEOUT.as_secs() }),
    }
}

/// A refusal, also one of a version that words it otherwise.
pub(super) fn refused(status: StatusCode, body: &[u8]) -> ClientError {
    let said: Value = holon_facts::json::read(body).unwrap_or_else(|_| json!({}));
    let text = |name: &str| said.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let details: Option<Map<String, Value>> = said.get("details").and_then(Value::as_object).cloned();
    let body = ErrorBody {
        ok: false,
        error: text("error").unwrap_or_else(|| format!("the runtime answered {status}")),
        code: text("code").unwrap_or_else(|| "unknown".to_owned()),
        hint: text("hint"),
        details,
    };
    ClientError::Refused { status: status.as_u16(), body: Box::new(body) }
}

/// The address at such a template, with what its parameters are.
fn uri(template: &str, path: &Value, query: &str) -> Result<String, ClientError> {
    let mut uri = template.to_owned();
    for (name, value) in path.as_object().into_iter().flatten() {
        uri = uri.replace(&format!("{{{name}}}"), &escaped(value.as_str().unwrap_or_default()));
    }
    if !query.is_empty() {
        uri = format!("{uri}?{query}");
    }
    if uri.len() > URI_BYTES {
        return Err(too_long(uri.len()));
    }
    Ok(uri)
}

fn too_long(bytes: usize) -> ClientError {
    let error = format!(
        "the address of the request would have {bytes} bytes, expected at most {URI_BYTES}: give a shorter name or text"
    );
    let code = Code::UriTooLong;
    let body = ErrorBody { ok: false, error, code: code.name().to_owned(), hint: None, details: None };
    ClientError::Refused { status: code.status().as_u16(), body: Box::new(body) }
}

pub(super) fn odd(error: &dyn std::fmt::Display) -> ClientError {
    ClientError::Odd { problem: error.to_string() }
}

fn escaped(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{DeliverWake, ListAgents, ShowTask};
    use crate::{Anything, DeliveryQuery, Empty, ListQuery, Nothing, TaskPath, TriggerPath};

    #[test]
    fn a_path_and_a_query_are_made_of_their_types() {
        let path: TaskPath = serde_json::from_str(r#"{"agent_id":"main","task_id":"task_7"}"#).unwrap();
        let request = Request::<ShowTask> { path, query: Nothing {}, body: Empty, key: None };
        let prepared = Prepared::of(request).unwrap();
        assert_eq!((prepared.uri.as_str(), prepared.body), ("/agents/main/tasks/task_7", None));
        let query = ListQuery { limit: Some(7), ..ListQuery::default() };
        let request = Request::<ListAgents> { path: Nothing {}, query, body: Empty, key: None };
        assert_eq!(Prepared::of(request).unwrap().uri, "/agents/list?limit=7");
    }

    #[test]
    fn what_others_have_named_is_escaped() {
        let query = DeliveryQuery { reason: Some("a b&ä".to_owned()), ..DeliveryQuery::default() };
        let (path, body) =
            (TriggerPath { token: "a/b".to_owned() }, Anything { text: None, content_type: None });
        let prepared = Prepared::of(Request::<DeliverWake> { path, query, body, key: None }).unwrap();
        assert_eq!(prepared.uri, "/callbacks/wake/a%2Fb?reason=a+b%26%C3%A4");
    }

    #[test]
    fn any_refusal_can_be_shown() {
        let known =
            refused(StatusCode::CONFLICT, br#"{"ok":false,"error":"no","code":"agent_stopped","new":1}"#);
        assert_eq!((known.code(), known.to_string().as_str()), (Some("agent_stopped"), "no"));
        let strange = refused(StatusCode::BAD_GATEWAY, b"<html>");
        assert_eq!(strange.code(), Some("unknown"));
        assert!(strange.to_string().contains("502"), "{strange}");
        assert!(refused(StatusCode::SERVICE_UNAVAILABLE, b"").may_pass());
        assert!(!known.may_pass());
    }
}
