//! How many turns there may be at once, and who waits for one, in the order of asking (contract: scheduler.md, Facts).

use alloc::collections::BTreeMap;

use holon_facts::config::Config;
use holon_facts::ids::AgentId;

use crate::turns::TurnsUse;

/// The slots of a host for turns.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    /// Runs in progress, over all agents.
    pub(super) running: u64,
    /// As many may be.
    pub(super) most: u64,
    /// Agents that were refused a slot for a turn.
    pub(super) queue: SlotQueue,
    /// What whoever lends slots knows; none where they are this host's own.
    known: Option<TurnsUse>,
}

impl Slots {
    pub(super) fn new(config: &Config) -> Self {
        let most = config.lent_turns.unwrap_or(config.limits.concurrent_turns);
        let known = config.lent_turns.map(|lent| TurnsUse { lent, ..TurnsUse::default() });
        Self { running: 0, most, queue: SlotQueue::default(), known }
    }

    pub(super) fn is_one_free(&self) -> bool {
        self.running < self.most
    }

    /// Only a host that has no slots of its own is lent any.
    pub(super) fn lend(&mut self, turns: u64) {
        if self.known.is_some() {
            self.most = turns;
        }
    }

    /// What is used, where whoever lends knows otherwise. Nobody waits for a turn that will not begin.
    pub(super) fn used_otherwise(&mut self, draining: bool) -> Option<TurnsUse> {
        let waiting = if draining { 0 } else { self.queue.len() };
        let used = TurnsUse { lent: self.most, running: self.running, waiting };
        let known = self.known.as_mut().filter(|known| **known != used)?;
        *known = used;
        Some(used)
    }
}

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

    fn len(&self) -> u64 {
        self.numbers.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}
