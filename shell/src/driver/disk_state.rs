//! Whether the ledger can be written: a shared flag that is read without asking the driver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holon_ledger::Stall;

/// Cheap to clone; all clones share one state.
#[derive(Debug, Clone, Default)]
pub struct DiskState {
    shut: Arc<AtomicBool>,
    why: Arc<Mutex<Option<Stall>>>,
}

impl DiskState {
    /// Whether nothing new is admitted.
    pub fn is_full(&self) -> bool {
        self.shut.load(Ordering::Relaxed)
    }

    /// Why nothing new is admitted.
    pub fn stall(&self) -> Option<Stall> {
        if !self.is_full() {
            return None;
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Comes back once nothing could be written for so many seconds on end.
    pub(super) async fn stalled_for(&self, seconds: u32) -> Stall {
        let mut passed = 0;
        loop {
            let stall = self.stall();
            passed = if stall.is_some() { passed + 1 } else { 0 };
            if let Some(stall) = stall.filter(|_| passed > seconds) {
                return stall;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    pub(super) fn set(&self, stall: Option<&Stall>) {
        if stall.is_some() || self.is_full() {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = stall.cloned();
            self.shut.store(stall.is_some(), Ordering::Relaxed);
        }
    }
}
