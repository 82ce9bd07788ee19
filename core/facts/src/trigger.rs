//! The trigger of an agent (contract: work.md, External triggers).

use serde::{Deserialize, Serialize};

use crate::hint::Hint;

names! {
    /// Whether an address wakes its agent.
    TriggerStatus { Active "active", Revoked "revoked" }
}

names! {
    /// What an address promised to do with what is sent to it.
    DeliveryMode {
        WakeHint "wake_hint",
        /// Deprecated: it is a hint all the same.
        EnqueueMessage "enqueue_message",
    }
}

/// What was sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// That the address was signed with.
    pub generation: u64,
    pub delivery_mode: DeliveryMode,
    pub hint: Hint,
}

/// What an operator does about an address that others know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerChange {
    /// Another address takes its place.
    Rotate,
    /// None does.
    Revoke,
}
