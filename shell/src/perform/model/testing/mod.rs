//! What the tests of the transports share: a rich request, a server that sends exactly what it is told to, and
//! one attempt at it.

mod request;
mod server;

use std::sync::{Arc, Mutex};

use holon_core::model::{AttemptFailure, ModelAnswer, ModelRequest};
use holon_core::{OpId, Outcome};
use holon_text::{Secrets, Texts};
use serde_json::Value;

pub(super) use request::request;
pub(super) use server::{Send, Server, answer, events, read_request};

use super::Providers;
use super::built_in::built_in;
use super::provider::{Credential, ProviderOptions, ProviderSpec};
use crate::live::{Live, LiveSink};
use crate::perform::tool::CommandEnvironment;
use crate::perform::{Performers, Settings};

pub(super) const KEY: &str = "sk-canary-123456";

pub(super) fn texts() -> Texts {
    let secrets = Secrets::new([("THE_KEY".to_owned(), KEY.to_owned())]);
    Texts::new(secrets, Box::new(|_| Ok(None)))
}

/// A provider as it is built in, somewhere else.
pub(super) fn spec(id: &str, base_url: &str, options: ProviderOptions) -> ProviderSpec {
    let spec = built_in(|_| None).into_iter().find(|spec| spec.id == id).unwrap();
    let credential = Credential::Key { value: KEY.into(), origin: "THE_KEY".into() };
    ProviderSpec { base_url: base_url.to_owned(), credential, options, ..spec }
}

/// Attempts at one provider, and what was shown of them.
#[derive(Clone)]
pub(super) struct Asking {
    id: String,
    performers: Performers,
    texts: Texts,
    live: Arc<Mutex<Vec<Live>>>,
    timeout: u64,
}

impl Asking {
    pub(super) fn new(id: &str, base_url: &str, options: ProviderOptions) -> Self {
        Self::of(id, Providers::new(vec![spec(id, base_url, options)]))
    }

    pub(super) fn of(id: &str, providers: Providers) -> Self {
        let texts = texts();
        let settings = Settings::new("/nowhere".into(), CommandEnvironment::new([]));
        let live = Arc::<Mutex<Vec<Live>>>::default();
        let seen = live.clone();
        let sink = LiveSink::new(move |piece| seen.lock().unwrap().push(piece));
        let performers = Performers::new(texts.clone(), providers, settings, sink);
        Self { id: id.to_owned(), performers, texts, live, timeout: 10_000 }
    }

    /// Bounds the whole of each attempt, in milliseconds.
    pub(super) fn within(mut self, timeout: u64) -> Self {
        self.timeout = timeout;
        self
    }

    pub(super) fn request(&self) -> ModelRequest {
        request(&self.texts, &format!("{}/some/model", self.id), self.timeout)
    }

    pub(super) async fn ask(&self) -> Outcome {
        self.performers.call_model(OpId(7), self.request()).await
    }

    pub(super) async fn answer(&self) -> ModelAnswer {
        let outcome = self.ask().await;
        let Outcome::Answer { answer } = outcome else { panic!("{outcome:?}") };
        answer
    }

    pub(super) async fn failure(&self) -> AttemptFailure {
        let outcome = self.ask().await;
        let Outcome::AttemptFailed { failure } = outcome else { panic!("{outcome:?}") };
        let written = serde_json::to_string(&failure).unwrap();
        assert!(!written.contains("canary"), "{written}");
        assert!(failure.diagnostics.is_some());
        assert!(self.texts.resolve(&failure.message).unwrap().len() < 1_000);
        failure
    }

    pub(super) fn message(&self, failure: &AttemptFailure) -> String {
        self.texts.resolve(&failure.message).unwrap().to_string()
    }

    /// The text that was shown.
    pub(super) fn shown(&self) -> String {
        let live = self.live.lock().unwrap();
        assert!(matches!(live.first(), Some(Live::Attempt { op: OpId(7), .. })));
        let pieces = live.iter().filter_map(|live| match live {
            Live::Attempt { .. } => None,
            Live::Text { piece, .. } => Some(piece.as_str()),
        });
        pieces.collect()
    }
}

/// Asks a server of `local` that sends these bytes and closes.
pub(super) async fn local(bytes: Vec<u8>) -> Asking {
    let server = Server::start([vec![Send::Bytes(bytes)]]).await;
    Asking::new("local", &server.base, ProviderOptions::default())
}

/// A refusal of `local`.
pub(super) async fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> AttemptFailure {
    local(answer(status, headers, body.as_bytes())).await.failure().await
}

/// One choice of a chat completion.
pub(super) fn choice(message: &Value, finish: &Value) -> Value {
    serde_json::json!({"choices": [{"message": message, "finish_reason": finish}]})
}
