//! Stored texts by their hash. What is read is what was named, or it is an error.

use std::sync::Arc;

use holon_core::ContentId;
use rusqlite::OptionalExtension;

use super::error::{LedgerError, Position};
use super::read::Reader;
use crate::text;

impl Reader {
    /// The text of this name; none when it is not stored.
    ///
    /// # Errors
    /// When it was erased, or is not the text of this name any more.
    pub fn content(&self, id: ContentId) -> Result<Option<String>, LedgerError> {
        let sql = "SELECT text FROM content WHERE id = ?1";
        let found = self
            .read(|connection| {
                let mut statement = connection.prepare_cached(sql)?;
                statement.query_row([id.0], |row| row.get::<_, Option<String>>(0)).optional()
            })
            .map_err(LedgerError::unreadable(Position::default()))?;
        match found {
            None => Ok(None),
            Some(None) => Err(LedgerError::Erased { id }),
            Some(Some(read)) if text::hash(read.as_bytes()) == id => Ok(Some(read)),
            Some(Some(_)) => Err(LedgerError::damaged(
                Position::default(),
                format!("content {id} is not what was written"),
            )),
        }
    }
}

/// The ledger as [`crate::text::Texts`] reads it.
pub fn text_reader(reader: Arc<Reader>) -> text::Reader {
    Box::new(move |id| reader.content(id).map_err(|error| error.to_string()))
}
