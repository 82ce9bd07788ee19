//! What many connections leave behind: memory that is free, and not given back. It is, once most of them have gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use holon_platform::spawn;

/// Fewer than this were no crowd.
const CROWD: usize = 256;
/// A crowd has gone when one of so many is left.
const LEFT: usize = 4;

/// Most connections that were open at once since memory was given back the last time.
#[derive(Debug, Clone, Default)]
pub(super) struct Crowd(Arc<AtomicUsize>);

impl Crowd {
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
        let gone = most >= CROWD && open <= most / LEFT;
        gone && self.0.compare_exchange(most, open, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_when_most_have_gone() {
        let crowd = Crowd::default();
        crowd.came(CROWD - 1);
        assert!(!crowd.has_gone(0), "those were few");
        crowd.came(1_000);
        assert!(!crowd.has_gone(251));
        assert!(crowd.has_gone(250));
        assert!(!crowd.has_gone(249) && !crowd.has_gone(0));
        crowd.came(CROWD);
        assert!(crowd.has_gone(10));
    }
}
