//! One agent of the reference: its messages, its run, its keys.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::event::inbox::{MessageAdmitted, RequeueCause};
use holon_core::event::{InboxFact, TurnFact};
use holon_core::message::{Message, Priority};
use holon_core::{Config, ContentId, Event, MessageId, Record, RunId, Wall};

use crate::failure::{Failure, ensure};

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) stopped: bool,
    pub(super) run: Option<(RunId, MessageId)>,
    pub(super) last: u64,
    pub(super) entries: u64,
    pub(super) bytes: u64,
    queued: BTreeSet<(Priority, MessageId)>,
    claimed: BTreeSet<MessageId>,
    alive: BTreeMap<MessageId, (Priority, u64)>,
    crashes: BTreeMap<MessageId, u32>,
    pub(super) keys: Vec<Key>,
}

/// An idempotency key as it was used last.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) payload: ContentId,
    pub(super) message: MessageId,
    at: Wall,
    /// Keyed admissions after this one.
    younger: u64,
    /// Once its time was over, the core may forget it whatever the clock does later.
    pub(super) expired: bool,
}

impl Model {
    pub(super) fn apply(&mut self, record: &Record, config: &Config) -> Result<(), Failure> {
        match &record.event {
            Event::Inbox(fact) => self.inbox(record, fact, config),
            Event::Turn(TurnFact::TurnStarted(fact)) => {
                ensure!(self.run.is_none(), "T1", "{} starts while {:?} runs", fact.run_id, self.run);
                ensure!(!self.stopped, "L1", "{} starts on a stopped agent", fact.run_id);
                self.run = Some((fact.run_id, fact.message_id));
                Ok(())
            }
            Event::Turn(TurnFact::TurnTerminal(fact)) => {
                let running = self.run.take().map(|(run, _)| run);
                ensure!(running == Some(fact.run_id), "T4", "{} ends, {running:?} was running", fact.run_id);
                ensure!(self.claimed.is_empty(), "Q1", "{:?} are claimed by no run", self.claimed);
                Ok(())
            }
            Event::Lifecycle(_)
            | Event::Scheduling(_)
            | Event::Turn(_)
            | Event::Operation(_)
            | Event::Brief(_) => Ok(()),
        }
    }

    fn inbox(&mut self, record: &Record, fact: &InboxFact, config: &Config) -> Result<(), Failure> {
        match fact {
            InboxFact::MessageAdmitted(fact) => self.admitted(record.at, fact, config),
            InboxFact::MessageDuplicate(fact) => {
                let known = fact.message_id.0 <= self.last;
                ensure!(known, "Q5", "{} is a duplicate of nothing", fact.message_id);
                Ok(())
            }
            InboxFact::MessageDequeued(fact) => self.claim(fact.message_id, true),
            InboxFact::OperatorInterjectionAdmitted(fact) => self.claim(fact.message_id, false),
            InboxFact::MessageProcessed(fact) => self.settle(fact.message_id),
            InboxFact::MessageAborted(fact) => self.settle(fact.message_id),
            InboxFact::MessageDropped(fact) => {
                let crashes = self.crashes.get(&fact.message_id).copied().unwrap_or(0) + 1;
                let enough = crashes >= config.queue.crashes;
                ensure!(enough, "Q7", "{} was dropped after {crashes} crashes", fact.message_id);
                self.settle(fact.message_id)
            }
            InboxFact::MessageRequeued(fact) => {
                let was = self.claimed.remove(&fact.message_id);
                ensure!(was, "Q10", "{} is requeued but was not claimed", fact.message_id);
                if fact.cause == RequeueCause::Crash {
                    self.crashes.insert(fact.message_id, fact.crashes);
                }
                let (priority, _) = self.alive.get(&fact.message_id).copied().unwrap_or_default_band();
                self.queued.insert((priority, fact.message_id));
                Ok(())
            }
        }
    }

    fn admitted(&mut self, at: Wall, fact: &MessageAdmitted, config: &Config) -> Result<(), Failure> {
        let Message { id, priority, .. } = fact.message;
        ensure!(id.0 == self.last + 1, "Q9", "{id} was admitted after msg_{}", self.last);
        if let Some(idempotency) = &fact.idempotency {
            for key in &mut self.keys {
                key.expired |= at.since(key.at) >= config.queue.keys_for;
                key.expired |= key.younger >= config.queue.keys.max(1);
            }
            let known = self.keys.iter().find(|key| key.name == idempotency.key && !key.expired);
            ensure!(known.is_none(), "Q5", "{id} was admitted although its key stands for {known:?}");
            self.keys.iter_mut().for_each(|key| key.younger += 1);
            self.keys.retain(|key| key.name != idempotency.key);
            self.keys.push(Key {
                name: idempotency.key.clone(),
                payload: idempotency.payload,
                message: id,
                at,
                younger: 0,
                expired: false,
            });
        }
        self.last = id.0;
        self.entries += 1;
        self.bytes += fact.message.bytes();
        self.alive.insert(id, (priority, fact.message.bytes()));
        self.queued.insert((priority, id));
        Ok(())
    }

    /// Takes a message out of the queue. Under a hold the scheduler may pass over the first.
    fn claim(&mut self, message: MessageId, from_scheduler: bool) -> Result<(), Failure> {
        ensure!(!self.stopped || !from_scheduler, "L1", "{message} is taken by a stopped agent");
        let (priority, _) = self.alive.get(&message).copied().unwrap_or_default_band();
        let was = self.queued.remove(&(priority, message));
        ensure!(was, "Q3", "{message} is claimed but was not queued");
        self.claimed.insert(message);
        Ok(())
    }

    fn settle(&mut self, message: MessageId) -> Result<(), Failure> {
        ensure!(self.claimed.remove(&message), "Q2", "{message} ends but was not claimed");
        let bytes = self.alive.remove(&message).map_or(0, |(_, bytes)| bytes);
        self.entries -= 1;
        self.bytes -= bytes;
        Ok(())
    }

    pub(super) fn unfinished(&self) -> Option<MessageId> {
        self.alive.keys().next().copied()
    }

    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Entries, bytes.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.entries, self.bytes)
    }
}

/// A message that nobody knows is in the last band.
trait Band {
    fn unwrap_or_default_band(self) -> (Priority, u64);
}

impl Band for Option<(Priority, u64)> {
    fn unwrap_or_default_band(self) -> (Priority, u64) {
        self.unwrap_or((Priority::Background, 0))
    }
}
