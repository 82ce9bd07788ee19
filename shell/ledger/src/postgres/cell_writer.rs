//! Writes a cell: appends batches one after the other. Where the answer to an append never came, the same batch is appended
//! again, which settles whether it is there; nothing else is decided meanwhile.

use holon_core::Durable;

use super::append::{self, Appended};
use super::arrays::Arrays;
use super::open::{ANSWER, hold};
use super::tip::Tip;
use crate::error::{AppendError, LedgerError};
use crate::quiet::Tidied;
use crate::rows::batch::Batch;
use crate::rows::link::BatchRow;
use crate::rows::packed::Packed;
use crate::rows::row::count;
use crate::sql::postgres::{PostgresError, Session};
use crate::write::Disk;

/// Appends without a pause while the cell is found where it was left: a statement of a lost connection may be in between.
const ATTEMPTS: usize = 4;

/// The only writer of a cell, as long as its epoch is the cell's. Owned by one thread.
#[derive(Debug)]
pub struct CellWriter {
    session: Session,
    epoch: i64,
    tip: Tip,
    /// An append whose answer never came.
    unsettled: Option<BatchRow>,
    failed: bool,
}

/// Where a cell is.
enum Stands {
    /// Where this writer left it.
    Before,
    /// Where the append that was not answered brings it.
    Behind,
}

impl CellWriter {
    pub(super) fn new(session: Session, epoch: i64, tip: Tip) -> Self {
        Self { session, epoch, tip, unsettled: None, failed: false }
    }

    fn write(&mut self, batch: &Batch) -> Result<BatchRow, AppendError> {
        if let Some(row) = self.unsettled {
            if row.ends.call != self.tip.last.ends.call + count(batch.calls.len()) {
                // What landed would stand for more than it holds.
                return Err(LedgerError::Unsettled.into());
            }
            match self.stands(&row)? {
                Stands::Behind => return Ok(row),
                Stands::Before => {}
            }
        }
        for _ in 0..ATTEMPTS {
            let held = append::held(&self.session, batch);
            let held = held.map_err(|error| away("looking for texts", error))?;
            let arrays = Arrays::new(batch, &self.tip.last, self.epoch, &self.tip.kinds, &held)?;
            self.unsettled = Some(arrays.row);
            match append::append(&self.session, &self.tip.last.link, &arrays) {
                Ok(Appended::Landed) => return Ok(arrays.row),
                Ok(Appended::Refused) => match self.stands(&arrays.row)? {
                    // It had landed before its answer was lost.
                    Stands::Behind => return Ok(arrays.row),
                    Stands::Before => {}
                },
                Err(PostgresError::Refused(refusal)) if refusal.is_miscounted() => {
                    self.unsettled = None;
                    return Err(gap(&self.session, &arrays).into());
                }
                Err(error) => return Err(self.not_written(error)),
            }
        }
        Err(AppendError::Away("it takes no batch, and ends where this runtime left it".to_owned()))
    }

    /// Where the cell is now. It waits for whoever changes it, and is committed itself, so that what it finds stays.
    fn stands(&self, row: &BatchRow) -> Result<Stands, AppendError> {
        let sql = "SELECT epoch, batch, link FROM cells WHERE cell = $1 FOR UPDATE";
        let found = self.session.query(sql, &[&self.session.cell()], ANSWER);
        let found = found.map_err(|error| away("looking where the cell ends", error))?;
        // A connection that was lost has let go of it. Whoever holds it meanwhile has raised the epoch.
        drop(hold(&self.session));
        let (epoch, batch, link): (i64, i64, &[u8]) =
            found.first().map_or((0, 0, &[]), |row| (row.get(0), row.get(1), row.get(2)));
        if epoch != self.epoch {
            return Err(LedgerError::Fenced { own: self.epoch, found: epoch }.into());
        }
        if batch == row.batch && link == row.link {
            return Ok(Stands::Behind);
        }
        if batch == self.tip.last.batch && link == self.tip.last.link {
            return Ok(Stands::Before);
        }
        let problem =
            format!("it ends with batch {batch}, which is not batch {} of this runtime", self.tip.last.batch);
        Err(LedgerError::HistoryLost { database: self.session.to_string(), problem, head: None }.into())
    }

    fn not_written(&mut self, error: PostgresError) -> AppendError {
        if let PostgresError::Refused(_) = error {
            self.unsettled = None;
        }
        away("appending a batch", error)
    }
}

/// Why a batch does not continue the logs of its agents.
pub(super) fn gap(session: &Session, arrays: &Arrays<'_>) -> LedgerError {
    match append::gap(session, arrays) {
        Ok(Some((agent, held, continues))) => LedgerError::gap(agent.as_str(), held + 1, continues + 1),
        Ok(None) => LedgerError::Refused {
            doing: "appending a batch",
            problem:
                "the logs of its agents do not go on with its records, or a deposit of it was taken before"
                    .to_owned(),
        },
        Err(error) => LedgerError::postgres("looking for a gap")(error),
    }
}

/// What a failure is to whoever appends. Nothing was written, or the next attempt settles whether it was.
pub(super) fn away(doing: &'static str, error: PostgresError) -> AppendError {
    match error {
        PostgresError::Refused(refusal) if refusal.is_read_only() => AppendError::Away(refusal.to_string()),
        PostgresError::Unanswered(problem) => AppendError::Away(problem),
        refused @ PostgresError::Refused(_) => LedgerError::postgres(doing)(refused).full_or_fatal(),
    }
}

impl Disk for CellWriter {
    fn append(&mut self, batch: &Batch) -> Result<Durable, AppendError> {
        if self.failed {
            return Err(LedgerError::WriterEnded.into());
        }
        match self.write(batch) {
            Ok(row) => {
                self.unsettled = None;
                Ok(self.tip.advance(row, batch))
            }
            Err(error) => {
                self.failed = matches!(error, AppendError::Fatal(_));
                Err(error)
            }
        }
    }

    /// States of agents and rows that rest. What can't be written now is not needed: the log is there.
    fn tend(&mut self) -> Result<(), LedgerError> {
        drop(self.tip.states.write(&self.session, self.epoch));
        Ok(())
    }

    fn close(mut self) -> Result<(), LedgerError> {
        self.tend()?;
        self.tip.sync_head();
        Ok(())
    }

    fn keep(&mut self, packed: &[Packed]) -> Result<(), AppendError> {
        self.tip.states.keep(packed);
        Ok(self.tend()?)
    }

    fn tidy(&mut self) -> Result<Tidied, LedgerError> {
        self.tip.sync_head();
        Ok(Tidied::Done)
    }
}
