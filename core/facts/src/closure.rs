//! How a turn left its agent, as it is on record.

use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{WaitId, WorkItemId};
use crate::terminal::TurnKind;
use crate::time::Wall;
use crate::wait::WaitKind;

names! {
    ClosureOutcome {
        Completed "completed", Continuable "continuable", Failed "failed", Waiting "waiting", None "none",
    }
}

names! {
    WaitingReason {
        AwaitingOperatorInput "awaiting_operator_input", AwaitingTaskResult "awaiting_task_result",
        AwaitingExternalChange "awaiting_external_change", AwaitingTimer "awaiting_timer",
    }
}

names! {
    /// What there is to be done.
    WorkSignal { ContinueActive "continue_active", ActivateQueued "activate_queued" }
}

names! { RuntimePosture { Awake "awake", Sleeping "sleeping" } }

/// The outcome with its row and evidence.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosureDecision {
    pub outcome: ClosureOutcome,
    pub waiting_reason: Option<WaitingReason>,
    pub work_signal: Option<WorkSignal>,
    pub runtime_posture: RuntimePosture,
    /// Row of the contract's table.
    pub row: u8,
    pub evidence: Vec<ClosureEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum ClosureEvidence {
    LastTurn { kind: TurnKind },
    ForOperator { work_item_id: WorkItemId },
    Wait { wait_id: WaitId, kind: WaitKind },
    HeldUntil { until: Wall },
    SleepsUntil { until: Wall },
    RunnableWork { signal: WorkSignal },
    NoTurn,
}

impl ClosureDecision {
    /// As it is shown: no turn is completed, and its evidence says so (contract: agent.md, Closure, row 8).
    #[must_use]
    pub fn shown(mut self) -> Self {
        if self.outcome == ClosureOutcome::None {
            self.outcome = ClosureOutcome::Completed;
        }
        self
    }

    /// Whether it is the closure of an agent that no turn has left in any way.
    pub fn without_turn(&self) -> bool {
        self.evidence.contains(&ClosureEvidence::NoTurn)
    }
}

impl From<WaitKind> for WaitingReason {
    fn from(kind: WaitKind) -> Self {
        match kind {
            WaitKind::Operator => Self::AwaitingOperatorInput,
            WaitKind::Task => Self::AwaitingTaskResult,
            WaitKind::External => Self::AwaitingExternalChange,
            WaitKind::Timer => Self::AwaitingTimer,
        }
    }
}
