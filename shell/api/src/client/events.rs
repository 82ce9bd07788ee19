//! The events of an agent as they become durable, each once and in order: after a cut, from behind the last event that
//! was handed over.

use holon_facts::EventSeq;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::Client;
use super::request::{Prepared, odd};
use super::sse::{Message, Sse};
use crate::path::AgentPath;
use crate::rows::FollowEvents;
use crate::{ClientError, Document, Empty, Envelope, Events, Followed, Request, StreamQuery};

/// What is followed.
pub struct HttpEvents {
    agent: AgentPath,
    live: bool,
    /// The last event that was handed over; none begins with what is new.
    cursor: Option<EventSeq>,
    events: Sse,
}

impl HttpEvents {
    pub(super) fn new(client: Client, agent: AgentPath, cursor: Option<EventSeq>, live: bool) -> Self {
        Self { agent, live, cursor, events: Sse::new(client) }
    }
}

impl Events for HttpEvents {
    async fn next(&mut self) -> Result<Followed, ClientError> {
        let query = StreamQuery { after_seq: self.cursor, live: self.live, ..StreamQuery::default() };
        let request = Request::<FollowEvents> { path: self.agent.clone(), query, body: Empty, key: None };
        let Message { kind, data } = self.events.next(&Prepared::of(request)?).await?;
        let data: Value = serde_json::from_str(&data).map_err(|error| odd(&error))?;
        if data.get("event_seq").is_none() {
            return Ok(Followed::Live { kind, data });
        }
        let event = Document::<Envelope>::deserialize(data).map_err(|error| odd(&error))?;
        self.cursor = Some(event.event_seq);
        Ok(Followed::Event(Box::new(event)))
    }

    fn cursor(&self) -> Option<EventSeq> {
        self.cursor
    }

    fn connected(&self) -> watch::Receiver<bool> {
        self.events.connected()
    }
}
