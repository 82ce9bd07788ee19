//! Everything that recorded history can be asked at once: whether it folds, whether every decision is taken
//! again to the byte, and whether all laws hold.

use alloc::borrow::Cow;
use alloc::string::String;
use core::error::Error;

use holon_facts::record::Record;
use holon_facts::replay::Machine;
use serde::{Deserialize, Serialize};

use super::{ReplayError, again};
use crate::{Laws, Violation};

/// Whose decisions are taken again. The others are folded and checked by the laws all the same.
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
pub enum AuditError<E: Error> {
    #[error("the call can't be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{0}")]
    Replay(#[from] ReplayError<E>),
    #[error("a law is broken: {0}")]
    Law(#[from] Violation),
}

/// The call that is a start of the runtime.
pub const RUNTIME_STARTED: &str = "runtime_started";

/// The call that says who goes on in another ledger: whoever decided before, it concerns everything after it.
pub const AGENTS_LEFT: &str = "agents_left";

/// What stands for a call of which only the hash is left.
pub const REMOVED: &str = "removed";

/// What is read of a call before it is known whether this build understands it.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    call: Cow<'a, str>,
    #[serde(borrow)]
    build: Option<Cow<'a, str>>,
}

/// Recorded calls in their order, each with its records. Its memory grows with the agents, not with what
/// happened.
#[derive(Debug)]
pub struct Audit<M> {
    again: Again,
    skipping: bool,
    machine: M,
    laws: Laws,
    report: AuditReport,
}

impl<M: Machine> Audit<M> {
    pub fn new(again: Again) -> Self {
        Self::of(M::default(), again)
    }

    /// With a machine that was set up for it.
    pub fn of(machine: M, again: Again) -> Self {
        let skipping = again == Again::Nobody;
        let (laws, report) = (Laws::new(), AuditReport::default());
        Self { again, skipping, machine, laws, report }
    }

    /// The next call, as JSON, with what it recorded.
    ///
    /// # Errors
    /// At the first call that can't be read, decision that differs, record that does not fold, or broken law;
    /// in this order for one call.
    pub fn call(&mut self, call: &str, recorded: &[Record]) -> Result<(), AuditError<M::Error>> {
        let head: Head<'_> = serde_json::from_str(call)?;
        if head.call == RUNTIME_STARTED {
            self.segment(head.build.as_deref());
        }
        // What follows stands on a call that can't be made again, up to the next start.
        if head.call == REMOVED && !self.skipping {
            self.skipping = true;
            self.report.skipped_segments += 1;
        }
        if self.skipping && head.call != AGENTS_LEFT {
            self.report.skipped_calls += 1;
            return self.records(recorded);
        }
        let call = self.machine.read(call)?;
        again(&mut self.machine, &call, recorded)?;
        self.report.calls += 1;
        self.report.records += recorded.len() as u64;
        self.check(recorded)
    }

    /// Records that nobody decides again.
    ///
    /// # Errors
    /// At the first that does not fold, or breaks a law.
    pub fn records(&mut self, recorded: &[Record]) -> Result<(), AuditError<M::Error>> {
        self.check(recorded)?;
        self.machine.fold(recorded).map_err(|error| ReplayError::Machine(error).into())
    }

    /// How far it has come.
    pub fn report(&self) -> AuditReport {
        AuditReport { agents: self.machine.agents() as u64, ..self.report }
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

    fn check(&mut self, recorded: &[Record]) -> Result<(), AuditError<M::Error>> {
        for record in recorded {
            self.laws.step(record)?;
            self.report.judged += 1;
        }
        Ok(())
    }
}
