//! Everything that recorded history can be asked at once: whether it folds, whether every decision is taken
//! again to the byte, and whether all laws hold.

use alloc::string::String;

use serde::Serialize;

use super::call::Head;
use super::{Replay, ReplayError};
use crate::law::{Laws, Violation};
use crate::record::Record;

/// Whose decisions are taken again. What is not is folded and judged by the laws all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Again {
    /// Everybody's: another build shows where it would have decided otherwise.
    Every,
    /// Only what this build has decided.
    Build(String),
    Nobody,
}

/// How much was in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Starts of the runtime.
    pub segments: u64,
    /// Calls that were made again, and the records that they brought again.
    pub calls: u64,
    pub records: u64,
    /// Segments and calls that were not made again.
    pub skipped_segments: u64,
    pub skipped_calls: u64,
    /// Records that fold and break no law, whoever decided them.
    pub judged: u64,
    pub agents: u64,
}

/// What is not in order.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("the call can't be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("a law is broken: {0}")]
    Law(#[from] Violation),
}

/// Recorded calls in their order, each with its records. Its memory grows with the agents, not with what
/// happened.
#[derive(Debug)]
pub struct Audit {
    again: Again,
    skipping: bool,
    replay: Replay,
    laws: Laws,
    report: AuditReport,
}

impl Audit {
    pub fn new(again: Again) -> Self {
        let skipping = again == Again::Nobody;
        let (replay, laws, report) = (Replay::default(), Laws::new(), AuditReport::default());
        Self { again, skipping, replay, laws, report }
    }

    /// The next call, as JSON, with what it recorded.
    ///
    /// # Errors
    /// At the first call that can't be read, decision that differs, record that does not fold, or broken law;
    /// in this order for one call.
    pub fn call(&mut self, call: &str, recorded: &[Record]) -> Result<(), AuditError> {
        let head: Head<'_> = serde_json::from_str(call)?;
        if head.begins_segment() {
            self.segment(head.build.as_deref());
        }
        if self.skipping {
            self.report.skipped_calls += 1;
            return self.records(recorded);
        }
        self.replay.call(&head.whole(call)?, recorded)?;
        self.report.calls += 1;
        self.report.records += recorded.len() as u64;
        self.judge(recorded)
    }

    /// Records that nobody decides again.
    ///
    /// # Errors
    /// At the first that does not fold, or breaks a law.
    pub fn records(&mut self, recorded: &[Record]) -> Result<(), AuditError> {
        self.judge(recorded)?;
        Ok(self.replay.fold(recorded)?)
    }

    /// How far it has come.
    pub fn report(&self) -> AuditReport {
        AuditReport { agents: self.replay.agents() as u64, ..self.report }
    }

    /// A start of the runtime says whose decisions follow.
    fn segment(&mut self, build: Option<&str>) {
        self.skipping = match &self.again {
            Again::Every => false,
            Again::Build(own) => build != Some(own),
            Again::Nobody => true,
        };
        self.report.segments += 1;
        self.report.skipped_segments += u64::from(self.skipping);
    }

    fn judge(&mut self, recorded: &[Record]) -> Result<(), AuditError> {
        for record in recorded {
            self.laws.step(record)?;
            self.report.judged += 1;
        }
        Ok(())
    }
}
