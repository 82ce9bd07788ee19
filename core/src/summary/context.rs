//! What an agent's newest request took of its model's window, and what providers had in their caches.

use alloc::vec::Vec;

use holon_facts::ids::EpisodeId;
use holon_facts::memory::WorkingMemory;
use holon_facts::request::{Ratio, RequestRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::requests::Calibration;

/// The conversation that requests go on with, and what it costs.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextSummary {
    /// The open episode.
    pub episode_id: Option<EpisodeId>,
    pub last_request: RequestRecord,
    /// What the models' providers have counted so far, by what was estimated; the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<Calibration>,
    /// The part of all input tokens that providers had in a cache, in thousandths.
    pub cached_share: Option<Ratio>,
    /// How often what the agent has in mind has changed, and what it is.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub memory_revision: u64,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub memory: WorkingMemory,
}

impl ContextSummary {
    /// None before the first request.
    pub(crate) fn of(agent: &Agent) -> Option<Self> {
        let last_request = RequestRecord::clone(agent.requests.last.as_deref()?);
        let episode_id = agent.episodes.open.as_ref().map(|open| open.id);
        let calibrations = agent.requests.calibrations.clone();
        Some(Self {
            episode_id,
            last_request,
            calibrations,
            cached_share: cached_share(agent),
            memory_revision: agent.memory.revision,
            memory: WorkingMemory::clone(&agent.memory.now),
        })
    }
}

/// Of the input tokens of all turns that ended.
pub fn cached_share(agent: &Agent) -> Option<Ratio> {
    let usage = agent.history.usage;
    Ratio::new(usage.cached_input_tokens.min(usage.input_tokens), usage.input_tokens)
}
