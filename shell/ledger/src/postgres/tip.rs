//! Where a cell ends as its writer knows it: what the next batch is appended to, and what follows from one that landed.

use std::collections::BTreeMap;

use holon_core::Durable;

use super::states::States;
use crate::rows::batch::Batch;
use crate::rows::head::HeadFile;
use crate::rows::link::BatchRow;
use crate::write::attest;

#[derive(Debug)]
pub(super) struct Tip {
    pub(super) last: BatchRow,
    /// Newest version of each kind of event that was ever written.
    pub(super) kinds: BTreeMap<String, i64>,
    head: HeadFile,
    /// What is written when nobody waits.
    pub(super) states: States,
}

impl Tip {
    pub(super) fn new(last: BatchRow, kinds: BTreeMap<String, i64>, head: HeadFile) -> Self {
        Self { last, kinds, head, states: States::default() }
    }

    /// The batch has landed as this row.
    pub(super) fn advance(&mut self, row: BatchRow, batch: &Batch) -> Durable {
        self.last = row;
        // One that can't be written is older than the ledger, which is no damage.
        self.head.committed(&row, batch).unwrap_or_default();
        for record in &batch.records {
            if self.kinds.get(&record.kind).is_none_or(|version| *version < record.version) {
                self.kinds.insert(record.kind.clone(), record.version);
            }
        }
        self.states.add(batch);
        attest(row.ends.step)
    }

    /// The head is at least as old as the ledger where it can't be synced.
    pub(super) fn sync_head(&mut self) {
        self.head.sync().unwrap_or_default();
    }
}
