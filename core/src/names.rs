//! Who there is in a runtime, in memory or not: the id of each agent that may run, and the second names of agents.

use alloc::collections::{BTreeMap, BTreeSet};

use holon_facts::ids::AgentId;

/// Ids and second names. One is never the other: whatever is typed means one agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    ids: BTreeSet<AgentId>,
    /// Who has each name.
    second: BTreeMap<AgentId, AgentId>,
}

impl Names {
    pub(crate) fn insert(&mut self, agent: AgentId, name: Option<AgentId>) {
        if let Some(name) = name {
            self.second.insert(name, agent.clone());
        }
        self.ids.insert(agent);
    }

    pub(crate) fn remove(&mut self, agent: &AgentId) {
        self.ids.remove(agent);
    }

    pub(crate) fn renamed(&mut self, agent: &AgentId, before: Option<&AgentId>, name: Option<AgentId>) {
        if let Some(before) = before {
            self.second.remove(before);
        }
        if let Some(name) = name {
            self.second.insert(name, agent.clone());
        }
    }

    /// Agents.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether an agent has this id.
    pub(crate) fn contains(&self, id: &AgentId) -> bool {
        self.ids.contains(id)
    }

    /// The agent that has this id or this name.
    pub(crate) fn holder(&self, name: &AgentId) -> Option<&AgentId> {
        self.ids.get(name).or_else(|| self.second.get(name))
    }

    /// Who has it as a second name.
    pub(crate) fn renamed_to(&self, name: &AgentId) -> Option<&AgentId> {
        self.second.get(name)
    }
}
