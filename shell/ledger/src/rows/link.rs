//! The hash link of a batch: it covers the link before it and every row that the batch brought, so that a row
//! that was changed, removed or added afterwards is noticed.

use sha2::{Digest, Sha256};

use super::row::{CALL_COLUMNS, Hash, RECORD_COLUMNS, StoredCall, StoredRecord};
use crate::error::{LedgerError, Position};
use crate::sql::{Row, Source, SqlError};

/// The link before the first batch.
pub(crate) const GENESIS: Hash = [0; 32];

/// Where a batch ends, in each table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) step: i64,
    pub(crate) record: i64,
    pub(crate) call: i64,
    pub(crate) content: i64,
}

/// A row of `batches`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchRow {
    pub(crate) batch: i64,
    pub(crate) epoch: i64,
    pub(crate) ends: Ends,
    pub(crate) link: Hash,
}

impl BatchRow {
    /// What stands before the first batch.
    pub(crate) const START: Self =
        Self { batch: 0, epoch: 0, ends: Ends { step: 0, record: 0, call: 0, content: 0 }, link: GENESIS };

    pub(crate) fn read(row: &Row<'_>) -> Result<Self, SqlError> {
        Ok(Self {
            batch: row.get(0)?,
            epoch: row.get(1)?,
            ends: Ends { step: row.get(2)?, record: row.get(3)?, call: row.get(4)?, content: row.get(5)? },
            link: row.get(6)?,
        })
    }
}

/// Columns of [`BatchRow::read`].
pub(crate) const BATCH_COLUMNS: &str =
    "batch, epoch, through_step, through_record, through_call, through_content, link";

/// A link in the making: rows in the order records, calls, contents, each by its position.
pub(crate) struct Link(Sha256);

impl Link {
    pub(crate) fn new(previous: &Hash, batch: i64, epoch: i64, ends: Ends) -> Self {
        let mut hash = Sha256::new();
        hash.update(previous);
        for number in [batch, epoch, ends.step, ends.record, ends.call, ends.content] {
            hash.update(number.to_le_bytes());
        }
        Self(hash)
    }

    pub(crate) fn row(&mut self, hash: &Hash) {
        self.0.update(hash);
    }

    pub(crate) fn finish(self) -> Hash {
        self.0.finalize().into()
    }
}

/// Reads a batch and compares it with its link. `each` sees its records and calls on the way.
pub(crate) fn check<E: From<LedgerError>>(
    source: Source<'_>,
    previous: &BatchRow,
    batch: &BatchRow,
    each: &mut dyn FnMut(Part<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut link = Link::new(&previous.link, batch.batch, batch.epoch, batch.ends);
    let at = || Position::batch(batch.batch);
    let failed = |error| E::from(LedgerError::unreadable(at())(error));
    let (from, to) = (previous.ends, batch.ends);

    let sql = format!(
        "SELECT {RECORD_COLUMNS} FROM records WHERE position > ?1 AND position <= ?2 ORDER BY position"
    );
    source.each(&sql, &[from.record.into(), to.record.into()], failed, |row| {
        let record = StoredRecord::read(row).map_err(failed)?;
        link.row(&record.checked_hash()?);
        each(Part::Record(&record))
    })?;

    let sql = format!(
        "SELECT {CALL_COLUMNS} FROM recorder WHERE position > ?1 AND position <= ?2 ORDER BY position"
    );
    source.each(&sql, &[from.call.into(), to.call.into()], failed, |row| {
        let call = StoredCall::read(row).map_err(failed)?;
        link.row(&call.checked_hash()?);
        each(Part::Call)
    })?;

    let sql = "SELECT id FROM content WHERE position > ?1 AND position <= ?2 ORDER BY position";
    source.each(sql, &[from.content.into(), to.content.into()], failed, |row| {
        link.row(&row.get::<Hash>(0).map_err(failed)?);
        Ok(())
    })?;

    if link.finish() == batch.link {
        return Ok(());
    }
    let problem = "its rows do not give its hash link: one was changed, removed or added";
    Err(LedgerError::damaged(at(), problem).into())
}

/// What [`check`] comes by.
pub(crate) enum Part<'a> {
    Record(&'a StoredRecord),
    Call,
}

/// The newest batch, after checking it against the one before: it is where an interrupted write would show.
pub(crate) fn newest(source: Source<'_>) -> Result<BatchRow, LedgerError> {
    let sql = format!("SELECT {BATCH_COLUMNS} FROM batches ORDER BY batch DESC LIMIT 1 OFFSET ?1");
    let read = |offset: i64| {
        source
            .first(&sql, &[offset.into()], BatchRow::read)
            .map_err(LedgerError::unreadable(Position::default()))
    };
    let Some(newest) = read(0)? else { return Ok(BatchRow::START) };
    let previous = read(1)?.unwrap_or(BatchRow::START);
    if previous.batch + 1 != newest.batch {
        return Err(LedgerError::damaged(Position::batch(previous.batch + 1), "the batch is missing"));
    }
    check::<LedgerError>(source, &previous, &newest, &mut |_| Ok(()))?;
    Ok(newest)
}
