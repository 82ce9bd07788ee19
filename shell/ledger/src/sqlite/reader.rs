//! Opening a ledger in a file for reading, without changing anything in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::migrations::APPLICATION_ID;
use crate::error::LedgerError;
use crate::read::Reader;
use crate::rows::schema;

/// How long a reader waits for another program's lock.
const BUSY: Duration = Duration::from_secs(5);

impl Reader {
    /// Opens a ledger for reading; also one that this build can't write, or in a folder that it can't.
    ///
    /// # Errors
    /// When there is no ledger, or its schema is newer than this build.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let connection = connect(path)?;
        let found = schema::version((&connection).into())?;
        if found > schema::SCHEMA_VERSION {
            return Err(schema::newer((&connection).into(), found));
        }
        if found == 0 {
            let problem = LedgerError::EMPTY.to_owned();
            return Err(LedgerError::NotALedger { path: path.to_owned(), problem });
        }
        connection.set_prepared_statement_cache_capacity(32);
        connection.busy_timeout(BUSY).map_err(LedgerError::sqlite("opening"))?;
        Ok(Self::of_file(connection))
    }

    /// Opens a ledger that nobody writes, and that has no write-ahead log, without leaving anything beside it.
    ///
    /// # Errors
    /// When it can't be opened, or is the database of another program.
    pub fn of_copy(path: &Path) -> Result<Self, LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(immutable(path), flags)
            .map_err(|error| LedgerError::Open { path: path.to_owned(), problem: error.to_string() })?;
        check_kind(&connection, path)?;
        Ok(Self::of_file(connection))
    }
}

pub(super) fn connect(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |error: rusqlite::Error| LedgerError::Open {
        path: path.to_owned(),
        problem: format!("{error} (for reading)"),
    };
    let connection = Connection::open_with_flags(path, flags).map_err(open)?;
    match check_kind(&connection, path) {
        Ok(()) => Ok(connection),
        // A write-ahead log needs a shared index beside it; without one to read, nothing is written either.
        Err(LedgerError::Sqlite { source, .. }) if needs_index(&source) && !has_wal(path) => {
            let uri = immutable(path);
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(uri, flags).map_err(open)?;
            check_kind(&connection, path)?;
            Ok(connection)
        }
        Err(error) => Err(error),
    }
}

/// Refuses what is not a ledger before anything is changed in it.
pub(super) fn check_kind(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let not_ours = |problem: &str| LedgerError::NotALedger { path: path.to_owned(), problem: problem.into() };
    let id = connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0));
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match id.and_then(|id| tables.map(|tables| (id, tables))) {
        Ok((APPLICATION_ID, _) | (0, 0)) => Ok(()),
        Ok(_) => Err(not_ours("it is the database of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Err(not_ours("it is not a SQLite database"))
        }
        Err(error) => Err(LedgerError::sqlite("reading its header")(error)),
    }
}

fn needs_index(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn has_wal(path: &Path) -> bool {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    std::fs::metadata(PathBuf::from(wal)).is_ok_and(|file| file.len() > 0)
}

/// The file as an address that promises that nobody writes it.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}
