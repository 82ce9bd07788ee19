//! Recorded ledgers of real runs: the output of `holon ledger export --recorder` is folded, decided again, and checked
//! by every law. One line and the state of the agents are in memory at a time.

use std::io::{BufRead, Read};

use holon_core::replay::{CallError, Replay};
use holon_law::replay::{
    Again, AuditError, AuditReport, ExportError, ExportProblem, ExportReader, ReplayError,
};

use crate::failure::{Failure, Kind};
use crate::verdict::caught;

/// Longest line in bytes: no call and no record comes near it.
const LONGEST: u64 = 64 << 20;

/// What to check of a recorded ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Folds, laws, and every decision again.
    All,
    /// Folds and laws alone; an export without the recorder is enough.
    Laws,
}

/// Why a ledger is not in order.
#[derive(Debug)]
pub enum Problem {
    /// The file can't be read, or is not an export.
    Unusable(String),
    /// The file is readable, and a check fails.
    Fails(Failure),
}

/// Reads the lines of an export and checks them. This build repeats the decisions of whichever build made them.
///
/// # Errors
/// At the first problem, with the number of its line.
pub fn replay(ledger: &mut dyn BufRead, ask: Ask) -> Result<AuditReport, Problem> {
    let again = match ask {
        Ask::All => Again::Every,
        Ask::Laws => Again::Nobody,
    };
    let outcome = caught(|| {
        let mut reader = ExportReader::<Replay>::new(again);
        each_line(ledger, &mut |line| reader.line(line).map_err(problem))?;
        reader.finish().map_err(problem)
    });
    let report = outcome.unwrap_or_else(|panic| Err(Problem::Fails(panic)))?;
    if report.judged == 0 {
        return Err(Problem::Unusable("there is no record in it".into()));
    }
    Ok(report)
}

fn each_line(
    ledger: &mut dyn BufRead,
    each: &mut dyn FnMut(&str) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        let unusable = |problem: String| Problem::Unusable(format!("line {number}: {problem}"));
        let mut one = Read::take(&mut *ledger, LONGEST);
        let read = one.read_until(b'\n', &mut line).map_err(|error| unusable(error.to_string()))?;
        if read == 0 {
            return Ok(());
        }
        if read as u64 == LONGEST {
            return Err(unusable(format!("it is longer than {LONGEST} bytes")));
        }
        each(std::str::from_utf8(&line).map_err(|error| unusable(error.to_string()))?)?;
    }
}

fn problem(error: ExportError<CallError>) -> Problem {
    let problem = error.to_string();
    let fails = |kind, law: &str| Problem::Fails(Failure { kind, law: law.into(), problem: problem.clone() });
    match error.problem {
        ExportProblem::Line(_) | ExportProblem::NoCall => Problem::Unusable(problem),
        ExportProblem::Audit(error) => match *error {
            AuditError::Unreadable(_) | AuditError::Replay(ReplayError::Machine(CallError::NoSegment)) => {
                Problem::Unusable(problem)
            }
            AuditError::Law(violation) => fails(Kind::Safety, violation.law),
            AuditError::Replay(ReplayError::Machine(CallError::Fold(_))) => fails(Kind::Safety, "D3"),
            AuditError::Replay(
                ReplayError::Machine(CallError::Config(_))
                | ReplayError::Machine(CallError::Restore(_))
                | ReplayError::Machine(CallError::Elsewhere { .. })
                | ReplayError::Differs(_),
            ) => fails(Kind::Nondeterminism, "D6"),
        },
    }
}

/// One line: what was read, and how fast.
pub fn line(report: &AuditReport, ask: Ask, micros: u64) -> String {
    let seconds = micros.max(1) as f64 / 1e6;
    let rate = |count: u64| count as f64 / seconds;
    let AuditReport { calls, segments, judged, agents, .. } = *report;
    let decided = match ask {
        Ask::All => format!(", {calls} decisions the same ({:.0}/s)", rate(calls)),
        Ask::Laws => String::new(),
    };
    format!(
        "{judged} records of {agents} agents in {segments} segments fold and break no law ({:.0}/s){decided}, \
         in {seconds:.3} s",
        rate(judged)
    )
}
