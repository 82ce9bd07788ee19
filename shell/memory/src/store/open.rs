//! Opening: what is not an index of this build is put aside, and what is ours is what it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::schema::{APPLICATION_ID, SCHEMA_VERSION, TABLES};
use super::{Index, Opened, read};
use crate::error::{MemoryError, is_damage};

/// How long another process may keep the file locked.
const BUSY: Duration = Duration::from_secs(2);

/// Files of others that are kept; then the newest takes the place of the last one.
const ASIDE: usize = 8;

/// Why a folder in its place can't be used.
const FOLDER: &str = "it is a folder";

/// What was in the place of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// Where it is now.
    pub path: PathBuf,
    pub why: &'static str,
}

impl Index {
    /// Opens the index at a path, empty where there is none that can be used.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn open(path: &Path) -> Result<Opened, MemoryError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let why = match connect(path) {
            Ok(Ok(connection)) => return Ok(Opened { index: Self { connection }, aside: None }),
            Ok(Err(why)) => why,
            Err(error) if error.is_damage() => "it is damaged",
            Err(error) => return Err(error),
        };
        let aside = put_aside(path, why)?;
        match connect(path)? {
            Ok(connection) => Ok(Opened { index: Self { connection }, aside: Some(aside) }),
            Err(why) => Err(MemoryError::Damaged { problem: format!("{why}, again") }),
        }
    }

    /// Looks at what is in the place of an index, and changes nothing: how far it is, or why it can't be used. None where
    /// there is nothing.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn look(path: &Path) -> Result<Option<Result<u64, &'static str>>, MemoryError> {
        if !path.exists() {
            return Ok(None);
        }
        if path.is_dir() {
            return Ok(Some(Err(FOLDER)));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opening = MemoryError::sqlite("opening");
        let connection = Connection::open_with_flags(path, flags).map_err(&opening)?;
        connection.busy_timeout(BUSY).map_err(&opening)?;
        if let Some(why) = unusable(&connection)? {
            return Ok(Some(Err(why)));
        }
        let version: i32 =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(&opening)?;
        // A file without anything in it is filled as an index.
        Ok(Some(Ok(if version == 0 { 0 } else { read::cursor(&connection)? })))
    }

    /// Puts a file aside that turned out to be damaged while it was used.
    ///
    /// # Errors
    /// When it can't be renamed.
    pub fn put_aside(path: &Path) -> Result<Aside, MemoryError> {
        put_aside(path, "it is damaged")
    }

    /// Removes a file, with what SQLite keeps next to it; whoever has it open goes on with what is gone.
    ///
    /// # Errors
    /// When it can't be removed.
    pub fn remove(path: &Path) -> Result<(), MemoryError> {
        for ending in ["", "-wal", "-shm", "-journal"] {
            match fs::remove_file(with_ending(path, ending)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// A connection to an index of this build, or why what is there is none.
fn connect(path: &Path) -> Result<Result<Connection, &'static str>, MemoryError> {
    let opening = MemoryError::sqlite("opening");
    if path.is_dir() {
        return Ok(Err(FOLDER));
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(&opening)?;
    connection.busy_timeout(BUSY).map_err(&opening)?;
    connection.set_prepared_statement_cache_capacity(32);
    if let Some(why) = unusable(&connection)? {
        return Ok(Err(why));
    }
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY;";
    connection.execute_batch(pragmas).map_err(&opening)?;
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&opening)?;
    let version: i32 =
        transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(&opening)?;
    if version == 0 {
        transaction.execute_batch(TABLES).map_err(&opening)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(&opening)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(&opening)?;
    }
    transaction.commit().map_err(&opening)?;
    Ok(Ok(connection))
}

/// Why a file can't be used; none of an empty one.
fn unusable(connection: &Connection) -> Result<Option<&'static str>, MemoryError> {
    let header = connection
        .pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))
        .and_then(|id| {
            Ok((id, connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))?))
        })
        .and_then(|known| {
            let tables = "SELECT count(*) FROM sqlite_schema";
            Ok((known, connection.query_row(tables, [], |row| row.get::<_, i64>(0))?))
        });
    match header {
        Ok(((APPLICATION_ID, SCHEMA_VERSION), _) | ((0, 0), 0)) => Ok(None),
        Ok(((APPLICATION_ID, _), _)) => Ok(Some("another build made it")),
        Ok(_) => Ok(Some("it is the database of another program")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            Ok(Some("it is no database"))
        }
        Err(error) if is_damage(&error) => Ok(Some("it is damaged")),
        Err(error) => Err(MemoryError::sqlite("opening")(error)),
    }
}

/// Renames a file and what SQLite keeps next to it. Nothing of others is written over, within a bound.
fn put_aside(path: &Path, why: &'static str) -> Result<Aside, MemoryError> {
    let named = |number: usize, ending: &str| with_ending(path, &format!(".aside-{number}{ending}"));
    let free = (1..ASIDE).find(|number| !named(*number, "").exists()).unwrap_or(ASIDE);
    let to = named(free, "");
    if to.is_dir() {
        fs::remove_dir_all(&to)?;
    }
    fs::rename(path, &to)?;
    for ending in ["-wal", "-shm", "-journal"] {
        match fs::rename(with_ending(path, ending), named(free, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(Aside { path: to, why })
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
