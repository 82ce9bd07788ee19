//! The events of all public agents as they become durable, each once and in order: after a cut, from behind the last one
//! that was handed over.

use super::Client;
use super::request::{Prepared, odd};
use super::sse::{Message, Sse};
use crate::rows::FollowAllEvents;
use crate::{AllEvents, AllStreamQuery, AnyEvent, ClientError, Empty, LedgerSeq, Nothing, Request};

/// What is followed.
pub struct HttpAllEvents {
    /// Where the last event that was handed over stands; none begins with what is new.
    cursor: Option<LedgerSeq>,
    events: Sse,
}

impl HttpAllEvents {
    pub(super) fn new(client: Client, cursor: Option<LedgerSeq>) -> Self {
        Self { cursor, events: Sse::new(client) }
    }
}

impl AllEvents for HttpAllEvents {
    async fn next(&mut self) -> Result<AnyEvent, ClientError> {
        let query = AllStreamQuery { after: self.cursor, ..AllStreamQuery::default() };
        let request = Request::<FollowAllEvents> { path: Nothing {}, query, body: Empty, key: None };
        let Message { data, .. } = self.events.next(&Prepared::of(request)?).await?;
        let event: AnyEvent = serde_json::from_str(&data).map_err(|error| odd(&error))?;
        self.cursor = event.position().or(self.cursor);
        Ok(event)
    }

    fn cursor(&self) -> Option<LedgerSeq> {
        self.cursor
    }
}
