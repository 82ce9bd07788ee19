//! Laws about what a stop or an abort says of itself, and about turns that have nothing to ask.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, LifecycleFact, OperationFact, TurnFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

/// What a command says that it ended, cancelled and left untold is what its step has recorded.
pub(super) fn e3(past: &Past, record: &Record) -> Checked {
    let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return Ok(false) };
    let done = &past.doing;
    let recorded = (fact.aborted_run_id, &fact.aborted_messages, &fact.cancelled_ops);
    let right = (done.run, &done.messages, &done.ops);
    rule(recorded == right, || format!("it reports that it ended {recorded:?}, in truth {right:?}"))?;
    let stops = fact.action == ControlAction::Stop;
    let ending: Vec<_> = if stops { past.tasks.live.keys().copied().collect() } else { done.ending.clone() };
    // Earlier builds named none at an abort.
    let unnamed = !stops && fact.cancelling_tasks.is_empty();
    rule(fact.cancelling_tasks == ending || unnamed, || {
        format!("it reports that {:?} are to end, in truth {ending:?}", fact.cancelling_tasks)
    })?;
    let undelivered: BTreeSet<_> = fact.untold_tasks.iter().copied().collect();
    let recorded = (&fact.lost_hints, &undelivered);
    let right = (&done.hints, &done.undelivered);
    rule(!stops || recorded == right, || format!("it reports that it lost {recorded:?}, in truth {right:?}"))
}

/// Speaks of turns that begin with the end of a task, and of requests after a call that rests.
pub(super) fn m11(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Turn(TurnFact::TurnStarted(fact)) => {
            let mut all = core::iter::once(&fact.message_id).chain(&fact.also);
            let known = all.find(|id| past.queue.live.get(*id).is_some_and(|entry| entry.known));
            // A turn that was interrupted goes on with what it was for.
            rule(known.is_none() || fact.carried_rounds > 0, || {
                format!("{} is for {known:?}, whose content its agent knows", fact.run_id)
            })
        }
        Event::Operation(OperationFact::OperationOpened(fact)) if fact.kind == OpKind::CallModel => {
            let Some(run) = past.run.as_ref() else { return Ok(false) };
            rule(!run.rests, || format!("{} has chosen to rest, and asks a model", run.id))
        }
        _ => Ok(false),
    }
}
