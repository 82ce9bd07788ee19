//! Whether the ledger can be written, for whoever wants to know it without standing in line.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use holon_ledger::Stall;

/// Cheap to clone; all clones tell the same.
#[derive(Debug, Clone, Default)]
pub struct Room {
    shut: Arc<AtomicBool>,
    why: Arc<Mutex<Option<Stall>>>,
}

impl Room {
    /// Whether nothing new is taken in.
    pub fn is_full(&self) -> bool {
        self.shut.load(Ordering::Relaxed)
    }

    /// Why nothing new is taken in.
    pub fn stall(&self) -> Option<Stall> {
        if !self.is_full() {
            return None;
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is_now(&self, stall: Option<&Stall>) {
        if stall.is_some() || self.is_full() {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = stall.cloned();
            self.shut.store(stall.is_some(), Ordering::Relaxed);
        }
    }
}
