//! Reading by SQL, whichever database answers: the statements of this crate are written once, for SQLite, and a
//! [`Source`] asks them.

mod column;
mod param;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use std::ops::ControlFlow;

pub(crate) use column::Row;
pub(crate) use param::Param;

/// Where a statement is asked: a connection that somebody else owns.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Sqlite(&'a rusqlite::Connection),
    #[cfg(feature = "postgres")]
    Postgres(&'a postgres::Session),
}

/// A statement that was not answered, or a column that is not what was expected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] postgres::PostgresError),
    /// A column that holds something else.
    #[error("column {column} can't be read: {problem}")]
    Column { column: usize, problem: String },
    #[error("a row that others refer to is missing")]
    NoRow,
}

impl<'a> From<&'a rusqlite::Connection> for Source<'a> {
    fn from(connection: &'a rusqlite::Connection) -> Self {
        Self::Sqlite(connection)
    }
}

impl<'a> Source<'a> {
    /// Whether SQLite is asked, which is told its index where it would choose a wrong one.
    pub(crate) fn is_sqlite(self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// The session, where all cells of a database are read.
    #[cfg(feature = "postgres")]
    pub(crate) fn of_all_cells(self) -> Option<&'a postgres::Session> {
        match self {
            Self::Postgres(session) if session.cell() == postgres::ALL => Some(session),
            Self::Postgres(_) | Self::Sqlite(_) => None,
        }
    }

    /// Gives each row to `take`, until it has enough. `failed` says what an error of the database is to the caller.
    ///
    /// # Errors
    /// The first error of either.
    pub(crate) fn until<E>(
        self,
        sql: &str,
        params: &[Param<'_>],
        failed: impl Fn(SqlError) -> E,
        mut take: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        match self {
            Self::Sqlite(connection) => {
                let failed = |error: rusqlite::Error| failed(error.into());
                let mut statement = connection.prepare_cached(sql).map_err(failed)?;
                let mut rows = statement.query(rusqlite::params_from_iter(params)).map_err(failed)?;
                while let Some(row) = rows.next().map_err(failed)? {
                    if take(&Row::Sqlite(row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(session) => {
                let params: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
                    params.iter().map(|param| param as _).collect();
                for row in session.of_cell(sql, &params).map_err(|error| failed(error.into()))? {
                    if take(&Row::Postgres(&row))?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Gives each row to `take`.
    ///
    /// # Errors
    /// As [`Source::until`].
    pub(crate) fn each<E>(
        self,
        sql: &str,
        params: &[Param<'_>],
        failed: impl Fn(SqlError) -> E,
        mut take: impl FnMut(&Row<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.until(sql, params, failed, |row| take(row).map(ControlFlow::Continue))
    }

    /// All rows.
    ///
    /// # Errors
    /// When it is not answered, or a row can't be read.
    pub(crate) fn all<T>(
        self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, SqlError>,
    ) -> Result<Vec<T>, SqlError> {
        let mut all = Vec::new();
        self.each(
            sql,
            params,
            |error| error,
            |row| {
                all.push(read(row)?);
                Ok(())
            },
        )?;
        Ok(all)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn first<T>(
        self,
        sql: &str,
        params: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, SqlError>,
    ) -> Result<Option<T>, SqlError> {
        let mut first = None;
        self.until(
            sql,
            params,
            |error| error,
            |row| {
                first = Some(read(row)?);
                Ok(ControlFlow::Break(()))
            },
        )?;
        Ok(first)
    }

    /// The first row of those that are there.
    #[cfg(test)]
    pub(crate) fn one<T>(
        self,
        sql: &str,
        params: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.first(sql, params, read)?.ok_or(SqlError::NoRow)
    }
}
