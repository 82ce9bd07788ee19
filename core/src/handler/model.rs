//! Changes an agent's model (contract: surface.md).

use holon_facts::event::lifecycle::ModelOverrideChanged;
use holon_facts::ids::ReplyId;
use holon_facts::model_ref::ModelRef;

use crate::effect::Answer;
use crate::handler::turn::outage;
use crate::summary::model::ModelState;
use crate::tx::Tx;

/// The model that a new agent begins with, recorded in the step that creates it.
pub(crate) fn begin(tx: &mut Tx<'_>, model: Option<ModelRef>) {
    if model.is_some() {
        tx.record(ModelOverrideChanged { previous: None, model });
    }
}

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
    use crate::testing::{World, agent, answers, config, context, prompt};
    use holon_facts::config::Config;
    use holon_facts::identity::InitialSettings;
    use holon_facts::ids::ReplyId;
    use holon_facts::label::Description;
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
    fn a_new_agent_has_its_model_and_description_with_its_first_records() {
        let mut world = World::new(config());
        let description = Description::new("keeps CI green").ok();
        let settings = InitialSettings { model: Some(model("b/two")), description: description.clone() };
        world.create_with("main", settings);
        let step =
            |kind| world.log.iter().find(|record| record.event.kind() == kind).map(|record| record.step);
        let created = step("agent_created");
        assert!(created.is_some(), "{:?}", world.kinds(0));
        assert_eq!(step("model_override_changed"), created, "one step is durable as a whole, or not at all");
        assert_eq!(step("agent_labelled"), created);
        world.crash();
        assert_eq!(world.agent("main").model_override, Some(model("b/two")));
        assert_eq!(world.agent("main").label.description, description);
    }

    #[test]
    fn a_creation_that_an_earlier_build_recorded_is_read_and_one_without_settings_is_written_so() {
        let (agent, settings) = (agent("main"), InitialSettings::default());
        let input = Input::CreateAgent { agent, spec: crate::testing::spec(), settings, reply: ReplyId(1) };
        let text = serde_json::to_string(&input).unwrap();
        assert!(!text.contains("settings"), "{text}");
        assert_eq!(serde_json::from_str::<Input>(&text).unwrap(), input);
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
        world.complete("main", answers("done"));
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
