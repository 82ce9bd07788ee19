//! What the tests of the transports share: a rich request, a server that sends exactly what it is told to, and
//! one attempt at it.

mod request;
mod server;

use std::sync::{Arc, Mutex};

use holon_facts::model::{AttemptFailure, ModelAnswer, ModelRequest};
use holon_text::{Secrets, Texts};
use serde_json::Value;

use super::Providers;
use super::built_in::built_in;
use super::options::ProviderOptions;
use super::provider::{Credential, ProviderSpec};
use super::tools::Tools;

pub use request::{image, request};
pub use server::{Send, Server, answer, events, read_request};

pub const KEY: &str = "sk-canary-123456";

pub fn texts() -> Texts {
    let secrets = Secrets::new([("THE_KEY".to_owned(), KEY.to_owned())]);
    Texts::new(secrets, Box::new(|_| Ok(None)))
}

/// A provider as it is built in, somewhere else.
pub fn spec(id: &str, base_url: &str, options: ProviderOptions) -> ProviderSpec {
    let spec = built_in(|_| None).into_iter().find(|spec| spec.id == id).unwrap();
    let credential = Credential::Key { value: KEY.into(), origin: "THE_KEY".into() };
    ProviderSpec { base_url: base_url.to_owned(), credential, options, ..spec }
}

/// Attempts at one provider, and what was shown of them.
#[derive(Clone)]
pub struct Asking {
    id: String,
    providers: Providers,
    texts: Texts,
    shown: Arc<Mutex<String>>,
    timeout: u64,
}

impl Asking {
    pub fn new(id: &str, base_url: &str, options: ProviderOptions) -> Self {
        Self::of(id, Providers::new(vec![spec(id, base_url, options)], Tools::default()))
    }

    pub fn of(id: &str, providers: Providers) -> Self {
        Self { id: id.to_owned(), providers, texts: texts(), shown: Arc::default(), timeout: 10_000 }
    }

    /// Bounds the whole of each attempt, in milliseconds.
    pub fn within(mut self, timeout: u64) -> Self {
        self.timeout = timeout;
        self
    }

    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    pub fn request(&self) -> ModelRequest {
        request(&self.texts, &format!("{}/some/model", self.id), self.timeout)
    }

    /// One attempt.
    pub async fn ask(&self) -> Result<ModelAnswer, AttemptFailure> {
        self.ask_for(&self.request()).await
    }

    /// One attempt at a request of one's own.
    pub async fn ask_for(&self, request: &ModelRequest) -> Result<ModelAnswer, AttemptFailure> {
        let show = |piece: String| self.shown.lock().unwrap().push_str(&piece);
        self.providers.ask(&self.texts, request, &show).await
    }

    pub async fn answer(&self) -> ModelAnswer {
        self.ask().await.unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    pub async fn failure(&self) -> AttemptFailure {
        let Err(failure) = self.ask().await else { panic!("there is an answer") };
        let written = serde_json::to_string(&failure).expect("a failure is JSON");
        assert!(!written.contains("canary"), "{written}");
        assert!(failure.diagnostics.is_some());
        assert!(self.texts.resolve(&failure.message).unwrap().len() < 1_000);
        failure
    }

    pub fn message(&self, failure: &AttemptFailure) -> String {
        self.texts.resolve(&failure.message).unwrap().to_string()
    }

    /// The text that was shown.
    pub fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }
}

/// Asks a server of `local` that sends these bytes and closes.
pub async fn local(bytes: Vec<u8>) -> Asking {
    let server = Server::start([vec![Send::Bytes(bytes)]]).await;
    Asking::new("local", &server.base, ProviderOptions::default())
}

/// A refusal of `local`.
pub async fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> AttemptFailure {
    local(answer(status, headers, body.as_bytes())).await.failure().await
}

/// One choice of a chat completion.
pub fn choice(message: &Value, finish: &Value) -> Value {
    serde_json::json!({"choices": [{"message": message, "finish_reason": finish}]})
}
