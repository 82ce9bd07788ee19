//! Changes an agent's model (contract: surface.md).

use holon_facts::event::lifecycle::ModelOverrideChanged;
use holon_facts::ids::ReplyId;
use holon_facts::model_ref::ModelRef;

use crate::effect::Answer;
use crate::handler::turn::outage;
use crate::summary::model::ModelState;
use crate::tx::Tx;

/// Sets or clears the override; what is so already records nothing.
pub(crate) fn set(tx: &mut Tx<'_>, model: Option<ModelRef>, reply: ReplyId) {
    let previous = tx.agent().model_override.clone();
    let changed = previous != model;
    if changed {
        tx.record(ModelOverrideChanged { previous, model });
        outage::model_changed(tx);
    }
    let state = ModelState::of(tx.agent(), tx.env.config);
    tx.reply(reply, Answer::ModelSet { state, changed });
}

#[cfg(test)]
mod tests {

    use crate::effect::Answer;
    use crate::input::Input;
    use crate::summary::model::{ModelSource, ModelState};
    use crate::testing::{World, agent, config, context, prompt, says};
    use holon_facts::config::Config;
    use holon_facts::model_ref::ModelRef;

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
        assert_eq!(world.agent("main").run.as_ref().unwrap().chain.models, models);
        let before = world.agent("main").event_seq;
        assert!(!set(&mut world, Some("b/two")).1);
        assert_eq!(world.agent("main").event_seq, before, "what is so already records nothing");
        world.complete("main", context());
        world.complete("main", says("done"));
        world.admit("main", prompt("again"));
        assert_eq!(world.agent("main").run.as_ref().unwrap().chain.models, [model("b/two")]);
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
