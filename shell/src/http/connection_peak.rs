//! What many connections leave behind: memory that is free, and not given back. It is, once most of them have gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_platform::spawn;

/// Fewer connections than this are no peak.
const MIN_PEAK: usize = 256;
/// A peak is over when one of this many is left.
const LEFT: usize = 4;

/// Most connections that were open at once since memory was given back the last time.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionPeak(Arc<AtomicUsize>);

impl ConnectionPeak {
    /// So many are open now, one more than before.
    pub(super) fn came(&self, open: usize) {
        self.0.fetch_max(open, Ordering::Relaxed);
    }

    /// So many are still open.
    pub(super) fn left(&self, open: usize) {
        if self.has_gone(open) {
            drop(spawn::blocking(holon_trim::give_back));
        }
    }

    /// Whether this is the moment; it is one once for each crowd.
    fn has_gone(&self, open: usize) -> bool {
        let most = self.0.load(Ordering::Relaxed);
        let gone = most >= MIN_PEAK && open <= most / LEFT;
        gone && self.0.compare_exchange(most, open, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_when_most_have_gone() {
        let peak = ConnectionPeak::default();
        peak.came(MIN_PEAK - 1);
        assert!(!peak.has_gone(0), "those were few");
        peak.came(1_000);
        assert!(!peak.has_gone(251));
        assert!(peak.has_gone(250));
        assert!(!peak.has_gone(249) && !peak.has_gone(0));
        peak.came(MIN_PEAK);
        assert!(peak.has_gone(10));
    }
}
