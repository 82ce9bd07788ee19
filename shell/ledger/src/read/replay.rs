//! Makes the recorded calls again, compares what they record with what was recorded then, byte for byte, and
//! judges all records by the laws.

use holon_core::replay::{CallError, Replay};
use holon_facts::{Config, Record};
use holon_law::replay::{Again, Audit, AuditError, AuditReport};

use super::reader::Reader;
use super::recorder::each_call;
use crate::error::{LedgerError, Position};
use crate::rows::row::StoredRecord;

/// Where a replay ended, and why.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{at}: {source}")]
    Audit { at: Box<Position>, source: Box<AuditError<CallError>> },
}

/// Replays the ledger as it is at one moment: every segment whose decisions are asked for, and the folds and
/// laws of all. Its time grows with what was recorded, whatever was brought in how often; its memory with the
/// agents.
///
/// # Errors
/// At the first difference, broken law, or damage.
pub fn replay(reader: &Reader, again: Again) -> Result<AuditReport, ReplayFailure> {
    audited(reader, Audit::new(again))
}

/// The same under another configuration: where it would have decided otherwise is the first difference.
///
/// # Errors
/// As for [`replay`].
pub fn replay_under(reader: &Reader, again: Again, config: Config) -> Result<AuditReport, ReplayFailure> {
    audited(reader, Audit::of(Replay::under(config), again))
}

fn audited(reader: &Reader, mut audit: Audit<Replay>) -> Result<AuditReport, ReplayFailure> {
    reader.at_one_moment(|source| {
        each_call::<ReplayFailure>(source, |call, records| {
            let records: Vec<Record> = records.iter().map(StoredRecord::decode).collect::<Result<_, _>>()?;
            audit.call(&call.call, &records).map_err(|error| {
                let at = Box::new(Position::call(call.position, Some(call.batch)));
                ReplayFailure::Audit { at, source: Box::new(error) }
            })
        })
    })?;
    Ok(audit.report())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::row::{CALL_COLUMNS, StoredCall};
    use crate::sqlite::testing::{BUILD, Home};
    use holon_facts::AgentId;
    use holon_law::replay::ReplayError;

    fn this_build() -> Again {
        Again::Build(BUILD.to_owned())
    }

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
        let report = replay(&reader, this_build()).unwrap();
        let last = reader.last_event(&AgentId::new("main").unwrap()).unwrap();
        assert_eq!((report.segments, report.skipped_segments, report.records), (2, 0, last.0));
        assert_eq!((report.judged, report.agents), (last.0, 1));
    }

    #[test]
    fn segments_of_another_build_are_skipped_unless_they_are_asked_for() {
        let reader = home().reader();
        let report = replay(&reader, Again::Build("another".to_owned())).unwrap();
        assert_eq!((report.segments, report.skipped_segments, report.calls), (2, 2, 0));
        assert!(report.skipped_calls > 4);
        let every = replay(&reader, Again::Every).unwrap();
        assert_eq!((every.skipped_segments, every.calls), (0, report.skipped_calls));
        assert_eq!((every.judged, every.records), (report.judged, report.judged));
    }

    #[test]
    fn a_decision_that_differs_is_shown() {
        let home = home();
        // The same fact under another seed and time still hashes right: only deciding again shows it.
        let reader = home.reader();
        let stored = reader.read(|source| {
            let sql = format!("SELECT {CALL_COLUMNS} FROM recorder WHERE position = 4");
            source.one(&sql, &[], StoredCall::read)
        });
        let stored = stored.unwrap();
        let call = stored.call.replace("0000Z", "0001Z");
        assert_ne!(call, stored.call);
        let sum = crate::rows::row::sum(&crate::rows::row::call_hash(stored.step, &call));
        home.vandal(&format!("UPDATE recorder SET call = '{call}', sum = {sum} WHERE position = 4"));
        let error = replay(&reader, this_build()).unwrap_err();
        let ReplayFailure::Audit { at, source } = &error else { panic!("{error}") };
        assert!(matches!(**source, AuditError::Replay(ReplayError::Differs(_))), "{error}");
        assert_eq!(at.call, Some(4));
        assert!(error.to_string().contains("decides otherwise from main #"), "{error}");
    }

    #[test]
    fn a_damaged_call_is_named() {
        let home = home();
        home.vandal("UPDATE recorder SET call = '{' WHERE position = 2");
        let error = replay(&home.reader(), this_build()).unwrap_err();
        assert!(error.to_string().contains("call 2"), "{error}");
    }
}
