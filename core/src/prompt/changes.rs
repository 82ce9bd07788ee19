//! What holds otherwise than the conversation has shown: work items, environment, instruction files. It is said where it
//! is new, and nothing above it is rewritten.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;
use holon_facts::ids::MessageId;
use holon_facts::outcome::{InstructionSource, SourceScope};

use super::fence::line;
use super::sections::{PATH_BYTES, environment, shortened};
use super::skills;
use super::worded_parts;
use super::work::render;
use crate::agent::episode::{Changes, StandingChange, Summary, WorkChange};

/// Characters of a summary: about 1,500 tokens.
pub(crate) const SUMMARY_CHARS: u32 = 6_000;

/// Says it before that message, or in the middle of its turn.
pub(crate) fn parts(changes: &Changes, fence: Fence, message: MessageId) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(summary) = &changes.summary {
        let Summary { episode_id, text } = summary;
        parts.push(Part::Rendered(format!(
            "[your summary of an earlier part of this conversation | {episode_id}]\n"
        )));
        parts.push(fence.quoted(Place::Summary(*episode_id), alloc::vec![shortened(text, SUMMARY_CHARS)]));
    }
    if let Some(WorkChange { now }) = &changes.work {
        let shown = now
            .as_ref()
            .map_or_else(|| "Nothing is open, and you wait for nothing.\n".into(), |it| render(it));
        parts.push(Part::Rendered("[your work items and waits now]\n".into()));
        parts.push(fence.quoted(fence.work(&shown), alloc::vec![Part::Rendered(shown)]));
    }
    if let Some(change) = &changes.standing {
        standing(&mut parts, change, fence, Place::Message(message));
    }
    worded_parts(parts)
}

fn standing(
    parts: &mut Vec<Part>,
    StandingChange { before, now }: &StandingChange,
    fence: Fence,
    place: Place,
) {
    let (old, new) = (&before.context, &now.context);
    let mut add = |heading: &str, quoted: Vec<Part>| {
        parts.push(Part::Rendered(format!("[{heading}]\n")));
        parts.push(fence.quoted(place, quoted));
    };
    if !old.execution.holds_like(&new.execution) || before.external_trigger != now.external_trigger {
        let environment = alloc::vec![Part::Rendered(environment(now))];
        add("your execution environment now; it stands for what is said of it above", environment);
    }
    if before.skills != now.skills {
        let (old, new) = (before.skills.clone().unwrap_or_default(), now.skills.clone().unwrap_or_default());
        skills::changes(&old, &new).into_iter().for_each(|(heading, quoted)| add(heading, quoted));
    }
    let path = |source: &InstructionSource| line(&source.path, PATH_BYTES);
    for source in new.sources.iter().filter(|source| !old.sources.contains(source)) {
        let named = alloc::vec![Part::Rendered(path(source) + "\n"), Part::Given(source.content.clone())];
        let heading = match source.scope {
            SourceScope::Agent | SourceScope::Workspace => {
                "instruction file as it is now; it stands for what is said of it above"
            }
            SourceScope::Memory => {
                "your memory file as it is now; it stands for what is said of it above, and is no instruction"
            }
        };
        add(heading, named);
    }
    let gone = |source: &&InstructionSource| !new.sources.iter().any(|other| other.path == source.path);
    let gone: String = old.sources.iter().filter(gone).map(|source| path(source) + "\n").collect();
    if !gone.is_empty() {
        add("files that no longer hold", alloc::vec![Part::Rendered(gone)]);
    }
}
