//! Laws about work items: what is completed stays completed, and the focus is on what is open.

use alloc::format;

use super::seen::Seen;
use super::{Ruling, rule};
use crate::event::work::WorkChange;
use crate::event::{Event, TurnFact, WorkFact};
use crate::record::Record;

pub(super) fn w11(seen: &Seen, record: &Record) -> Ruling {
    match &record.event {
        Event::Work(WorkFact::WorkItemWritten(fact)) => {
            let id = fact.work_item_id;
            let revision = seen.work.open.get(&id).copied();
            let created = matches!(fact.change, WorkChange::Created { .. });
            rule(created != revision.is_some(), || format!("{id} is written, and had ended or never begun"))?;
            let next = revision.map_or(1, |revision| revision + 1);
            rule(fact.revision == next, || format!("{id} has revision {} after {revision:?}", fact.revision))
        }
        Event::Work(WorkFact::WorkItemPicked(fact)) => {
            let open = seen.work.open.contains_key(&fact.work_item_id);
            rule(open, || format!("{} is picked, and is not open", fact.work_item_id))?;
            let before = seen.work.current;
            rule(fact.previous == before, || format!("the focus was on {before:?}, not {:?}", fact.previous))
        }
        Event::Work(WorkFact::DeliverySummaryRecorded(fact)) => {
            let done = !seen.work.open.contains_key(&fact.work_item_id);
            rule(done, || format!("{} is delivered before it is completed", fact.work_item_id))
        }
        Event::Turn(TurnFact::TurnStarted(fact))
            if fact.work_item_id.is_some() || seen.work.current.is_some() =>
        {
            let current = seen.work.current;
            rule(fact.work_item_id == current, || {
                format!("{} is bound to {:?}, the focus is on {current:?}", fact.run_id, fact.work_item_id)
            })
        }
        Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Turn(_)
        | Event::Operation(_)
        | Event::Task(_)
        | Event::Timer(_)
        | Event::Brief(_) => Ok(false),
    }
}
