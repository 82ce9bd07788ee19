//! Requests with JSON on both sides.

use std::time::Duration;

use bytes::Bytes;
use holon_api::ErrorBody;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderName, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Client, ClientError};

/// Most bytes of an answer.
const BODY: usize = 64 << 20;
/// A body follows its head at once.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Attempts at a request that can't be done twice, and the pause before the second one.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What is asked: a method, a path, and what goes along.
#[derive(Debug, Clone)]
pub struct Ask {
    method: Method,
    path: String,
    body: Option<Value>,
    key: Option<String>,
}

impl Ask {
    /// Reads; `query` are names and values, those without a value are left out.
    pub fn get(path: &str, query: &[(&str, Option<String>)]) -> Self {
        let pairs: Vec<String> = query
            .iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={}", escaped(value))))
            .collect();
        let path = if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) };
        Self { method: Method::GET, path, body: None, key: None }
    }

    /// # Errors
    /// A body that can't be written as JSON, which none of ours is.
    pub fn post(path: &str, body: &impl Serialize) -> Result<Self, ClientError> {
        let body = serde_json::to_value(body).map_err(|error| odd(&error))?;
        Ok(Self { method: Method::POST, path: path.to_owned(), body: Some(body), key: None })
    }

    /// With this key the runtime takes it once, however often it comes: it is sent again when an answer is missing.
    #[must_use]
    pub fn once(mut self, key: String) -> Self {
        self.key = Some(key);
        self
    }

    pub(super) fn request(
        &self,
        client: &Client,
        accept: &'static str,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let builder = Request::builder().method(self.method.clone()).uri(&self.path);
        let mut builder = builder.header(HOST, "localhost").header(ACCEPT, accept);
        if let Some(token) = &client.token {
            builder = builder.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        if let Some(key) = &self.key {
            builder = builder.header(KEY, key);
        }
        let body = match &self.body {
            Some(body) => {
                builder = builder.header(CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        builder.body(Full::new(body)).map_err(|error| odd(&error))
    }
}

impl Client {
    /// Asks, and reads the answer as it is.
    ///
    /// # Errors
    /// Whatever keeps the answer away, a refusal included.
    pub async fn ask(&self, ask: &Ask) -> Result<Value, ClientError> {
        let mut pause = PAUSE;
        for _ in 1..ATTEMPTS {
            match self.try_to(ask).await {
                Err(error) if ask.key.is_some() && error.may_pass() => {
                    tokio::time::sleep(pause).await;
                    pause *= 4;
                }
                answered => return answered,
            }
        }
        self.try_to(ask).await
    }

    /// Asks, and reads the answer as what it should be.
    ///
    /// # Errors
    /// As [`Client::ask`], and when the answer is something else.
    pub async fn ask_as<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, ClientError> {
        serde_json::from_value(self.ask(ask).await?).map_err(|error| odd(&error))
    }

    async fn try_to(&self, ask: &Ask) -> Result<Value, ClientError> {
        let answer = self.send(ask.request(self, "application/json")?).await?;
        let status = answer.status();
        let body = body(answer.into_body()).await?;
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| odd(&error));
        }
        Err(refused(status, &body))
    }
}

/// The whole body of an answer.
pub(super) async fn body(body: Incoming) -> Result<Bytes, ClientError> {
    let collected = tokio::time::timeout(BODY_TIME, Limited::new(body, BODY).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) => Err(ClientError::Broken { problem: error.to_string() }),
        Err(_) => Err(ClientError::TimedOut { seconds: BODY_TIME.as_secs() }),
    }
}

/// A refusal, also one of a version that words it otherwise.
pub(super) fn refused(status: StatusCode, body: &[u8]) -> ClientError {
    let said: Value = serde_json::from_slice(body).unwrap_or_else(|_| json!({}));
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

    #[test]
    fn a_query_is_escaped() {
        let ask =
            Ask::get("/a", &[("q", Some("a b&ä".to_owned())), ("none", None), ("n", Some("1".to_owned()))]);
        assert_eq!(ask.path, "/a?q=a%20b%26%C3%A4&n=1");
        assert_eq!(Ask::get("/a", &[("none", None)]).path, "/a");
    }

    #[test]
    fn any_refusal_can_be_told() {
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
