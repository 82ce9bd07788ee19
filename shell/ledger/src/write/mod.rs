//! Everything that writes a ledger, whatever stores it: a [`Writer`] hands batches to a thread that performs what the
//! [`crate::Queue`] says on a `Disk`. A [`Fork`] makes the batch of a new agent out of what another one has recorded.

mod disk;
mod fork;
#[cfg(any(test, feature = "testing"))]
mod paused_clock;
mod thread;
mod writer;

pub(crate) use disk::{Disk, attest};
pub use fork::{FORKED_RECORDS, Fork, ForkError, Forked, Past};
pub use writer::Writer;
