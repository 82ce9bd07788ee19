//! The decision table: what happens next, as a pure and total function of one projection (contract:
//! scheduler.md, Precedence). Rows keep the contract's numbers; those of later subjects are not here yet.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::projection::{
    ArmedDeadline, AwaitedFact, Head, HintsFact, HoldFact, ItemFact, RecheckFact, RunFact,
    SchedulerProjection,
};
use crate::agent::budget::BudgetKind;
use crate::agent::wait::WaitKind;
use crate::agent::work::WorkState;
use crate::continuation::ContinuationClass;
use crate::event::work::WorkTick;
use crate::host::DeadlineReason;
use crate::ids::{MessageId, RunId, TaskId, WaitId, WorkItemId};
use crate::lifecycle::{Boundary, Status};
use crate::message::Priority;
use crate::names::names;
use crate::time::Wall;

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerDecision {
    pub kind: DecisionKind,
    pub reason: DecisionReason,
    /// Row of the contract's table.
    pub row: u8,
    pub boundary: Boundary,
    pub model_reentry: bool,
    pub liveness_only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Results of tasks that the turn takes as well, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_message_ids: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The task whose end is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What is waited for, or is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_id: Option<WaitId>,
    /// Of a tick: what it is about, and in which state of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// First match wins.
pub fn decide_next_action(facts: &SchedulerProjection) -> SchedulerDecision {
    let queued = Evidence::Queued { entries: facts.queued };
    // 1: lifecycle and the drain are gates in front of everything.
    if facts.status == Status::Stopped {
        let evidence = alloc::vec![Evidence::Status { status: facts.status }, queued];
        return rest(facts, DecisionKind::Stop, DecisionReason::Stopped, 1, evidence);
    }
    if facts.draining {
        return rest(
            facts,
            DecisionKind::Stop,
            DecisionReason::Draining,
            1,
            alloc::vec![Evidence::Draining, queued],
        );
    }
    // 2: at most one run.
    if let Some(RunFact { run_id, message_id }) = facts.run {
        let evidence = alloc::vec![Evidence::Run { run_id, message_id }, queued];
        return rest(facts, DecisionKind::Noop, DecisionReason::RunInProgress, 2, evidence);
    }
    // 3 to 5: providers are away, or a budget is exhausted.
    if let Some(hold) = &facts.hold {
        return under_hold(facts, hold);
    }
    // 6: the queue, most urgent band first, in order of admission.
    if let Some(head) = &facts.head {
        let evidence = alloc::vec![head_evidence(head), queued];
        return match head.class {
            ContinuationClass::LivenessOnly if head.stale => {
                take(facts, head, DecisionReason::Stale, 6, evidence)
            }
            ContinuationClass::LivenessOnly => take(facts, head, DecisionReason::LivenessOnly, 6, evidence),
            ContinuationClass::ResumeExpectedWait
            | ContinuationClass::ResumeOverride
            | ContinuationClass::LocalContinuation => {
                if facts.free_slot {
                    take(facts, head, DecisionReason::QueuedMessage, 6, evidence)
                } else {
                    no_slot(facts, 6)
                }
            }
        };
    }
    // 5: holds that let pass what the agent does not cause itself, or what an operator causes.
    if let Some(decision) = restrained(facts) {
        return decision;
    }
    // 7 to 11: what the runtime has to tell its agent.
    if let Some(decision) = ticks(facts) {
        return decision;
    }
    // 12: something is waited for.
    if let Some(awaited) = &facts.awaited {
        return waits(facts, awaited);
    }
    // 13: something will happen by itself.
    if let Some(ArmedDeadline { at, reason }) = facts.next_deadline {
        let evidence = alloc::vec![Evidence::Deadline { at, reason }];
        return rest(facts, DecisionKind::WaitForTimer, DecisionReason::DeadlineArmed, 13, evidence);
    }
    // 14: nothing is pending.
    let evidence = alloc::vec![Evidence::Status { status: facts.status }];
    if facts.status == Status::Asleep {
        return rest(facts, DecisionKind::StayIdle, DecisionReason::AlreadyAsleep, 14, evidence);
    }
    rest(facts, DecisionKind::Sleep, DecisionReason::NothingPending, 14, evidence)
}

/// Rows 3 to 5: a hold lets through what needs no model, then its trial.
fn under_hold(facts: &SchedulerProjection, hold: &HoldFact) -> SchedulerDecision {
    let held = [Evidence::Hold { until: hold.until }]
        .into_iter()
        .chain(hold.budget.map(|budget| Evidence::Budget { budget }));
    if let Some(head) = &facts.liveness_head {
        let evidence = held.chain([head_evidence(head)]).collect();
        return take(facts, head, DecisionReason::HeldLiveness, 3, evidence);
    }
    match &hold.trial {
        Some(trial) if facts.free_slot => {
            let evidence = held.chain([head_evidence(trial)]).collect();
            take(facts, trial, DecisionReason::HoldTrial, 4, evidence)
        }
        Some(_) => no_slot(facts, 4),
        None => {
            let evidence = held.chain([Evidence::IgnoredQueue { entries: facts.queued }]).collect();
            let ends = hold.until.is_some();
            let kind = if ends { DecisionKind::WaitForTimer } else { DecisionKind::WaitForOperator };
            rest(facts, kind, DecisionReason::Hold, 5, evidence)
        }
    }
}

/// Row 5, where nothing that may pass is queued.
fn restrained(facts: &SchedulerProjection) -> Option<SchedulerDecision> {
    let ignored = Evidence::IgnoredQueue { entries: facts.queued };
    if let Some(turns) = facts.self_hold {
        let evidence = alloc::vec![Evidence::SelfCausedTurns { turns }, ignored];
        return Some(rest(facts, DecisionKind::WaitForOperator, DecisionReason::SelfHold, 5, evidence));
    }
    let until = facts.exhausted_until?;
    // What others hint at is no turn of the agent's own.
    if let Some(hints) = facts.hints.filter(|hints| !hints.own) {
        return Some(wake_tick(facts, hints));
    }
    let evidence = alloc::vec![Evidence::UnattendedTurns { until }, ignored];
    Some(rest(facts, DecisionKind::WaitForTimer, DecisionReason::UnattendedTurns, 5, evidence))
}

/// Rows 7 to 11: one message for each of them tells of all that there is.
fn ticks(facts: &SchedulerProjection) -> Option<SchedulerDecision> {
    // 7: somebody outside has hinted at something.
    if let Some(hints) = facts.hints {
        return Some(wake_tick(facts, hints));
    }
    // 8: a sleep is over.
    if let Some(until) = facts.slept_until {
        let evidence = alloc::vec![Evidence::Slept { until }];
        let decision = rest(facts, DecisionKind::EmitSystemTick, DecisionReason::SleepElapsed, 8, evidence);
        return Some(SchedulerDecision { idempotency_key: Some(format!("sleep:{until}")), ..decision });
    }
    // 9: blockers and waits are looked at again.
    if let Some(due) = &facts.recheck {
        return Some(recheck(facts, due));
    }
    // 10, 11: what open items are owed, first the one in focus.
    if let Some(item) = &facts.owed_turn {
        return Some(emit(facts, item, WorkTick::ContinueActive, 10));
    }
    facts.owed_notice.as_ref().map(|item| emit(facts, item, WorkTick::QueuedAvailable, 11))
}

/// Row 7.
fn wake_tick(facts: &SchedulerProjection, HintsFact { hints, sequence, .. }: HintsFact) -> SchedulerDecision {
    let evidence = alloc::vec![Evidence::Hints { hints }];
    let decision = rest(facts, DecisionKind::EmitSystemTick, DecisionReason::WakeHint, 7, evidence);
    SchedulerDecision { idempotency_key: Some(format!("wake_hint:{sequence}")), ..decision }
}

/// Row 9.
fn recheck(facts: &SchedulerProjection, due: &RecheckFact) -> SchedulerDecision {
    let RecheckFact { owner, work_item_id, due_at } = due;
    let evidence = alloc::vec![Evidence::RecheckDue { owner: owner.clone(), at: *due_at }];
    let decision = rest(facts, DecisionKind::EmitSystemTick, DecisionReason::Recheck, 9, evidence);
    let idempotency_key = Some(format!("recheck:{owner}:{due_at}"));
    SchedulerDecision { work_item_id: *work_item_id, idempotency_key, ..decision }
}

/// Row 12: of items that need an operator, and of waits.
fn waits(facts: &SchedulerProjection, awaited: &AwaitedFact) -> SchedulerDecision {
    let AwaitedFact { kind, wait_id, task_id, item } = *awaited;
    // Who is blocked and waits for an operator all the same is too long for the model.
    let stalled = item.is_some_and(|item| matches!(item.state, WorkState::Stalled | WorkState::Blocked));
    let (decision, reason) = match kind {
        WaitKind::Operator if wait_id.is_some() => {
            (DecisionKind::WaitForOperator, DecisionReason::OperatorInput)
        }
        WaitKind::Operator if stalled => (DecisionKind::WaitForOperator, DecisionReason::Stalled),
        WaitKind::Operator => (DecisionKind::WaitForOperator, DecisionReason::NeedsInput),
        WaitKind::Task => (DecisionKind::WaitForTask, DecisionReason::TaskResult),
        WaitKind::External => (DecisionKind::WaitForExternalChange, DecisionReason::External),
        WaitKind::Timer => (DecisionKind::WaitForTimer, DecisionReason::Timer),
    };
    let wait = wait_id.map(|wait_id| Evidence::Wait { wait_id, kind });
    let evidence = item.as_ref().map(item_evidence).into_iter().chain(wait).collect();
    let work_item_id = item.map(|item| item.work_item_id);
    SchedulerDecision { work_item_id, task_id, wait_id, ..rest(facts, decision, reason, 12, evidence) }
}

fn head_evidence(head: &Head) -> Evidence {
    Evidence::Head { message_id: head.message_id, priority: head.priority, class: head.class }
}

fn item_evidence(item: &ItemFact) -> Evidence {
    Evidence::WorkItem { work_item_id: item.work_item_id, state: item.state }
}

fn emit(facts: &SchedulerProjection, item: &ItemFact, tick: WorkTick, row: u8) -> SchedulerDecision {
    let reason = match tick {
        WorkTick::ContinueActive => DecisionReason::ContinueActive,
        WorkTick::QueuedAvailable => DecisionReason::QueuedAvailable,
    };
    let decision = rest(facts, DecisionKind::EmitSystemTick, reason, row, alloc::vec![item_evidence(item)]);
    let ItemFact { work_item_id, revision, .. } = item;
    SchedulerDecision {
        work_item_id: Some(*work_item_id),
        idempotency_key: Some(format!("work_queue:{tick}:{work_item_id}:{revision}")),
        ..decision
    }
}

fn no_slot(facts: &SchedulerProjection, row: u8) -> SchedulerDecision {
    let evidence = alloc::vec![Evidence::NoFreeSlot, Evidence::Queued { entries: facts.queued }];
    rest(facts, DecisionKind::Noop, DecisionReason::NoSlot, row, evidence)
}

fn take(
    facts: &SchedulerProjection,
    head: &Head,
    reason: DecisionReason,
    row: u8,
    evidence: Vec<Evidence>,
) -> SchedulerDecision {
    let liveness_only = head.class == ContinuationClass::LivenessOnly;
    SchedulerDecision {
        kind: if liveness_only { DecisionKind::ReduceMessageOnly } else { DecisionKind::StartModelTurn },
        reason,
        row,
        boundary: facts.boundary,
        model_reentry: !liveness_only,
        liveness_only,
        message_id: Some(head.message_id),
        also_message_ids: if liveness_only { Vec::new() } else { head.also.clone() },
        work_item_id: None,
        task_id: None,
        wait_id: head.wait_id,
        idempotency_key: None,
        next_deadline: facts.next_deadline.map(|deadline| deadline.at),
        evidence,
    }
}

fn rest(
    facts: &SchedulerProjection,
    kind: DecisionKind,
    reason: DecisionReason,
    row: u8,
    evidence: Vec<Evidence>,
) -> SchedulerDecision {
    SchedulerDecision {
        kind,
        reason,
        row,
        boundary: facts.boundary,
        model_reentry: false,
        liveness_only: false,
        message_id: None,
        also_message_ids: Vec::new(),
        work_item_id: None,
        task_id: None,
        wait_id: None,
        idempotency_key: None,
        next_deadline: facts.next_deadline.map(|deadline| deadline.at),
        evidence,
    }
}
