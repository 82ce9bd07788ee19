//! Laws about start, stop, abort and posture.

use alloc::string::String;

use holon_facts::decision::DecisionKind;
use holon_facts::event::lifecycle::ControlApplied;
use holon_facts::event::operation::OpKind;
use holon_facts::event::{
    Event, InboxFact, LifecycleFact, OperationFact, SchedulingFact, TaskFact, TimerFact, TurnFact, WaitFact,
    WorkFact,
};
use holon_facts::ids::RunId;
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::record::Record;
use holon_facts::task::TaskStatus;

use super::past::{Control, Op, Past, Task};
use super::waits::rests;
use super::{Checked, rule};

/// Nothing starts while the agent is stopped.
pub(super) fn l1(past: &Past, record: &Record) -> Checked {
    if !past.posture.stopped {
        return Ok(false);
    }
    let starts = match &record.event {
        Event::Turn(TurnFact::TurnStarted(_) | TurnFact::ToolStarted(_)) => true,
        // What nobody needs any more is removed.
        Event::Operation(OperationFact::OperationOpened(fact)) => fact.kind != OpKind::RemoveWorktree,
        Event::Inbox(
            InboxFact::MessageDequeued(_)
            | InboxFact::OperatorInterjectionAdmitted(_)
            | InboxFact::MessageProcessed(_),
        ) => true,
        Event::Timer(TimerFact::TimerFired(_) | TimerFact::TimerSkipped(_)) => true,
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) => !decision.rests(),
        _ => false,
    };
    rule(!starts, || format!("{} while stopped", record.event.kind()))
}

pub(super) fn l2(past: &Past, record: &Record) -> Checked {
    let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return Ok(false) };
    match fact.action {
        ControlAction::Start => Ok(false),
        ControlAction::Stop => {
            // What nobody needs any more is removed all the same.
            let stays = |op: &Op| {
                op.kind.brings_end() || matches!(op.kind, OpKind::WriteInput | OpKind::RemoveWorktree)
            };
            let left = past.ops.values().find(|op| past.is_of_run(op) || !stays(op));
            let left = (past.run.is_some(), left, past.hold.is_some());
            rule(left == (false, None, false), || format!("run, operation, hold are left: {left:?}"))?;
            let ending = |task: &Task| task.status == TaskStatus::Cancelling;
            let runs = past.tasks.live.iter().find(|(_, task)| !ending(task));
            rule(runs.is_none(), || format!("{runs:?} is not asked to end"))?;
            roots_after_stop(past, fact)
        }
        ControlAction::Abort => {
            let left = past.run_ops().next();
            rule(past.run.is_none() && left.is_none(), || "the run or its operations are left".into())
        }
    }
}

/// What no command needs is released and named; what one needs is held until it has ended, and named, too.
fn roots_after_stop(past: &Past, fact: &ControlApplied) -> Checked {
    let workspaces = &past.workspaces;
    let unused = workspaces.occupied.keys().find(|root| !past.needs_root(root, None));
    rule(unused.is_none(), || format!("{unused:?} is occupied, and no command needs it"))?;
    let Some(released) = &fact.released_roots else { return Ok(true) };
    let named = |root: &String| released.contains(root) || fact.stopping_roots.contains(root);
    let unnamed = workspaces.freed.iter().find(|root| !named(root));
    rule(unnamed.is_none(), || format!("{unnamed:?} is released, and not named"))?;
    let written = workspaces.freed.iter().find(|root| past.needs_root(root, None));
    rule(written.is_none(), || format!("{written:?} is released, and a command is executed there"))?;
    let hidden = workspaces.occupied.keys().find(|root| !fact.stopping_roots.contains(root));
    rule(hidden.is_none(), || format!("{hidden:?} is held, and not reported"))
}

pub(super) fn l3(past: &Past, record: &Record) -> Checked {
    let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return Ok(false) };
    let Some(Control { action, waiting: before, .. }) = past.posture.control else {
        return Err(format!("{} was applied and never admitted", fact.action));
    };
    let after = past.queue.waiting.len();
    rule(action == fact.action && before == after, || {
        format!("{action} admitted with {before} queued, {} applied with {after}", fact.action)
    })?;
    let aborted = fact.aborted_messages.first().copied();
    rule(aborted.is_none() || aborted == past.queue.aborted, || {
        format!("{aborted:?} is reported as aborted, recorded was {:?}", past.queue.aborted)
    })
}

pub(super) fn l4(past: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event else { return Ok(false) };
    if !past.posture.started {
        return Ok(false);
    }
    let cause = (DecisionKind::StartModelTurn, Some(fact.message_id));
    rule(past.decided == Some(cause), || {
        format!("{} starts for {}, decided was {:?}", fact.run_id, fact.message_id, past.decided)
    })
}

pub(super) fn l5(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Lifecycle(LifecycleFact::ControlRequestAdmitted(fact)) => match fact.action {
            ControlAction::Start => {
                let waits = past.unattended.turns > 0 || past.sleep.is_some();
                rule(past.posture.stopped || waits, || "a started agent is started".into())
            }
            ControlAction::Stop => rule(!past.posture.stopped, || "a stopped agent is stopped".into()),
            ControlAction::Abort => rule(past.run.is_some(), || "there is nothing to abort".into()),
        },
        Event::Lifecycle(LifecycleFact::ControlApplied(fact)) => {
            let stops = fact.next == Status::Stopped;
            let fits = match fact.action {
                ControlAction::Stop => stops,
                ControlAction::Start | ControlAction::Abort => !stops,
            };
            rule(fits, || format!("{} leads to {}", fact.action, fact.next))?;
            let archived = past.posture.label.archived && !stops;
            rule(!archived, || format!("{} leaves the agent in the archive", fact.action))
        }
        Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) => {
            // A stop has been applied, and its posture follows; a stopped agent goes nowhere else.
            let fits = past.posture.stopped == (fact.next == Status::Stopped);
            rule(fits, || format!("the scheduler goes from {} to {}", fact.previous, fact.next))
        }
        Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) => {
            let fits = !fact.label.archived || past.posture.stopped;
            rule(fits, || "an agent is archived, and not stopped".into())
        }
        _ => Ok(false),
    }
}

