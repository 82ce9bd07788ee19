//! One follower of an agent.

use std::sync::Arc;

use holon_facts::EventSeq;
use holon_ledger::read::Reader;
use holon_platform::spawn;
use tokio::sync::{broadcast, watch};

use super::page::{Order, Span, page};
use super::topic::{Available, Topic};
use super::{Event, EventsError, Hub};
use crate::live::Live;

/// Events that are handed over at once.
const BATCH: usize = 128;

/// Sees every event after its cursor once, in order. Dropping it ends the following; the cursor resumes it.
pub struct Subscription {
    hub: Hub,
    durable: Durable,
    live: broadcast::Receiver<Live>,
}

/// The durable part of what is followed.
struct Durable {
    topic: Arc<Topic>,
    reader: Arc<Reader>,
    cursor: EventSeq,
    /// Whether what events mean to people is asked for.
    present: bool,
    changes: watch::Receiver<EventSeq>,
}

/// What a follower gets.
#[derive(Debug)]
pub enum Delivery {
    Events(Vec<Arc<Event>>),
    Live(Live),
}

impl Subscription {
    pub(super) fn new(
        hub: Hub,
        topic: Arc<Topic>,
        reader: Arc<Reader>,
        cursor: EventSeq,
        present: bool,
    ) -> Self {
        let (changes, live) = (topic.changes(), topic.live());
        Self { hub, durable: Durable { topic, reader, cursor, present, changes }, live }
    }

    pub(super) fn topic(&self) -> &Topic {
        &self.durable.topic
    }

    /// The last event that was handed over.
    pub fn cursor(&self) -> EventSeq {
        self.durable.cursor
    }

    /// Waits for events; never gives none.
    ///
    /// # Errors
    /// When the ledger is damaged. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, EventsError> {
        self.durable.next().await
    }

    /// Waits for events or live text. Pieces of text that came too fast are missed.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    pub async fn next_or_live(&mut self) -> Result<Delivery, EventsError> {
        loop {
            tokio::select! {
                biased;
                events = self.durable.next() => return events.map(Delivery::Events),
                piece = self.live.recv() => match piece {
                    Ok(piece) => return Ok(Delivery::Live(piece)),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Err(EventsError::Ended),
                },
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.leave(self.durable.topic.agent(), self.durable.present);
    }
}

impl Durable {
    async fn next(&mut self) -> Result<Vec<Arc<Event>>, EventsError> {
        loop {
            let events = match self.topic.after(self.cursor, BATCH, self.present) {
                Available::Events(events) => events,
                Available::Earlier => self.read().await?,
                Available::Nothing => Vec::new(),
            };
            if let Some(last) = events.last() {
                self.cursor = last.seq;
                return Ok(events);
            }
            // The topic lives as long as this does.
            self.changes.changed().await.map_err(|_| EventsError::Ended)?;
        }
    }

    async fn read(&self) -> Result<Vec<Arc<Event>>, EventsError> {
        let (reader, agent) = (self.reader.clone(), self.topic.agent().clone());
        let span = Span { after: Some(self.cursor), before: None, limit: BATCH, order: Order::Asc };
        let present = self.present;
        let read = spawn::blocking(move || page(&reader, &agent, span, present)).await;
        let page = read.map_err(|_| EventsError::Ended)??;
        Ok(page.events.into_iter().map(Arc::new).collect())
    }
}
