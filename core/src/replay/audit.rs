//! Everything that recorded history can be asked at once: whether it folds, whether every decision is taken
//! again to the byte, and whether all laws hold.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Call, Replay, ReplayError};
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

/// What is read of a call before it is known whether this build understands it.
#[derive(Deserialize)]
struct Head {
    call: String,
    build: Option<String>,
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
        self.begins_segment(call)?;
        if self.skipping {
            self.report.skipped_calls += 1;
            return self.records(recorded);
        }
        let call: Call = serde_json::from_str(call)?;
        self.replay.call(&call, recorded)?;
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

    /// How often each law had something to say.
    pub fn antecedents(&self) -> Vec<(&'static str, u64)> {
        self.laws.antecedents()
    }

    /// A start of the runtime says whose decisions follow.
    fn begins_segment(&mut self, call: &str) -> Result<(), AuditError> {
        // Most calls are none, and reading one twice costs as much as making it.
        if !call.contains("runtime_started") {
            return Ok(());
        }
        let head: Head = serde_json::from_str(call)?;
        if head.call == "runtime_started" {
            self.skipping = match &self.again {
                Again::Every => false,
                Again::Build(build) => head.build.as_deref() != Some(build),
                Again::Nobody => true,
            };
            self.report.segments += 1;
            self.report.skipped_segments += u64::from(self.skipping);
        }
        Ok(())
    }

    fn judge(&mut self, recorded: &[Record]) -> Result<(), AuditError> {
        for record in recorded {
            self.laws.step(record)?;
            self.report.judged += 1;
        }
        Ok(())
    }
}
