//! Who waits for a turn slot, in the order of asking (contract: scheduler.md, Facts).

use alloc::collections::BTreeMap;

use holon_facts::ids::AgentId;

/// Each agent waits once, however often it asks.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotQueue {
    by_number: BTreeMap<u64, AgentId>,
    numbers: BTreeMap<AgentId, u64>,
    next: u64,
}

impl SlotQueue {
    pub(super) fn push(&mut self, agent: AgentId) {
        if self.numbers.contains_key(&agent) {
            return;
        }
        self.numbers.insert(agent.clone(), self.next);
        self.by_number.insert(self.next, agent);
        self.next += 1;
    }

    /// Whoever has waited longest, and its place.
    pub(super) fn pop(&mut self) -> Option<(u64, AgentId)> {
        let (number, agent) = self.by_number.pop_first()?;
        self.numbers.remove(&agent);
        Some((number, agent))
    }

    /// Its turn has come, and was not taken: it keeps its place.
    pub(super) fn put_back(&mut self, number: u64, agent: AgentId) {
        self.numbers.insert(agent.clone(), number);
        self.by_number.insert(number, agent);
    }

    pub(super) fn remove(&mut self, agent: &AgentId) {
        if let Some(number) = self.numbers.remove(agent) {
            self.by_number.remove(&number);
        }
    }

    /// Whoever waits, the longest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &AgentId> {
        self.by_number.values()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}
