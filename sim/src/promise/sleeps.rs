//! E1: the end of a sleep is armed, as long as its agent is in memory.

#![expect(clippy::wildcard_enum_match_arm, reason = "a sleep is about some facts alone")]

use std::collections::{BTreeMap, BTreeSet};

use holon_core::host::Deadline;
use holon_facts::event::{LifecycleFact, SchedulingFact, TurnFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::{AgentId, Event, Record, Wall};

use super::armed::ROUNDING;
use crate::failure::{Failure, ensure};

/// Sleeps that agents chose, by their records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sleeps {
    until: BTreeMap<AgentId, Wall>,
    stopped: BTreeSet<AgentId>,
}

impl Sleeps {
    pub(crate) fn follow(&mut self, record: &Record) {
        let agent = &record.agent;
        match &record.event {
            Event::Scheduling(SchedulingFact::SleepBegun(fact)) => match fact.until {
                Some(until) => drop(self.until.insert(agent.clone(), until)),
                None => drop(self.until.remove(agent)),
            },
            Event::Scheduling(SchedulingFact::SleepElapsed(_)) | Event::Turn(TurnFact::TurnStarted(_)) => {
                self.until.remove(agent);
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) => {
                match fact.action {
                    ControlAction::Stop => drop(self.stopped.insert(agent.clone())),
                    ControlAction::Start => drop(self.stopped.remove(agent)),
                    ControlAction::Abort => return,
                }
                self.until.remove(agent);
            }
            Event::Lifecycle(LifecycleFact::AgentRetired(_)) => {
                self.stopped.insert(agent.clone());
                self.until.remove(agent);
            }
            // A step of the clock does not change the length of a sleep.
            Event::Lifecycle(LifecycleFact::ClockStepped(fact)) => {
                if let Some(until) = self.until.get_mut(agent) {
                    until.0 = until
                        .0
                        .saturating_sub(fact.expected.unwrap_or(fact.from).0.saturating_sub(fact.to.0));
                }
            }
            _ => {}
        }
    }

    /// Checks the driver's next deadline in recorded time; returns whether any agent sleeps.
    pub(crate) fn check(
        &self,
        next: Option<&Deadline>,
        now: Wall,
        resident: impl Fn(&AgentId) -> bool,
    ) -> Result<bool, Failure> {
        let lasts =
            |agent: &AgentId, until: Wall| until > now && !self.stopped.contains(agent) && resident(agent);
        let asleep = self.until.iter().filter(|(agent, until)| lasts(agent, **until));
        let Some((agent, until)) = asleep.min_by_key(|(_, until)| **until) else { return Ok(false) };
        let looks = next.map(|next| next.at);
        ensure!(
            looks.is_some_and(|looks| looks.0 <= until.0.saturating_add(ROUNDING)),
            "E1",
            "{agent} sleeps until {until}, and the driver looks at {looks:?}"
        );
        Ok(true)
    }
}
