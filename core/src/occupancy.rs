//! Which supervision tree occupies which execution root: what the agents in memory have on record, together. Whoever
//! occupies one runs or has a command that does, and so is in memory.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};

use holon_facts::event::{Event, WorkspaceFact};
use holon_facts::ids::AgentId;
use holon_facts::lifecycle::Status;
use holon_facts::record::Record;

use crate::agent::Agent;

/// Who needs each root, and who supervises whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Occupied {
    roots: BTreeMap<String, BTreeMap<AgentId, Holder>>,
    /// The supervisor of each child in memory: a holder's supervisors are there, too.
    supervisors: BTreeMap<AgentId, AgentId>,
}

/// An agent that has a root.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    tree: AgentId,
    /// A command of it is executed there.
    executes: bool,
    /// It was stopped, and its command has not ended.
    stopping: bool,
}

impl Occupied {
    /// Who of another tree has the root.
    pub(crate) fn by_other(&self, root: &str, tree: &AgentId) -> Option<&AgentId> {
        self.roots.get(root)?.iter().find(|(_, holder)| holder.tree != *tree).map(|(agent, _)| agent)
    }

    /// Who has the root.
    pub(crate) fn by_anyone(&self, root: &str) -> Option<&AgentId> {
        self.roots.get(root)?.keys().next()
    }

    /// An agent that has what another tree has, too.
    pub(super) fn trespasser(&self) -> Option<&AgentId> {
        let trees = |agents: &BTreeMap<AgentId, Holder>| {
            agents.values().map(|holder| holder.tree.clone()).collect::<BTreeSet<_>>().len()
        };
        let shared = |agents: &BTreeMap<AgentId, Holder>| trees(agents) > 1;
        self.roots.values().find(|agents| shared(agents)).and_then(|agents| agents.keys().next())
    }

    /// Whether an agent has the root only until its last command there has ended.
    pub(crate) fn is_stopping(&self, root: &str, agent: &AgentId) -> bool {
        self.roots.get(root).and_then(|agents| agents.get(agent)).is_some_and(|holder| holder.stopping)
    }

    /// The roots that those have who are under the supervision of an agent, and whether they execute a command there.
    pub(crate) fn below(&self, agent: &AgentId) -> impl Iterator<Item = (String, bool)> {
        self.roots.iter().filter_map(move |(root, agents)| {
            let below = agents.iter().filter(|(id, _)| self.is_below(id, agent));
            let executes = below.map(|(_, holder)| holder.executes).reduce(|one, other| one || other)?;
            Some((root.clone(), executes))
        })
    }

    fn is_below(&self, id: &AgentId, agent: &AgentId) -> bool {
        let mut above = self.supervisors.get(id);
        while let Some(supervisor) = above {
            if supervisor == agent {
                return true;
            }
            above = self.supervisors.get(supervisor);
        }
        false
    }

    /// An agent is in memory from now on.
    pub(super) fn enrolled(&mut self, agent: &Agent) {
        if let Some(supervisor) = &agent.spec.supervisor {
            self.supervisors.insert(agent.id.clone(), supervisor.agent_id.clone());
        }
    }

    pub(super) fn evicted(&mut self, agent: &AgentId) {
        self.supervisors.remove(agent);
    }

    /// An agent comes into memory with what it has. One that begins as a copy of another has nothing of that one's.
    pub(super) fn admitted(&mut self, agent: &Agent) {
        for (root, _) in agent.workspaces.occupied() {
            if self.by_other(root, agent.tree()).is_none() {
                self.take(root, agent);
            }
        }
    }

    pub(super) fn follow(&mut self, agent: &Agent, records: &[Record]) {
        for record in records.iter().filter(|record| record.agent == agent.id) {
            let Event::Workspace(fact) = &record.event else { continue };
            match fact {
                WorkspaceFact::OccupancyAcquired(fact) => self.take(&fact.execution_root, agent),
                WorkspaceFact::OccupancyReleased(fact) => self.release(&fact.execution_root, &agent.id),
                WorkspaceFact::WorkspaceAttached(_)
                | WorkspaceFact::WorkspaceUsed(_)
                | WorkspaceFact::WorkspaceDetached(_)
                | WorkspaceFact::WorkspaceTrusted(_)
                | WorkspaceFact::WorktreeCreated(_)
                | WorkspaceFact::WorktreeLeft(_)
                | WorkspaceFact::WorktreeRemoved(_)
                | WorkspaceFact::WorktreeRetained(_)
                | WorkspaceFact::WorkspaceTreeKept(_) => {}
            }
        }
        if records.is_empty() {
            return;
        }
        // A command may have begun or ended, or the agent was stopped.
        for (root, _) in agent.workspaces.occupied() {
            if let Some(holder) = self.roots.get_mut(root).and_then(|agents| agents.get_mut(&agent.id)) {
                *holder = Holder::of(agent, root);
            }
        }
    }

    fn take(&mut self, root: &str, agent: &Agent) {
        let agents = self.roots.entry(root.to_string()).or_default();
        agents.insert(agent.id.clone(), Holder::of(agent, root));
    }

    fn release(&mut self, root: &str, agent: &AgentId) {
        let Some(agents) = self.roots.get_mut(root) else { return };
        agents.remove(agent);
        if agents.is_empty() {
            self.roots.remove(root);
        }
    }
}

impl Holder {
    fn of(agent: &Agent, root: &str) -> Self {
        Self {
            tree: agent.tree().clone(),
            executes: agent.executes_in(root),
            stopping: agent.status == Status::Stopped,
        }
    }
}
