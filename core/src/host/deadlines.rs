//! The one table of deadlines, over all agents: what is due, and when to look again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use holon_facts::decision::DeadlineReason;
use holon_facts::ids::AgentId;
use holon_facts::time::{Mono, Wall};

use crate::tx::{Alarm, Alarms};

/// Ordered by time, then agent: what is due at one moment fires in a fixed order.
#[derive(Debug, Clone, Default)]
pub(super) struct Deadlines {
    mono: BTreeSet<(Mono, AgentId, Alarm)>,
    wall: BTreeSet<(Wall, AgentId)>,
    armed: BTreeMap<AgentId, Armed>,
}

#[derive(Debug, Clone, Default)]
struct Armed {
    alarms: Alarms,
    wall: Option<(Wall, DeadlineReason)>,
}

impl Deadlines {
    /// Takes over what an agent is waiting for now.
    pub(super) fn set(&mut self, agent: &AgentId, alarms: &Alarms, wall: Option<(Wall, DeadlineReason)>) {
        let armed = self.armed.entry(agent.clone()).or_default();
        if armed.alarms != *alarms {
            for (alarm, at) in &armed.alarms {
                self.mono.remove(&(*at, agent.clone(), *alarm));
            }
            self.mono.extend(alarms.iter().map(|(alarm, at)| (*at, agent.clone(), *alarm)));
            armed.alarms.clone_from(alarms);
        }
        if armed.wall != wall {
            if let Some((old, _)) = armed.wall {
                self.wall.remove(&(old, agent.clone()));
            }
            self.wall.extend(wall.map(|(at, _)| (at, agent.clone())));
            armed.wall = wall;
        }
        if alarms.is_empty() && wall.is_none() {
            self.armed.remove(agent);
        }
    }

    /// At most `limit` alarms that are due, the oldest first.
    pub(super) fn due_alarms(&self, now: Mono, limit: usize) -> Vec<(AgentId, Alarm)> {
        self.mono
            .iter()
            .take_while(|(at, _, _)| *at <= now)
            .take(limit)
            .map(|(_, agent, alarm)| (agent.clone(), *alarm))
            .collect()
    }

    /// Whether it is still to fire: what fired before it may have disarmed it, or armed it for later.
    pub(super) fn is_due(&self, agent: &AgentId, alarm: Alarm, now: Mono) -> bool {
        let armed = self.armed.get(agent).and_then(|armed| armed.alarms.get(&alarm));
        armed.is_some_and(|at| *at <= now)
    }

    /// At most `limit` agents that have something due on the wall clock, the oldest first.
    pub(super) fn due_agents(&self, now: Wall, limit: usize) -> Vec<AgentId> {
        let due = self.wall.iter().take_while(|(at, _)| *at <= now);
        due.take(limit).map(|(_, agent)| agent.clone()).collect()
    }

    /// The agent's wall deadline has been looked at.
    pub(super) fn passed(&mut self, agent: &AgentId) {
        if let Some(armed) = self.armed.get_mut(agent)
            && let Some((at, _)) = armed.wall.take()
        {
            self.wall.remove(&(at, agent.clone()));
        }
    }

    pub(super) fn wall_of(&self, agent: &AgentId) -> Option<(Wall, DeadlineReason)> {
        self.armed.get(agent)?.wall
    }

    /// The agents that wait for the wall clock.
    pub(super) fn on_wall(&self) -> Vec<AgentId> {
        self.wall.iter().map(|(_, agent)| agent.clone()).collect()
    }

    pub(super) fn first_alarm(&self) -> Option<&(Mono, AgentId, Alarm)> {
        self.mono.first()
    }

    pub(super) fn first_wall(&self) -> Option<(Wall, &AgentId, DeadlineReason)> {
        let (at, agent) = self.wall.first()?;
        let (_, reason) = self.armed.get(agent)?.wall?;
        Some((*at, agent, reason))
    }
}
