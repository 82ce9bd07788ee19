//! Work that goes on although nobody waits for its outcome any more: a patch that is being written, a command
//! that was told to end. The end of the runtime waits for it.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

/// Work in flight. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct InFlight(Arc<RwLock<()>>);

/// Stands for one piece of work until it is dropped.
#[derive(Debug)]
pub struct InFlightWork {
    _guard: OwnedRwLockReadGuard<()>,
}

impl InFlight {
    /// Announces work; none when the end is waiting already.
    pub fn hold(&self) -> Option<InFlightWork> {
        let guard = self.0.clone().try_read_owned().ok()?;
        Some(InFlightWork { _guard: guard })
    }

    /// Waits until nothing goes on any more.
    pub async fn over(&self) {
        drop(self.0.write().await);
    }
}
