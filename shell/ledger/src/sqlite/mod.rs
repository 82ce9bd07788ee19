//! Everything that lasts, in one SQLite file: records, the flight recorder, texts by hash, snapshots, and one
//! small row per agent.
//!
//! One thread writes ([`Writer`] around a [`Ledger`]), in batches of many steps, each batch one transaction
//! with a hash link to the one before. Everybody else reads through a [`Reader`], on a connection that can't
//! write. Nothing is acknowledged before its transaction is committed, and nothing after a failed write: only
//! a restart can tell what the disk holds then. This module decides nothing about agents; it knows their
//! records as facts with a name, a version and a payload.
//!
//! Its tables are those of [`crate::rows`], and `meta` with the `schema_version` and the `writer_epoch`.
//!
//! Beside it stands its head, which names the last batch that was acknowledged: a start compares.

mod append;
mod batch_writer;
mod content;
mod copy;
mod export;
mod fork;
#[cfg(test)]
mod fuzz_tests;
mod gc;
mod history;
mod import;
mod landmarks;
mod left;
mod lock;
mod locked;
#[cfg(test)]
mod losses;
mod migrations;
mod of_kinds;
mod open;
mod overall;
mod past;
mod read;
mod recorded;
mod recover;
mod replay;
mod reserve;
mod restore;
#[cfg(any(test, feature = "testing"))]
mod stand_still;
#[cfg(test)]
mod suite_tests;
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, reason = "only tests use it")]
pub mod testing;
mod thread;
mod tidy;
mod verify;
mod verify_newest;
mod wal;
mod whole;
mod writer;

/// What PostgreSQL's side still takes from here.
#[cfg(feature = "postgres")]
pub(crate) mod rows {
    pub(crate) use super::append::attest;
    pub(crate) use super::gc::PAGE;
    #[cfg(test)]
    pub(crate) use super::recorded::each_call;
    pub(crate) use super::thread::Disk;
    pub(crate) use super::whole::HeadOnly;
}

pub use append::{Ledger, Opened};
pub use content::text_reader;
#[cfg(feature = "postgres")]
pub(crate) use copy::copied;
pub use copy::{Copied, check as check_copy, copy, put_in_place};
pub use export::{ExportError, export, export_recorder};
pub use fork::{FORKED_RECORDS, Fork, ForkError, Forked, Past};
pub use gc::{Garbage, OldTexts, Plan, collect, plan};
pub use history::{Beginning, ListedAgent, Listing, Wanted};
pub use import::{ImportError, import, import_with_texts};
pub use landmarks::Landmark;
pub use lock::{HomeLock, LockError};
pub use overall::{LedgerSeq, Located, Overall, Stretch};
pub use past::{PAST_RECORDS, PastError, PastRuntime, PastState};
pub use read::{Reader, Stopper};
pub use recover::{Loss, RecordCheck, RecoverError, Recovered, examine, recover};
pub use replay::{ReplayFailure, replay, replay_under};
pub use reserve::{RESERVE_BYTES, reserve_problem};
pub use restore::Records;
pub use verify::{VerifyError, VerifyReport, verify};
pub use verify_newest::{NewestReport, verify_newest};
pub use whole::check_end;
pub use writer::Writer;

/// Name of the ledger within a home.
pub const FILE_NAME: &str = "ledger.sqlite3";
