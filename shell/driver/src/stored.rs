//! When the state of an agent is stored again: by the bytes of its records since the last time, which are what a start
//! would read. A state costs no more to write than these did, so a large one is stored more seldom; who is quiet is not
//! stored at all.

use std::collections::BTreeMap;

use holon_facts::AgentId;

/// How much has come since the state of each agent in memory was stored.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Bytes of records after which a state is stored again, at least.
    after: usize,
    agents: BTreeMap<AgentId, Since>,
}

#[derive(Debug, Default)]
struct Since {
    /// Bytes of records.
    records: usize,
    /// Bytes of the stored state, as text.
    state: usize,
}

impl Stored {
    pub(crate) fn new(after: usize) -> Self {
        Self { after, agents: BTreeMap::new() }
    }

    /// An agent has come into memory, from a stored state and the records after it.
    pub(crate) fn brought_in(&mut self, agent: &AgentId, state: usize, records: usize) {
        self.agents.insert(agent.clone(), Since { records, state });
    }

    /// It has left memory.
    pub(crate) fn forget(&mut self, agent: &AgentId) {
        self.agents.remove(agent);
    }

    /// Records were made.
    pub(crate) fn grows(&mut self, agent: &AgentId, bytes: usize) {
        self.agents.entry(agent.clone()).or_default().records += bytes;
    }

    /// Whether its state is to be stored now; then the count begins anew.
    pub(crate) fn takes(&mut self, agent: &AgentId) -> bool {
        let Some(since) = self.agents.get_mut(agent) else { return false };
        let due = since.records >= since.state.max(self.after);
        if due {
            since.records = 0;
        }
        due
    }

    /// What its state took.
    pub(crate) fn packed(&mut self, agent: &AgentId, bytes: usize) {
        if let Some(since) = self.agents.get_mut(agent) {
            since.state = bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AFTER_BYTES: usize = 256 << 10;

    #[test]
    fn a_state_is_stored_once_as_much_was_recorded_as_it_takes() {
        let (mut stored, main) = (Stored::new(AFTER_BYTES), AgentId::new("main").unwrap());
        assert!(!stored.takes(&main), "nobody knows it");
        let until = |stored: &mut Stored| {
            (1..).find(|_| {
                stored.grows(&main, AFTER_BYTES / 16);
                stored.takes(&main)
            })
        };
        assert_eq!(until(&mut stored), Some(16));
        assert_eq!(until(&mut stored), Some(16), "it begins anew");
        stored.packed(&main, 3 * AFTER_BYTES);
        assert_eq!(until(&mut stored), Some(48));
        stored.packed(&main, 10);
        assert_eq!(until(&mut stored), Some(16), "a small one is not stored more often");
        // Who comes back after a long log without a state has it stored at once.
        stored.brought_in(&main, 0, 2 * AFTER_BYTES);
        assert!(stored.takes(&main) && !stored.takes(&main));
        stored.brought_in(&main, 0, AFTER_BYTES - 1);
        assert!(!stored.takes(&main));
        stored.forget(&main);
        assert_eq!(until(&mut stored), Some(16));
    }
}
