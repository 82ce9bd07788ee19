//! The trigger of an agent (contract: work.md, External triggers).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::hash::Fnv;
use crate::hint::Hint;

/// Sources whose last delivery is remembered; then the one that was quiet for longest is forgotten.
pub const REMEMBERED: usize = 64;

/// The last delivery of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDelivery {
    pub source: String,
    pub digest: u64,
}

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

/// Stands for the body of a delivery.
pub fn body_digest(hint: &Hint) -> u64 {
    hint.body.iter().fold(Fnv::START, |digest, body| digest.text(body)).0
}

/// Stands for all that tells a delivery from another one: not for its type, nor for the id of its cause.
pub fn digest(hint: &Hint) -> u64 {
    let told = hint.names().filter(|(name, _)| !matches!(*name, "content_type" | "causation_id"));
    let named =
        told.fold(Fnv::START, |digest, (name, text)| digest.piece(name.as_bytes()).piece(text.as_bytes()));
    hint.body.iter().fold(named.piece(b"body"), |digest, body| digest.text(body)).0
}
