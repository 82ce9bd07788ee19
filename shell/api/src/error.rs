//! The one shape of refusals and failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every reply that is no success.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// Always false.
    pub ok: bool,
    /// What happened, for people.
    pub error: String,
    /// What happened, for programs; stable.
    pub code: String,
    /// What to do next.
    pub hint: Option<String>,
    /// Facts beyond the code: the invalid field, the run in progress, the last event, …
    pub details: Option<serde_json::Map<String, serde_json::Value>>,
}

impl ErrorBody {
    /// A text among the details.
    pub fn detail(&self, name: &str) -> Option<&str> {
        self.details.as_ref()?.get(name)?.as_str()
    }
}
