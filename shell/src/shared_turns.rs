//! Turns that the runtimes of one process have together: `limits.concurrent_turns` holds for all cells of a node (contract:
//! scale.md, Cells). Who gets how many is decided by [`TurnLender`]; here each runtime hears of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_core::turns::{Borrower, TurnLender, TurnsLent, TurnsUse};
use tokio::sync::watch;

/// The turns of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedTurns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    lender: TurnLender,
    borrowers: BTreeMap<Borrower, watch::Sender<u64>>,
}

/// Those of one runtime, which go back when this is dropped.
#[derive(Debug)]
pub struct BorrowedTurns {
    shared: SharedTurns,
    borrower: Borrower,
    at_first: u64,
    lent: watch::Receiver<u64>,
}

impl State {
    fn notify(&self, lent: Vec<TurnsLent>) {
        for TurnsLent { to, turns } in lent {
            if let Some(borrower) = self.borrowers.get(&to) {
                borrower.send_replace(turns);
            }
        }
    }
}

impl SharedTurns {
    pub fn new(limit: u64) -> Self {
        let state = State { lender: TurnLender::new(limit), borrowers: BTreeMap::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// One more runtime, which was configured with this limit: it holds for all from now on.
    pub fn join(&self, limit: u64) -> BorrowedTurns {
        let mut state = self.state();
        let TurnsLent { to: borrower, turns } = state.lender.join(limit);
        let (sender, lent) = watch::channel(turns);
        state.borrowers.insert(borrower, sender);
        drop(state);
        BorrowedTurns { shared: self.clone(), borrower, at_first: turns, lent }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BorrowedTurns {
    /// As many may be in progress at first. What was called back since is heard of like anything later, so that whoever
    /// lends gets an answer to it.
    pub fn at_first(&self) -> u64 {
        self.at_first
    }

    /// What is durable of what this runtime uses.
    pub fn report(&self, used: TurnsUse) {
        let mut state = self.shared.state();
        let lent = state.lender.report(self.borrower, used);
        state.notify(lent);
    }

    /// Waits until as many may be as it has not heard of. Nothing is lost where that is given up.
    pub async fn next(&mut self) -> u64 {
        // The sender is there for as long as this is.
        if self.lent.changed().await.is_err() {
            return std::future::pending().await;
        }
        *self.lent.borrow_and_update()
    }
}

impl Drop for BorrowedTurns {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.borrowers.remove(&self.borrower);
        let lent = state.lender.leave(self.borrower);
        state.notify(lent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_hears_of_what_others_give_back() {
        let shared = SharedTurns::new(2);
        let (one, mut other) = (shared.join(2), shared.join(2));
        assert_eq!((one.at_first(), other.at_first()), (1, 1));
        one.report(TurnsUse { lent: 1, running: 1, waiting: 0 });
        other.report(TurnsUse { lent: 1, running: 1, waiting: 1 });
        drop(one);
        assert_eq!(other.next().await, 2);
        other.report(TurnsUse { lent: 2, running: 2, waiting: 0 });
        // A higher limit holds from the next start of a runtime.
        let third = shared.join(16);
        assert_eq!(third.at_first(), 1);
        other.report(TurnsUse { lent: 2, running: 2, waiting: 9 });
        assert_eq!(other.next().await, 11);
    }
}
