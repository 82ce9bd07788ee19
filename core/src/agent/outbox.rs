//! What one agent has for another: letters of which the sender keeps each until it is on record with whom it is for,
//! and of which that one takes each once (contract: tasks.md, Child agents). The host carries them.

use alloc::collections::BTreeMap;

use holon_facts::event::OutboxFact;
use holon_facts::ids::{AgentId, LetterId};
use holon_facts::outbox::Letter;
use serde::{Deserialize, Serialize};

/// A letter on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    pub to: AgentId,
    pub letter: Letter,
}

/// The letters of one agent, both ways.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    open: BTreeMap<LetterId, Envelope>,
    /// The last letter of each agent that may send more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    received: BTreeMap<AgentId, LetterId>,
}

impl Outbox {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Letters on their way, in the order in which they were posted.
    pub fn open(&self) -> impl Iterator<Item = (LetterId, &Envelope)> {
        self.open.iter().map(|(id, envelope)| (*id, envelope))
    }

    pub fn get(&self, id: LetterId) -> Option<&Envelope> {
        self.open.get(&id)
    }

    /// Whether a letter was taken in already.
    pub fn knows(&self, from: &AgentId, id: LetterId) -> bool {
        self.received.get(from).is_some_and(|last| id <= *last)
    }

    pub(super) fn apply(&mut self, fact: &OutboxFact) {
        match fact {
            OutboxFact::LetterPosted(fact) => {
                let envelope = Envelope { to: fact.to.clone(), letter: fact.letter.clone() };
                self.open.insert(fact.letter_id, envelope);
            }
            OutboxFact::LetterDelivered(fact) => drop(self.open.remove(&fact.letter_id)),
            OutboxFact::LetterReturned(fact) => drop(self.open.remove(&fact.letter_id)),
            OutboxFact::LetterReceived(fact) => {
                self.received.insert(fact.from.clone(), fact.letter_id);
            }
        }
    }

    /// Nothing more comes from that agent.
    pub(super) fn forget(&mut self, from: &AgentId) {
        self.received.remove(from);
    }
}
