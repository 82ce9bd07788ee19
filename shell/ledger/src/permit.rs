//! Whether effects may begin: always where a ledger has one owner, and until a moment where nodes share a database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holon_platform::clock;
use tokio::sync::watch;

/// Effects may begin before this moment of [`clock::boot`]; none: not now.
pub(crate) type Until = Option<u64>;

/// Compared with the clock right before an effect begins. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Permit(Option<Limited>);

#[derive(Debug, Clone)]
struct Limited {
    until: watch::Receiver<Until>,
    /// For good: the ledger has another owner, or none.
    over: Arc<AtomicBool>,
}

impl Permit {
    pub(crate) fn limited(until: watch::Receiver<Until>, over: Arc<AtomicBool>) -> Self {
        Self(Some(Limited { until, over }))
    }

    /// Whether an effect may begin at this moment.
    pub fn allows(&self) -> bool {
        self.0.as_ref().is_none_or(|limited| {
            !limited.over.load(Ordering::Acquire)
                && limited.until.borrow().is_some_and(|until| clock::boot() < until)
        })
    }

    /// Waits until an effect may begin; for ever where none of this ledger may begin any more.
    pub async fn allowed(&self) {
        let Some(limited) = &self.0 else { return };
        let mut until = limited.until.clone();
        loop {
            until.mark_unchanged();
            if self.allows() {
                return;
            }
            if limited.over.load(Ordering::Acquire) || until.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_effect_waits_for_the_lease_and_never_begins_after_its_end() {
        assert!(Permit::default().allows());
        let (until, seen) = watch::channel(None);
        let over = Arc::new(AtomicBool::new(false));
        let permit = Permit::limited(seen, over.clone());
        let waits = || tokio::time::timeout(Duration::from_millis(20), permit.allowed());
        assert!(!permit.allows() && waits().await.is_err());
        until.send_replace(Some(clock::boot().saturating_sub(1)));
        assert!(waits().await.is_err(), "its moment is over");
        until.send_replace(Some(clock::boot() + 60_000_000));
        assert!(waits().await.is_ok());
        over.store(true, Ordering::Release);
        assert!(!permit.allows() && waits().await.is_err());
    }
}
