//! Everything that lasts, in one SQLite file: records, the flight recorder, texts by hash, snapshots, and one
//! small row per agent.
//!
//! One thread writes ([`Writer`] around a [`Ledger`]), in batches of many steps, each batch one transaction
//! with a hash link to the one before. Everybody else reads through a [`Reader`], on a connection that can't
//! write. Nothing is acknowledged before its transaction is committed, and nothing after a failed write: only
//! a restart can tell what the disk holds then. This module decides nothing about agents; it knows their
//! records as facts with a name, a version and a payload.
//!
//! | table | one row is | written |
//! | --- | --- | --- |
//! | `records` | a fact: `position` over all agents, `(agent, event_seq)` within one, its payload, its `sum`; two indexes find runs, admissions and briefs | once |
//! | `recorder` | a call of the host, in the order of the calls | once |
//! | `content` | a text of more than 256 bytes, by its hash | once; an erased text is null |
//! | `batches` | a transaction: which rows of the tables above it brought, and its `link` | once |
//! | `snapshots` | an agent's state at one event, compressed; the newest two are kept | and removed |
//! | `agents` | what a start has to know of an agent before it loads it | updated |
//! | `kinds` | the newest version of each kind of event that was ever written | updated |
//! | `meta` | `schema_version`, `writer_epoch` | updated |
//!
//! Beside it stands its head, which names the last batch that was acknowledged: a start compares.

mod append;
mod batch;
mod batch_writer;
mod content;
mod copy;
mod export;
mod fork;
#[cfg(test)]
mod fuzz_tests;
mod gc;
mod head;
mod history;
mod import;
mod landmarks;
mod left;
mod link;
mod lock;
mod locked;
#[cfg(test)]
mod losses;
mod of_kinds;
mod open;
mod overall;
mod packed;
mod past;
mod read;
mod recorded;
mod recover;
mod replay;
mod reserve;
mod restore;
mod row;
mod schema;
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

/// Rows of a ledger and what writes them, whatever stores them.
#[cfg(feature = "postgres")]
pub(crate) mod rows {
    pub(crate) use super::append::attest;
    pub(crate) use super::batch::Batch;
    pub(crate) use super::batch_writer::{SNAPSHOTS, STRETCH, count};
    #[cfg(feature = "postgres")]
    pub(crate) use super::gc::PAGE;
    pub(crate) use super::head::HeadFile;
    pub(crate) use super::link::{BatchRow, Ends, Link, newest};
    pub(crate) use super::packed::Packed;
    #[cfg(test)]
    pub(crate) use super::recorded::each_call;
    pub(crate) use super::row::{call_hash, stored, sum};
    pub(crate) use super::thread::Disk;
    pub(crate) use super::whole::HeadOnly;
}

pub use append::{Ledger, Opened};
pub use batch::{Batch, EncodedCall};
pub use content::text_reader;
#[cfg(feature = "postgres")]
pub(crate) use copy::copied;
pub use copy::{Copied, check as check_copy, copy, put_in_place};
pub use export::{ExportError, export, export_recorder};
pub use fork::{FORKED_RECORDS, Fork, ForkError, Forked, Past};
pub use gc::{Garbage, OldTexts, Plan, collect, plan};
pub use head::Head;
pub use history::{Beginning, ListedAgent, Listing, Wanted};
pub use import::{ImportError, import, import_with_texts};
pub use landmarks::Landmark;
pub use lock::{HomeLock, LockError};
pub use overall::{LedgerSeq, Located, Overall, Stretch};
pub use packed::Packed;
pub use past::{PAST_RECORDS, PastError, PastRuntime, PastState};
pub use read::{Reader, Stopper};
pub use recover::{Loss, RecordCheck, RecoverError, Recovered, examine, recover};
pub use replay::{ReplayFailure, replay, replay_under};
pub use reserve::{RESERVE_BYTES, reserve_problem};
pub use restore::Records;
pub use schema::SCHEMA_VERSION;
pub use verify::{VerifyError, VerifyReport, verify};
pub use verify_newest::{NewestReport, verify_newest};
pub use whole::check_end;
pub use writer::Writer;

/// Name of the ledger within a home.
pub const FILE_NAME: &str = "ledger.sqlite3";
