//! Models that the runtime is configured for.

use std::collections::BTreeMap;

use holon_core::summary::model::ModelState;
use holon_facts::AgentId;
use holon_facts::model_ref::ModelRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reply::Document;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Models {
    pub ok: bool,
    /// Those of the configured chain that could be asked now, in its order.
    pub available_models: Vec<ModelRef>,
    /// Every model of the chain.
    pub model_availability: BTreeMap<String, Availability>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    pub available: bool,
    /// Why it can't be asked, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The model that an agent asks first, from its next turn on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetModel {
    /// As `provider/model`.
    pub model: ModelRef,
}

/// How an agent's model is chosen now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether it was chosen otherwise before.
    pub changed: bool,
    pub model: Document<ModelState>,
}
