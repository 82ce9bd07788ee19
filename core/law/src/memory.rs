//! Laws about what an agent has in mind.

use alloc::format;

use holon_facts::event::{EpisodeFact, Event, SchedulingFact};
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

/// Working memory is another one after a turn that changed something of it, and never inside one. Earlier builds kept none.
pub(super) fn m14(past: &Past, record: &Record) -> Checked {
    let memory = &past.memory;
    let fact = match &record.event {
        Event::Episode(EpisodeFact::MemoryUpdated(fact)) => fact,
        Event::Scheduling(SchedulingFact::ClosureDecided(_)) if memory.revision > 0 => {
            let Some((run, changed)) = &memory.ended else { return Ok(false) };
            let left_out = changed.iter().find(|file| !memory.last.files.contains(file));
            return rule(left_out.is_none(), || {
                format!("{left_out:?} was changed in {run}, and is not in play")
            });
        }
        _ => return Ok(false),
    };
    let ended = memory.ended.as_ref().map(|(run, _)| *run);
    rule(ended == Some(fact.run_id), || {
        format!("working memory changes with {}, and the turn that has just ended is {ended:?}", fact.run_id)
    })?;
    let (before, after) = (memory.revision, fact.revision);
    rule(before.checked_add(1) == Some(after) && fact.memory != memory.last, || {
        format!("revision {after} follows {before}, with {:?}", fact.memory)
    })?;
    let expected = memory.in_play(fact.memory.work_item_id);
    rule(fact.memory.files == expected, || {
        format!("in play are {:?}, the records have {expected:?}", fact.memory.files)
    })
}
