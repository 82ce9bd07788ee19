//! What a ledger is to the driver, whatever stores it: [`LedgerWriter`] takes what was decided, [`LedgerReader`] gives it
//! back, and a [`Queue`] decides what a writer does next: which batches become durable together, how long a full disk
//! is waited for, who may use the room that is held back, and what is put off until nobody writes.
//!
//! The queue waits for nothing and touches no disk. A thread performs what it says on a store; the simulator performs it in
//! virtual time, on a disk that crashes, fills up and lies.
//!
//! Modules, the lowest first: each knows only those in rows before its own.
//!
//! | module | what it is |
//! | --- | --- |
//! | `load`, `report`, `store`, `quiet`, `queue`, `permit` | the traits, what a writer does next, whether effects may begin |
//! | `sql` | connections to SQLite and PostgreSQL, and rows as either gives them |
//! | `error`, `durability` | what can be wrong with a ledger, and what an acknowledgement promises |
//! | `rows` | records, calls, texts, batches, hash links, stored states, the head, the versions of the tables |
//! | `read` | everything that only reads, whatever stores the rows |
//! | `write` | the writer, its thread, and the trait of what the thread writes to |
//! | `sqlite`, `postgres` | what only a file has, and what only a cell of a database has; neither knows the other |
//! | `transfer` | a ledger on its way between a file and a cell |
//! | `place` | the choice between the stores |

#[cfg(feature = "sqlite")]
mod durability;
#[cfg(feature = "sqlite")]
pub mod error;
mod load;
#[cfg(feature = "sqlite")]
mod permit;
#[cfg(feature = "sqlite")]
mod place;
#[cfg(feature = "postgres")]
pub mod postgres;
mod queue;
mod quiet;
#[cfg(feature = "sqlite")]
pub mod read;
mod report;
#[cfg(feature = "sqlite")]
pub mod rows;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store;
#[cfg(any(test, feature = "suite"))]
#[expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]
pub mod suite;
#[cfg(feature = "postgres")]
pub mod transfer;
#[cfg(feature = "sqlite")]
pub mod write;

#[cfg(feature = "sqlite")]
pub use durability::Durability;
pub use load::Load;
#[cfg(feature = "sqlite")]
pub use permit::Permit;
#[cfg(feature = "sqlite")]
pub use place::{LedgerPlace, Opened, Store, unreadable};
pub use queue::{AppendError, Queue, Reserve, Turn};
pub use quiet::Tidied;
pub use report::{Holders, Message, Report, Stall};
pub use store::{AgentRow, Batch, LedgerReader, LedgerWriter, Restored, State, StoreError};
