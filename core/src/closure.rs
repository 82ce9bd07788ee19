//! How the last turn left the agent, derived at boundaries only, first match wins (contract: agent.md,
//! Closure). The rows keep the contract's numbers.

use holon_facts::closure::{
    ClosureDecision, ClosureEvidence, ClosureOutcome, RuntimePosture, WaitingReason, WorkSignal,
};
use holon_facts::ids::{WaitId, WorkItemId};
use holon_facts::terminal::TurnKind;
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;

/// The facts that closure looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosureFacts {
    /// The last turn that ended otherwise than interrupted.
    pub last_turn: Option<TurnKind>,
    pub held_until: Option<Wall>,
    /// The agent chose to rest until then.
    pub sleeps_until: Option<Wall>,
    /// The item in focus, when it needs input or is stalled.
    pub for_operator: Option<WorkItemId>,
    /// The active wait that is told first.
    pub wait: Option<(WaitKind, WaitId)>,
    /// Work that can be done.
    pub work_signal: Option<WorkSignal>,
    pub posture: RuntimePosture,
}

fn row_of(kind: WaitKind) -> u8 {
    match kind {
        WaitKind::Operator => 2,
        WaitKind::Task => 3,
        WaitKind::External => 4,
        WaitKind::Timer => 5,
    }
}

