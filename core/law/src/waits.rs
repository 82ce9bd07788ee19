//! Laws about waits: whoever waits is woken by what it waits for and by nothing else, and nobody is forgotten.

use alloc::format;
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

use super::seen::{Owner, Recheck, Seen};
use super::{Ruling, rule};

pub(super) fn w8(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Wait(WaitFact::WaitResolved(fact)) => {
            let wait = seen.waits.active.values().find(|wait| wait.id == fact.wait_id);
            let Some(wait) = wait else { return Err(format!("{} is over already", fact.wait_id)) };
            match fact.by {
                Resolution::Message { message_id } => {
                    rule(seen.may_bring(message_id, wait), || format!("{message_id} does not bring {wait:?}"))
                }
                Resolution::TaskResultQueued => {
                    let ended = wait.task.is_some_and(|task| !seen.tasks.live.contains_key(&task));
                    rule(ended, || format!("{:?} of {} has not ended", wait.task, wait.id))
                }
            }
        }
        Event::Inbox(InboxFact::MessageDequeued(fact)) if fact.run_id.is_some() => {
            taken(seen, fact.message_id)
        }
        Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) => taken(seen, fact.message_id),
        Event::Wake(WakeFact::WakeHintRecorded(fact)) => names(seen, &fact.hint),
        Event::Wake(WakeFact::WakeHintCoalesced(fact)) => names(seen, &fact.hint),
        _ => Ok(false),
    }
}

/// A hint through the trigger names a wait only by its token.
fn names(seen: &Seen, hint: &Hint) -> Ruling {
    let Some(wait_id) = hint.wait_id.filter(|_| hint.external_trigger_id.is_some()) else { return Ok(false) };
    let wait = seen.waits.active.values().find(|wait| wait.id == wait_id);
    let token = wait.and_then(|wait| wait.token.as_ref());
    rule(token.is_some() && token == hint.correlation_id.as_ref(), || {
        format!("a hint of {} names {wait_id}, and has not its token", hint.source)
    })
}

/// A turn takes a message: whoever waited for it waits no more.
fn taken(seen: &Seen, message: MessageId) -> Ruling {
    let waits = seen.waits.active.values().find(|wait| seen.brings(message, wait));
    rule(waits.is_none(), || format!("{message} is taken, and brings {waits:?}"))?;
    Ok(!seen.waits.active.is_empty())
}

pub(super) fn w9(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Wait(WaitFact::WaitRegistered(fact)) => {
            let owner = fact.work_item_id;
            let before = seen.waits.active.get(&owner);
            rule(before.is_none(), || format!("{owner:?} waits for {before:?} already"))?;
            let open = owner.is_none_or(|item| seen.work.open.contains_key(&item));
            rule(open, || format!("{owner:?} waits, and is not open"))?;
            let runs = seen.running(fact.run_id).is_some();
            rule(runs, || format!("{} waits in a turn that is over", fact.wait_id))?;
            let timer = fact.timer_id.and_then(|timer| seen.timers.get(&timer)).map(|timer| timer.wait);
            let fires = match fact.kind {
                WaitKind::Operator => true,
                WaitKind::Task => fact.task_id.is_some(),
                WaitKind::Timer => timer == Some(Some(fact.wait_id)),
                WaitKind::External => fact.recheck_after_ms.is_some(),
            };
            rule(fires, || format!("nothing can end {} ({})", fact.wait_id, fact.kind))
        }
        Event::Wait(WaitFact::WaitCancelled(fact)) => {
            let active = seen.waits.active.values().find(|wait| wait.id == fact.wait_id);
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
            let wait = seen.waits.active.get(&Some(fact.work_item_id));
            rule(wait.is_none(), || format!("{} is completed, and waits: {wait:?}", fact.work_item_id))
        }
        _ => orphans(seen, record),
    }
}

/// Between steps whoever waits for a time has a timer.
fn orphans(seen: &Seen, record: &Record) -> Ruling {
    if !seen.begins_step(record) {
        return Ok(false);
    }
    let timers = seen.waits.active.values().filter(|wait| wait.kind == WaitKind::Timer);
    let lost = |timer| !seen.timers.contains_key(&timer) && !seen.tells_of(timer);
    let orphan = timers.filter_map(|wait| wait.timer).find(|timer| lost(*timer));
    rule(orphan.is_none(), || format!("{orphan:?} is waited for, and never comes"))?;
    Ok(!seen.waits.active.is_empty())
}

pub(super) fn s11(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Wait(WaitFact::WorkItemRecheckDue(fact)) => {
            let admitted = !seen.begins_step(record) && seen.owed.admitted.contains(&fact.message_id);
            let kind = seen.queue.live.get(&fact.message_id).map(|entry| entry.kind);
            rule(admitted && kind == Some(MessageKind::SystemTick), || {
                format!("{} was not made for this", fact.message_id)
            })?;
            let due = due(seen, record);
            let told: Vec<Owner> = fact.due.iter().map(|due| due.work_item_id).collect();
            let all = told.len() == due.len() && due.iter().all(|(owner, _)| told.contains(owner));
            rule(all && !due.is_empty(), || format!("{told:?} are looked at again, due are {due:?}"))?;
            for told in &fact.due {
                let before = seen.waits.rechecks.get(&told.work_item_id);
                let fits = before.is_some_and(|recheck| {
                    told.count == recheck.count + 1 && told.next_at == recheck.next(record.at, told.count)
                });
                rule(fits, || format!("{told:?} follows {before:?}"))?;
            }
            Ok(true)
        }
        Event::Wait(WaitFact::RecheckGivenUp(fact)) => {
            let recheck = seen.waits.rechecks.get(&fact.work_item_id);
            let ended = !seen.begins_step(record) && seen.owed.ended == Some(fact.run_id);
            let enough = recheck.is_some_and(|recheck| recheck.at.is_some() && recheck.count >= IN_A_ROW);
            rule(ended && enough, || format!("{:?} is given up after {recheck:?}", fact.work_item_id))
        }
        // A queue that is full may keep even this waiting; one that is empty has room.
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if rests(decision.kind)
                && seen.queue.live.is_empty()
                && seen.held(record.at).is_none()
                && !seen.is_restrained(record.at) =>
        {
            let due = due(seen, record);
            rule(due.is_empty(), || format!("the agent rests, and {due:?} are to be looked at"))?;
            Ok(!seen.waits.rechecks.is_empty())
        }
        _ => Ok(false),
    }
}

fn due(seen: &Seen, record: &Record) -> Vec<(Owner, Recheck)> {
    let due = seen.waits.rechecks.iter().filter(|(_, recheck)| recheck.at.is_some_and(|at| at <= record.at));
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
