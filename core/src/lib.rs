//! The behaviour of Holon as one deterministic state machine without I/O.
//!
//! ```text
//! Input ──► Host::step(now, input) ──► Step { records, effects }
//!                                         │ records
//!                                         ▼
//!                                   a ledger appends them
//!                                         │ Durable
//!                                         ▼
//!                               step.release(durable) ──► effects ──► performers ──► Input …
//! ```
//!
//! A driver calls [`Host::admit`] for each agent that it restores, [`Host::recover`] once for each of them,
//! then [`Host::step`] for every input, and again when [`Host::next_deadline`] is due or [`Step::more`] says
//! so. It appends [`Step::records`] with the texts that [`Step::contents`] names, in the order of the steps,
//! and trades the ledger's [`Durable`] for the effects. Nothing else changes state: `apply` is the only
//! writer, and state is the fold of the records.
//!
//! This crate knows no clock, no randomness, no file, no socket, no thread and no async. Time is a parameter,
//! ids come from counters, jitter is a hash, text is named by its hash.

#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;
#[macro_use]
extern crate holon_omit;
#[cfg(test)]
extern crate std;

pub mod accounts;
pub mod agent;
pub mod closure;
pub mod continuation;
pub mod effect;
pub mod grants;
pub(crate) mod handler;
pub mod host;
pub mod input;
pub mod latency;
#[cfg(test)]
mod law_tests;
pub(crate) mod names;
pub(crate) mod occupancy;
pub(crate) mod operation;
pub mod prompt;
pub mod record;
pub mod recovery;
pub mod replay;
pub mod retry;
pub mod scheduler;
pub mod snapshot;
pub mod summary;
#[cfg(test)]
pub(crate) mod testing;
pub mod tool;
pub mod transcript;
pub mod turns;
pub(crate) mod tx;
pub mod view;

pub use effect::{Answer, Effect};
pub use host::Host;
pub use input::Input;
pub use record::{Durable, Step};
