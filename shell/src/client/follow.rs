//! The events of an agent as they become durable, each once and in order: after a cut, from behind the last event that
//! was seen.

use holon_core::{AgentId, EventSeq};
use serde_json::Value;

use super::request::Ask;
use super::sse::{Message, Sse};
use super::{Client, ClientError};

/// What is followed.
pub struct Follow {
    agent: AgentId,
    live: bool,
    /// The last event that was handed over; none begins with what is new.
    cursor: Option<EventSeq>,
    events: Sse,
}

/// What comes along.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// A durable event, in its envelope.
    Event(Value),
    /// A piece of what the model says, while it does; pieces may be missed.
    Live { kind: String, data: Value },
}

impl Follow {
    /// Begins after an event; 0 is before the first one.
    pub fn after(client: Client, agent: AgentId, cursor: Option<EventSeq>) -> Self {
        Self { agent, live: false, cursor, events: Sse::new(client) }
    }

    /// With pieces of what the model says.
    #[must_use]
    pub fn with_live(mut self) -> Self {
        self.live = true;
        self
    }

    /// The last event that was handed over.
    pub fn cursor(&self) -> Option<EventSeq> {
        self.cursor
    }

    /// Waits for what comes next. Giving the wait up loses nothing.
    ///
    /// # Errors
    /// What can't be followed, or a runtime that stays away.
    pub async fn next(&mut self) -> Result<Followed, ClientError> {
        let path = format!("/agents/{}/events/stream", self.agent);
        let after = self.cursor.map(|seq| seq.to_string());
        let ask = Ask::get(&path, &[("after_seq", after), ("live", self.live.then(|| "true".to_owned()))]);
        let Message { kind, data } = self.events.next(&ask).await?;
        let Some(seq) = data.get("event_seq") else { return Ok(Followed::Live { kind, data }) };
        if let Some(seq) = seq.as_u64() {
            self.cursor = Some(EventSeq(seq));
        }
        Ok(Followed::Event(data))
    }
}
