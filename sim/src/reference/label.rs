//! Answers to requests that create, rename or describe an agent.

use holon_facts::AgentId;
use holon_facts::identity::InitialSettings;
use holon_facts::label::{AgentLabel, LabelChange};
use holon_facts::model_ref::ModelRef;

use super::{Before, Reference, Reply};

impl Reference {
    pub(super) fn creation(
        &mut self,
        before: &Before,
        agent: &AgentId,
        settings: &InitialSettings,
    ) -> Vec<Reply> {
        let reply = if before.agent.is_some() {
            Reply::Refused("agent_exists")
        } else if self.is_second_name(agent) {
            Reply::Refused("name_taken")
        } else if agent.as_str().contains("--") {
            Reply::Refused("reserved_agent_id")
        } else if self.draining {
            Reply::Refused("draining")
        } else if before.agents >= self.config.limits.agents {
            Reply::Refused("too_many_agents")
        } else {
            // The agent begins with the settings of its creation.
            if let Some(new) = self.agents.get_mut(agent) {
                new.model.clone_from(&settings.model);
                new.label.description.clone_from(&settings.description);
            }
            Reply::Created
        };
        vec![reply]
    }

    /// A name belongs to one agent, as its id or as its second name.
    pub(super) fn is_labelled(&self, agent: &AgentId, before: &Before, change: &LabelChange) -> Vec<Reply> {
        let Some(was) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
        if was.child.is_some() {
            return vec![Reply::Refused("private_agent")];
        }
        let label = match change {
            LabelChange::Describe { description } => {
                AgentLabel { description: description.clone(), ..was.label.clone() }
            }
            LabelChange::Rename { name } => {
                let name = name.clone().filter(|name| name != agent);
                let taken = |name: &AgentId| {
                    let mut others = self.agents.iter().filter(|(other, _)| *other != agent);
                    others.any(|(other, model)| other == name || model.label.name.as_ref() == Some(name))
                };
                if name.as_ref().is_some_and(taken) {
                    return vec![Reply::Refused("name_taken")];
                }
                AgentLabel { name, ..was.label.clone() }
            }
        };
        vec![Reply::Labelled { changed: label != was.label, label }]
    }

    fn is_second_name(&self, name: &AgentId) -> bool {
        self.agents.values().any(|model| model.label.name.as_ref() == Some(name))
    }
}

/// Changes the model that an agent asks first; none restores the configured one.
pub(super) fn model_is_set(before: &Before, model: Option<&ModelRef>) -> Reply {
    match &before.agent {
        None => Reply::Refused("unknown_agent"),
        Some(was) => Reply::ModelSet { model: model.cloned(), changed: was.model.as_ref() != model },
    }
}
