//! Which node owns which cells of one database, as a machine without I/O: no clock, no socket, no thread. A runtime, the
//! simulator and the explorer of small worlds drive the same [`Ownership`].
//!
//! ```text
//! answers of the database ─┐                                 ┌─► Query: statements, each answered once
//! batches of hosts         ├─► Ownership::step(now, input) ──┼─► TakeOver, Serve, Durable, DropCell: for hosts
//! time, operators         ─┘                                 └─► Effects, HoldEffects: for whatever begins effects
//! ```
//!
//! A node is one start of a process. It has one lease, which it renews; a node that is late is *buried*, for good, before
//! anybody claims its cells, and its process goes on as another node. A cell has an epoch, which each claim raises, and a
//! head: the number and the link of its last batch.
//!
//! What holds, and what carries it:
//!
//! - **No batch of an old owner is written**: an append names the epoch and the head that it follows. The first batch of a
//!   new owner moves the head, so either of the two is enough. No clock is involved.
//! - **A batch is in the log once**, and nothing is written that its owner has given up: an unknown outcome is settled by the
//!   row of the cell, under its lock, and then by the same batch again, never by a new decision.
//! - **No effect begins while another node may own the cell**: [`Ownership::effects_until`] is counted from before the
//!   renewal was sent, less a margin for clocks that run at another rate. Whoever begins an effect compares it with the
//!   clock right before.
//! - **A claim compares no times**: a renewal may be on its way for longer than its lease. It meets the burial at the row
//!   of its node, and one of the two is refused.
//! - **A database that lost commits is noticed**: a head behind the one that this node remembers stops the cell.
//!
//! How to drive it:
//!
//! 1. [`Ownership::new`], then a step with [`Input::Tick`]: the first ask registers the node.
//! 2. Do what each step returns, in its order. Each [`Ask::Query`] comes back as [`Input::Answer`] or [`Input::NoAnswer`] with
//!    its id, unless [`Ask::Abandon`] came before.
//! 3. Step with [`Input::Tick`] by [`Ownership::next_deadline`].
//! 4. On [`Ask::TakeOver`] load the host and give its first batch by [`Input::Append`]; on [`Ask::Serve`] take requests.
//! 5. On [`Ask::Durable`] release what waits for the batch.
//!
//! Every queue and every wait has a limit in [`Terms`].

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod ask;
mod asked;
mod cell;
mod chain;
mod ids;
mod input;
mod lease;
mod memory;
mod ownership;
mod share;
mod terms;
mod time;

pub use ask::{Ask, AskId, Dropped, Part, Refusal, Slot, Statement, Stopped};
pub use ids::{Acceptance, BatchNumber, CellId, Epoch, Head, Label, Link, NodeId};
pub use input::{Answer, CellRow, Claimed, Input, NodeRow, Poll};
pub use ownership::{Ownership, Standing};
pub use terms::{BadTerms, Terms};
pub use time::{Mono, Span, Wall};
