//! Idempotency keys, as far as a law looks back.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::lifecycle::RequestKeyed;
use holon_facts::ids::MessageId;
use holon_facts::made::Made;

/// Idempotency keys that are kept, in the order of admission and by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    by_message: BTreeMap<MessageId, String>,
    by_key: BTreeMap<String, MessageId>,
    /// Keys up to here were admitted before the clock went back: the order of their age is lost.
    muddled: Option<MessageId>,
}

impl Keys {
    /// The message for which the key is kept, once `expired` of the oldest have been let go.
    pub(crate) fn known(&self, key: &str, expired: u32) -> Option<MessageId> {
        let id = *self.by_key.get(key)?;
        let let_go = self.by_message.keys().take(expired as usize).any(|old| *old == id);
        (!let_go).then_some(id)
    }

    pub(crate) fn has(&self, message: MessageId) -> bool {
        self.by_message.contains_key(&message)
    }

    /// Whether ages of keys can be told from their order.
    pub(crate) fn in_order(&self) -> bool {
        let oldest = self.by_message.first_key_value().map(|(id, _)| *id);
        oldest.is_none_or(|oldest| self.muddled.is_none_or(|muddled| oldest > muddled))
    }

    pub(super) fn admit(&mut self, fact: &MessageAdmitted) {
        for _ in 0..fact.expired_keys {
            let Some((id, key)) = self.by_message.pop_first() else { break };
            if self.by_key.get(&key) == Some(&id) {
                self.by_key.remove(&key);
            }
        }
        if let Some(idempotency) = &fact.idempotency {
            self.by_message.insert(fact.message.id, idempotency.key.clone());
            self.by_key.insert(idempotency.key.clone(), fact.message.id);
        }
    }

    /// The clock went back: the order of ages is lost.
    pub(super) fn muddle(&mut self) {
        self.muddled = self.by_message.last_key_value().map(|(id, _)| *id);
    }
}

/// Keys of requests that have made something, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct MadeKeys {
    kept: VecDeque<(Made, String)>,
    /// The clock went back: the order of ages is lost.
    muddled: bool,
}

impl MadeKeys {
    /// Whether the key is kept, once `expired` of the oldest have been let go.
    pub(crate) fn has(&self, key: &str, expired: u32) -> bool {
        !self.muddled && self.kept.iter().skip(expired as usize).any(|(_, kept)| kept == key)
    }

    pub(super) fn keep(&mut self, fact: &RequestKeyed) {
        self.kept.drain(..self.kept.len().min(fact.expired_keys as usize));
        self.kept.push_back((fact.made, fact.idempotency.key.clone()));
    }

    /// What was to be made is not made.
    pub(super) fn release(&mut self, of: Made) {
        self.kept.retain(|(made, _)| *made != of);
    }

    pub(super) fn muddle(&mut self) {
        self.muddled = !self.kept.is_empty();
    }
}

/// Keys of the runtime's own messages, as long as those are live.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ticks {
    live: BTreeMap<MessageId, String>,
    /// Of the message that is admitted next.
    decided: Option<String>,
}

impl Ticks {
    /// The live message that was admitted under the key.
    pub(crate) fn message_of(&self, key: &str) -> Option<MessageId> {
        self.live.iter().find(|(_, live)| *live == key).map(|(id, _)| *id)
    }

    pub(super) fn decided(&mut self, key: Option<&str>) {
        self.decided = key.map(Into::into);
    }

    pub(super) fn admitted(&mut self, message: MessageId) {
        if let Some(key) = self.decided.take() {
            self.live.insert(message, key);
        }
    }

    pub(super) fn settled(&mut self, message: MessageId) {
        self.live.remove(&message);
    }
}
