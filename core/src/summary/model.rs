//! How the model of an agent is chosen.

use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::model_ref::ModelRef;
use holon_facts::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::model::chain;

names! {
    /// Where the primary model comes from.
    ModelSource { RuntimeDefault "runtime_default", AgentOverride "agent_override" }
}

/// How an agent's model is chosen, for operators.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelState {
    pub source: ModelSource,
    pub runtime_default_model: Option<ModelRef>,
    pub effective_model: Option<ModelRef>,
    pub effective_fallback_models: Vec<ModelRef>,
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
