//! The versions of the tables: which columns a ledger of an older build lacks.

use std::collections::BTreeMap;

use holon_facts::Event;
use serde::Deserialize;

use crate::error::{LedgerError, WrittenBy};
use crate::sql::Source;

/// The newest layout of tables that this build knows.
pub const SCHEMA_VERSION: i64 = 8;

/// The columns of a row of `agents`, with what stands for those that a ledger of an older build lacks. A start reads every
/// row and needs none of those for lists.
pub(crate) fn agent_columns(source: Source<'_>, for_lists: bool) -> Result<String, LedgerError> {
    let version = version(source)?;
    let since = |first: i64, column, instead| if version < first { instead } else { column };
    Ok(format!(
        "agent, event_seq, status, next_deadline, open_work, {}, {}, {}, {}, {}",
        since(CHILDREN, "private", "0 AS private"),
        since(CHILDREN, "archived", "0 AS archived"),
        if for_lists { since(STANDING, "standing", "NULL") } else { "NULL" },
        if for_lists { since(ACCOUNTS, "account", "NULL") } else { "NULL" },
        since(NAMES, "name", "NULL"),
    ))
}

/// The first version that finds runs and admissions by an index.
pub(crate) const LANDMARKS: i64 = 2;

/// The first version that knows second names.
pub(crate) const NAMES: i64 = 8;

/// The first version that says how agents stand.
pub(crate) const STANDING: i64 = 7;

/// The first version that compresses states.
pub(crate) const PACKED: i64 = 6;

/// The first version that says so.
pub(crate) const CHILDREN: i64 = 5;

/// The first version that keeps accounts.
pub(crate) const ACCOUNTS: i64 = 4;

/// Schema version of an open file; zero when it is empty.
pub(crate) fn version(source: Source<'_>) -> Result<i64, LedgerError> {
    match source {
        Source::Sqlite(connection) => connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(LedgerError::sqlite("reading the schema version")),
        // Its tables have every column from the beginning.
        #[cfg(feature = "postgres")]
        Source::Postgres(_) => Ok(SCHEMA_VERSION),
    }
}

/// What is wrong with a ledger whose schema this build does not know.
pub(crate) fn newer(source: Source<'_>, found: i64) -> LedgerError {
    LedgerError::NewerSchema { found, known: SCHEMA_VERSION, by: written_by(source) }
}

/// The newest version of each kind of event that was ever written.
pub(crate) fn kinds(source: Source<'_>) -> Result<BTreeMap<String, i64>, LedgerError> {
    let kinds = source.all("SELECT kind, v FROM kinds", &[], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(kinds.map_err(LedgerError::database("reading the kinds"))?.into_iter().collect())
}

/// Refuses events that this build does not know.
pub(crate) fn check_kinds(source: Source<'_>) -> Result<(), LedgerError> {
    for (kind, version) in kinds(source)? {
        if !Event::kinds().any(|(known, up_to)| known == kind && i64::from(up_to) >= version) {
            return Err(LedgerError::NewerEvents { kind, version, by: written_by(source) });
        }
    }
    Ok(())
}

/// The build of the newest start of a runtime, if that can be read.
pub(crate) fn written_by(source: Source<'_>) -> WrittenBy {
    #[derive(Deserialize)]
    struct Started {
        build: String,
    }
    let sql = "SELECT call FROM recorder WHERE call LIKE '{\"call\":\"runtime_started\"%' ORDER BY position DESC LIMIT 1";
    let call = source.first(sql, &[], |row| row.get::<String>(0));
    let started = call.ok().flatten().and_then(|call| serde_json::from_str::<Started>(&call).ok());
    WrittenBy(started.map(|started| started.build))
}
