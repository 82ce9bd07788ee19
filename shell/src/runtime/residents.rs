//! Who is in memory, and since when nobody needed them: idle agents leave it after a while.

use std::collections::BTreeMap;
use std::time::Duration;

use holon_facts::AgentId;
use tokio::time::Instant;

/// An agent that nobody asked for so long, and that has nothing to do, leaves memory.
pub(super) const IDLE: Duration = Duration::from_secs(60);

/// Agents that leave memory at once at most: they are written down in one transaction.
const AT_ONCE: usize = 1_024;

/// The agents in memory, each with the moment at which to see whether it may leave.
#[derive(Debug, Default)]
pub(super) struct Residents {
    looked_at: BTreeMap<AgentId, Instant>,
    /// The earliest of them; none is looked at before.
    next: Option<Instant>,
}

impl Residents {
    /// Somebody needed it.
    pub(super) fn touch(&mut self, agent: &AgentId, now: Instant) {
        let at = now + IDLE;
        self.looked_at.insert(agent.clone(), at);
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// It has left memory.
    pub(super) fn forget(&mut self, agent: &AgentId) {
        self.looked_at.remove(agent);
    }

    /// When somebody may leave, at the earliest.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Nobody is looked at before.
    pub(super) fn postpone(&mut self, until: Instant) {
        self.next = self.next.map(|next| next.max(until));
    }

    /// Those who were not needed for long enough, a few at a time. They are asked again later, unless they are forgotten.
    pub(super) fn due(&mut self, now: Instant) -> Vec<AgentId> {
        let due: Vec<AgentId> = {
            let due = self.looked_at.iter_mut().filter(|(_, at)| **at <= now);
            due.take(AT_ONCE)
                .map(|(agent, at)| {
                    *at = now + IDLE;
                    agent.clone()
                })
                .collect()
        };
        self.next = self.looked_at.values().min().copied();
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
        let mut residents = Residents::default();
        assert_eq!(residents.next(), None);
        residents.touch(&one, began);
        residents.touch(&other, began);
        residents.touch(&other, began + IDLE / 2);
        assert_eq!(residents.next(), Some(began + IDLE));
        assert_eq!(residents.due(began + IDLE), std::slice::from_ref(&one));
        residents.forget(&one);
        assert_eq!(residents.due(began + IDLE), []);
        assert_eq!(residents.next(), Some(began + IDLE + IDLE / 2));
    }
}
