//! The trigger of an agent, as far as a law looks back.

use alloc::string::String;

use holon_facts::event::wake::{ExternalTriggerDelivered, ExternalTriggerProvisioned};

#[derive(Debug, Clone, Default)]
pub(crate) struct Trigger {
    /// Of the last address; 0 before there was one.
    pub(crate) generation: u64,
    pub(crate) active: bool,
    body: Option<u64>,
    /// Whose delivery is to become a hint, and whether its body came again.
    pub(crate) delivered: Option<(String, bool)>,
}

impl Trigger {
    pub(super) fn provisioned(&mut self, fact: &ExternalTriggerProvisioned) {
        (self.generation, self.active) = (fact.generation, true);
    }

    pub(super) fn delivered(&mut self, fact: &ExternalTriggerDelivered) {
        let repeats = self.body.replace(fact.said) == Some(fact.said);
        self.delivered = Some((fact.source.clone(), repeats));
    }
}
