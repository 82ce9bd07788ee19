//! Makes the recorded calls again, and compares what they record with what was recorded then, byte for byte.

use holon_core::Record;
use holon_core::replay::{Call, Replay, ReplayError};
use rusqlite::Rows;
use serde::Deserialize;

use super::error::{LedgerError, Position};
use super::read::Reader;
use super::row::{CALL_COLUMNS, RECORD_COLUMNS, StoredCall, StoredRecord};

/// How much was the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReplayReport {
    pub segments: u64,
    pub calls: u64,
    pub records: u64,
    /// Segments of another build: they decided under other rules and are not made again.
    pub skipped_segments: u64,
    pub skipped_calls: u64,
}

/// Where a replay ended, and why.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{at}: {source}")]
    Differs { at: Box<Position>, source: ReplayError },
}

/// What is read of a call before it is known whether this build understands it.
#[derive(Deserialize)]
struct Head {
    call: String,
    build: Option<String>,
}

/// Replays every segment that `build` recorded, in the ledger as it is at one moment. Its time
/// grows with what was recorded, whatever was brought in how often.
///
/// # Errors
/// At the first difference, or the first damage.
pub fn replay(reader: &Reader, build: &str) -> Result<ReplayReport, ReplayFailure> {
    reader.at_one_moment(|connection| {
        let failed = || LedgerError::unreadable(Position::default());
        let calls = format!("SELECT {CALL_COLUMNS} FROM recorder ORDER BY position");
        let mut calls = connection.prepare(&calls).map_err(failed())?;
        let mut calls = calls.query([]).map_err(failed())?;
        let records = format!("SELECT {RECORD_COLUMNS} FROM records ORDER BY position");
        let mut records = connection.prepare(&records).map_err(failed())?;
        let records = Recorded { rows: records.query([]).map_err(failed())?, ahead: None };
        let mut tape = Tape { build, records, skipping: false, report: ReplayReport::default() };
        let mut replay = Replay::default();
        while let Some(row) = calls.next().map_err(failed())? {
            tape.call(&mut replay, &StoredCall::read(row).map_err(failed())?)?;
        }
        if let Some(stored) = tape.records.peek()? {
            return Err(LedgerError::damaged(stored.at(), "no call has recorded it").into());
        }
        tape.report.calls = replay.calls;
        tape.report.records = replay.records;
        Ok(tape.report)
    })
}

struct Tape<'a> {
    build: &'a str,
    records: Recorded<'a>,
    skipping: bool,
    report: ReplayReport,
}

impl Tape<'_> {
    fn call(&mut self, replay: &mut Replay, stored: &StoredCall) -> Result<(), ReplayFailure> {
        let at = || Position::call(stored.position, Some(stored.batch));
        let damaged = |error: serde_json::Error| LedgerError::damaged(at(), error);
        stored.checked_hash()?;
        let head: Head = serde_json::from_str(&stored.call).map_err(damaged)?;
        if head.call == "runtime_started" {
            self.skipping = head.build.as_deref() != Some(self.build);
            self.report.segments += 1;
            self.report.skipped_segments += u64::from(self.skipping);
        }
        let rows = self.records.of_step(stored.step)?;
        let recorded: Vec<Record> = rows.iter().map(StoredRecord::decode).collect::<Result<_, _>>()?;
        let made = if self.skipping {
            self.report.skipped_calls += 1;
            replay.skip(&recorded)
        } else {
            let call: Call = serde_json::from_str(&stored.call).map_err(damaged)?;
            replay.call(call, &recorded)
        };
        made.map_err(|source| ReplayFailure::Differs { at: Box::new(at()), source })
    }
}

/// Records in the order in which they were written, read along with the calls.
struct Recorded<'a> {
    rows: Rows<'a>,
    ahead: Option<StoredRecord>,
}

impl Recorded<'_> {
    fn of_step(&mut self, step: Option<i64>) -> Result<Vec<StoredRecord>, LedgerError> {
        let mut records = Vec::new();
        while self.peek()?.is_some_and(|stored| Some(stored.row.step) == step) {
            records.extend(self.ahead.take());
        }
        Ok(records)
    }

    fn peek(&mut self) -> Result<Option<&StoredRecord>, LedgerError> {
        if self.ahead.is_none() {
            let failed = || LedgerError::unreadable(Position::default());
            let row = self.rows.next().map_err(failed())?;
            self.ahead = row.map(StoredRecord::read).transpose().map_err(failed())?;
        }
        Ok(self.ahead.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BUILD, Home};
    use super::*;
    use holon_core::AgentId;

    /// Two starts of the runtime, so that agents are brought in again.
    fn home() -> Home {
        let home = Home::with_turns(2);
        home.start().prompt("main", "after a restart");
        home
    }

    #[test]
    fn the_same_build_decides_the_same() {
        let home = home();
        let reader = home.reader();
        let report = replay(&reader, BUILD).unwrap();
        let last = reader.last_event(&AgentId::new("main").unwrap()).unwrap();
        assert_eq!((report.segments, report.skipped_segments, report.records), (2, 0, last.0));
    }

    #[test]
    fn segments_of_another_build_are_skipped() {
        let report = replay(&home().reader(), "another").unwrap();
        assert_eq!((report.segments, report.skipped_segments, report.calls), (2, 2, 0));
        assert!(report.skipped_calls > 4);
    }

    #[test]
    fn a_decision_that_differs_is_shown() {
        let home = home();
        // The same fact under another seed and time still hashes right: only deciding again shows it.
        let reader = home.reader();
        let stored = reader.read(|connection| {
            let sql = format!("SELECT {CALL_COLUMNS} FROM recorder WHERE position = 4");
            connection.query_row(&sql, [], StoredCall::read)
        });
        let stored = stored.unwrap();
        let call = stored.call.replace("0000Z", "0001Z");
        assert_ne!(call, stored.call);
        let sum = super::super::row::sum(&super::super::row::call_hash(stored.step, &call));
        home.vandal(&format!("UPDATE recorder SET call = '{call}', sum = {sum} WHERE position = 4"));
        let error = replay(&reader, BUILD).unwrap_err();
        assert!(matches!(&error, ReplayFailure::Differs { at, .. } if at.call == Some(4)), "{error}");
        assert!(error.to_string().contains("then main #"), "{error}");
    }

    #[test]
    fn a_damaged_call_is_named() {
        let home = home();
        home.vandal("UPDATE recorder SET call = '{' WHERE position = 2");
        let error = replay(&home.reader(), BUILD).unwrap_err();
        assert!(error.to_string().contains("call 2"), "{error}");
    }
}
