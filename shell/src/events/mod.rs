//! Durable events for whoever follows an agent: pages from the ledger, and what has just become durable from a
//! short memory that all followers of an agent share (contract: surface.md, Events).
//!
//! A follower has a cursor and asks for what comes after it, so it sees every event once, in order, however
//! slow it is: what it missed it reads from the ledger. An agent that nobody follows costs nothing.

mod all;
mod page;
mod presented;
mod subscription;
#[cfg(test)]
mod tests;
mod topic;
mod watch;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use all::AllTopic;
use holon_facts::{AgentId, EventSeq, Record};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{LedgerSeq, Reader};
use topic::Topic;
use watch::Untaken;

use crate::live::{Live, LiveSink};

pub use all::{AllSubscription, DAMAGED, PlacedEvent, PlacedPage, page_of_all};
pub use page::{Order, Page, Span, page};
pub use subscription::{Delivery, Subscription};
pub use watch::{Missed, Watch};

/// One durable event, as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub seq: EventSeq,
    pub kind: &'static str,
    /// The envelope as JSON, without a line end.
    pub json: String,
    /// What it means to people, as JSON; none where nobody asked for it.
    pub presentation: Option<String>,
}

impl Event {
    /// The envelope, where asked for with what it means to people.
    pub fn envelope(&self, present: bool) -> Cow<'_, str> {
        presented::envelope(&self.json, self.presentation.as_deref(), present)
    }
}

/// Events that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("an event can't be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the reading of events was ended")]
    Ended,
}

/// Everybody who follows an agent. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hub {
    topics: Arc<Mutex<BTreeMap<AgentId, Followed>>>,
    watches: Arc<Mutex<BTreeMap<AgentId, Vec<Arc<Untaken>>>>>,
    all: Arc<AllTopic>,
}

struct Followed {
    topic: Arc<Topic>,
    followers: usize,
}

impl Hub {
    /// A record has become durable. Records of an agent come in their order.
    pub fn publish(&self, record: &Record) {
        if let Some(topic) = self.topic(&record.agent) {
            topic.publish(record);
        }
        for untaken in self.watches().get(&record.agent).into_iter().flatten() {
            untaken.keep(record);
        }
        self.all.notify();
    }

    /// Watches what becomes durable of an agent from now on.
    pub fn watch(&self, agent: &AgentId) -> Watch {
        let untaken = Arc::new(Untaken::default());
        self.watches().entry(agent.clone()).or_default().push(untaken.clone());
        Watch::new(self.clone(), agent.clone(), untaken)
    }

    fn unwatch(&self, agent: &AgentId, ended: &Arc<Untaken>) {
        let mut watches = self.watches();
        if let Some(of_agent) = watches.get_mut(agent) {
            of_agent.retain(|untaken| !Arc::ptr_eq(untaken, ended));
            if of_agent.is_empty() {
                watches.remove(agent);
            }
        }
    }

    fn watches(&self) -> MutexGuard<'_, BTreeMap<AgentId, Vec<Arc<Untaken>>>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the performers show what is going on, for followers who want to see that, too.
    pub fn live(&self) -> LiveSink {
        let (hub, followed) = (self.clone(), self.clone());
        let see = move |live: Live| {
            if let Some(topic) = hub.topic(agent_of(&live)) {
                topic.show(live);
            }
        };
        LiveSink::for_followers(see, move |agent| followed.topic(agent).is_some())
    }

    /// Follows an agent from an event on, with what events mean to people where that is asked for. `reader` is for what
    /// is no longer in memory.
    ///
    /// # Errors
    /// When there is no agent of that name, or the ledger is damaged.
    pub fn follow(
        &self,
        reader: Arc<Reader>,
        agent: &AgentId,
        after: EventSeq,
        present: bool,
    ) -> Result<Subscription, LedgerError> {
        let topic = self.join(&reader, agent, present);
        let subscription = Subscription::new(self.clone(), topic, reader.clone(), after, present);
        // Asked only now: what becomes durable from here on is published to the topic.
        subscription.topic().begins_after(reader.last_event(agent)?);
        Ok(subscription)
    }

    /// Follows all public agents from behind a position, with what events mean to people where that is asked for.
    /// `reader` is for what is no longer in memory.
    pub fn follow_all(&self, reader: Arc<Reader>, after: LedgerSeq, present: bool) -> AllSubscription {
        AllSubscription::new(self.all.clone(), reader, after, present)
    }

    fn join(&self, reader: &Arc<Reader>, agent: &AgentId, present: bool) -> Arc<Topic> {
        let mut topics = self.topics();
        let followed = topics.entry(agent.clone()).or_insert_with(|| Followed {
            topic: Arc::new(Topic::new(reader.clone(), agent.clone())),
            followers: 0,
        });
        followed.followers += 1;
        followed.topic.presenting.join(present);
        followed.topic.clone()
    }

    /// How many agents are followed.
    pub fn followed(&self) -> usize {
        self.topics().len()
    }

    /// One follower less.
    fn leave(&self, agent: &AgentId, present: bool) {
        let mut topics = self.topics();
        if let Some(followed) = topics.get_mut(agent) {
            followed.followers -= 1;
            followed.topic.presenting.leave(present);
            if followed.followers == 0 {
                topics.remove(agent);
            }
        }
    }

    fn topic(&self, agent: &AgentId) -> Option<Arc<Topic>> {
        self.topics().get(agent).map(|followed| followed.topic.clone())
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<AgentId, Followed>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn agent_of(live: &Live) -> &AgentId {
    match live {
        Live::Attempt { agent, .. } | Live::Text { agent, .. } | Live::Output { agent, .. } => agent,
    }
}
