//! A provider that answers what it is told to, and remembers what it was asked. It speaks all three protocols,
//! by the path that is asked, streamed where that is asked for; and it misbehaves in every way that servers do.
//!
//! ```ignore
//! let provider = Provider::start([
//!     calls(&[("ExecCommand", json!({ "cmd": "ls" }))]),
//!     says("Half of this").cut_in_text(),
//!     fails(529, "overloaded"),
//!     says("Done.").late(Duration::from_secs(1)),
//! ]);
//! ```

mod chat;
mod kept;
mod messages;
mod odd;
mod reply;
mod responses;
mod serve;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kept::Kept;
use serde_json::Value;

pub use chat::completion;
pub use reply::{Answer, Call, Fault, Place, Reply, Stop, calls, command, fails, raw_calls, says};

/// What a model that is asked to think has thought, in a form that nobody else reads.
pub const THOUGHT: &str = "dGhvdWdodC1jYW5hcnk";

/// A running server; it ends with its process.
pub struct Provider {
    /// With `/v1`: the base URL of all protocols.
    pub url: String,
    shared: Arc<Shared>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `/v1/chat/completions`, `/v1/responses` or `/v1/messages`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Null where it was no JSON.
    pub body: Value,
    /// Its place among all requests, from 1.
    pub number: usize,
    /// The input of `/v1/responses`, with what was said before the response that it goes on from.
    pub whole: Vec<Value>,
}

/// What is said to a request.
type Otherwise = Box<dyn Fn(&Value) -> Reply + Send + Sync>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// What is said to a request for which no reply was given beforehand.
    otherwise: Option<Otherwise>,
}

#[derive(Default)]
struct State {
    replies: VecDeque<Reply>,
    asked: Vec<Asked>,
    connections: usize,
    hung_up: usize,
    /// Ids of the models that it lists.
    models: Option<Vec<String>>,
    kept: Kept,
}

impl Provider {
    /// Answers one request after the other; past the last reply it fails with 500.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::serving(replies, None)
    }

    /// Answers each request by what is in it: several agents ask at once.
    pub fn answering(answer: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        Self::serving([], Some(Box::new(answer)))
    }

    fn serving(replies: impl IntoIterator<Item = Reply>, otherwise: Option<Otherwise>) -> Self {
        let state = State { replies: replies.into_iter().collect(), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), otherwise });
        let (sender, address) = std::sync::mpsc::channel();
        let serving = shared.clone();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("the test listens");
                serve::serve(listener, serving).await;
            });
        });
        let url = format!("http://{}/v1", address.recv().expect("the server starts"));
        Self { url, shared }
    }

    /// Lists these models from now on; before, it has no list.
    pub fn list(&self, models: &[&str]) {
        self.shared.change(|state| state.models = Some(models.iter().map(ToString::to_string).collect()));
    }

    /// Forgets the responses that it keeps.
    pub fn forget(&self) {
        self.shared.change(|state| state.kept.forget());
    }

    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.lock().asked.iter().map(|asked| asked.body.clone()).collect()
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.lock().asked.clone()
    }

    /// Waits until there were so many requests.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait("requests", |state| state.asked.len() >= count);
    }

    /// Waits until clients have closed so many connections in the middle of a reply.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.wait("hang-ups", |state| state.hung_up >= count);
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut state = self.shared.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "waited too long for {what}");
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}
