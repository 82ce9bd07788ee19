//! What somebody outside says to wake an agent, and the ticks that report it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::hint::{Hint, HintWeight};
use crate::ids::{ExternalTriggerId, MessageId, RunId};
use crate::trigger::DeliveryMode;

family! {
    /// Wake hints: taken in, and told; the trigger through which they come.
    WakeFact {
        WakeHintRecorded "wake_hint_recorded" v 1,
        WakeHintCoalesced "wake_hint_coalesced" v 1,
        WakeTickQueued "wake_tick_queued" v 1,
        WakeHintsShown "wake_hints_shown" v 1,
        ExternalTriggerProvisioned "external_trigger_provisioned" v 1,
        ExternalTriggerDelivered "external_trigger_delivered" v 1,
        ExternalTriggerRevoked "external_trigger_revoked" v 1,
    }
}

/// The first hint of a source since the last tick.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeHintRecorded {
    /// Number among all hints of the agent, from 1.
    pub sequence: u64,
    pub hint: Hint,
    /// The source that is folded because there are too many; it may be this one.
    pub folded: Option<String>,
    /// What its hints meant: of bare ones only the number stays. An earlier build folded the oldest, whatever it was.
    pub folded_as: Option<HintWeight>,
}

/// A further hint of a source of which one waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeHintCoalesced {
    pub sequence: u64,
    pub hint: Hint,
}

/// The one message about every hint that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeTickQueued {
    pub message_id: MessageId,
    /// The last hint that it shows.
    pub sequence: u64,
    pub hints: u64,
    /// One of them has a text, or is what somebody waits for: the model has to look.
    pub contentful: bool,
    /// Sources that it leaves out: bare hints, which the stop that follows clears.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// A call has shown hints that waited: no message shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WakeHintsShown {
    pub run_id: RunId,
    pub sources: Vec<String>,
}

/// The agent can be woken through an address of this generation, and of no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTriggerProvisioned {
    pub external_trigger_id: ExternalTriggerId,
    pub generation: u64,
}

/// Something was sent to the address; the hint that follows has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTriggerDelivered {
    pub external_trigger_id: ExternalTriggerId,
    pub generation: u64,
    /// What the address promised; a hint is what becomes of it.
    pub delivery_mode: DeliveryMode,
    pub source: String,
    /// Stands for the body: equal bodies have equal numbers.
    pub said: u64,
    /// Stands for the source, resource, reason, description, correlation and body. Earlier builds recorded none: there
    /// a delivery repeats the previous one of any source if their bodies are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<u64>,
}

/// No address of this generation wakes the agent any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTriggerRevoked {
    pub external_trigger_id: ExternalTriggerId,
    pub generation: u64,
}

impl WakeFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::WakeHintRecorded(fact) => fact.hint.body.iter().for_each(visit),
            Self::WakeHintCoalesced(fact) => fact.hint.body.iter().for_each(visit),
            Self::WakeTickQueued(_)
            | Self::WakeHintsShown(_)
            | Self::ExternalTriggerProvisioned(_)
            | Self::ExternalTriggerDelivered(_)
            | Self::ExternalTriggerRevoked(_) => {}
        }
    }
}
