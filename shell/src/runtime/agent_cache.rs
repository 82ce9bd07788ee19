//! Which agents are in memory, and since when no request needed them: idle agents are evicted after a while.

use std::collections::BTreeMap;
use std::time::Duration;

use holon_facts::AgentId;
use tokio::time::Instant;

/// An agent without requests for this time, and with nothing to do, is evicted.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Agents that are evicted at once at most: one transaction writes them down.
const AT_ONCE: usize = 1_024;

/// The agents in memory, each with the moment at which to check whether it may leave.
#[derive(Debug, Default)]
pub(super) struct AgentCache {
    check_at: BTreeMap<AgentId, Instant>,
    /// The earliest of them; none is checked before.
    next: Option<Instant>,
}

impl AgentCache {
    /// A request needed the agent.
    pub(super) fn touch(&mut self, agent: &AgentId, now: Instant) {
        let at = now + IDLE;
        self.check_at.insert(agent.clone(), at);
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// The agent was evicted.
    pub(super) fn forget(&mut self, agent: &AgentId) {
        self.check_at.remove(agent);
    }

    /// When an agent may be evicted, at the earliest.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// No agent is checked before.
    pub(super) fn postpone(&mut self, until: Instant) {
        self.next = self.next.map(|next| next.max(until));
    }

    /// Agents that were not needed for long enough, a few at a time. They are checked again later, unless they are forgotten.
    pub(super) fn due(&mut self, now: Instant) -> Vec<AgentId> {
        let due: Vec<AgentId> = {
            let due = self.check_at.iter_mut().filter(|(_, at)| **at <= now);
            due.take(AT_ONCE)
                .map(|(agent, at)| {
                    *at = now + IDLE;
                    agent.clone()
                })
                .collect()
        };
        self.next = self.check_at.values().min().copied();
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_needed_stays() {
        let (one, other) = (AgentId::new("one").unwrap(), AgentId::new("other").unwrap());
        let began = Instant::now();
        let mut cache = AgentCache::default();
        assert_eq!(cache.next(), None);
        cache.touch(&one, began);
        cache.touch(&other, began);
        cache.touch(&other, began + IDLE / 2);
        assert_eq!(cache.next(), Some(began + IDLE));
        assert_eq!(cache.due(began + IDLE), std::slice::from_ref(&one));
        cache.forget(&one);
        assert_eq!(cache.due(began + IDLE), []);
        assert_eq!(cache.next(), Some(began + IDLE + IDLE / 2));
    }
}
