//! A ledger in one SQLite file: opened, written, copied, compacted, compared with what was acknowledged, and recovered.
//!
//! One thread writes ([`Writer`](crate::write::Writer) around a [`Ledger`]), in batches of many steps, each batch one
//! transaction with a hash link to the one before. Everybody else reads through a [`Reader`](crate::read::Reader), on a
//! connection that can't write. Nothing is acknowledged before its transaction is committed, and nothing after a failed
//! write: only a restart can tell what the disk holds then. This module decides nothing about agents; it knows their records
//! as facts with a name, a version and a payload.
//!
//! Its tables are those of [`crate::rows`], and `meta` with the `schema_version` and the `writer_epoch`.
//!
//! Beside it stands its head, which names the last batch that was acknowledged: a start compares.

mod append;
mod batch_writer;
mod copy;
#[cfg(test)]
mod fuzz_tests;
mod gc;
mod import;
mod lock;
mod locked;
mod loss;
#[cfg(test)]
mod loss_tests;
mod migrations;
mod open;
mod reader;
mod recover;
mod reserve;
#[cfg(test)]
mod suite_tests;
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, reason = "only tests use it")]
pub mod testing;
mod tidy;
mod wal;
mod writer;

pub use append::{Ledger, Opened};
#[cfg(feature = "postgres")]
pub(crate) use copy::copied;
pub use copy::{Copied, check as check_copy, copy, put_in_place};
pub use gc::collect;
pub use import::{ImportError, import, import_with_texts};
pub use lock::{HomeLock, LockError};
pub use loss::check_end;
pub use recover::{Loss, RecordCheck, RecoverError, Recovered, examine, recover};
pub use reserve::{RESERVE_BYTES, reserve_problem};

/// Name of the ledger within a home.
pub const FILE_NAME: &str = "ledger.sqlite3";
