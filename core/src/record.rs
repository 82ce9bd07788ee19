//! Durable facts in the order in which they happened, and what one step brings.

use alloc::vec::Vec;

use holon_facts::content::Content;
use holon_facts::ids::StepSeq;
use holon_facts::record::Record;

use crate::effect::Effect;

/// What one call of the host decided. Its effects stay locked until its records are durable.
#[derive(Debug)]
#[must_use = "a step that is dropped loses its records and its effects"]
pub struct Step {
    pub(crate) seq: StepSeq,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) more: bool,
}

impl Step {
    pub fn seq(&self) -> StepSeq {
        self.seq
    }

    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The stored texts that the records name; they become durable together with the records.
    pub fn contents(&self) -> Vec<&Content> {
        let mut contents = Vec::new();
        for record in &self.records {
            record.event.contents(&mut |content| contents.push(content));
        }
        contents
    }

    /// Whether the bound on decisions was reached: step again with [`crate::Input::Tick`].
    pub fn more(&self) -> bool {
        self.more
    }

    /// Hands out the effects.
    ///
    /// # Panics
    /// When `durable` does not cover this step: an effect would precede its cause.
    pub fn release(self, durable: Durable) -> Vec<Effect> {
        assert!(
            self.seq <= durable.through,
            "step {} is not durable (through {})",
            self.seq,
            durable.through
        );
        self.effects
    }
}

/// Proof that every step up to one is on stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Durable {
    through: StepSeq,
}

impl Durable {
    /// The one constructor; a lint forbids it outside the ledger and the simulated disk.
    pub fn attest(through: StepSeq) -> Self {
        Self { through }
    }

    pub fn through(self) -> StepSeq {
        self.through
    }
}
