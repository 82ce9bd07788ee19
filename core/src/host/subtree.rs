//! What the subtree of an agent has spent and reserved.

use holon_facts::ids::AgentId;

use crate::agent::Agent;
use crate::agent::budget::Subtree;
use crate::host::Host;

impl Host {
    /// What the tree that an agent belongs to has spent and reserved, itself left out. Whoever has a living child is in
    /// memory.
    pub(crate) fn subtree_without(&self, id: &AgentId) -> Subtree {
        let mut root = id;
        while let Some(supervisor) = self.agent(root).and_then(|agent| agent.spec.supervisor.as_ref()) {
            root = &supervisor.agent_id;
        }
        let (mut all, mut left) = (Subtree::default(), alloc::vec![root]);
        while let Some(next) = left.pop() {
            let account = match self.agent(next) {
                Some(agent) => {
                    for (task, child) in agent.tasks.children() {
                        // Who has said how it ended may be in memory no more.
                        match &task.child_end {
                            Some(end) => all.spent = all.spent.plus(end.spent),
                            None => left.push(&child.child_agent_id),
                        }
                    }
                    agent.account
                }
                None => self.observed.get(next).map(|evicted| evicted.account).unwrap_or_default(),
            };
            if next != id {
                all.spent = all.spent.plus(account.with_family());
                all.reserved = all.reserved.plus(account.reserved());
            }
        }
        if let Some(agent) = self.agent(id)
            && self.is_counted_with_its_supervisor(agent)
        {
            all.spent = all.spent.minus(agent.account.with_family());
        }
        all
    }

    /// Whether the supervisor has taken over what an agent has spent that has ended.
    fn is_counted_with_its_supervisor(&self, agent: &Agent) -> bool {
        let supervisor = agent.spec.supervisor.as_ref().and_then(|by| self.agent(&by.agent_id));
        let goes_on = |by: &Agent| by.tasks.of_child(&agent.id).is_some_and(|task| task.child_end.is_none());
        supervisor.is_some_and(|by| !goes_on(by))
    }
}
