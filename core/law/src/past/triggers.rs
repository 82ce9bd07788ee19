//! The trigger of an agent, as far as a law looks back.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::wake::{ExternalTriggerDelivered, ExternalTriggerProvisioned};
use holon_facts::trigger::REMEMBERED;

#[derive(Debug, Clone, Default)]
pub(crate) struct Trigger {
    /// Of the last address; 0 before there was one.
    pub(crate) generation: u64,
    pub(crate) active: bool,
    body: Option<u64>,
    /// The last deliveries, each of another source, the latest one at the end.
    last: Vec<(String, u64)>,
    /// What is to become a hint.
    pub(crate) delivered: Option<Delivered>,
}

/// A delivery.
#[derive(Debug, Clone)]
pub(crate) struct Delivered {
    pub(crate) source: String,
    /// It came again.
    pub(crate) again: bool,
    /// An earlier build took it in: it compared bodies alone, and had no exceptions.
    pub(crate) by_body: bool,
}

impl Trigger {
    pub(super) fn provisioned(&mut self, fact: &ExternalTriggerProvisioned) {
        (self.generation, self.active) = (fact.generation, true);
    }

    pub(super) fn delivered(&mut self, fact: &ExternalTriggerDelivered) {
        let same_body = self.body.replace(fact.said) == Some(fact.said);
        let source = fact.source.clone();
        let Some(digest) = fact.digest else {
            self.delivered = Some(Delivered { source, again: same_body, by_body: true });
            return;
        };
        let position = self.last.iter().position(|(last, _)| *last == source);
        let before = position.map(|position| self.last.remove(position));
        if self.last.len() == REMEMBERED {
            self.last.remove(0);
        }
        self.last.push((source.clone(), digest));
        let again = before.is_some_and(|(_, before)| before == digest);
        self.delivered = Some(Delivered { source, again, by_body: false });
    }
}
