//! Whether the disk of the ledger has room, for whoever wants to know it without standing in line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cheap to clone; all clones tell the same.
#[derive(Debug, Clone, Default)]
pub struct Room(Arc<AtomicBool>);

impl Room {
    /// Whether nothing new is taken in.
    pub fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn is_now(&self, full: bool) {
        self.0.store(full, Ordering::Relaxed);
    }
}
