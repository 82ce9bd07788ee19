//! What a message continues, as it is on record.

use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closure::{ClosureOutcome, WaitingReason};
use crate::ids::WaitId;
use crate::message::{MessageKind, TriggerKind};

names! {
    ContinuationClass {
        ResumeExpectedWait "resume_expected_wait", ResumeOverride "resume_override", LocalContinuation "local_continuation",
        LivenessOnly "liveness_only",
    }
}

/// The resolution with what it was derived from.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuationResolution {
    pub trigger_kind: TriggerKind,
    pub class: ContinuationClass,
    /// Row of the contract's table, 0 for what is waited for. Earlier builds named none.
    pub row: Option<u8>,
    pub model_reentry: bool,
    pub model_visible: bool,
    pub prior_closure_outcome: ClosureOutcome,
    pub prior_waiting_reason: Option<WaitingReason>,
    pub matched_waiting_reason: bool,
    pub evidence: Vec<ContinuationEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ContinuationEvidence {
    MessageKind {
        kind: MessageKind,
    },
    /// A turn has shown its text, or the agent brought it about itself.
    KnownAlready,
    /// No obligation behind it is left.
    Stale,
    /// It ends that wait.
    Wait {
        wait_id: WaitId,
    },
}

/// Why a message that would need a model needs none any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// The agent knows what it says.
    Known,
    /// No obligation behind it is left.
    Stale,
}
