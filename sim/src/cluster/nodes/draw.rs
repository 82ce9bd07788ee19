//! Random draws, from the seed alone: each question has a sequence of its own.

use std::collections::BTreeMap;

use crate::choices::{Choices, Seeded, Site};

#[derive(Debug)]
pub(super) struct Draw {
    seed: Seeded,
    asked: BTreeMap<(&'static str, u32), u64>,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: Seeded(seed), asked: BTreeMap::new() }
    }

    /// The next answer to a question about a process; 0 when `n` is 0.
    pub(super) fn below(&mut self, what: &'static str, process: usize, n: u32) -> u32 {
        let of = u32::try_from(process).unwrap_or(u32::MAX);
        let ordinal = self.asked.entry((what, of)).or_default();
        *ordinal += 1;
        self.seed.below(Site::new("nodes", of, *ordinal, what), n)
    }

    pub(super) fn chance(&mut self, what: &'static str, process: usize, per_mille: u32) -> bool {
        per_mille > 0 && self.below(what, process, 1_000) < per_mille
    }

    /// A span between two, in microseconds.
    pub(super) fn span(&mut self, what: &'static str, process: usize, [from, to]: [u64; 2]) -> u64 {
        let wide = u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX);
        from + u64::from(self.below(what, process, wide))
    }
}
