//! The decision table: what happens next, as a pure and total function of one projection (contract:
//! scheduler.md, Precedence). Rows keep the contract's numbers; those of later subjects are not here yet.

use alloc::vec::Vec;

use holon_facts::continuation::ContinuationClass;
use holon_facts::decision::{DecisionKind, DecisionReason, Evidence, SchedulerDecision};
use holon_facts::event::work::WorkTick;
use holon_facts::lifecycle::Status;
use holon_facts::wait::WaitKind;
use holon_facts::work::WorkState;

use super::projection::{
    ArmedDeadline, AwaitedFact, Head, HintsFact, HoldFact, ItemFact, RecheckFact, RunFact,
    SchedulerProjection,
};

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

/// Rows 7 to 11: one message for each of them reports all that there is.
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
