//! A row of an answer, and the types that its columns have.

use super::SqlError;

/// A row of an answer.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    #[cfg(feature = "postgres")]
    Postgres(&'a tokio_postgres::Row),
}

/// A type of columns.
pub(crate) trait Column: Sized {
    fn of_sqlite(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Self>;
    #[cfg(feature = "postgres")]
    fn of_postgres(row: &tokio_postgres::Row, column: usize) -> Result<Self, String>;
}

impl Row<'_> {
    /// # Errors
    /// When the column holds something else.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T, SqlError> {
        match self {
            Self::Sqlite(row) => Ok(T::of_sqlite(row, column)?),
            #[cfg(feature = "postgres")]
            Self::Postgres(row) => {
                T::of_postgres(row, column).map_err(|problem| SqlError::Column { column, problem })
            }
        }
    }
}

macro_rules! columns {
    ($($column:ty)+) => {$(
        impl Column for $column {
            fn of_sqlite(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Self> {
                row.get(column)
            }

            #[cfg(feature = "postgres")]
            fn of_postgres(row: &tokio_postgres::Row, column: usize) -> Result<Self, String> {
                row.try_get(column).map_err(|error| error.to_string())
            }
        }
    )+};
}

columns!(i64 Option<i64> String Option<String> Option<Vec<u8>>);

impl Column for [u8; 32] {
    fn of_sqlite(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Self> {
        row.get(column)
    }

    #[cfg(feature = "postgres")]
    fn of_postgres(row: &tokio_postgres::Row, column: usize) -> Result<Self, String> {
        let bytes: &[u8] = row.try_get(column).map_err(|error| error.to_string())?;
        bytes.try_into().map_err(|_| format!("{} bytes where a hash of 32 is expected", bytes.len()))
    }
}
