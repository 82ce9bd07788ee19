//! The flight recorder with the records that each call brought, in the order in which they were written.

use rusqlite::{Connection, Rows};

use super::error::{LedgerError, Position};
use super::row::{CALL_COLUMNS, RECORD_COLUMNS, StoredCall, StoredRecord};

/// Gives every call with its records to `each`; one call at a time is in memory. Both are checked against
/// their sums.
///
/// # Errors
/// At the first damage, a record that no call has brought, or the first error of `each`.
pub(super) fn each_call<E: From<LedgerError>>(
    connection: &Connection,
    mut each: impl FnMut(&StoredCall, &[StoredRecord]) -> Result<(), E>,
) -> Result<(), E> {
    let failed = || LedgerError::unreadable(Position::default());
    let calls = format!("SELECT {CALL_COLUMNS} FROM recorder ORDER BY position");
    let mut calls = connection.prepare(&calls).map_err(failed())?;
    let mut calls = calls.query([]).map_err(failed())?;
    let records = format!("SELECT {RECORD_COLUMNS} FROM records ORDER BY position");
    let mut records = connection.prepare(&records).map_err(failed())?;
    let mut records = Recorded { rows: records.query([]).map_err(failed())?, ahead: None };
    while let Some(row) = calls.next().map_err(failed())? {
        let call = StoredCall::read(row).map_err(failed())?;
        call.checked_hash()?;
        each(&call, &records.of_step(call.step)?)?;
    }
    match records.peek()? {
        Some(stored) => Err(LedgerError::damaged(stored.at(), "no call has recorded it").into()),
        None => Ok(()),
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
