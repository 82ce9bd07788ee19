//! Agents that are not in memory and have something due some time: each is loaded when that comes, and when the clock
//! has gone back, for then what it waits for moves.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use holon_core::{AgentId, Millis, Wall};
use holon_platform::clock;

use super::{Driver, DriverError, LoadError};
use crate::ledger::LedgerError;

/// Agents that are loaded before anything else is listened to.
const AT_ONCE: usize = 16;
/// Until somebody whom a lock on the ledger kept out is tried again.
const AGAIN: Millis = Millis::seconds(1);

/// When to load whom.
#[derive(Debug, Default)]
pub(super) struct Absent {
    next: BTreeSet<(Wall, AgentId)>,
    of: BTreeMap<AgentId, Wall>,
    /// To be looked at since the clock went back.
    to_look_at: VecDeque<AgentId>,
    /// In memory for that alone.
    looked_at: Vec<AgentId>,
    /// It was said that somebody is to be loaded.
    rung: bool,
}

impl Absent {
    /// An agent is not in memory, and something is due for it then.
    pub(super) fn wait(&mut self, agent: AgentId, until: Wall) {
        self.forget(&agent);
        self.next.insert((until, agent.clone()));
        self.of.insert(agent, until);
    }

    /// It is in memory, or there is none of that name.
    pub(super) fn forget(&mut self, agent: &AgentId) {
        if let Some(until) = self.of.remove(agent) {
            self.next.remove(&(until, agent.clone()));
        }
    }

    fn first(&self) -> Option<Wall> {
        self.next.first().map(|(at, _)| *at)
    }

    /// The earliest of those who are due, the oldest deadline first; they wait no longer.
    fn due(&mut self, now: Wall) -> Vec<AgentId> {
        let due = self.next.iter().take_while(|(at, _)| *at <= now).take(AT_ONCE);
        let due: Vec<AgentId> = due.map(|(_, agent)| agent.clone()).collect();
        due.iter().for_each(|agent| self.forget(agent));
        due
    }

    /// The clock has gone back: everybody has to be looked at.
    pub(super) fn clock_went_back(&mut self) {
        self.to_look_at = self.of.keys().cloned().collect();
    }

    /// It is said once: whoever drives loads when it can.
    pub(super) fn rung(&mut self) {
        self.rung = true;
    }

    fn looks(&self) -> bool {
        !self.to_look_at.is_empty() || !self.looked_at.is_empty()
    }
}

impl Driver {
    /// How long from the last step until somebody is to be loaded; none while nobody can be.
    pub(super) fn absent_wait(&self) -> Option<Millis> {
        if self.room.is_full() || self.absent.rung {
            return None;
        }
        if self.absent.looks() {
            return self.caught_up().then_some(Millis(0));
        }
        Some(self.host.facts().now.until(self.absent.first()?))
    }

    /// Loads whom something is wanted of: children that have to be told something, and those whose deadline has come
    /// while they were not in memory. A few at a time.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn load_wanted(&mut self) -> Result<(), DriverError> {
        self.load_children().await?;
        self.absent.rung = false;
        if self.absent_wait().is_none() {
            return Ok(());
        }
        self.look_after_step_back().await?;
        let wall = self.host.facts().now.after(self.now().mono.since(self.stepped_at));
        for agent in self.absent.due(wall) {
            self.load_absent(agent, wall).await?;
        }
        Ok(())
    }

    /// After the clock went back those who are absent are brought in, which moves what they wait for, and let go again, so
    /// that few are in memory at a time.
    async fn look_after_step_back(&mut self) -> Result<(), DriverError> {
        if !self.absent.looks() || !self.caught_up() {
            return Ok(());
        }
        let looked_at = std::mem::take(&mut self.absent.looked_at);
        let left = self.park(&looked_at)?;
        self.arrived.extend(looked_at.into_iter().filter(|agent| !left.contains(agent)));
        let wall = clock::now().wall;
        for _ in 0..AT_ONCE {
            let Some(agent) = self.absent.to_look_at.pop_front() else { break };
            if self.absent.of.contains_key(&agent) {
                self.load_absent(agent.clone(), wall).await?;
                self.arrived.retain(|arrived| *arrived != agent);
                if self.host.view().agent(&agent).is_some() {
                    self.absent.looked_at.push(agent);
                }
            }
        }
        Ok(())
    }

    async fn load_absent(&mut self, agent: AgentId, now: Wall) -> Result<(), DriverError> {
        match self.load(&agent).await {
            Ok(_) => {}
            Err(LoadError::DiskFull(_)) => self.absent.wait(agent, now),
            Err(LoadError::Damaged(DriverError::Ledger(LedgerError::Locked { .. }))) => {
                self.absent.wait(agent, now.after(AGAIN));
            }
            Err(LoadError::Damaged(error)) => {
                self.absent.forget(&agent);
                self.warnings.push(format!("{agent} has something due and can't be loaded: {error}"));
            }
            Err(LoadError::Driver(error)) => return Err(error),
        }
        Ok(())
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
