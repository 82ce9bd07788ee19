//! Ids that are known to be agents': an id stays what it is, so it is looked up once, and not for each request.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holon_facts::AgentId;

/// Ids that are remembered; beyond them all are looked up anew.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct KnownIds(Mutex<HashSet<AgentId>>);

impl KnownIds {
    pub(super) fn contains(&self, id: &AgentId) -> bool {
        self.lock().contains(id)
    }

    pub(super) fn remember(&self, id: AgentId) {
        let mut known = self.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<AgentId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