/// Speaks of everything between an admission to a stopped agent and its next start.
pub(super) fn l6(past: &Past, record: &Record) -> Checked {
    if !past.posture.admitted_while_stopped {
        return Ok(false);
    }
    let moves = matches!(
        &record.event,
        Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(_)) | Event::Turn(TurnFact::TurnStarted(_))
    );
    rule(!moves, || format!("{} moves a stopped agent", record.event.kind()))
}

pub(super) fn l8(past: &Past, record: &Record) -> Checked {
    if let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event {
        return rule(past.ops.contains_key(&fact.op), || format!("{} is not open", fact.op));
    }
    let Some(run) = changes_run(&record.event) else { return Ok(false) };
    rule(past.running(run).is_some(), || {
        format!("{} names {run}, which is not in progress", record.event.kind())
    })
}

/// The run that the fact says something new about.
fn changes_run(event: &Event) -> Option<RunId> {
    match event {
        // What a summary took is settled when that has come.
        Event::Turn(TurnFact::TurnStarted(_) | TurnFact::BudgetSettled(_)) => None,
        Event::Turn(fact) => Some(fact.run_id()),
        Event::Inbox(InboxFact::MessageProcessed(fact)) => fact.run_id,
        Event::Inbox(InboxFact::MessageAborted(fact)) => Some(fact.run_id),
        Event::Inbox(InboxFact::MessageRequeued(fact)) => Some(fact.run_id),
        Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) => Some(fact.run_id),
        Event::Scheduling(SchedulingFact::HoldSet(fact)) => Some(fact.run_id),
        Event::Operation(OperationFact::OperationOpened(fact)) => fact.run_id,
        Event::Lifecycle(LifecycleFact::CurrentRunAborted(fact)) => Some(fact.run_id),
        Event::Lifecycle(LifecycleFact::RuntimeRecovered(fact)) => fact.interrupted_run_id,
        Event::Task(TaskFact::TaskCreated(fact)) => fact.run_id,
        // Other facts about work are recorded once the run has ended.
        Event::Work(WorkFact::WorkItemWritten(fact)) => fact.run_id,
        Event::Work(WorkFact::WorkItemPicked(fact)) => Some(fact.run_id),
        Event::Work(WorkFact::DeliverySummaryRecorded(fact)) => Some(fact.run_id),
        Event::Wait(WaitFact::WaitRegistered(fact)) => Some(fact.run_id),
        _ => None,
    }
}

pub(super) fn s7(past: &Past, record: &Record) -> Checked {
    let previous = match &record.event {
        Event::Lifecycle(LifecycleFact::ControlRequestAdmitted(fact)) => fact.previous,
        // It is about how things stood when it was asked for.
        Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if fact.released_roots.is_some() => {
            let asked = past.posture.control.map(|control| control.status);
            return rule(asked == Some(fact.previous), || {
                format!("{} is applied to {}, and was asked of {asked:?}", fact.action, fact.previous)
            });
        }
        Event::Lifecycle(LifecycleFact::ControlApplied(fact)) => fact.previous,
        Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) => fact.previous,
        Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) => {
            let label = &past.posture.label;
            return rule(fact.previous == *label, || {
                format!("the label changes from {:?}, and was {label:?}", fact.previous)
            });
        }
        _ => return Ok(false),
    };
    let status = past.posture.status;
    rule(previous == status, || format!("changes from {previous}, but the agent is {status}"))
}

/// A resting decision that says what the last one said is not recorded again, but still stands. Logs of earlier builds
/// have no change of posture for turns; who has recorded one records them all.
pub(super) fn w2(past: &Past, record: &Record) -> Checked {
    let status = past.posture.status;
    if past.begins_step(record) && (status == Status::AwakeRunning) != past.run.is_some() {
        return Err(format!(
            "the agent is {status}, and its run is {:?}",
            past.run.as_ref().map(|run| run.id)
        ));
    }
    let fact = match &record.event {
        Event::Lifecycle(LifecycleFact::SchedulerPostureDecision(fact)) => fact,
        Event::Turn(TurnFact::TurnStarted(fact)) if past.posture.names_turns => {
            return rule(status == Status::AwakeRunning, || format!("{} starts while {status}", fact.run_id));
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) if past.posture.names_turns => {
            return rule(status != Status::AwakeRunning, || format!("{} ends while {status}", fact.run_id));
        }
        _ => return Ok(false),
    };
    let moved = past.promised.moved && !past.begins_step(record);
    let decided = past.decided.map(|(kind, _)| kind);
    let caused = match fact.next {
        Status::AwakeRunning => past.run.is_none() && decided == Some(DecisionKind::StartModelTurn),
        Status::AwakeIdle if past.run.is_some() => fact.previous == Status::AwakeRunning,
        Status::Asleep => moved || decided.is_some_and(rests),
        Status::Booting | Status::AwakeIdle | Status::Stopped => moved,
    };
    rule(caused && fact.previous != fact.next, || {
        format!("the agent goes from {} to {} for no reason", fact.previous, fact.next)
    })
}
