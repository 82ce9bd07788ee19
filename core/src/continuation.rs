//! What a message means for the agent it reaches, given how the last turn closed (contract: agent.md,
//! Continuation). A pure table.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::wait::WaitKind;
use crate::closure::{ClosureOutcome, WaitingReason};
use crate::ids::WaitId;
use crate::message::{MessageKind, TriggerKind};
use crate::names::names;

names! {
    ContinuationClass {
        ResumeExpectedWait "resume_expected_wait", ResumeOverride "resume_override", LocalContinuation "local_continuation",
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
    MessageKind {
        kind: MessageKind,
    },
    /// A turn has shown what it says, or the agent brought it about itself.
    KnownAlready,
    /// Nothing of what it tells is still owed.
    Stale,
    /// It ends that wait.
    Wait {
        wait_id: WaitId,
    },
}

/// Waits that are named as evidence.
const EVIDENCE: usize = 14;

/// Why a message that would need a model needs none any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// The agent knows what it says.
    Known,
    /// Nothing of what it tells is still owed.
    Stale,
}

/// Whether a message never reaches the model, whatever the closure: known of its kind alone, so that a queue
/// can keep such messages apart.
pub fn liveness_only(kind: MessageKind) -> bool {
    match kind {
        MessageKind::Control | MessageKind::TaskStatus | MessageKind::BriefAck | MessageKind::BriefResult => {
            true
        }
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult => false,
    }
}

/// What is known of a message when it is classified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub kind: MessageKind,
    pub trigger_kind: TriggerKind,
    pub spent: Option<Spent>,
    /// The active waits that it ends.
    pub resolves: Vec<(WaitId, WaitKind)>,
}

/// Classifies a message that arrives after the given closure: whatever that was, one that is waited for is expected.
pub fn resolve(
    trigger: &Trigger,
    prior: ClosureOutcome,
    prior_waiting_reason: Option<WaitingReason>,
) -> ContinuationResolution {
    let Trigger { kind, trigger_kind, spent, ref resolves } = *trigger;
    let waiting = prior == ClosureOutcome::Waiting;
    let resumes = matches!(kind, MessageKind::OperatorPrompt | MessageKind::TaskResult);
    let class = if !resolves.is_empty() {
        ContinuationClass::ResumeExpectedWait
    } else if spent.is_some() || liveness_only(kind) {
        ContinuationClass::LivenessOnly
    } else if waiting && resumes {
        ContinuationClass::ResumeOverride
    } else {
        ContinuationClass::LocalContinuation
    };
    let mut evidence = alloc::vec![ContinuationEvidence::MessageKind { kind }];
    evidence.extend(spent.map(|spent| match spent {
        Spent::Known => ContinuationEvidence::KnownAlready,
        Spent::Stale => ContinuationEvidence::Stale,
    }));
    let waits = resolves.iter().take(EVIDENCE);
    evidence.extend(waits.map(|(wait_id, _)| ContinuationEvidence::Wait { wait_id: *wait_id }));
    let model_reentry = class != ContinuationClass::LivenessOnly;
    ContinuationResolution {
        trigger_kind,
        class,
        model_reentry,
        model_visible: model_reentry,
        prior_closure_outcome: prior,
        prior_waiting_reason,
        matched_waiting_reason: resolves.iter().any(|(_, kind)| Some((*kind).into()) == prior_waiting_reason),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_after_every_closure() {
        use ContinuationClass::{LivenessOnly, LocalContinuation, ResumeExpectedWait, ResumeOverride};
        use MessageKind as Kind;
        let rows = [
            // kind, class when nothing waits, class when the agent waits
            (Kind::OperatorPrompt, LocalContinuation, ResumeOverride),
            (Kind::Control, LivenessOnly, LivenessOnly),
            (Kind::ChannelEvent, LocalContinuation, LocalContinuation),
            (Kind::WebhookEvent, LocalContinuation, LocalContinuation),
            (Kind::CallbackEvent, LocalContinuation, LocalContinuation),
            (Kind::TimerTick, LocalContinuation, LocalContinuation),
            (Kind::SystemTick, LocalContinuation, LocalContinuation),
            (Kind::InternalFollowup, LocalContinuation, LocalContinuation),
            (Kind::TaskResult, LocalContinuation, ResumeOverride),
            (Kind::TaskStatus, LivenessOnly, LivenessOnly),
            (Kind::BriefAck, LivenessOnly, LivenessOnly),
            (Kind::BriefResult, LivenessOnly, LivenessOnly),
        ];
        assert!(rows.iter().map(|(kind, _, _)| kind).eq(Kind::ALL), "each kind has one row");
        for (kind, at_rest, waiting) in rows {
            for &prior in ClosureOutcome::ALL {
                let waits = prior == ClosureOutcome::Waiting;
                let reason = waits.then_some(WaitingReason::AwaitingTimer);
                let trigger_kind = TriggerKind::SystemTick;
                let trigger = Trigger { kind, trigger_kind, spent: None, resolves: Vec::new() };
                let resolution = resolve(&trigger, prior, reason);
                let expected = if waits { waiting } else { at_rest };
                assert_eq!(resolution.class, expected, "{kind} after {prior}");
                assert_eq!(resolution.model_reentry, expected != LivenessOnly);
                assert_eq!(resolution.model_visible, resolution.model_reentry);
                assert_eq!(resolution.prior_closure_outcome, prior);
                assert_eq!(resolution.prior_waiting_reason, reason);
                assert_eq!(resolution.evidence, [ContinuationEvidence::MessageKind { kind }]);
                let known = Trigger { spent: Some(Spent::Known), ..trigger.clone() };
                let known = resolve(&known, prior, reason);
                assert_eq!(
                    (known.class, known.model_reentry),
                    (LivenessOnly, false),
                    "{kind} says nothing new"
                );
                assert_eq!(known.evidence.last(), Some(&ContinuationEvidence::KnownAlready));
                let awaited = Trigger { resolves: alloc::vec![(WaitId(3), WaitKind::Timer)], ..trigger };
                let resumes = resolve(&awaited, prior, reason);
                assert_eq!(resumes.class, ResumeExpectedWait, "{kind} is waited for");
                assert_eq!((resumes.model_reentry, resumes.matched_waiting_reason), (true, waits));
                assert_eq!(resumes.evidence.last(), Some(&ContinuationEvidence::Wait { wait_id: WaitId(3) }));
            }
        }
    }
}
