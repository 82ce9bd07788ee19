//! Ledgers in a database that speaks PostgreSQL's protocol: a cell is what a file is for SQLite, with the same rows, links
//! and sums. One process owns a cell at a time, by its epoch: each append is one statement that lands if the cell is where
//! its owner left it, and does nothing otherwise (contract: scale.md).
//!
//! | table | one row is |
//! | --- | --- |
//! | `cells` | a ledger: its epoch, and where it ends |
//! | `records`, `recorder`, `content`, `batches`, `snapshots`, `agents`, `kinds` | as in [`crate::rows`], with the cell that it belongs to |
//! | `schema_versions` | a version of these tables that the database has reached, and the oldest one whose builds may work on it |

mod append;
mod arrays;
mod cell_writer;
mod gc;
pub mod local;
mod loss;
pub mod node;
mod open;
mod schema;
mod states;
#[cfg(test)]
mod suite_tests;
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]
pub mod testing;
mod tip;

pub use crate::sql::postgres::{Server, UrlError};
pub use cell_writer::CellWriter;
pub use gc::collect;
pub(crate) use open::ANSWER;
pub use open::{Opened, check_end, open, read};
