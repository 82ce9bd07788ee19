//! What can be wrong with a ledger: what happened, where, and what to do next.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use holon_facts::event::DecodeError;
use holon_facts::{AgentId, ContentId};
use rusqlite::{ErrorCode, ffi};
use rustix::io::Errno;

use crate::report::{Holders, Stall};
use crate::sql::SqlError;
#[cfg(feature = "postgres")]
use crate::sql::postgres::PostgresError;
use crate::store::StoreError;

/// Where in the ledger something is; as much of it as is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// As it is stored, which need not be an agent's name when the row is damaged.
    pub agent: Option<String>,
    pub event_seq: Option<i64>,
    /// Row of the flight recorder.
    pub call: Option<i64>,
    pub batch: Option<i64>,
}

impl Position {
    pub(crate) fn batch(batch: i64) -> Self {
        Self { batch: Some(batch), ..Self::default() }
    }

    pub(crate) fn event(agent: &str, event_seq: i64, batch: Option<i64>) -> Self {
        Self { agent: Some(agent.to_owned()), event_seq: Some(event_seq), call: None, batch }
    }

    pub(crate) fn call(call: i64, batch: Option<i64>) -> Self {
        Self { call: Some(call), batch, ..Self::default() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.agent.as_ref().map(|agent| format!("agent {agent}")));
        parts.extend(self.event_seq.map(|seq| format!("event {seq}")));
        parts.extend(self.call.map(|call| format!("call {call}")));
        parts.extend(self.batch.map(|batch| format!("batch {batch}")));
        if parts.is_empty() { f.write_str("the ledger as a whole") } else { f.write_str(&parts.join(", ")) }
    }
}

