//! Keeping a turn within the model's window (contract: context.md, Conversation and episodes): when a request
//! would not fit, or a provider refused it, the oldest rounds are told in short from then on. What is told in
//! short never comes back in full within its turn, so requests only ever grow at their end in between.

use serde::{Deserialize, Serialize};

/// What of the turn its requests tell in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recap {
    /// So many rounds from the beginning, those of interrupted runs included.
    pub rounds: u32,
    /// The estimate of a request that a provider refused as too long; requests stay well below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_at: Option<u64>,
}
