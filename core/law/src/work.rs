//! Laws about work items: what is completed stays completed, the focus is on what is open, and what can be worked on is
//! owed something.

use holon_facts::event::work::{StallReason, WorkChange, WorkTick};
use holon_facts::event::{Event, SchedulingFact, TurnFact, WorkFact};
use holon_facts::ids::RunId;
use holon_facts::record::Record;
use holon_facts::time::Wall;
use holon_facts::work::{IN_A_TICK, PlanSeen};

use super::past::Past;
use super::waits::rests;
use super::{Checked, rule};

pub(super) fn w11(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Work(WorkFact::WorkItemWritten(fact)) => {
            let id = fact.work_item_id;
            let revision = past.work.open.get(&id).map(|item| item.revision);
            let created = matches!(fact.change, WorkChange::Created { .. });
            rule(created != revision.is_some(), || format!("{id} is written, and had ended or never begun"))?;
            let next = revision.map_or(1, |revision| revision + 1);
            rule(fact.revision == next, || format!("{id} has revision {} after {revision:?}", fact.revision))
        }
        Event::Work(WorkFact::WorkItemPicked(fact)) => {
            let open = past.work.open.contains_key(&fact.work_item_id);
            rule(open, || format!("{} is picked, and is not open", fact.work_item_id))?;
            let before = past.work.current;
            rule(fact.previous == before, || format!("the focus was on {before:?}, not {:?}", fact.previous))
        }
        Event::Work(WorkFact::WorkPlanSeen(fact)) => {
            let open = past.work.open.contains_key(&fact.work_item_id);
            rule(open, || format!("the plan of {} is looked at, and it is not open", fact.work_item_id))
        }
        Event::Work(WorkFact::DeliverySummaryRecorded(fact)) => {
            let done = !past.work.open.contains_key(&fact.work_item_id);
            rule(done, || format!("{} is delivered before it is completed", fact.work_item_id))
        }
        Event::Turn(TurnFact::TurnStarted(fact))
            if fact.work_item_id.is_some() || past.work.current.is_some() =>
        {
            let current = past.work.current;
            rule(fact.work_item_id == current, || {
                format!("{} is bound to {:?}, the focus is on {current:?}", fact.run_id, fact.work_item_id)
            })
        }
        _ => Ok(false),
    }
}

pub(super) fn s1(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Work(WorkFact::WorkTickQueued(fact)) => {
            let admitted = !past.begins_step(record) && past.promised.admitted.contains(&fact.message_id);
            rule(admitted, || format!("{} was not made for this", fact.message_id))?;
            let owed = past.owed_work(fact.tick, record.at);
            // Builds before this one put all into one tick, and named as many.
            let first = owed.get(..IN_A_TICK).is_some_and(|first| first == fact.work_item_ids);
            rule(!owed.is_empty() && (first || owed == fact.work_item_ids), || {
                format!("{} delivers {:?}, due are {owed:?}", fact.message_id, fact.work_item_ids)
            })
        }
        // A queue that is full may keep even this waiting; one that is empty has room.
        Event::Scheduling(SchedulingFact::SchedulerDecision(decision))
            if rests(decision.kind)
                && past.queue.live.is_empty()
                && past.held(record.at).is_none()
                && !past.may_stay_silent(record.at) =>
        {
            let owed = WorkTick::ALL.iter().flat_map(|tick| past.owed_work(*tick, record.at)).next();
            rule(owed.is_none(), || format!("the agent rests, and {owed:?} has a due obligation"))?;
            Ok(!past.work.open.is_empty())
        }
        _ => Ok(false),
    }
}

pub(super) fn s2(past: &Past, record: &Record) -> Checked {
    if past.begins_step(record)
        && let Some(item) = past.promised.deferrals.first()
    {
        return Err(format!("a turn for {item} brought nothing, and the next one does not wait"));
    }
    match &record.event {
        Event::Turn(TurnFact::TurnTerminal(fact)) => {
            let may = past.running(fact.run_id).is_some_and(|run| run.progress);
            rule(may || !fact.progress, || format!("{} brought nothing on", fact.run_id))?;
            Ok(may)
        }
        Event::Work(WorkFact::WorkDeferred(fact)) => {
            let id = fact.work_item_id;
            let turns = past.work.open.get(&id).map_or(0, |item| item.turns);
            let due = ended(past, record, fact.run_id) && past.promised.deferrals.contains(&id);
            // At the end of its range the clock has nothing later.
            let later = fact.until > record.at || fact.until == Wall(i64::MAX);
            rule(due && fact.turns == turns + 1 && later, || {
                format!(
                    "{id} waits until {} after {turns} turns, and by its record after {}",
                    fact.until, fact.turns
                )
            })
        }
        Event::Work(WorkFact::WorkPlanSeen(fact)) => {
            let before = past.work.open.get(&fact.work_item_id).map(|item| item.plan);
            let another = before.is_some_and(|before| before != PlanSeen::of(fact.hash));
            let right = another && fact.edited == (before != Some(PlanSeen::Unseen));
            rule(right, || format!("the plan of {} was {before:?}: {fact:?}", fact.work_item_id))
        }
        Event::Work(WorkFact::WorkOwed(fact)) => {
            let current = past.work.open.contains_key(&fact.work_item_id);
            let ended = ended(past, record, fact.run_id);
            rule(current && ended, || format!("{} gets an obligation for nothing", fact.work_item_id))
        }
        Event::Work(WorkFact::WorkItemStalled(fact)) => {
            let id = fact.work_item_id;
            let due = match fact.reason {
                StallReason::NoProgress => past.promised.deferrals.contains(&id),
                StallReason::ContextLength => past.promised.too_long == Some(fact.run_id),
                StallReason::Aborted | StallReason::Dropped => true,
            };
            let runs = past.work.open.get(&id).is_some_and(super::past::Item::runnable);
            rule(due && runs && ended(past, record, fact.run_id), || {
                format!("{id} stalls ({}) for no turn", fact.reason)
            })
        }
        _ => Ok(false),
    }
}

/// Whether the run has ended in the step of the record.
fn ended(past: &Past, record: &Record, run: RunId) -> bool {
    !past.begins_step(record) && past.promised.ended == Some(run)
}
