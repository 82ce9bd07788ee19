//! Idempotency keys that were seen: what each stands for, in the order in which they came (contract: agent.md, Queue).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use holon_facts::config::QueueLimits;
use holon_facts::content::ContentId;
use holon_facts::message::Idempotency;
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

/// Keys by name, and the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys<T> {
    by_key: BTreeMap<String, Known<T>>,
    oldest_first: VecDeque<(Wall, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known<T> {
    // As earlier builds have stored it, when all of them were messages.
    #[serde(rename = "message_id")]
    of: T,
    payload: ContentId,
    at: Wall,
}

impl<T> Default for Keys<T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), oldest_first: VecDeque::new() }
    }
}

/// What is known of an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen<T> {
    Never,
    SamePayload(T),
    OtherPayload(T),
}

impl<T: Copy + Eq> Keys<T> {
    pub fn is_empty(&self) -> bool {
        self.oldest_first.is_empty()
    }

    /// Looks up a key; one that has expired was never seen.
    pub(crate) fn seen(&self, idempotency: &Idempotency, now: Wall, limits: &QueueLimits) -> Seen<T> {
        match self.by_key.get(&idempotency.key) {
            Some(known) if now.since(known.at) >= limits.keys_for => Seen::Never,
            Some(known) if known.payload == idempotency.payload => Seen::SamePayload(known.of),
            Some(known) => Seen::OtherPayload(known.of),
            None => Seen::Never,
        }
    }

    /// How many of the oldest a further one lets go.
    pub(crate) fn expired(&self, now: Wall, limits: &QueueLimits) -> u32 {
        let kept = self.oldest_first.len() as u64;
        let over = (kept + 1).saturating_sub(limits.keys.max(1));
        let stale = self.oldest_first.iter().take_while(|(at, _)| now.since(*at) >= limits.keys_for);
        u32::try_from(over.max(stale.count() as u64)).unwrap_or(u32::MAX)
    }

    pub(super) fn remember(&mut self, at: Wall, idempotency: &Idempotency, of: T) {
        self.oldest_first.push_back((at, idempotency.key.clone()));
        self.by_key.insert(idempotency.key.clone(), Known { of, payload: idempotency.payload, at });
    }

    /// What was to be made is not made: the key stands for nothing again.
    pub(super) fn release(&mut self, of: T) {
        let stands = |(_, key): &(Wall, String)| self.by_key.get(key).is_some_and(|known| known.of == of);
        if let Some((_, key)) =
            self.oldest_first.iter().rposition(stands).and_then(|at| self.oldest_first.remove(at))
        {
            self.by_key.remove(&key);
        }
    }

    pub(super) fn forget(&mut self, count: u32) {
        for (at, key) in self.oldest_first.drain(..(count as usize).min(self.oldest_first.len())) {
            if self.by_key.get(&key).is_some_and(|known| known.at == at) {
                self.by_key.remove(&key);
            }
        }
    }
}
