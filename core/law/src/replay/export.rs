//! Reads what `holon ledger export` writes, line by line, and audits it.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::error::Error;

use holon_facts::ids::StepSeq;
use holon_facts::record::Record;
use holon_facts::replay::Machine;

use super::audit::{Again, Audit, AuditError, AuditReport};
use super::line::{Line, LineError};

/// The lines of an export in their order. Keeps one call and its records at a time.
#[derive(Debug)]
pub struct ExportReader<M> {
    audit: Audit<M>,
    /// Whether calls are made again; else a plain export without calls is as good.
    decides: bool,
    line: u64,
    call: Option<Pending>,
    records: Vec<Record>,
}

/// A call whose records are still being read.
#[derive(Debug)]
struct Pending {
    line: u64,
    step: Option<StepSeq>,
    call: String,
}

/// The first problem, and the line in which it is: for a decision that differs, the line of its call.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ExportError<E: Error> {
    pub line: u64,
    pub problem: ExportProblem<E>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportProblem<E: Error> {
    #[error(transparent)]
    Line(Box<LineError>),
    #[error(
        "a record without the call that brought it: export with --recorder, or check folds and laws alone"
    )]
    NoCall,
    #[error("{0}")]
    Audit(Box<AuditError<E>>),
}

impl<M: Machine> ExportReader<M> {
    pub fn new(again: Again) -> Self {
        let decides = again != Again::Nobody;
        Self { audit: Audit::new(again), decides, line: 0, call: None, records: Vec::new() }
    }

    /// The next line. Empty ones are passed over.
    ///
    /// # Errors
    /// At a line that is none, and at the first thing that is not in order in the calls that are complete.
    pub fn line(&mut self, text: &str) -> Result<(), ExportError<M::Error>> {
        self.line += 1;
        if text.trim().is_empty() {
            return Ok(());
        }
        let line = self.line;
        let parsed = Line::parse(text);
        match parsed.map_err(|error| ExportError { line, problem: ExportProblem::Line(Box::new(error)) })? {
            Line::Call { step, call } => {
                self.complete()?;
                self.call = Some(Pending { line, step, call: call.to_string() });
                Ok(())
            }
            Line::Record(record) => self.record(*record),
        }
    }

    /// The end of the export.
    ///
    /// # Errors
    /// What is not in order in the last call.
    pub fn finish(&mut self) -> Result<AuditReport, ExportError<M::Error>> {
        self.complete()?;
        Ok(self.audit.report())
    }

    fn record(&mut self, record: Record) -> Result<(), ExportError<M::Error>> {
        let line = self.line;
        let brought = self.call.as_ref().is_some_and(|call| call.step == Some(record.step));
        if brought {
            self.records.push(record);
            return Ok(());
        }
        if self.decides {
            return Err(ExportError { line, problem: ExportProblem::NoCall });
        }
        self.complete()?;
        self.audit.records(&[record]).map_err(|error| problem(line, error))
    }

    fn complete(&mut self) -> Result<(), ExportError<M::Error>> {
        let Some(Pending { line, call, .. }) = self.call.take() else { return Ok(()) };
        self.audit.call(&call, &self.records).map_err(|error| problem(line, error))?;
        self.records.clear();
        Ok(())
    }
}

fn problem<E: Error>(line: u64, error: AuditError<E>) -> ExportError<E> {
    ExportError { line, problem: ExportProblem::Audit(Box::new(error)) }
}
