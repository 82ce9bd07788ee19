//! What a request took, as its provider counts it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens as the provider reported them; zero where it did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    /// Part of the input that the provider had in its cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cached_input_tokens: u64,
}

impl TokenUsage {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            total_tokens: self.total_tokens.saturating_add(other.total_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
        }
    }
}
