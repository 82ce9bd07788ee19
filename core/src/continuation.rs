//! What a message means for the agent it reaches, given how the last turn closed (contract: agent.md,
//! Continuation). A pure table.

use alloc::vec::Vec;

use holon_facts::closure::{ClosureOutcome, WaitingReason};
use holon_facts::continuation::{ContinuationClass, ContinuationEvidence, ContinuationResolution, Spent};
use holon_facts::ids::WaitId;
use holon_facts::provenance::{MessageKind, TriggerKind};
use holon_facts::wait::WaitKind;

/// Waits that are named as evidence.
const EVIDENCE: usize = 14;

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
    /// It reports hints.
    pub hints: bool,
    pub spent: Option<Spent>,
    /// The active waits that it ends.
    pub resolves: Vec<(WaitId, WaitKind)>,
}

/// The row that a message falls under, and what it is by that. First match wins.
fn row(trigger: &Trigger, waiting: bool) -> (u8, ContinuationClass) {
    use ContinuationClass::{LivenessOnly, LocalContinuation, ResumeExpectedWait, ResumeOverride};
    let Trigger { kind, spent, hints, .. } = *trigger;
    match kind {
        _ if !trigger.resolves.is_empty() => (0, ResumeExpectedWait),
        // A bare hint is known from its beginning.
        _ if spent == Some(Spent::Known) && hints => (6, LivenessOnly),
        _ if spent.is_some() => (2, LivenessOnly),
        _ if liveness_only(kind) => (6, LivenessOnly),
        MessageKind::OperatorPrompt if waiting => (1, ResumeOverride),
        MessageKind::TaskResult if waiting => (3, ResumeOverride),
        MessageKind::SystemTick if !hints => (5, LocalContinuation),
        MessageKind::OperatorPrompt
        | MessageKind::Control
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult => (if waiting { 4 } else { 7 }, LocalContinuation),
    }
}

