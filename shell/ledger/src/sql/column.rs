//! A row of an answer, and the types that its columns have.

use super::SqlError;

/// A row of an answer.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
}

/// A type of columns.
pub(crate) trait Column: Sized {
    fn of_sqlite(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Self>;
}

impl Row<'_> {
    /// # Errors
    /// When the column holds something else.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T, SqlError> {
        match self {
            Self::Sqlite(row) => Ok(T::of_sqlite(row, column)?),
        }
    }
}

macro_rules! columns {
    ($($column:ty)+) => {$(
        impl Column for $column {
            fn of_sqlite(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Self> {
                row.get(column)
            }
        }
    )+};
}

columns!(i64 Option<i64> String Option<String> Option<Vec<u8>> [u8; 32]);
