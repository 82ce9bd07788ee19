//! Decisions at a boundary, one after the other, until the agent rests or runs.

use holon_facts::decision::{DecisionKind, DecisionReason, SchedulerDecision};
use holon_facts::event::inbox::{Disposition, MessageDequeued, MessageProcessed};
use holon_facts::event::lifecycle::SchedulerPostureDecision;
use holon_facts::event::scheduling::ContinuationResolved;
use holon_facts::event::work::WorkTick;
use holon_facts::ids::MessageId;
use holon_facts::lifecycle::{Boundary, Status};

use crate::continuation;
use crate::handler::turn::begin;
use crate::handler::wait::recheck;
use crate::handler::{child, sleep, task, timer, wake, work};
use crate::scheduler::{decide_next_action, project};
use crate::tx::Tx;

/// How a round of decisions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// Nothing more to decide before something happens.
    Resting,
    /// A turn is due, and no slot is free.
    NoSlot,
    /// The bound of the step was reached.
    CutShort,
}

/// Decides and acts until the agent rests; `left` is what the step may still decide.
pub(crate) fn settle(tx: &mut Tx<'_>, boundary: Boundary, left: &mut u32) -> Settled {
    let settled = decide(tx, boundary, left);
    // One that retires has a last decision to take.
    if settled == Settled::Resting && child::rest(tx) { settle(tx, boundary, left) } else { settled }
}

fn decide(tx: &mut Tx<'_>, boundary: Boundary, left: &mut u32) -> Settled {
    // Holds and deferrals move with the clock: the decision must see them where they will be.
    if tx.agent().sleep.is_some()
        || tx.agent().hold.is_some()
        || tx.agent().work.signal().is_some()
        || tx.agent().unattended.waits_for_time()
        || crate::agent::wait::recheck::waits_for_time(tx.agent())
    {
        tx.follow_clock();
    }
    loop {
        // Whatever is owed may have had no room before the last decision.
        if !timer::fire::due(tx, left) || *left == 0 {
            return Settled::CutShort;
        }
        *left -= 1;
        task::deliver::deliver_rest(tx);
        task::child::deliver_needs(tx);
        let decision = decide_next_action(&project(tx.agent(), tx.env.host, tx.env.config, boundary));
        record(tx, &decision);
        match decision.kind {
            DecisionKind::StartModelTurn => {
                if let Some(message) = decision.message_id {
                    resolve(tx, message);
                    begin::begin(tx, message, boundary);
                }
                return Settled::Resting;
            }
            DecisionKind::ReduceMessageOnly => {
                if let Some(message) = decision.message_id {
                    resolve(tx, message);
                    reduce(tx, message);
                }
            }
            DecisionKind::EmitSystemTick => deliver(tx, decision.reason),
            DecisionKind::Sleep
            | DecisionKind::WaitForTask
            | DecisionKind::WaitForOperator
            | DecisionKind::WaitForExternalChange
            | DecisionKind::WaitForTimer => {
                fall_asleep(tx, &decision);
                return Settled::Resting;
            }
            DecisionKind::Noop if decision.reason == DecisionReason::NoSlot => return Settled::NoSlot,
            DecisionKind::StayIdle | DecisionKind::Stop | DecisionKind::Noop => return Settled::Resting,
        }
    }
}

/// Queues the message that the decision asks for.
fn deliver(tx: &mut Tx<'_>, reason: DecisionReason) {
    if reason == DecisionReason::WakeHint {
        wake::deliver(tx);
    } else if reason == DecisionReason::SleepElapsed {
        sleep::deliver(tx);
    } else if reason == DecisionReason::Recheck {
        recheck::deliver(tx);
    } else {
        let active = reason == DecisionReason::ContinueActive;
        work::obligation::deliver(
            tx,
            if active { WorkTick::ContinueActive } else { WorkTick::QueuedAvailable },
        );
    }
}

/// A resting decision that says what the last one said is not recorded again, nor is staying asleep.
fn record(tx: &mut Tx<'_>, decision: &SchedulerDecision) {
    let recorded = tx.agent().last_decision.as_ref().is_some_and(|last| decision.same_rest(last));
    if !recorded && decision.kind != DecisionKind::StayIdle {
        tx.record(decision.clone());
    }
}

fn resolve(tx: &mut Tx<'_>, message_id: MessageId) {
    let Some(entry) = tx.agent().inbox.queued_entry(message_id) else { return };
    let holon_facts::closure::ClosureDecision { outcome, waiting_reason, .. } = tx.agent().closure(tx.now());
    let trigger = tx.agent().trigger(entry, tx.now());
    let resolution = continuation::resolve(&trigger, outcome, waiting_reason);
    tx.record(ContinuationResolved { message_id, resolution });
}

/// Takes a message that needs no model.
fn reduce(tx: &mut Tx<'_>, message_id: MessageId) {
    tx.record(MessageDequeued { message_id, run_id: None });
    tx.record(MessageProcessed { message_id, run_id: None, disposition: Disposition::Processed });
}

fn fall_asleep(tx: &mut Tx<'_>, decision: &SchedulerDecision) {
    let previous = tx.agent().status;
    if previous != Status::Asleep {
        tx.record(SchedulerPostureDecision {
            previous,
            next: Status::Asleep,
            boundary: Boundary::LifecycleSleep,
            wakes_at: decision.next_deadline,
        });
    }
}
