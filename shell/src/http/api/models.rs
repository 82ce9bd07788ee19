//! Models that the runtime is configured for.

use std::collections::BTreeMap;

use holon_core::model::ModelRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
