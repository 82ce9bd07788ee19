//! JSON-RPC 2.0 over lines: editors and other agents speak it to this program, each protocol with methods of its own
//! (contract: protocols.md). Requests are answered at the same time, each once; what is read, waits or is written has a bound.

mod lines;
mod message;
mod serve;

pub use lines::{Line, Lines};
pub use message::{Error, Message, answer};
pub use serve::{Call, Gone, Peer, Service, serve};

/// Longest line, in bytes.
pub const LINE_BYTES: usize = 16 << 20;