/// Classifies a message that arrives after the given closure: whatever that was, one that is waited for is expected.
pub fn resolve(
    trigger: &Trigger,
    prior: ClosureOutcome,
    prior_waiting_reason: Option<WaitingReason>,
) -> ContinuationResolution {
    let Trigger { kind, trigger_kind, spent, ref resolves, .. } = *trigger;
    let (row, class) = row(trigger, prior == ClosureOutcome::Waiting);
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
        row: Some(row),
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
    use MessageKind as Kind;

    /// One situation of the contract's table.
    struct Case {
        row: u8,
        what: &'static str,
        trigger: Trigger,
        /// None: after any closure.
        waiting: Option<bool>,
        class: ContinuationClass,
    }

    fn of(kind: MessageKind) -> Trigger {
        Trigger {
            kind,
            trigger_kind: TriggerKind::SystemTick,
            hints: false,
            spent: None,
            resolves: Vec::new(),
        }
    }

    fn known(kind: MessageKind) -> Trigger {
        Trigger { spent: Some(Spent::Known), ..of(kind) }
    }

    fn case(
        row: u8,
        what: &'static str,
        trigger: Trigger,
        waiting: Option<bool>,
        class: ContinuationClass,
    ) -> Case {
        Case { row, what, trigger, waiting, class }
    }

    /// The contract's table, row by row.
    fn table() -> Vec<Case> {
        use ContinuationClass::{LivenessOnly, LocalContinuation, ResumeOverride};
        let stale = Trigger { spent: Some(Spent::Stale), ..of(Kind::SystemTick) };
        let hints = Trigger { hints: true, ..of(Kind::SystemTick) };
        let bare = Trigger { hints: true, ..known(Kind::SystemTick) };
        alloc::vec![
            case(1, "operator input", of(Kind::OperatorPrompt), Some(true), ResumeOverride),
            case(2, "a result that a turn has shown", known(Kind::TaskResult), None, LivenessOnly),
            case(2, "the tick of a cancelled wait's timer", known(Kind::TimerTick), None, LivenessOnly),
            case(2, "a stale runtime tick", stale, None, LivenessOnly),
            case(3, "the end of a task", of(Kind::TaskResult), Some(true), ResumeOverride),
            case(4, "the tick of a free timer", of(Kind::TimerTick), Some(true), LocalContinuation),
            case(4, "an internal follow-up", of(Kind::InternalFollowup), Some(true), LocalContinuation),
            case(4, "a channel's event", of(Kind::ChannelEvent), Some(true), LocalContinuation),
            case(4, "a webhook", of(Kind::WebhookEvent), Some(true), LocalContinuation),
            case(4, "a callback", of(Kind::CallbackEvent), Some(true), LocalContinuation),
            case(4, "hints that say something", hints.clone(), Some(true), LocalContinuation),
            case(5, "a runtime tick with a reason", of(Kind::SystemTick), None, LocalContinuation),
            case(6, "hints that say nothing", bare, None, LivenessOnly),
            case(6, "the status of a task", of(Kind::TaskStatus), None, LivenessOnly),
            case(6, "an acknowledgement", of(Kind::BriefAck), None, LivenessOnly),
            case(6, "a result that was told", of(Kind::BriefResult), None, LivenessOnly),
            case(6, "control, which never is a message", of(Kind::Control), None, LivenessOnly),
            case(7, "operator input", of(Kind::OperatorPrompt), Some(false), LocalContinuation),
            case(7, "the end of a task", of(Kind::TaskResult), Some(false), LocalContinuation),
            case(7, "the tick of a timer", of(Kind::TimerTick), Some(false), LocalContinuation),
            case(7, "an internal follow-up", of(Kind::InternalFollowup), Some(false), LocalContinuation),
            case(7, "a channel's event", of(Kind::ChannelEvent), Some(false), LocalContinuation),
            case(7, "a webhook", of(Kind::WebhookEvent), Some(false), LocalContinuation),
            case(7, "a callback", of(Kind::CallbackEvent), Some(false), LocalContinuation),
            case(7, "hints that say something", hints, Some(false), LocalContinuation),
        ]
    }

    #[test]
    fn every_row_after_every_closure() {
        let table = table();
        assert!(Kind::ALL.iter().all(|kind| table.iter().any(|case| case.trigger.kind == *kind)));
        for Case { row, what, trigger, waiting, class } in table {
            for &prior in ClosureOutcome::ALL {
                let waits = prior == ClosureOutcome::Waiting;
                if waiting.is_some_and(|waiting| waiting != waits) {
                    continue;
                }
                let reason = waits.then_some(WaitingReason::AwaitingTimer);
                let resolution = resolve(&trigger, prior, reason);
                let found = (resolution.row, resolution.class);
                assert_eq!(found, (Some(row), class), "{what} after {prior}");
                let enters = class != ContinuationClass::LivenessOnly;
                assert_eq!((resolution.model_reentry, resolution.model_visible), (enters, enters), "{what}");
                assert_eq!(resolution.prior_closure_outcome, prior);
                assert_eq!(resolution.prior_waiting_reason, reason);
                let kind = trigger.kind;
                assert_eq!(resolution.evidence[0], ContinuationEvidence::MessageKind { kind });
                let spent = trigger.spent.map(|spent| match spent {
                    Spent::Known => ContinuationEvidence::KnownAlready,
                    Spent::Stale => ContinuationEvidence::Stale,
                });
                assert_eq!(resolution.evidence.get(1), spent.as_ref(), "{what}");
                // Row 0: whatever it is, one that is waited for is expected.
                let awaited =
                    Trigger { resolves: alloc::vec![(WaitId(3), WaitKind::Timer)], ..trigger.clone() };
                let resumes = resolve(&awaited, prior, reason);
                let found = (resumes.row, resumes.class);
                assert_eq!(found, (Some(0), ContinuationClass::ResumeExpectedWait), "{what}");
                assert_eq!((resumes.model_reentry, resumes.matched_waiting_reason), (true, waits));
                assert_eq!(resumes.evidence.last(), Some(&ContinuationEvidence::Wait { wait_id: WaitId(3) }));
            }
        }
    }
}
