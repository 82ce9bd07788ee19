//! What can be wrong with the index.

use rusqlite::ErrorCode;

/// An index that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error("{doing} the memory index: {source}")]
    Sqlite { doing: &'static str, source: rusqlite::Error },
    #[error("the memory index is damaged: {problem}")]
    Damaged { problem: String },
    #[error("the memory index can't be created: {0}")]
    File(#[from] std::io::Error),
}

impl MemoryError {
    pub(crate) fn sqlite(doing: &'static str) -> impl Fn(rusqlite::Error) -> Self {
        move |source| Self::Sqlite { doing, source }
    }

    /// Whether the file is to be put aside and filled anew.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Sqlite { source, .. } => is_damage(source),
            Self::File(_) => false,
        }
    }
}

/// What SQLite reports of a file that is no database of ours any more: also that a table is missing.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => true,
        Some(ErrorCode::Unknown) => error.to_string().contains("no such"),
        // A value of another type than was written.
        None => matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..)
        ),
        Some(_) => false,
    }
}
