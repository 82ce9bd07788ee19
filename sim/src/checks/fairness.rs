//! An agent that waits for a slot is not passed over for ever (law V8).

use std::collections::BTreeMap;

use holon_facts::{AgentId, MessageId};

use crate::failure::{Failure, liveness};

/// Agents that wait for a slot, and how often others began a turn meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct Fairness {
    passed: BTreeMap<AgentId, u64>,
    /// The message of each agent's last turn.
    last: BTreeMap<AgentId, MessageId>,
    /// The same when the process began.
    before: BTreeMap<AgentId, MessageId>,
}

impl Fairness {
    /// A process has begun.
    pub(super) fn started(&mut self) {
        self.before.clone_from(&self.last);
    }

    /// Notes that a turn begins. A turn that continues after a restart passes no agent over.
    pub(super) fn began(&mut self, agent: &AgentId, message: MessageId) {
        self.passed.remove(agent);
        self.last.insert(agent.clone(), message);
        if self.before.get(agent) == Some(&message) {
            return;
        }
        self.passed.values_mut().for_each(|times| *times += 1);
    }

    pub(super) fn check(&mut self, waiting: &[AgentId], most: u64) -> Result<(), Failure> {
        self.passed.retain(|agent, _| waiting.contains(agent));
        for agent in waiting {
            let times = *self.passed.entry(agent.clone()).or_default();
            if times > most {
                return Err(liveness("V8", format!("{agent} was passed over {times} times")));
            }
        }
        Ok(())
    }
}