/// A ledger that can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("{path} can't be opened: {problem}; check that the folder exists and that this user may write to it",
        path = path.display())]
    Open { path: PathBuf, problem: String },
    #[error("{path} is not a ledger of Holon: {problem}; name another file, or another home. It was left alone",
        path = path.display())]
    NotALedger { path: PathBuf, problem: String },
    #[error("the ledger has schema version {found}, this build knows up to {known}; {by}")]
    NewerSchema { found: i64, known: i64, by: WrittenBy },
    #[error(
        "the ledger holds events of kind {kind} version {version}, which this build does not know: it is \
         read-only for this build; {by}, or look at it with `holon ledger export`"
    )]
    NewerEvents { kind: String, version: i64, by: WrittenBy },
    #[error("{at}: {source}; the ledger is read-only for this build, use a newer one")]
    Newer { at: Box<Position>, source: DecodeError },
    #[error(
        "the ledger is damaged at {at}: {problem}; nothing was skipped and nothing was changed. A backup may \
         hold it whole"
    )]
    Damaged { at: Box<Position>, problem: String },
    #[error(
        "the ledger {path} has lost something that was acknowledged: {problem}. Nothing was changed. Put a backup in \
         its place, or continue without the lost records: `holon ledger recover --accept-loss`",
        path = path.display()
    )]
    Lost { path: PathBuf, problem: String },
    #[error(
        "another runtime has opened this ledger for writing (epoch {found}, this one has {own}): this one ends"
    )]
    Fenced { own: i64, found: i64 },
    #[error("content {id} was erased: only its hash is left")]
    Erased { id: ContentId },
    #[error("the reserve {path} can't be kept: {problem}; stop and shutdown could not be written to a full disk",
        path = path.display())]
    Reserve { path: PathBuf, problem: String },
    #[error("more than {limit} batches are under way to the ledger")]
    Overrun { limit: usize },
    #[error("the ledger has no agent {agent}")]
    NoAgent { agent: String },
    #[error("the disk under the ledger is full; free space on it")]
    Full,
    #[error("the ledger is locked by {by}; it is free again when that process releases it, or ends")]
    Locked { by: Holders },
    #[error("the ledger failed while {doing}: {source}")]
    Sqlite { doing: &'static str, source: rusqlite::Error },
    /// Whether it was done is not known.
    #[error(
        "the database of the ledger gave no answer while {doing}: {problem}; see that it runs and can be reached"
    )]
    Away { doing: &'static str, problem: String },
    /// It was restored from a backup, failed over to a standby that was behind, or is another one.
    #[error(
        "the database {database} has lost something that was acknowledged: {problem}. Nothing was changed. Restore what is \
         newer{}", head.as_ref().map_or(String::new(), |head| format!(
            ", or go on without what is lost: remove {}", head.display()
        ))
    )]
    HistoryLost { database: String, problem: String, head: Option<PathBuf> },
    #[error("this node does not own the ledger any more: another one goes on with it")]
    NotOwner,
    #[error(
        "the ledger in {database} belongs to a cluster of nodes: start one with `holon serve`, or name another database"
    )]
    OfCluster { database: String },
    #[error("another runtime has the ledger in {database}: stop it, or name another database")]
    Held { database: String },
    #[error("the database {database} holds no ledger yet: start the runtime once, or check `store.url`")]
    NoCell { database: String },
    #[error("the database of the ledger refused {doing}: {problem}")]
    Refused { doing: &'static str, problem: String },
    #[error("the number {number} is beyond what the ledger stores")]
    Range { number: u64 },
    /// A mistake of this build.
    #[error("another batch was appended before it was known whether the last one is there")]
    Unsettled,
    #[error("the ledger's writer has ended")]
    WriterEnded,
    /// A mistake of the caller, or of this build.
    #[error("{what} can't be written as JSON: {source}")]
    Json { what: &'static str, source: serde_json::Error },
    #[error("{0} has records, but is not in memory")]
    NotInMemory(AgentId),
}

impl From<Stall> for LedgerError {
    fn from(stall: Stall) -> Self {
        match stall {
            Stall::Full => Self::Full,
            Stall::Locked { by } => Self::Locked { by },
            Stall::Away { problem } => Self::Away { doing: "writing", problem },
        }
    }
}

impl LedgerError {
    /// Whether another owner goes on with the ledger, or is to.
    pub fn is_of_another_owner(&self) -> bool {
        matches!(self, Self::NotOwner | Self::Fenced { .. })
    }
}

impl StoreError for LedgerError {
    fn is_absent(&self) -> bool {
        matches!(self, Self::NoAgent { .. })
    }

    fn is_temporary(&self) -> bool {
        matches!(self, Self::Locked { .. } | Self::Away { .. })
    }
}

/// Why a batch is not durable.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Nothing of the batch was written; the same batch may be appended again later.
    #[error("the disk under the ledger is full; free space on it")]
    Full,
    /// Another process holds a lock; the same.
    #[error("another process has the ledger locked")]
    Locked,
    /// The database gives no answer. Whether the batch was written is not known: appended again, alone, it is settled.
    #[error("the database of the ledger gives no answer: {0}")]
    Away(String),
    /// It is not known what was written. The ledger takes nothing more; the runtime ends.
    #[error("{0}")]
    Fatal(#[from] LedgerError),
}

/// The build that wrote a ledger last, as far as that can be read: it or a later one can read the whole of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenBy(pub Option<String>);

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(build) => write!(f, "{build} wrote it: use that one or a later one"),
            None => f.write_str("use a newer build"),
        }
    }
}

impl LedgerError {
    pub(crate) const EMPTY: &str = "it is empty";

