//! Whether a ledger still holds what its head names: the last batch that was acknowledged.

use holon_platform::hex;

use crate::error::{LedgerError, Position};
use crate::rows::head::Head;
use crate::rows::link::BatchRow;
use crate::sql::Source;

/// What is wrong where a ledger does not hold what its head names.
pub(crate) fn behind(
    source: Source<'_>,
    newest: &BatchRow,
    head: &Head,
) -> Result<Option<String>, LedgerError> {
    if head.batch > newest.batch {
        return Ok(Some(shorter(newest, head)));
    }
    let sql = "SELECT link FROM batches WHERE batch = ?1";
    let link = source
        .first(sql, &[head.batch.into()], |row| row.get::<[u8; 32]>(0))
        .map_err(LedgerError::unreadable(Position::batch(head.batch)))?;
    if link.is_some_and(|link| hex::write(&link) == head.link) {
        return Ok(None);
    }
    Ok(Some(format!("its batch {} is not the one that was acknowledged: the file was replaced", head.batch)))
}

pub(crate) fn shorter(newest: &BatchRow, head: &Head) -> String {
    format!("it ends at {}, and {head} was acknowledged: what is between is gone", Head::of(newest))
}
