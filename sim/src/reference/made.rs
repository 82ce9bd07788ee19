//! Keys of requests that make something: the same request again makes nothing new, and another one is a conflict.

use std::collections::VecDeque;

use holon_facts::event::lifecycle::RequestKeyed;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{LifecycleFact, OperationFact};
use holon_facts::ids::{OpId, TaskId};
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::{Config, ContentId, Event, Record, Wall};

use super::Reply;
use crate::failure::{Failure, ensure};

#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    /// The oldest first.
    all: VecDeque<Key>,
    /// Commands of operators that are about to begin.
    preparing: Vec<(OpId, TaskId)>,
}

#[derive(Debug, Clone)]
struct Key {
    name: String,
    payload: ContentId,
    made: Made,
    at: Wall,
}

impl Keys {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record, config: &Config) -> Result<(), Failure> {
        match &record.event {
            Event::Lifecycle(LifecycleFact::RequestKeyed(fact)) => self.keyed(record.at, fact, config),
            Event::Operation(OperationFact::OperationOpened(fact)) => {
                if fact.kind == OpKind::PrepareCommand && fact.run_id.is_none() {
                    self.preparing.extend(fact.task_id.map(|task| (fact.op, task)));
                }
                Ok(())
            }
            Event::Operation(OperationFact::OperationSettled(fact)) => {
                let at = self.preparing.iter().position(|(op, _)| *op == fact.op);
                let Some((_, task)) = at.map(|at| self.preparing.swap_remove(at)) else { return Ok(()) };
                if fact.settlement != Settlement::Done {
                    self.release(Made::Task(task));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Q5: a key is kept with the request that it stands for, and the oldest ones go: where there are too many, and
    /// where their time is over.
    fn keyed(&mut self, at: Wall, fact: &RequestKeyed, config: &Config) -> Result<(), Failure> {
        let RequestKeyed { idempotency, made, expired_keys } = fact;
        let known = self.known(idempotency, at, config);
        ensure!(known.is_none(), "Q5", "{made} is made under a key that stands for {known:?}");
        let too_many = (self.all.len() as u64 + 1).saturating_sub(config.queue.keys.max(1));
        let over = self.all.iter().take_while(|key| at.since(key.at) >= config.queue.keys_for).count() as u64;
        let go = too_many.max(over);
        ensure!(u64::from(*expired_keys) == go, "Q5", "{expired_keys} keys go with {made}, right is {go}");
        self.all.drain(..usize::try_from(go).unwrap_or(usize::MAX).min(self.all.len()));
        let Idempotency { key, payload } = idempotency.clone();
        self.all.push_back(Key { name: key, payload, made: *made, at });
        Ok(())
    }

    /// What was to be made is not made: its key stands for nothing.
    fn release(&mut self, made: Made) {
        if let Some(at) = self.all.iter().rposition(|key| key.made == made) {
            self.all.remove(at);
        }
    }

    fn known(&self, idempotency: &Idempotency, now: Wall, config: &Config) -> Option<&Key> {
        let newest = self.all.iter().rev().find(|key| key.name == idempotency.key)?;
        Some(newest).filter(|_| now.since(newest.at) < config.queue.keys_for)
    }

    /// What the key of a request stands for; none if it makes something new.
    ///
    /// # Errors
    /// The answer where the key stands for another request.
    pub(super) fn stands_for(
        &self,
        key: Option<&Idempotency>,
        now: Wall,
        config: &Config,
    ) -> Result<Option<Made>, Reply> {
        let Some(known) = key.and_then(|key| Some((key, self.known(key, now, config)?))) else {
            return Ok(None);
        };
        let (asked, known) = known;
        if known.payload == asked.payload { Ok(Some(known.made)) } else { Err(CONFLICT) }
    }

    pub(super) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// The operation after which the command of a task begins.
    pub(super) fn preparing(&self, task: TaskId) -> Option<OpId> {
        self.preparing.iter().find(|(_, other)| *other == task).map(|(op, _)| *op)
    }
}

/// The key stands for something else, or for something of which nothing is kept.
pub(super) const CONFLICT: Reply = Reply::Refused("idempotency_conflict");
