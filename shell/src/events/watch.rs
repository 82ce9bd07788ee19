//! One who waits for what a request brings, from before it is made: it is handed the records themselves, and nothing is read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::{AgentId, Record};
use tokio::sync::Notify;

use super::Hub;

/// Records that are kept until they are taken. Whoever is further behind reads the ledger.
const KEPT: usize = 256;

/// Every record of an agent since the watch began. Dropping it ends the watch.
pub struct Watch {
    hub: Hub,
    agent: AgentId,
    untaken: Arc<Untaken>,
}

/// What one watch has not taken yet.
#[derive(Default)]
pub(super) struct Untaken {
    records: Mutex<Records>,
    new: Notify,
}

#[derive(Default)]
struct Records {
    records: VecDeque<Record>,
    missed: bool,
}

/// Records came faster than they were taken: some are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed;

impl Watch {
    pub(super) fn new(hub: Hub, agent: AgentId, untaken: Arc<Untaken>) -> Self {
        Self { hub, agent, untaken }
    }

    /// Waits for the next records; never gives none.
    ///
    /// # Errors
    /// Once some are missing, from then on. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<VecDeque<Record>, Missed> {
        loop {
            {
                let mut untaken = self.untaken.records();
                if untaken.missed {
                    return Err(Missed);
                }
                if !untaken.records.is_empty() {
                    return Ok(std::mem::take(&mut untaken.records));
                }
            }
            // A record that came since has left its notice.
            self.untaken.new.notified().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hub.unwatch(&self.agent, &self.untaken);
    }
}

impl Untaken {
    pub(super) fn keep(&self, record: &Record) {
        let mut untaken = self.records();
        if untaken.missed || untaken.records.len() >= KEPT {
            *untaken = Records { records: VecDeque::new(), missed: true };
        } else {
            untaken.records.push_back(record.clone());
        }
        drop(untaken);
        self.new.notify_one();
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