/// The closure of an agent without a run.
pub fn decide(facts: ClosureFacts) -> ClosureDecision {
    use ClosureOutcome::{Completed, Continuable, Failed, Waiting};
    let waits = |reason| (Waiting, Some(reason));
    let (row, (outcome, waiting_reason), evidence) = match facts {
        ClosureFacts { last_turn: Some(kind), .. } if kind.failed() => {
            (1, (Failed, None), ClosureEvidence::LastTurn { kind })
        }
        ClosureFacts { for_operator: Some(work_item_id), work_signal: None, .. } => {
            (2, waits(WaitingReason::AwaitingOperatorInput), ClosureEvidence::ForOperator { work_item_id })
        }
        ClosureFacts { wait: Some((kind, wait_id)), work_signal: None, .. } if kind != WaitKind::Timer => {
            (row_of(kind), waits(kind.into()), ClosureEvidence::Wait { wait_id, kind })
        }
        ClosureFacts { held_until: Some(until), work_signal: None, .. } => {
            (5, waits(WaitingReason::AwaitingTimer), ClosureEvidence::HeldUntil { until })
        }
        ClosureFacts { sleeps_until: Some(until), work_signal: None, .. } => {
            (5, waits(WaitingReason::AwaitingTimer), ClosureEvidence::SleepsUntil { until })
        }
        ClosureFacts { wait: Some((kind, wait_id)), work_signal: None, .. } => {
            (row_of(kind), waits(kind.into()), ClosureEvidence::Wait { wait_id, kind })
        }
        ClosureFacts { work_signal: Some(signal), .. } => {
            (6, (Continuable, None), ClosureEvidence::RunnableWork { signal })
        }
        ClosureFacts { last_turn: Some(kind), .. } => {
            (7, (Completed, None), ClosureEvidence::LastTurn { kind })
        }
        ClosureFacts { last_turn: None, .. } => (8, (ClosureOutcome::None, None), ClosureEvidence::NoTurn),
    };
    ClosureDecision {
        outcome,
        waiting_reason,
        work_signal: facts.work_signal.filter(|_| outcome == Continuable),
        runtime_posture: facts.posture,
        row,
        evidence: alloc::vec![evidence],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIL: Wall = Wall(7);
    const NOTHING: ClosureFacts = ClosureFacts {
        last_turn: None,
        held_until: None,
        sleeps_until: None,
        for_operator: None,
        wait: None,
        work_signal: None,
        posture: RuntimePosture::Awake,
    };

    #[test]
    fn work_that_can_be_done_stands_before_what_is_waited_for() {
        let item = WorkItemId(3);
        let held = ClosureFacts { held_until: Some(UNTIL), ..NOTHING };
        for (facts, signal, row, outcome) in [
            (NOTHING, None, 2, ClosureOutcome::Waiting),
            (held, None, 2, ClosureOutcome::Waiting),
            (held, Some(WorkSignal::ContinueActive), 6, ClosureOutcome::Continuable),
            (NOTHING, Some(WorkSignal::ActivateQueued), 6, ClosureOutcome::Continuable),
        ] {
            let decision = decide(ClosureFacts { for_operator: Some(item), work_signal: signal, ..facts });
            assert_eq!((decision.row, decision.outcome), (row, outcome), "{signal:?}");
            assert_eq!(decision.work_signal, signal);
            let waits = decision.waiting_reason == Some(WaitingReason::AwaitingOperatorInput);
            assert_eq!(waits, signal.is_none());
        }
        let failed = ClosureFacts { last_turn: Some(TurnKind::Failed), ..NOTHING };
        let signal = Some(WorkSignal::ContinueActive);
        assert_eq!(decide(ClosureFacts { work_signal: signal, ..failed }).work_signal, None);
    }

    #[test]
    fn each_kind_of_wait_has_its_row() {
        for (kind, row, reason) in [
            (WaitKind::Operator, 2, WaitingReason::AwaitingOperatorInput),
            (WaitKind::Task, 3, WaitingReason::AwaitingTaskResult),
            (WaitKind::External, 4, WaitingReason::AwaitingExternalChange),
            (WaitKind::Timer, 5, WaitingReason::AwaitingTimer),
        ] {
            let waits = ClosureFacts { wait: Some((kind, WaitId(2))), ..NOTHING };
            let decision = decide(waits);
            assert_eq!((decision.row, decision.waiting_reason), (row, Some(reason)));
            assert_eq!(decision.evidence, [ClosureEvidence::Wait { wait_id: WaitId(2), kind }]);
            let signal = Some(WorkSignal::ActivateQueued);
            assert_eq!(
                decide(ClosureFacts { work_signal: signal, ..waits }).row,
                6,
                "other work can be done"
            );
            let failed = ClosureFacts { last_turn: Some(TurnKind::Failed), ..waits };
            assert_eq!(decide(failed).row, 1);
            let held = decide(ClosureFacts { held_until: Some(UNTIL), ..waits });
            assert_eq!(held.row, row, "a hold is told after what else is waited for");
        }
    }

    fn decided(last_turn: Option<TurnKind>, held_until: Option<Wall>) -> ClosureDecision {
        decide(ClosureFacts { last_turn, held_until, ..NOTHING })
    }

    /// The contract's table, row by row, and what stands before what within row 5.
    #[test]
    fn every_row() {
        use ClosureEvidence::{ForOperator, HeldUntil, LastTurn, NoTurn, RunnableWork, SleepsUntil, Wait};
        use ClosureOutcome::{Completed, Continuable, Failed, None as Nothing, Waiting};
        let (wait_id, work_item_id, signal) = (WaitId(2), WorkItemId(3), WorkSignal::ActivateQueued);
        let waits = |kind| ClosureFacts { wait: Some((kind, wait_id)), ..NOTHING };
        let last = |kind| ClosureFacts { last_turn: Some(kind), ..NOTHING };
        let wait = |kind| Wait { wait_id, kind };
        let (held, sleeps) = (HeldUntil { until: UNTIL }, SleepsUntil { until: UNTIL });
        let failed = TurnKind::Failed;
        let asleep = ClosureFacts { sleeps_until: Some(UNTIL), ..NOTHING };
        let both = ClosureFacts { held_until: Some(UNTIL), ..asleep };
        let operator = ClosureFacts { for_operator: Some(work_item_id), ..waits(WaitKind::Task) };
        let runnable = ClosureFacts { work_signal: Some(signal), ..operator };
        let rows = [
            (1, "a turn failed", last(failed), Failed, LastTurn { kind: failed }),
            (2, "an item for the operator", operator, Waiting, ForOperator { work_item_id }),
            (2, "an operator is waited for", waits(WaitKind::Operator), Waiting, wait(WaitKind::Operator)),
            (3, "a task is waited for", waits(WaitKind::Task), Waiting, wait(WaitKind::Task)),
            (4, "the outside is waited for", waits(WaitKind::External), Waiting, wait(WaitKind::External)),
            (5, "a timer is waited for", waits(WaitKind::Timer), Waiting, wait(WaitKind::Timer)),
            (5, "a sleep with an end", asleep, Waiting, sleeps.clone()),
            (5, "a hold before a sleep", both, Waiting, held.clone()),
            (5, "a sleep before a timer", asleep_and(WaitKind::Timer), Waiting, sleeps),
            (
                5,
                "a hold after a turn",
                ClosureFacts { held_until: Some(UNTIL), ..last(TurnKind::Completed) },
                Waiting,
                held,
            ),
            (6, "work that can be done", runnable, Continuable, RunnableWork { signal }),
            (
                7,
                "a turn completed",
                last(TurnKind::Completed),
                Completed,
                LastTurn { kind: TurnKind::Completed },
            ),
            (
                7,
                "a turn was aborted",
                last(TurnKind::Aborted),
                Completed,
                LastTurn { kind: TurnKind::Aborted },
            ),
            (8, "no turn yet", NOTHING, Nothing, NoTurn),
        ];
        for (row, what, facts, outcome, evidence) in rows {
            let decision = decide(facts);
            assert_eq!((decision.row, decision.outcome), (row, outcome), "{what}");
            assert_eq!(decision.evidence, [evidence], "{what}");
            // What failed is told whatever else there is.
            let after = decide(ClosureFacts { last_turn: Some(failed), ..facts });
            assert_eq!((after.row, after.outcome), (1, Failed), "{what}, after a failure");
        }
    }

    fn asleep_and(kind: WaitKind) -> ClosureFacts {
        ClosureFacts { sleeps_until: Some(UNTIL), wait: Some((kind, WaitId(2))), ..NOTHING }
    }

    #[test]
    fn a_failed_turn_stands_before_a_hold() {
        for &kind in TurnKind::ALL.iter().filter(|kind| kind.failed()) {
            for held in [None, Some(UNTIL)] {
                let decision = decided(Some(kind), held);
                assert_eq!((decision.row, decision.outcome), (1, ClosureOutcome::Failed), "{kind}");
                assert_eq!(decision.evidence, [ClosureEvidence::LastTurn { kind }]);
            }
        }
    }

    #[test]
    fn no_turn_is_shown_as_completed_with_no_turn() {
        let none = decided(None, None);
        assert!(none.without_turn());
        let shown = none.clone().shown();
        assert_eq!(
            (shown.outcome, shown.row, &shown.evidence),
            (ClosureOutcome::Completed, 8, &none.evidence)
        );
        for &kind in TurnKind::ALL {
            let decision = decided(Some(kind), None);
            assert!(!decision.without_turn());
            assert_eq!(decision.clone().shown(), decision);
        }
    }

    #[test]
    fn waiting_has_a_reason_and_nothing_else_has() {
        for last_turn in core::iter::once(None).chain(TurnKind::ALL.iter().copied().map(Some)) {
            for held in [None, Some(UNTIL)] {
                for &posture in RuntimePosture::ALL {
                    let decision = decide(ClosureFacts { last_turn, held_until: held, posture, ..NOTHING });
                    let waits = decision.outcome == ClosureOutcome::Waiting;
                    assert_eq!(waits, decision.waiting_reason.is_some(), "{last_turn:?} {held:?}");
                    assert_eq!(decision.runtime_posture, posture);
                }
            }
        }
    }
}
