//! Opening a ledger for writing: nothing is changed before it is clear that this build may write it.

use std::path::Path;
use std::time::Duration;

use holon_platform::crash_point::{Point, reached};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::loss::Files;
use super::migrations::migrate;
use super::reader;
use crate::durability::Durability;
use crate::error::{LedgerError, is_locked};
use crate::report::Holders;
use crate::rows::head::HeadFile;
use crate::rows::link::{self, BatchRow};
use crate::rows::schema;

/// How long another program may keep the file locked.
const BUSY: Duration = Duration::from_secs(5);
/// A write-ahead log that has grown is cut to this when it begins anew.
pub(super) const LOG_BYTES: i64 = 16 << 20;

/// Creates the file where there is none, for this user alone: it holds everything that was said.
pub(super) fn create(path: &Path) -> Result<bool, LedgerError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let failed =
        |error: std::io::Error| LedgerError::Open { path: path.to_owned(), problem: error.to_string() };
    match options.open(path) {
        // SQLite syncs the file and its folder when it writes the first page.
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

pub(super) fn connect(path: &Path, durability: Durability) -> Result<Connection, LedgerError> {
    let failed = |error: rusqlite::Error| {
        if is_locked(&error) {
            return LedgerError::Locked { by: Holders::default() };
        }
        LedgerError::Open { path: path.to_owned(), problem: error.to_string() }
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    if connection.is_readonly("main").unwrap_or(false) {
        let problem = "the file is read-only".to_owned();
        return Err(LedgerError::Open { path: path.to_owned(), problem });
    }
    connection.busy_timeout(BUSY).map_err(failed)?;
    reader::check_kind(&connection, path)?;
    connection.set_prepared_statement_cache_capacity(32);
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).map_err(failed)?;
    if pages == 0 {
        // Pages that become free can be given back: it can be chosen before the first table alone.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        .and_then(|_| connection.pragma_update(None, "synchronous", synchronous))
        // A reader kept it from being moved into the file once: it does not stay that long for ever.
        .and_then(|()| connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(())))
        .map_err(failed)?;
    Ok(connection)
}

/// Compares what opens with what was acknowledged, before anything is changed.
pub(super) fn compare(
    connection: &Connection,
    path: &Path,
    files: Files,
    durability: Durability,
) -> Result<(HeadFile, Vec<String>), LedgerError> {
    let newest = match schema::version(connection.into())? {
        0 => BatchRow::START,
        found if found > schema::SCHEMA_VERSION => {
            return Err(schema::newer(connection.into(), found));
        }
        _ => link::newest(connection.into())?,
    };
    let found = files.compare(path, connection.into(), &newest, durability)?;
    // What is in the write-ahead log is what was acknowledged: it may be moved into the file from here on.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(LedgerError::sqlite("opening"))?;
    Ok(found)
}

/// Brings the schema up to date and raises the epoch, unless the ledger is for newer builds only.
pub(super) fn take_over(connection: &mut Connection) -> Result<i64, LedgerError> {
    let failed = "taking over the ledger";
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(LedgerError::sqlite(failed))?;
    migrate(&transaction)?;
    reached(Point::SchemaChanged);
    schema::check_kinds((&*transaction).into())?;
    transaction
        .execute("UPDATE meta SET value = value + 1 WHERE key = 'writer_epoch'", [])
        .map_err(LedgerError::sqlite(failed))?;
    let epoch = epoch(&transaction)?;
    transaction.commit().map_err(LedgerError::sqlite(failed))?;
    Ok(epoch)
}

pub(super) fn epoch(connection: &Connection) -> Result<i64, LedgerError> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'writer_epoch'")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(LedgerError::sqlite("reading the writer's epoch"))
}
