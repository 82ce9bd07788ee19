//! What decides in the loop around the core: when it steps, how far it may be ahead of the disk, what a full disk keeps
//! out and who is notified so, whose effects leave when, which agents are brought in and let go, and when their states are
//! stored. An [`Engine`] waits for nothing, reads no clock and performs nothing. The runtime runs it in real time with
//! SQLite; the simulator runs the same one in virtual time.
//!
//! ```text
//! input ──► admits? ──► ask / step ──► batch ──► LedgerWriter
//!                                                    │ Message
//!           effects ◄── release, until there is none ◄┘ report
//! ```

mod engine;
mod error;
mod invariants;
mod run_clock;
mod stored;

pub use engine::{Admits, Commands, Engine, Loaded, NoAnswer, Parts, Wanted, Whose};
pub use error::{Damage, DiskFull, EngineError, LoadError};
pub use invariants::InvariantCheck;
