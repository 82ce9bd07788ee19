//! Which model an agent's next turn asks first. A run keeps the chain that it was bound to when it began
//! (contract: surface.md; spec: Agent Model Selection).

use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::event::lifecycle::ModelOverrideChanged;
use holon_facts::ids::ReplyId;
use holon_facts::model_ref::ModelRef;
use holon_facts::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::turn::outage;
use crate::effect::Answer;
use crate::host::tx::Tx;

names! {
    /// Where the primary model comes from.
    ModelSource { RuntimeDefault "runtime_default", AgentOverride "agent_override" }
}

/// How an agent's model is chosen, for operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelState {
    pub source: ModelSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_default_model: Option<ModelRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_model: Option<ModelRef>,
    pub effective_fallback_models: Vec<ModelRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_model: Option<ModelRef>,
}

impl ModelState {
    pub(crate) fn of(agent: &Agent, config: &Config) -> Self {
        let mut chain = chain(agent, config).into_iter();
        let overridden = agent.model_override.clone();
        Self {
            source: if overridden.is_some() {
                ModelSource::AgentOverride
            } else {
                ModelSource::RuntimeDefault
            },
            runtime_default_model: config.models.first().cloned(),
            effective_model: chain.next(),
            effective_fallback_models: chain.collect(),
            override_model: overridden,
        }
    }
}

/// The models of the next run, in the order in which they are asked: the override stands for the runtime's
/// primary model, the fallbacks stay.
pub(crate) fn chain(agent: &Agent, config: &Config) -> Vec<ModelRef> {
    let Some(primary) = &agent.model_override else { return config.models.clone() };
    let fallbacks = config.models.iter().skip(1).filter(|model| *model != primary);
    core::iter::once(primary).chain(fallbacks).cloned().collect()
}

/// Sets or clears the override; what is so already records nothing.
pub(crate) fn set(tx: &mut Tx<'_>, model: Option<ModelRef>, reply: ReplyId) {
    let previous = tx.agent().model_override.clone();
    let changed = previous != model;
    if changed {
        tx.record(ModelOverrideChanged { previous, model });
        outage::model_changed(tx);
    }
    let state = ModelState::of(tx.agent(), tx.config);
    tx.reply(reply, Answer::ModelSet { state, changed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::testing::{World, agent, config, context, prompt, says};
    use holon_facts::config::Config;

    fn model(name: &str) -> ModelRef {
        ModelRef::new(name).unwrap()
    }

    fn set(world: &mut World, to: Option<&str>) -> (ModelState, bool) {
        let (main, model) = (agent("main"), to.map(model));
        let answer = world.ask(|reply| Input::SetModel { agent: main, model, reply });
        let Answer::ModelSet { state, changed } = answer else { panic!("{answer:?}") };
        (state, changed)
    }

    #[test]
    fn a_run_keeps_its_models_and_the_next_one_gets_the_new() {
        let models = [model("a/one"), model("b/two")].to_vec();
        let mut world = World::new(Config { models: models.clone(), ..config() });
        world.create("main");
        world.admit("main", prompt("go"));
        let (state, changed) = set(&mut world, Some("b/two"));
        assert!(changed);
        assert_eq!(state.source, ModelSource::AgentOverride);
        assert_eq!(state.effective_model, Some(model("b/two")));
        assert_eq!(state.effective_fallback_models, [], "no model is asked twice");
        assert_eq!(world.agent("main").run.as_ref().unwrap().models, models);
        let before = world.agent("main").event_seq;
        assert!(!set(&mut world, Some("b/two")).1);
        assert_eq!(world.agent("main").event_seq, before, "what is so already records nothing");
        world.complete("main", context());
        world.complete("main", says("done"));
        world.admit("main", prompt("again"));
        assert_eq!(world.agent("main").run.as_ref().unwrap().models, [model("b/two")]);
        let (state, _) = set(&mut world, Some("c/three"));
        assert_eq!(state.effective_fallback_models, [model("b/two")]);
        let (state, changed) = set(&mut world, None);
        assert!(changed);
        assert_eq!(
            (state.source, state.effective_model),
            (ModelSource::RuntimeDefault, Some(model("a/one")))
        );
    }
}
