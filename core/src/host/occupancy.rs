//! Which supervision tree occupies which execution root: what the agents in memory have on record, together. Whoever
//! occupies one runs or has a command that does, and so is in memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};

use crate::agent::Agent;
use crate::event::{Event, WorkspaceFact};
use crate::ids::AgentId;
use crate::record::Record;

/// The tree of each root, and how many of its agents need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Occupied {
    roots: BTreeMap<String, BTreeMap<AgentId, AgentId>>,
}

impl Occupied {
    /// Who of another tree has the root.
    pub(crate) fn by_other(&self, root: &str, tree: &AgentId) -> Option<&AgentId> {
        self.roots.get(root)?.iter().find(|(_, of)| *of != tree).map(|(agent, _)| agent)
    }

    /// Who has the root.
    pub(crate) fn by_anyone(&self, root: &str) -> Option<&AgentId> {
        self.roots.get(root)?.keys().next()
    }

    /// An agent that has what another tree has, too.
    pub(super) fn trespasser(&self) -> Option<&AgentId> {
        let shared = |agents: &BTreeMap<AgentId, AgentId>| agents.values().collect::<BTreeSet<_>>().len() > 1;
        self.roots.values().find(|agents| shared(agents)).and_then(|agents| agents.keys().next())
    }

    /// An agent comes into memory with what it has. One that begins as a copy of another has nothing of that one's.
    pub(super) fn admitted(&mut self, agent: &Agent) {
        for (root, _) in agent.workspaces.occupied() {
            if self.by_other(root, agent.tree()).is_none() {
                self.take(root, &agent.id, agent.tree());
            }
        }
    }

    pub(super) fn follow(&mut self, agent: &Agent, records: &[Record]) {
        for record in records.iter().filter(|record| record.agent == agent.id) {
            let Event::Workspace(fact) = &record.event else { continue };
            match fact {
                WorkspaceFact::OccupancyAcquired(fact) => {
                    self.take(&fact.execution_root, &agent.id, agent.tree());
                }
                WorkspaceFact::OccupancyReleased(fact) => self.release(&fact.execution_root, &agent.id),
                WorkspaceFact::WorkspaceAttached(_)
                | WorkspaceFact::WorkspaceUsed(_)
                | WorkspaceFact::WorkspaceDetached(_)
                | WorkspaceFact::WorktreeCreated(_)
                | WorkspaceFact::WorktreeLeft(_)
                | WorkspaceFact::WorktreeRemoved(_)
                | WorkspaceFact::WorktreeRetained(_) => {}
            }
        }
    }

    fn take(&mut self, root: &str, agent: &AgentId, tree: &AgentId) {
        let agents = self.roots.entry(root.to_string()).or_default();
        agents.insert(agent.clone(), tree.clone());
    }

    fn release(&mut self, root: &str, agent: &AgentId) {
        let Some(agents) = self.roots.get_mut(root) else { return };
        agents.remove(agent);
        if agents.is_empty() {
            self.roots.remove(root);
        }
    }
}
