//! How the children of an agent stand.

use holon_facts::ids::AgentId;

use crate::agent::task::Task;
use crate::summary::children::{ActiveChild, ChildObservability};
use crate::view::View;

impl<'a> View<'a> {
    /// The children of an agent that are alive.
    pub fn children(&self, id: &AgentId) -> impl Iterator<Item = ActiveChild> + use<'a> {
        let host = self.host;
        let tasks = host.agent(id).into_iter().flat_map(|agent| agent.tasks.children());
        tasks.filter_map(move |(task, child)| {
            Some(ActiveChild { observed: host.observe(&child.child_agent_id), ..ActiveChild::of(task)? })
        })
    }

    /// How a child stands, whether it is in memory or was.
    pub fn observed(&self, child: &AgentId) -> Option<ChildObservability> {
        self.host.observe(child)
    }

    /// How the child of a task stands, or how it ended.
    pub fn observed_by(&self, task: &Task) -> Option<ChildObservability> {
        self.host.observe_by(task)
    }
}
