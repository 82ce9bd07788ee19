//! A runtime over HTTP: each request has a connection of its own; what is followed is resumed after a cut. What is refused
//! comes back as it was worded; what can't be reached says how to start it.

mod all_events;
mod connect;
mod events;
mod location;
mod output;
mod request;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use holon_facts::EventSeq;
use http::HeaderValue;

use crate::path::{AgentPath, TaskPath};
use crate::{Follow, LedgerSeq};

pub use all_events::HttpAllEvents;
pub use connect::{ByteStream, CONNECT_TIMEOUT, Connect, Connecting, Connection, not_reachable, silent};
pub use events::HttpEvents;
pub use location::Location;
pub use output::HttpOutput;

/// A runtime that can be asked. Cheap to clone; connects anew for each request.
#[derive(Debug, Clone)]
pub struct Client {
    runtime: Arc<dyn Connect>,
    bearer: Option<Bearer>,
    /// How long the head of an answer is waited for.
    timeout: Duration,
}

/// A control token as it is sent. It is never shown.
#[derive(Debug, Clone)]
pub struct Bearer(HeaderValue);

/// A runtime answers when its answer is durable, which a busy disk may hold up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

impl Client {
    /// A runtime that is reached like this.
    pub fn over(runtime: impl Connect + 'static) -> Self {
        Self { runtime: Arc::new(runtime), bearer: None, timeout: ANSWER_TIMEOUT }
    }

    /// With a token to show.
    #[must_use]
    pub fn with_bearer(self, bearer: Option<Bearer>) -> Self {
        Self { bearer, ..self }
    }

    /// Gives an answer up sooner, where a runtime may be stuck.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl Bearer {
    /// None for what can't stand in a header.
    pub fn new(token: &str) -> Option<Self> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        value.set_sensitive(true);
        Some(Self(value))
    }
}

impl Follow for Client {
    type Events = HttpEvents;
    type AllEvents = HttpAllEvents;
    type Output = HttpOutput;

    fn follow(&self, agent: impl Into<AgentPath>, after: Option<EventSeq>, live: bool) -> HttpEvents {
        HttpEvents::new(self.clone(), agent.into(), after, live)
    }

    fn follow_all(&self, after: Option<LedgerSeq>) -> HttpAllEvents {
        HttpAllEvents::new(self.clone(), after)
    }

    fn follow_output(&self, task: impl Into<TaskPath>, offset: u64) -> HttpOutput {
        HttpOutput::new(self.clone(), task.into(), offset)
    }
}
