//! Agents that are not in memory and have something due some time: each is loaded when that comes, and when the clock
//! has gone back, for then what it waits for moves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holon_facts::{AgentId, Millis, Wall};
use holon_ledger::{LedgerReader, LedgerWriter};

use super::Engine;

/// Agents that are loaded before anything else is listened to.
pub(crate) const AT_ONCE: usize = 16;
/// Until somebody whom a lock on the ledger kept out is tried again.
pub(crate) const AGAIN: Millis = Millis::seconds(1);

/// When to load whom.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    next: BTreeSet<(Wall, AgentId)>,
    of: BTreeMap<AgentId, Wall>,
    /// To be looked at since the clock went back.
    to_look_at: VecDeque<AgentId>,
    /// In memory for that alone.
    looked_at: Vec<AgentId>,
    /// The driver was notified that an agent must be loaded.
    notified: bool,
}

impl Absent {
    /// An agent is not in memory, and something is due for it then.
    pub(crate) fn wait(&mut self, agent: AgentId, until: Wall) {
        self.forget(&agent);
        self.next.insert((until, agent.clone()));
        self.of.insert(agent, until);
    }

    /// It is in memory, or there is none of that name.
    pub(crate) fn forget(&mut self, agent: &AgentId) {
        if let Some(until) = self.of.remove(agent) {
            self.next.remove(&(until, agent.clone()));
        }
    }

    fn first(&self) -> Option<Wall> {
        self.next.first().map(|(at, _)| *at)
    }

    /// The earliest of those who are due, the oldest deadline first; they wait no longer.
    pub(crate) fn due(&mut self, now: Wall) -> Vec<AgentId> {
        let due = self.next.iter().take_while(|(at, _)| *at <= now).take(AT_ONCE);
        let due: Vec<AgentId> = due.map(|(_, agent)| agent.clone()).collect();
        due.iter().for_each(|agent| self.forget(agent));
        due
    }

    /// The clock has gone back: everybody has to be looked at.
    pub(crate) fn clock_went_back(&mut self) {
        self.to_look_at = self.of.keys().cloned().collect();
    }

    /// The driver is notified once, and loads when it can.
    pub(crate) fn notify(&mut self) {
        self.notified = true;
    }

    /// The driver may be notified again.
    pub(crate) fn rearm(&mut self) {
        self.notified = false;
    }

    pub(crate) fn looks(&self) -> bool {
        !self.to_look_at.is_empty() || !self.looked_at.is_empty()
    }

    /// The next one to look at who still waits for something.
    pub(crate) fn next_to_look_at(&mut self) -> Option<AgentId> {
        std::iter::from_fn(|| self.to_look_at.pop_front()).find(|agent| self.of.contains_key(agent))
    }

    /// It is in memory to be looked at alone.
    pub(crate) fn looked_at(&mut self, agent: AgentId) {
        self.looked_at.push(agent);
    }

    pub(crate) fn take_looked_at(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.looked_at)
    }
}

impl<W: LedgerWriter, R: LedgerReader<Error = W::Error>, C> Engine<W, R, C> {
    /// How long from the last step until somebody is to be loaded; none while nobody can be.
    pub(crate) fn absent_wait(&self) -> Option<Millis> {
        if self.stall.is_some() || self.absent.notified {
            return None;
        }
        if self.absent.looks() {
            return self.caught_up().then_some(Millis(0));
        }
        Some(self.host.facts().now.until(self.absent.first()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_due_comes_in_the_order_of_deadlines() {
        let id = |name: &str| AgentId::new(name).unwrap();
        let mut absent = Absent::default();
        for (name, at) in [("c", 30), ("a", 20), ("b", 20), ("d", 90)] {
            absent.wait(id(name), Wall(at));
        }
        absent.wait(id("c"), Wall(10));
        absent.forget(&id("b"));
        assert_eq!(absent.first(), Some(Wall(10)));
        assert_eq!(absent.due(Wall(50)), [id("c"), id("a")]);
        assert_eq!(absent.due(Wall(50)), []);
        absent.clock_went_back();
        assert_eq!(absent.to_look_at, [id("d")]);
    }
}
