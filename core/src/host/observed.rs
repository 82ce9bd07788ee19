//! What handlers can't know, who see one agent: how its children stand.

use holon_facts::ids::AgentId;

use crate::agent::task::Task;
use crate::effect::{Effect, Look, Work};
use crate::host::Host;
use crate::summary::children::{ChildObservability, ended, observe};

impl Host {
    pub(crate) fn observe_by(&self, task: &Task) -> Option<ChildObservability> {
        let child = task.child()?;
        if task.status.is_terminal() { Some(ended(task)) } else { self.observe(&child.child_agent_id) }
    }

    pub(crate) fn observe(&self, child: &AgentId) -> Option<ChildObservability> {
        let resident = self.agent(child).map(|agent| observe(agent, self.facts().now));
        resident.or_else(|| self.observed.get(child).map(|evicted| evicted.observed.clone()))
    }

    /// What handlers can't know, who see one agent: how its children stand.
    pub(crate) fn fill_in(&self, effects: &mut [Effect]) {
        for effect in effects {
            let Effect::Perform { work: Work::Look { looks }, .. } = effect else { continue };
            for look in looks {
                match look {
                    Look::Task { task, child } => *child = self.observe_by(task).map(Into::into),
                    Look::Agent { view } => {
                        for child in &mut view.active_children {
                            child.observed = self.observe(&child.child_agent_id);
                        }
                    }
                    Look::Work { .. } | Look::Tasks { .. } => {}
                }
            }
        }
    }
}
