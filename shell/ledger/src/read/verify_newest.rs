//! A short check: what was written last, and that every agent is listed as its log ends. It takes the same time whatever came before.

use serde::Serialize;

use super::reader::Reader;
use super::restore;
use crate::error::{LedgerError, Position};
use crate::rows::link::{self, BATCH_COLUMNS, BatchRow, Part};

/// Batches that are checked.
const BATCHES: usize = 1_000;

/// How much was found in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct NewestReport {
    pub batches: u64,
    pub all_batches: u64,
    pub records: u64,
    pub calls: u64,
    pub agents: u64,
}

/// Checks the hash links of the newest batches with their records and calls, and where the log of each agent ends.
///
/// # Errors
/// The first problem, with its position.
pub fn verify_newest(reader: &Reader) -> Result<NewestReport, LedgerError> {
    reader.at_one_moment(|source| {
        let unreadable = || LedgerError::unreadable(Position::default());
        let sql = format!("SELECT {BATCH_COLUMNS} FROM batches ORDER BY batch DESC LIMIT {}", BATCHES + 1);
        let mut batches = source.all(&sql, &[], BatchRow::read).map_err(unreadable())?;
        batches.reverse();
        let mut report = NewestReport {
            all_batches: batches.last().map_or(0, |newest| newest.batch.unsigned_abs()),
            ..NewestReport::default()
        };
        // The one before the first that is checked.
        let mut previous = if batches.len() > BATCHES { batches.remove(0) } else { BatchRow::START };
        for batch in batches {
            if batch.batch != previous.batch + 1 {
                let problem = "the batch before it is missing";
                return Err(LedgerError::damaged(Position::batch(batch.batch), problem));
            }
            link::check::<LedgerError>(source, &previous, &batch, &mut |part| {
                match part {
                    Part::Record(stored) => {
                        stored.decode()?;
                        report.records += 1;
                    }
                    Part::Call => report.calls += 1,
                }
                Ok(())
            })?;
            report.batches += 1;
            previous = batch;
        }
        for row in restore::agent_rows(source)? {
            let (agent, listed) = (row.agent.as_str(), row.event_seq.0);
            let sql = "SELECT max(event_seq) FROM records WHERE agent = ?1";
            let last =
                source.first(sql, &[agent.into()], |row| row.get::<Option<i64>>(0)).map_err(unreadable())?;
            let last = last.flatten().unwrap_or(0);
            if u64::try_from(last) != Ok(listed) {
                let problem =
                    format!("the agent's row names event {listed} as its last, its log ends at {last}");
                return Err(LedgerError::damaged(Position::event(agent, last, None), problem));
            }
            report.agents += 1;
        }
        Ok(report)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::Home;

    #[test]
    fn the_end_of_a_ledger_is_checked() {
        let home = Home::with_turns(2);
        let report = verify_newest(&home.reader()).unwrap();
        assert_eq!((report.batches, report.agents), (report.all_batches, 1));
        assert!(report.records > 10 && report.calls > 5, "{report:?}");
        for (sql, problem) in [
            ("UPDATE records SET payload = payload || ' ' WHERE position = 5", "event 5"),
            ("DELETE FROM recorder WHERE position = 3", "hash link"),
            ("DELETE FROM batches WHERE batch = 3", "missing"),
            ("UPDATE agents SET event_seq = event_seq - 1", "its log ends at"),
        ] {
            let home = Home::with_turns(2);
            home.vandal(sql);
            let error = verify_newest(&home.reader()).expect_err(sql).to_string();
            assert!(error.contains(problem), "{sql}: {error}");
        }
    }
}
