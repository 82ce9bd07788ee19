//! Laws about background tasks: their phases, and that each end is told once.

use holon_facts::decision::DecisionKind;
use holon_facts::event::{Event, SchedulingFact, TaskFact, TurnFact};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;
use holon_facts::task::{TaskStatus, TaskTransition};

use super::past::Past;
use super::{Checked, rule};

pub(super) fn p1(past: &Past, record: &Record) -> Checked {
    let Event::Task(fact) = &record.event else { return Ok(false) };
    match fact {
        TaskFact::TaskCreated(fact) => {
            let op = fact.op.and_then(|op| past.ops.get(&op));
            let executes = op.is_some_and(|op| op.kind.brings_end() && op.task == Some(fact.task_id));
            let new = !past.tasks.live.contains_key(&fact.task_id);
            rule(executes && new && !fact.status.is_terminal(), || {
                format!("{} begins {} with {op:?}", fact.task_id, fact.status)
            })
        }
        TaskFact::TaskStatusUpdated(fact) => {
            let Some(task) = past.tasks.live.get(&fact.task_id) else {
                return Err(format!("{} is {}, and had ended or never begun", fact.task_id, fact.status));
            };
            rule(task.status == fact.previous, || {
                format!("{} was {}, and is recorded as {}", fact.task_id, task.status, fact.previous)
            })?;
            let insists = fact.status == TaskStatus::Cancelling
                && fact.previous == fact.status
                && fact.force
                && task.stop.is_some_and(|(_, force)| !force);
            let fits = TaskTransition::of(fact.previous, fact.status) == TaskTransition::Changes;
            rule(fits || insists, || {
                format!("{} goes from {} to {}", fact.task_id, fact.previous, fact.status)
            })
        }
        _ => Ok(false),
    }
}

pub(super) fn p2(past: &Past, record: &Record) -> Checked {
    // A queue that is full may keep even this waiting; one that is empty has room.
    if let Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) = &record.event
        && matches!(
            decision.kind,
            DecisionKind::Sleep | DecisionKind::WaitForTimer | DecisionKind::WaitForOperator
        )
        && past.queue.live.is_empty()
    {
        let owed = past.tasks.undelivered.keys().next();
        return rule(owed.is_none(), || format!("the agent rests, and nothing delivers the end of {owed:?}"));
    }
    let Event::Task(TaskFact::TaskResultQueued(fact)) = &record.event else { return Ok(false) };
    let Some(ended) = past.tasks.undelivered.get(&fact.task_id) else {
        return Err(format!("{} is delivered again, or has not ended", fact.task_id));
    };
    let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
    rule(admitted, || format!("{} is delivered by {}, which is not for it", fact.task_id, fact.message_id))?;
    let kind = past.queue.live.get(&fact.message_id).map(|entry| entry.kind);
    let alone = kind == Some(MessageKind::TaskResult) && ended.step == record.step;
    rule(alone || kind == Some(MessageKind::SystemTick), || {
        format!("{} is delivered by a {kind:?} of another step", fact.task_id)
    })
}

/// Speaks of what is said to need no model.
pub(super) fn s5(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Task(TaskFact::TaskResultQueued(fact)) => {
            let by_agent = past.tasks.undelivered.get(&fact.task_id).is_some_and(|ended| ended.by_agent);
            let by_agent = by_agent && !past.awaits(fact.task_id);
            rule(fact.known == by_agent || (!fact.known && is_of_several(past, fact.message_id)), || {
                format!("{}: the agent knows: {}, it ended it itself: {by_agent}", fact.task_id, fact.known)
            })
        }
        Event::Turn(TurnFact::ToolExecuted(fact)) => {
            let Some(task) = fact.receipt.facts.shown_task else { return Ok(false) };
            let reads = past.run.as_ref().and_then(|run| run.open_call()).and_then(|call| call.reads);
            let ended = !past.tasks.live.contains_key(&task);
            rule(reads == Some(task) && ended, || {
                format!("{} shows {task}, and reads {reads:?}", fact.call_id)
            })
        }
        _ => Ok(false),
    }
}

fn is_of_several(past: &Past, message: holon_facts::ids::MessageId) -> bool {
    past.queue.live.get(&message).is_some_and(|entry| entry.kind == MessageKind::SystemTick)
}

pub(super) fn s6(past: &Past, record: &Record) -> Checked {
    if !past.begins_step(record) || past.tasks.live.is_empty() {
        return Ok(false);
    }
    let brings = |id| past.ops.values().any(|op| op.kind.brings_end() && op.task == Some(id));
    let lost = past.tasks.live.keys().find(|id| !brings(**id));
    rule(lost.is_none(), || format!("{lost:?} runs, and nothing will report its end"))
}
