//! What a node counts of itself, for operators. Its row has it as of the last renewal.

use std::sync::atomic::{AtomicU64, Ordering};

use holon_platform::clock;

/// Of one process; all of it begins anew with the next one.
#[derive(Debug, Default)]
pub struct Tally {
    cells: AtomicU64,
    take_overs: AtomicU64,
    refused: AtomicU64,
    unsettled: AtomicU64,
    answer_us: AtomicU64,
    /// By the clock of [`holon_platform::clock::boot`]; zero: nothing may begin.
    until: AtomicU64,
}

impl Tally {
    /// Cells that are its own at this moment.
    pub fn cells(&self) -> u64 {
        self.cells.load(Ordering::Relaxed)
    }

    /// Cells that it has claimed.
    pub fn take_overs(&self) -> u64 {
        self.take_overs.load(Ordering::Relaxed)
    }

    /// Appends that the database did not take, because another node owned the cell or a batch was against its rules.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Appends that got no answer: a look at the cell has settled what became of each.
    pub fn unsettled(&self) -> u64 {
        self.unsettled.load(Ordering::Relaxed)
    }

    /// How long the database took to answer the last renewal, in microseconds.
    pub fn answer_us(&self) -> u64 {
        self.answer_us.load(Ordering::Relaxed)
    }

    /// For how long effects may begin from now on without another renewal, in microseconds.
    pub fn lease_left_us(&self) -> u64 {
        self.until.load(Ordering::Relaxed).saturating_sub(clock::boot())
    }

    pub(super) fn owns(&self, cells: usize) {
        self.cells.store(u64::try_from(cells).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn took_over(&self) {
        self.take_overs.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn was_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn settles(&self) {
        self.unsettled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn renewed_in(&self, micros: u64) {
        self.answer_us.store(micros, Ordering::Relaxed);
    }

    pub(super) fn may_begin_until(&self, until: Option<u64>) {
        self.until.store(until.unwrap_or(0), Ordering::Relaxed);
    }
}
