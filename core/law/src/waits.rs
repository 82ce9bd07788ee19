//! Laws about waits: whoever waits is woken by what it waits for and by nothing else, and nobody is forgotten.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use holon_facts::decision::DecisionKind;
use holon_facts::event::wait::{Resolution, WaitEnd};
use holon_facts::event::work::WorkChange;
use holon_facts::event::{Event, InboxFact, SchedulingFact, WaitFact, WakeFact, WorkFact};
use holon_facts::hint::Hint;
use holon_facts::ids::MessageId;
use holon_facts::message::MessageKind;
use holon_facts::record::Record;
use holon_facts::wait::{IN_A_ROW, WaitKind};
use holon_facts::work::IN_A_TICK;

use super::past::{Owner, Past, Recheck};
use super::{Checked, rule};

pub(super) fn w8(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Wait(WaitFact::WaitResolved(fact)) => {
            let wait = past.waits.active.values().find(|wait| wait.id == fact.wait_id);
            let Some(wait) = wait else { return Err(format!("{} is over already", fact.wait_id)) };
            match fact.by {
                Resolution::Message { message_id } => {
                    rule(past.may_bring(message_id, wait), || format!("{message_id} does not bring {wait:?}"))
                }
                Resolution::TaskResultQueued => {
                    let ended = wait.task.is_some_and(|task| !past.tasks.live.contains_key(&task));
                    rule(ended, || format!("{:?} of {} has not ended", wait.task, wait.id))
                }
            }
        }
        Event::Inbox(InboxFact::MessageDequeued(fact)) if fact.run_id.is_some() => {
            taken(past, fact.message_id)
        }
        Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) => taken(past, fact.message_id),
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => names(past, &fact.hint),
        Event::Wake(WakeFact::WakeHintCoalesced(fact)) => names(past, &fact.hint),
        _ => Ok(false),
    }
}

/// A hint through the trigger names a wait only by its token.
fn names(past: &Past, hint: &Hint) -> Checked {
    let Some(wait_id) = hint.wait_id.filter(|_| hint.external_trigger_id.is_some()) else { return Ok(false) };
    let wait = past.waits.active.values().find(|wait| wait.id == wait_id);
    let token = wait.and_then(|wait| wait.token.as_ref());
    rule(token.is_some() && token == hint.correlation_id.as_ref(), || {
        format!("a hint of {} names {wait_id}, and has not its token", hint.source)
    })
}

/// A turn takes a message: whoever waited for it waits no more.
fn taken(past: &Past, message: MessageId) -> Checked {
    let waits = past.waits.active.values().find(|wait| past.brings(message, wait));
    rule(waits.is_none(), || format!("{message} is taken, and brings {waits:?}"))?;
    Ok(!past.waits.active.is_empty())
}

pub(super) fn w9(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Wait(WaitFact::WaitRegistered(fact)) => {
            let owner = fact.work_item_id;
            let before = past.waits.active.get(&owner);
            rule(before.is_none(), || format!("{owner:?} waits for {before:?} already"))?;
            let open = owner.is_none_or(|item| past.work.open.contains_key(&item));
            rule(open, || format!("{owner:?} waits, and is not open"))?;
            let runs = past.running(fact.run_id).is_some();
            rule(runs, || format!("{} waits in a turn that is over", fact.wait_id))?;
            let timer = fact.timer_id.and_then(|timer| past.timers.get(&timer)).map(|timer| timer.wait);
            let fires = match fact.kind {
                WaitKind::Operator => true,
                WaitKind::Task => fact.task_id.is_some(),
                WaitKind::Timer => timer == Some(Some(fact.wait_id)),
                WaitKind::External => fact.recheck_after_ms.is_some(),
            };
            rule(fires, || format!("nothing can end {} ({})", fact.wait_id, fact.kind))
        }
        Event::Wait(WaitFact::WaitCancelled(fact)) => {
            let active = past.waits.active.values().find(|wait| wait.id == fact.wait_id);
            let Some(wait) = active else { return Err(format!("{} is over already", fact.wait_id)) };
            let fits = match fact.reason {
                WaitEnd::Replaced | WaitEnd::ItemCompleted => true,
                WaitEnd::TimerCancelled => wait.timer.is_some(),
            };
            rule(fits, || format!("{} is cancelled ({})", fact.wait_id, fact.reason))
        }
        Event::Work(WorkFact::WorkItemWritten(fact))
            if matches!(fact.change, WorkChange::Completed { .. }) =>
        {
            let wait = past.waits.active.get(&Some(fact.work_item_id));
            rule(wait.is_none(), || format!("{} is completed, and waits: {wait:?}", fact.work_item_id))
        }
        _ => orphans(past, record),
    }
}

