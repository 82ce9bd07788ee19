//! A decision of the past, with the facts that it was taken from.

use holon_facts::config::Config;
use holon_facts::decision::SchedulerDecision;
use holon_facts::lifecycle::Boundary;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::scheduler::{HostFacts, SchedulerProjection, decide_next_action, project};

/// What the table made of an agent's facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    pub facts: SchedulerProjection,
    /// What the table of this build decides from them.
    pub decision: SchedulerDecision,
    /// Whether that is what was recorded; true where nothing was.
    pub as_recorded: bool,
}

/// What no agent has on record, as it could have been: the runtime shut down, and a slot for a turn was free. The usual
/// comes first.
const HOSTS: [(bool, bool); 4] = [(false, true), (false, false), (true, true), (true, false)];

/// The decision that is on record, from the state right before it and under the configuration of its runtime.
pub fn recorded(agent: &Agent, config: &Config, (decision, at): (&SchedulerDecision, Wall)) -> Decided {
    let under = |(draining, free_slot)| {
        let host = HostFacts { draining, free_slot, commands: agent.commands(), now: at };
        let facts = project(agent, host, config, decision.boundary);
        (decide_next_action(&facts), facts)
    };
    let found = HOSTS.into_iter().map(under).find(|(decided, _)| decided == decision);
    let as_recorded = found.is_some();
    let (decision, facts) = found.unwrap_or_else(|| under(HOSTS[0]));
    Decided { facts, decision, as_recorded }
}

/// What the scheduler would have decided at that moment, had it looked: as a tick makes it look.
pub fn looked(agent: &Agent, config: &Config, at: Wall) -> Decided {
    let host = HostFacts { draining: false, free_slot: true, commands: agent.commands(), now: at };
    let facts = project(agent, host, config, Boundary::IdleTick);
    Decided { decision: decide_next_action(&facts), facts, as_recorded: true }
}
