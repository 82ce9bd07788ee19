//! Which model an agent's next turn asks first. A run keeps the chain that it was bound to when it began
//! (contract: surface.md; spec: Agent Model Selection).

use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::model_ref::ModelRef;

use crate::agent::Agent;

/// The models of the next run, in the order in which they are asked: the override stands for the runtime's
/// primary model, the fallbacks stay.
pub(crate) fn chain(agent: &Agent, config: &Config) -> Vec<ModelRef> {
    let Some(primary) = &agent.model_override else { return config.models.clone() };
    let fallbacks = config.models.iter().skip(1).filter(|model| *model != primary);
    core::iter::once(primary).chain(fallbacks).cloned().collect()
}
