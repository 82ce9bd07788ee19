//! What a message means for the agent it reaches, given how the last turn closed (contract: agent.md,
//! Continuation). A pure table; rows about waits and tasks come with their subjects.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::closure::{ClosureOutcome, WaitingReason};
use crate::message::{MessageKind, TriggerKind};
use crate::names::names;

names! {
    ContinuationClass {
        ResumeOverride "resume_override", LocalContinuation "local_continuation",
        LivenessOnly "liveness_only",
    }
}

/// The resolution with what it was derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuationResolution {
    pub trigger_kind: TriggerKind,
    pub class: ContinuationClass,
    pub model_reentry: bool,
    pub model_visible: bool,
    pub prior_closure_outcome: ClosureOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    pub matched_waiting_reason: bool,
    pub evidence: Vec<ContinuationEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ContinuationEvidence {
    MessageKind { kind: MessageKind },
}

/// Classifies a message of `kind` that arrives after the given closure.
pub fn resolve(
    kind: MessageKind,
    trigger_kind: TriggerKind,
    prior: ClosureOutcome,
    prior_waiting_reason: Option<WaitingReason>,
) -> ContinuationResolution {
    let waiting = prior == ClosureOutcome::Waiting;
    let class = match kind {
        MessageKind::OperatorPrompt if waiting => ContinuationClass::ResumeOverride,
        MessageKind::TaskResult if waiting => ContinuationClass::ResumeOverride,
        MessageKind::OperatorPrompt
        | MessageKind::TaskResult
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup => ContinuationClass::LocalContinuation,
        MessageKind::Control | MessageKind::TaskStatus | MessageKind::BriefAck | MessageKind::BriefResult => {
            ContinuationClass::LivenessOnly
        }
    };
    let model_reentry = class != ContinuationClass::LivenessOnly;
    ContinuationResolution {
        trigger_kind,
        class,
        model_reentry,
        model_visible: model_reentry,
        prior_closure_outcome: prior,
        prior_waiting_reason,
        matched_waiting_reason: false,
        evidence: alloc::vec![ContinuationEvidence::MessageKind { kind }],
    }
}
