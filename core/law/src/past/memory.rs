//! What turns changed, and what was kept of it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::clip;
use holon_facts::event::episode::MemoryUpdated;
use holon_facts::ids::{MessageId, RunId, WorkItemId};
use holon_facts::memory::{FILES, LINE_BYTES, WorkingMemory};

/// Working memory, and files that are to be in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) revision: u64,
    pub(crate) last: WorkingMemory,
    /// By the turns of messages that have not been settled, the newest last.
    changed: BTreeMap<MessageId, Vec<String>>,
    /// By the turn that has just ended.
    pub(crate) ended: Option<(RunId, Vec<String>)>,
}

impl Memory {
    pub(super) fn changed(&mut self, message: MessageId, files: &[String]) {
        if files.is_empty() {
            return;
        }
        let known = self.changed.entry(message).or_default();
        files.iter().for_each(|file| keep(known, &clip(file, LINE_BYTES)));
    }

    /// A turn has ended; `over` where its message does not come again.
    pub(super) fn turn_ended(&mut self, run: RunId, message: MessageId, over: bool) {
        self.ended = over.then(|| (run, self.changed.remove(&message).unwrap_or_default()));
    }

    pub(super) fn closed(&mut self) {
        self.ended = None;
    }

    pub(super) fn updated(&mut self, fact: &MemoryUpdated) {
        (self.revision, self.last) = (fact.revision, fact.memory.clone());
    }

    /// The files that are in play once the turn has ended, with that item in focus.
    pub(crate) fn in_play(&self, focus: Option<WorkItemId>) -> Vec<String> {
        let mut files = if self.last.work_item_id == focus { self.last.files.clone() } else { Vec::new() };
        self.ended.iter().flat_map(|(_, changed)| changed).for_each(|file| keep(&mut files, file));
        files
    }
}

fn keep(files: &mut Vec<String>, file: &str) {
    files.retain(|known| known != file);
    files.push(file.into());
    files.drain(..files.len().saturating_sub(FILES));
}
