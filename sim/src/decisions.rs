//! The closed table of the scheduler's decisions, and the facts of its rows in a run.

use holon_facts::continuation::ContinuationClass;
use holon_facts::decision::{DecisionKind as Kind, DecisionReason as Reason, Evidence, SchedulerDecision};
use holon_facts::lifecycle::Boundary;
use holon_facts::provenance::Priority;

/// A row of the contract: its number, decision and reason.
pub type Row = (u8, Kind, Reason);

/// All rows.
pub const TABLE: [Row; 28] = [
    (1, Kind::Stop, Reason::Stopped),
    (1, Kind::Stop, Reason::Draining),
    (2, Kind::Noop, Reason::RunInProgress),
    (3, Kind::ReduceMessageOnly, Reason::HeldLiveness),
    (4, Kind::StartModelTurn, Reason::HoldTrial),
    (4, Kind::Noop, Reason::NoSlot),
    (5, Kind::WaitForTimer, Reason::Hold),
    (5, Kind::WaitForOperator, Reason::Hold),
    (5, Kind::WaitForOperator, Reason::SelfHold),
    (5, Kind::WaitForTimer, Reason::UnattendedTurns),
    (6, Kind::ReduceMessageOnly, Reason::LivenessOnly),
    (6, Kind::StartModelTurn, Reason::QueuedMessage),
    (6, Kind::Noop, Reason::NoSlot),
    (6, Kind::ReduceMessageOnly, Reason::Stale),
    (7, Kind::EmitSystemTick, Reason::WakeHint),
    (8, Kind::EmitSystemTick, Reason::SleepElapsed),
    (9, Kind::EmitSystemTick, Reason::Recheck),
    (10, Kind::EmitSystemTick, Reason::ContinueActive),
    (11, Kind::EmitSystemTick, Reason::QueuedAvailable),
    (12, Kind::WaitForOperator, Reason::NeedsInput),
    (12, Kind::WaitForOperator, Reason::Stalled),
    (12, Kind::WaitForOperator, Reason::OperatorInput),
    (12, Kind::WaitForTask, Reason::TaskResult),
    (12, Kind::WaitForExternalChange, Reason::External),
    (12, Kind::WaitForTimer, Reason::Timer),
    (13, Kind::WaitForTimer, Reason::DeadlineArmed),
    (14, Kind::StayIdle, Reason::AlreadyAsleep),
    (14, Kind::Sleep, Reason::NothingPending),
];

/// A row in a run: where the decision was taken, and the kind of its message, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Came {
    pub row: Row,
    pub boundary: Boundary,
    pub head: Option<(Priority, ContinuationClass)>,
}

impl Came {
    pub fn of(decision: &SchedulerDecision) -> Self {
        let head = |evidence: &Evidence| {
            let Evidence::Head { priority, class, .. } = evidence else { return None };
            Some((*priority, *class))
        };
        Self {
            row: (decision.row, decision.kind, decision.reason),
            boundary: decision.boundary,
            head: decision.evidence.iter().find_map(head),
        }
    }

    /// Whether the table has this row.
    pub fn declared(&self) -> bool {
        TABLE.contains(&self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_every_reason_has_a_row() {
        for kind in Kind::ALL {
            assert!(TABLE.iter().any(|(_, of, _)| of == kind), "{kind}");
        }
        for reason in Reason::ALL {
            assert!(TABLE.iter().any(|(_, _, of)| of == reason), "{reason}");
        }
    }
}
