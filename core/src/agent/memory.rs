//! What the agent has in mind: as the last turn that changed it left it, and what its operator has decided since.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::episode::MemoryUpdated;
use holon_facts::memory::{DECISIONS, Decision, WorkingMemory};
use holon_facts::message::Message;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Counts its changes.
    pub revision: u64,
    pub now: Arc<WorkingMemory>,
    /// Answers of the operator, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

impl Memory {
    /// The operator has written while something was asked of them.
    pub(super) fn decided(&mut self, message: &Message) {
        if self.decisions.len() == DECISIONS {
            self.decisions.remove(0);
        }
        let (message_id, at, text) = (message.id, message.created_at, message.body.text.clone());
        self.decisions.push(Decision { message_id, at, text });
    }

    pub(super) fn updated(&mut self, fact: &MemoryUpdated) {
        self.revision = fact.revision;
        self.now = Arc::new(fact.memory.clone());
    }
}
