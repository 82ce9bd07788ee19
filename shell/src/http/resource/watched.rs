//! What happens to an agent from before a prompt of it was admitted: from memory, and from the ledger once that was missed.

use std::collections::VecDeque;
use std::time::Duration;

use holon_api::{ClientError, Follow};
use holon_facts::event::{Event, InboxFact};
use holon_facts::ids::MessageId;
use holon_facts::{AgentId, EventSeq, Record};

use super::super::App;
use crate::events::Watch;
use crate::wait::{Following, Seen, Source};

/// What was acknowledged is published at about the same time.
const SOON: Duration = Duration::from_secs(1);

/// Records of one agent, one after the other.
pub(super) struct Watched {
    app: App,
    agent: AgentId,
    cursor: EventSeq,
    ready: VecDeque<Record>,
    rest: Rest,
}

/// Where the records come from that are not ready.
enum Rest {
    Watch(Watch),
    Ledger(Box<Following<<App as Follow>::Events>>),
}

impl Watched {
    /// From the admission of a message on; none where that was not seen.
    pub(super) async fn from_admission(app: &App, watch: Watch, message: MessageId) -> Option<Self> {
        tokio::time::timeout(SOON, Self::find(app, watch, message)).await.ok()?
    }

    async fn find(app: &App, mut watch: Watch, message: MessageId) -> Option<Self> {
        loop {
            let mut ready = watch.next().await.ok()?;
            let Some(at) = ready.iter().position(|record| admits(record, message)) else { continue };
            ready.drain(..at);
            let first = ready.front()?;
            let (agent, cursor) = (first.agent.clone(), EventSeq(first.event_seq.0.saturating_sub(1)));
            return Some(Self { app: app.clone(), agent, cursor, ready, rest: Rest::Watch(watch) });
        }
    }

    /// From behind an event on, from the ledger.
    pub(super) fn after(app: &App, agent: &AgentId, cursor: EventSeq) -> Self {
        let rest = ledger(app, agent, cursor);
        Self { app: app.clone(), agent: agent.clone(), cursor, ready: VecDeque::new(), rest }
    }

    /// The event before the first one.
    pub(super) fn begins_after(&self) -> EventSeq {
        self.cursor
    }
}

fn ledger(app: &App, agent: &AgentId, cursor: EventSeq) -> Rest {
    Rest::Ledger(Box::new(Following::new(app, agent, cursor)))
}

fn admits(record: &Record, message: MessageId) -> bool {
    matches!(&record.event, Event::Inbox(InboxFact::MessageAdmitted(fact)) if fact.message.id == message)
}

impl Source for Watched {
    async fn next(&mut self) -> Result<Seen, ClientError> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                self.cursor = record.event_seq;
                return Ok(Seen::Record(Box::new(record)));
            }
            match &mut self.rest {
                Rest::Watch(watch) => match watch.next().await {
                    Ok(records) => self.ready = records,
                    Err(_) => self.rest = ledger(&self.app, &self.agent, self.cursor),
                },
                Rest::Ledger(following) => {
                    let seen = following.next().await?;
                    self.cursor = following.cursor().unwrap_or(self.cursor);
                    return Ok(seen);
                }
            }
        }
    }

    fn cursor(&self) -> Option<EventSeq> {
        Some(self.cursor)
    }
}
