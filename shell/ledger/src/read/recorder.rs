//! The flight recorder with the records that each call brought, in the order in which they were written.

use crate::error::{LedgerError, Position};
use crate::rows::row::{CALL_COLUMNS, RECORD_COLUMNS, StoredCall, StoredRecord};
use crate::sql::{Row, Source, SqlError};

/// Rows that are read at once.
const PAGE: usize = 512;

/// Gives every call with its records to `each`; a page of both is in memory. Both are checked against their sums.
///
/// # Errors
/// At the first damage, a record that no call has brought, or the first error of `each`.
pub(crate) fn each_call<E: From<LedgerError>>(
    source: Source<'_>,
    mut each: impl FnMut(&StoredCall, &[StoredRecord]) -> Result<(), E>,
) -> Result<(), E> {
    let mut calls = Pages::new(source, "recorder", CALL_COLUMNS, |row| {
        let call = StoredCall::read(row)?;
        Ok((call.position, call))
    });
    let columns = format!("{RECORD_COLUMNS}, position");
    let mut records =
        Pages::new(source, "records", &columns, |row| Ok((row.get(9)?, StoredRecord::read(row)?)));
    while let Some(call) = calls.take()? {
        call.checked_hash()?;
        each(&call, &of_step(&mut records, call.step)?)?;
    }
    match records.peek()? {
        Some(stored) => Err(LedgerError::damaged(stored.at(), "no call has recorded it").into()),
        None => Ok(()),
    }
}

fn of_step(
    records: &mut Pages<'_, StoredRecord>,
    step: Option<i64>,
) -> Result<Vec<StoredRecord>, LedgerError> {
    let mut found = Vec::new();
    while records.peek()?.is_some_and(|stored| Some(stored.row.step) == step) {
        found.extend(records.take()?);
    }
    Ok(found)
}

/// A row with its position.
type ReadRow<T> = fn(&Row<'_>) -> Result<(i64, T), SqlError>;

/// The rows of a table in the order of their positions.
struct Pages<'a, T> {
    source: Source<'a>,
    sql: String,
    read: ReadRow<T>,
    /// Of the last row that was read.
    last: i64,
    page: std::vec::IntoIter<T>,
    ended: bool,
}

impl<'a, T> Pages<'a, T> {
    fn new(source: Source<'a>, table: &str, columns: &str, read: ReadRow<T>) -> Self {
        let sql = format!("SELECT {columns} FROM {table} WHERE position > ?1 ORDER BY position LIMIT {PAGE}");
        Self { source, sql, read, last: 0, page: Vec::new().into_iter(), ended: false }
    }

    fn peek(&mut self) -> Result<Option<&T>, LedgerError> {
        if self.page.as_slice().is_empty() && !self.ended {
            let page = self.source.all(&self.sql, &[self.last.into()], self.read);
            let page = page.map_err(LedgerError::unreadable(Position::default()))?;
            self.ended = page.len() < PAGE;
            self.last = page.last().map_or(self.last, |(position, _)| *position);
            self.page = page.into_iter().map(|(_, row)| row).collect::<Vec<_>>().into_iter();
        }
        Ok(self.page.as_slice().first())
    }

    fn take(&mut self) -> Result<Option<T>, LedgerError> {
        self.peek()?;
        Ok(self.page.next())
    }
}