    /// Whether it is a file that the next start makes a ledger of.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::NotALedger { problem, .. } if problem == Self::EMPTY)
    }

    /// Whether another build can use it, and this one can't.
    pub fn is_for_newer_builds(&self) -> bool {
        matches!(self, Self::NewerSchema { .. } | Self::NewerEvents { .. })
    }

    /// Whether one place can't be read, and others may.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Lost { .. } | Self::HistoryLost { .. } | Self::Newer { .. }
        )
    }

    /// Records that do not go on where the log of their agent ends.
    pub(crate) fn gap(agent: &str, expected: i64, got: i64) -> Self {
        let problem = format!("records do not continue the agent's log, which continues at {expected}");
        Self::damaged(Position::event(agent, got, None), problem)
    }

    pub(crate) fn damaged(at: Position, problem: impl fmt::Display) -> Self {
        Self::Damaged { at: Box::new(at), problem: problem.to_string() }
    }

    pub(crate) fn sqlite(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| {
            // The write that failed is the last thing that did on this thread.
            if is_full(&source, io::Error::last_os_error().raw_os_error()) {
                Self::Full
            } else if is_locked(&source) {
                Self::Locked { by: Holders::default() }
            } else {
                Self::Sqlite { doing, source }
            }
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(doing: &'static str) -> impl FnOnce(PostgresError) -> Self {
        move |source| match source {
            PostgresError::Unanswered(problem) => Self::Away { doing, problem },
            PostgresError::Refused(refusal) if refusal.is_full() => Self::Full,
            PostgresError::Refused(refusal) if refusal.lacks_rights() => {
                let needs = "its user needs CREATE in the first schema of its search path, and to read and write its tables";
                Self::Refused { doing, problem: format!("{refusal}; {needs}") }
            }
            PostgresError::Refused(refusal) => Self::Refused { doing, problem: refusal.to_string() },
        }
    }

    /// A statement that was not answered.
    pub(crate) fn database(doing: &'static str) -> impl FnOnce(SqlError) -> Self {
        move |source| match source {
            SqlError::Sqlite(source) => Self::sqlite(doing)(source),
            #[cfg(feature = "postgres")]
            SqlError::Postgres(source) => Self::postgres(doing)(source),
            SqlError::NoRow | SqlError::Column { .. } => Self::damaged(Position::default(), source),
        }
    }

    /// A row that SQLite can't give, or not in the shape that was written.
    pub(crate) fn unreadable(at: Position) -> impl FnOnce(SqlError) -> Self {
        move |source| {
            let source = match source {
                SqlError::Sqlite(source) => source,
                #[cfg(feature = "postgres")]
                SqlError::Postgres(source) => return Self::postgres("reading")(source),
                SqlError::NoRow | SqlError::Column { .. } => return Self::damaged(at, source),
            };
            let shape = matches!(
                &source,
                rusqlite::Error::FromSqlConversionFailure(..)
                    | rusqlite::Error::IntegralValueOutOfRange(..)
                    | rusqlite::Error::InvalidColumnType(..)
                    | rusqlite::Error::QueryReturnedNoRows
                    | rusqlite::Error::Utf8Error(..)
            );
            let file = source.sqlite_error_code();
            let damaged = shape || matches!(file, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
            if damaged { Self::damaged(at, source) } else { Self::sqlite("reading")(source) }
        }
    }
}

/// A ledger that can't be read, and why: the file is named whatever it is.
pub(crate) fn unreadable(path: &Path, error: &LedgerError) -> String {
    let (file, error) = (path.display().to_string(), error.to_string());
    if error.contains(&file) { error } else { format!("{file} can't be read: {error}") }
}

impl AppendError {
    pub(crate) fn sqlite(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| LedgerError::sqlite(doing)(source).full_or_fatal()
    }
}

impl LedgerError {
    pub(crate) fn full_or_fatal(self) -> AppendError {
        if matches!(self, Self::Locked { .. }) {
            return AppendError::Locked;
        }
        if matches!(self, Self::Full) { AppendError::Full } else { AppendError::Fatal(self) }
    }
}

/// Another process holds what this one needs: nothing was changed, and it may be tried again.
pub(crate) fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}

/// No space for the file, or for the shared index beside it, which holds no data; or the quota of its owner is used up. SQLite
/// knows no quota: it reports a write that failed, and `errno` why.
fn is_full(error: &rusqlite::Error, errno: Option<i32>) -> bool {
    error.sqlite_error().is_some_and(|error| {
        let quota = errno == Some(Errno::DQUOT.raw_os_error());
        error.code == ErrorCode::DiskFull
            || error.extended_code == ffi::SQLITE_IOERR_SHMSIZE
            || (error.extended_code == ffi::SQLITE_IOERR_WRITE && quota)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_that_is_used_up_is_a_full_disk_and_another_failed_write_is_none() {
        let failed = |extended| rusqlite::Error::SqliteFailure(ffi::Error::new(extended), None);
        let (quota, broken) = (Some(Errno::DQUOT.raw_os_error()), Some(Errno::IO.raw_os_error()));
        for (extended, errno, full) in [
            (ffi::SQLITE_FULL, None, true),
            (ffi::SQLITE_IOERR_SHMSIZE, None, true),
            (ffi::SQLITE_IOERR_WRITE, quota, true),
            (ffi::SQLITE_IOERR_WRITE, broken, false),
            (ffi::SQLITE_IOERR_WRITE, None, false),
            // What reached the disk is not known then.
            (ffi::SQLITE_IOERR_FSYNC, quota, false),
            (ffi::SQLITE_CORRUPT, quota, false),
        ] {
            assert_eq!(is_full(&failed(extended), errno), full, "{extended} {errno:?}");
        }
    }
}
