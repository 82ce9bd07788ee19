//! The reading side: a connection that does not write, for restoring, for texts, and for the tools. A store opens it.

#[cfg(feature = "postgres")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, InterruptHandle};

use crate::error::LedgerError;
#[cfg(feature = "postgres")]
use crate::rows::schema;
use crate::sql::Source;
#[cfg(feature = "postgres")]
use crate::sql::postgres::{ALL, Server, Session, Work};

/// Reads a ledger, also while it is written. One read at a time; what takes long deserves a reader of its own.
#[derive(Debug)]
pub struct Reader {
    database: Mutex<Database>,
}

#[derive(Debug)]
enum Database {
    Sqlite(Connection),
    #[cfg(feature = "postgres")]
    Postgres(Session),
}

/// Ends a read in progress, from another thread.
pub struct Stopper(Stop);

enum Stop {
    Sqlite(InterruptHandle),
    #[cfg(feature = "postgres")]
    Postgres(Arc<AtomicBool>),
}

impl Stopper {
    /// The read in progress fails with its next row, or its next page. The reader is of no use afterwards.
    pub fn stop(&self) {
        match &self.0 {
            Stop::Sqlite(handle) => handle.interrupt(),
            #[cfg(feature = "postgres")]
            Stop::Postgres(stopped) => stopped.store(true, Ordering::Relaxed),
        }
    }
}

impl Reader {
    /// Whether its tables are those of this build.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_of_this_build(&self) -> Result<bool, LedgerError> {
        self.read(|source| Ok(schema::version(source)? == schema::SCHEMA_VERSION))
    }

    /// Reads the file that a connection has open.
    pub(crate) fn of_file(connection: Connection) -> Self {
        Self { database: Mutex::new(Database::Sqlite(connection)) }
    }

    /// Reads a cell of a database. Its session comes about with the first read.
    #[cfg(feature = "postgres")]
    pub(crate) fn of_cell(server: Server, cell: i64) -> Self {
        Self { database: Mutex::new(Database::Postgres(Session::shared(server, cell, Work::Reading))) }
    }

    /// The same with a connection of its own, for what takes long: it keeps none from others meanwhile.
    #[must_use]
    pub fn apart(self) -> Self {
        #[cfg(feature = "postgres")]
        if let Database::Postgres(session) = &*self.lock() {
            return Self { database: Mutex::new(Database::Postgres(session.apart())) };
        }
        self
    }

    /// Reads what all cells of a database say of agents. Positions, steps and batches mean nothing in it.
    #[cfg(feature = "postgres")]
    pub(crate) fn of_all_cells(server: Server) -> Self {
        Self::of_cell(server, ALL)
    }

    /// What ends a read that takes too long.
    pub fn stopper(&self) -> Stopper {
        Stopper(match &*self.lock() {
            Database::Sqlite(connection) => Stop::Sqlite(connection.get_interrupt_handle()),
            #[cfg(feature = "postgres")]
            Database::Postgres(session) => Stop::Postgres(session.stopped()),
        })
    }

    /// One read.
    pub(crate) fn read<T, E>(&self, read: impl FnOnce(Source<'_>) -> Result<T, E>) -> Result<T, E> {
        read(match &*self.lock() {
            Database::Sqlite(connection) => connection.into(),
            #[cfg(feature = "postgres")]
            Database::Postgres(session) => Source::Postgres(session),
        })
    }

    /// Many reads of the ledger as it is at one moment.
    pub(crate) fn at_one_moment<T, E: From<LedgerError>>(
        &self,
        read: impl FnOnce(Source<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.read(|source| match source {
            Source::Sqlite(connection) => {
                let transaction =
                    connection.unchecked_transaction().map_err(LedgerError::sqlite("beginning to read"))?;
                read((&*transaction).into())
            }
            #[cfg(feature = "postgres")]
            Source::Postgres(session) => {
                session.begin().map_err(LedgerError::postgres("beginning to read"))?;
                let done = read(source);
                session.end();
                done
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
