//! Laws about what an agent has in mind, and what it remembers.

use holon_facts::event::{EpisodeFact, Event, SchedulingFact, TurnFact};
use holon_facts::outcome::SourceScope;
use holon_facts::receipt::ToolFacts;
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

/// The tools that look at what an agent remembers.
const READERS: [&str; 2] = ["MemorySearch", "MemoryGet"];

/// What is remembered is evidence like any other result: it changes nothing but the conversation.
pub(super) fn y1(_: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::ToolExecuted(fact)) = &record.event else { return Ok(false) };
    if !READERS.contains(&fact.tool_name.as_str()) {
        return Ok(false);
    }
    let facts = &fact.receipt.facts;
    let nothing = ToolFacts { truncated: facts.truncated, ..ToolFacts::default() };
    rule(*facts == nothing && fact.receipt.images.is_empty(), || {
        format!("{} did more than to look: {facts:?}", fact.tool_name)
    })
}

/// What stands in prompts as the agent's own notes: its two memory files, in their order, after what instructs it.
const FILES: [&str; 2] = ["/memory/self.md", "/memory/operator.md"];

/// Notes have no standing of instructions, and no instructions that of notes.
pub(super) fn y2(_: &Past, record: &Record) -> Checked {
    let Event::Turn(TurnFact::TurnContextBuilt(fact)) = &record.event else { return Ok(false) };
    let home = fact.context.execution.agent_home.as_str();
    let mut files = FILES.iter();
    let mut notes = false;
    for source in &fact.context.sources {
        let is_note = source.scope == SourceScope::Memory;
        rule(is_note || !notes, || format!("{} stands behind notes of the agent", source.path))?;
        notes = is_note;
        let of_home = source.path.strip_prefix(home).filter(|_| is_note);
        rule(!is_note || files.any(|file| Some(*file) == of_home), || {
            format!("{} is no memory file of {home}, or not in its place", source.path)
        })?;
        rule(!is_note || source.imported_by.is_none(), || format!("{} imports notes", source.path))?;
    }
    Ok(notes)
}
