//! What the scheduler decided, as it is on record.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetKind;
use crate::continuation::ContinuationClass;
use crate::ids::{MessageId, RunId, TaskId, WaitId, WorkItemId};
use crate::lifecycle::{Boundary, Status};
use crate::message::Priority;
use crate::time::Wall;
use crate::wait::WaitKind;
use crate::work::WorkState;

names! {
    DecisionKind {
        StartModelTurn "start_model_turn", ReduceMessageOnly "reduce_message_only",
        EmitSystemTick "emit_system_tick", WaitForTask "wait_for_task", WaitForOperator "wait_for_operator",
        WaitForExternalChange "wait_for_external_change", WaitForTimer "wait_for_timer", Sleep "sleep", StayIdle "stay_idle", Stop "stop", Noop "noop",
    }
}

names! {
    /// Why, in one word; together with the row it names the line of the table.
    DecisionReason {
        Stopped "stopped", Draining "draining", RunInProgress "run_in_progress",
        HeldLiveness "held_liveness", HoldTrial "hold_trial", Hold "hold",
        SelfHold "self_hold", UnattendedTurns "unattended_turns",
        QueuedMessage "queued_message", LivenessOnly "liveness_only", Stale "stale", NoSlot "no_slot",
        WakeHint "wake_hint", SleepElapsed "sleep_elapsed", Recheck "recheck", ContinueActive "continue_active", QueuedAvailable "queued_available",
        NeedsInput "needs_input", Stalled "stalled", OperatorInput "operator_input", TaskResult "task_result",
        External "external", Timer "timer",
        DeadlineArmed "deadline_armed", NothingPending "nothing_pending", AlreadyAsleep "already_asleep",
    }
}

/// What happens next, with the facts that caused it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerDecision {
    pub kind: DecisionKind,
    pub reason: DecisionReason,
    /// Row of the contract's table.
    pub row: u8,
    pub boundary: Boundary,
    pub model_reentry: bool,
    pub liveness_only: bool,
    pub message_id: Option<MessageId>,
    /// Results of tasks that the turn takes as well, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_message_ids: Vec<MessageId>,
    pub work_item_id: Option<WorkItemId>,
    /// The task whose end is waited for.
    pub task_id: Option<TaskId>,
    /// What is waited for, or is over.
    pub wait_id: Option<WaitId>,
    /// Of a tick: its subject and the state of the subject.
    pub idempotency_key: Option<String>,
    pub next_deadline: Option<Wall>,
    /// At most 16.
    pub evidence: Vec<Evidence>,
}

/// The vocabulary of facts that a decision may name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Evidence {
    Status {
        status: Status,
    },
    Draining,
    Run {
        run_id: RunId,
        message_id: MessageId,
    },
    Head {
        message_id: MessageId,
        priority: Priority,
        class: ContinuationClass,
    },
    Queued {
        entries: u64,
    },
    Hold {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Wall>,
    },
    Budget {
        budget: BudgetKind,
    },
    NoFreeSlot,
    Deadline {
        at: Wall,
        reason: DeadlineReason,
    },
    IgnoredQueue {
        entries: u64,
    },
    WorkItem {
        work_item_id: WorkItemId,
        state: WorkState,
    },
    SelfCausedTurns {
        turns: u32,
    },
    UnattendedTurns {
        until: Wall,
    },
    Hints {
        hints: u64,
    },
    Slept {
        until: Wall,
    },
    RecheckDue {
        owner: String,
        at: Wall,
    },
    Wait {
        wait_id: WaitId,
        kind: WaitKind,
    },
}

impl SchedulerDecision {
    /// Whether the agent rests until something happens.
    pub fn rests(&self) -> bool {
        match self.kind {
            DecisionKind::StartModelTurn | DecisionKind::ReduceMessageOnly | DecisionKind::EmitSystemTick => {
                false
            }
            DecisionKind::WaitForTask
            | DecisionKind::WaitForOperator
            | DecisionKind::WaitForExternalChange
            | DecisionKind::WaitForTimer
            | DecisionKind::Sleep
            | DecisionKind::StayIdle
            | DecisionKind::Stop
            | DecisionKind::Noop => true,
        }
    }

    /// Whether another decision says the same: a resting one is not recorded twice.
    pub fn same_rest(&self, other: &Self) -> bool {
        self.rests()
            && (self.kind, self.reason, self.next_deadline) == (other.kind, other.reason, other.next_deadline)
            && (self.work_item_id, self.wait_id) == (other.work_item_id, other.wait_id)
    }
}

names! {
    /// What a deadline is for.
    DeadlineReason {
        OperationTimeout "operation_timeout",
        Backoff "backoff",
        TurnLimit "turn_limit",
        StopTask "stop_task",
        Hold "hold",
        Timer "timer",
        /// A work item has an obligation: a turn or a mention.
        Work "work",
        /// The agent chose to sleep until then.
        Sleep "sleep",
        /// A blocker or a wait is rechecked.
        Recheck "recheck",
        /// A turn that the agent causes itself may begin again.
        SelfDeferral "self_deferral",
        /// Turns that no operator causes may begin again.
        UnattendedTurns "unattended_turns",
    }
}