/// Between steps whoever waits for a time has a timer.
fn orphans(past: &Past, record: &Record) -> Checked {
    if !past.begins_step(record) {
        return Ok(false);
    }
    let timers = past.waits.active.values().filter(|wait| wait.kind == WaitKind::Timer);
    let lost = |timer| !past.timers.contains_key(&timer) && !past.delivers(timer);
    let orphan = timers.filter_map(|wait| wait.timer).find(|timer| lost(*timer));
    rule(orphan.is_none(), || format!("{orphan:?} is waited for, and never comes"))?;
    Ok(!past.waits.active.is_empty())
}

pub(super) fn s11(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Wait(WaitFact::WorkItemRecheckDue(fact)) => {
            let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
            let kind = past.queue.live.get(&fact.message_id).map(|entry| entry.kind);
            rule(admitted && kind == Some(MessageKind::SystemTick), || {
                format!("{} was not made for this", fact.message_id)
            })?;
            let due = due(past, record);
            let due_now: Vec<Owner> = fact.due.iter().map(|due| due.work_item_id).collect();
            let are_due = due_now.iter().all(|now| due.iter().any(|(owner, _)| owner == now));
            // Builds before this one put all into one tick, and named as many.
            let owners = due_now.iter().collect::<BTreeSet<_>>().len();
            let enough = owners == due_now.len() && (owners == due.len() || owners == IN_A_TICK);
            rule(are_due && enough && !due.is_empty(), || {
                format!("{due_now:?} are looked at again, due are {due:?}")
            })?;
            for due_now in &fact.due {
                let before = past.waits.rechecks.get(&due_now.work_item_id);
                let fits = before.is_some_and(|recheck| {
                    due_now.count == recheck.count + 1
                        && due_now.next_at == recheck.next(record.at, due_now.count)
                });
                rule(fits, || format!("{due_now:?} follows {before:?}"))?;
            }
            Ok(true)
        }
        Event::Wait(WaitFact::RecheckGivenUp(fact)) => {
            let recheck = past.waits.rechecks.get(&fact.work_item_id);
            let ended = !past.begins_step(record) && past.promised.ended == Some(fact.run_id);
            let enough = recheck.is_some_and(|recheck| recheck.at.is_some() && recheck.count >= IN_A_ROW);
            rule(ended && enough, || format!("{:?} is given up after {recheck:?}", fact.work_item_id))
        }
        // A queue that is full may keep even this waiting; one that is empty has room.
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if rests(decision.kind)
                && past.queue.live.is_empty()
                && past.held(record.at).is_none()
                && !past.is_restrained(record.at) =>
        {
            let due = due(past, record);
            rule(due.is_empty(), || format!("the agent rests, and {due:?} are to be looked at"))?;
            Ok(!past.waits.rechecks.is_empty())
        }
        _ => Ok(false),
    }
}

fn due(past: &Past, record: &Record) -> Vec<(Owner, Recheck)> {
    let due = past.waits.rechecks.iter().filter(|(_, recheck)| recheck.at.is_some_and(|at| at <= record.at));
    due.map(|(owner, recheck)| (*owner, *recheck)).collect()
}

/// Whether it waits for something, or for nothing.
pub(super) fn rests(kind: DecisionKind) -> bool {
    match kind {
        DecisionKind::Sleep
        | DecisionKind::WaitForTask
        | DecisionKind::WaitForOperator
        | DecisionKind::WaitForExternalChange
        | DecisionKind::WaitForTimer => true,
        DecisionKind::StartModelTurn
        | DecisionKind::ReduceMessageOnly
        | DecisionKind::EmitSystemTick
        | DecisionKind::StayIdle
        | DecisionKind::Stop
        | DecisionKind::Noop => false,
    }
}
