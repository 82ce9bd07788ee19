//! What the agent had in mind when an episode began. Its item, plan, steps and waits stand with the work items, and what
//! changes within an episode its conversation shows.

use alloc::vec::Vec;

use holon_facts::frame::Part;
use holon_facts::memory::{Decision, Verification, WorkingMemory};

use super::fence::line;
use super::sections::shortened;

/// Bytes of a path or a command.
const LINE_BYTES: usize = 200;
/// Characters of a decision.
const DECISION_CHARS: u32 = 300;

/// Nothing where there is nothing of it but work items.
pub(crate) fn parts(memory: &WorkingMemory) -> Vec<Part> {
    let WorkingMemory { files, verification, decisions, .. } = memory;
    let mut parts = Vec::new();
    if !files.is_empty() {
        let files: Vec<_> = files.iter().map(|file| line(file, LINE_BYTES)).collect();
        parts.push(Part::Rendered(format!("Files in play: {}\n", files.join(", "))));
    }
    if let Some(Verification { command, exit_status, turn_index }) = verification {
        let command = line(command, LINE_BYTES);
        parts.push(Part::Rendered(format!(
            "Last verification: {command} (exit status {exit_status}, in turn {})\n",
            turn_index.0
        )));
    }
    if !decisions.is_empty() {
        parts.push(Part::Rendered("What your operator answered when you had asked:\n".into()));
    }
    for Decision { message_id, at, text } in decisions {
        parts.push(Part::Rendered(format!("- {message_id} ({at}): ")));
        parts.push(shortened(text, DECISION_CHARS));
        parts.push(Part::Rendered("\n".into()));
    }
    parts
}
