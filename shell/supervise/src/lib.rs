//! The supervisor of a command: a small process of its own, started from this same binary (contract:
//! tasks.md, Command tasks).
//!
//! ```text
//! runtime                         supervisor                        command
//!    │ starts, with a socket as stdin  │
//!    │◄────────────────────────── ready│  own session, adopts orphans, named socket
//!    │ … its identity becomes durable  │
//!    │ go ────────────────────────────►│ executes ─────────────────────►│
//!    │                                 │◄─ output, to its log ──────────│
//!    │ input ─────────────────────────►│ as the command takes it ──────►│
//!    │ stop (or the window is over) ──►│ SIGTERM, grace, SIGKILL ──────►│ and whoever it left
//!    │                                 │ exit record, durable
//!    │◄────────────────────────── ended│ ends
//! ```
//!
//! It executes nothing before `go`, so a start is never ambiguous: a runtime that vanishes earlier takes it
//! along. Once `go` was said it needs no runtime: it enforces the window, where there is one, reaps everything that the command
//! has started, wherever that moved to, and leaves a record which the next start of the runtime reads.
//!
//! Only runtimes of its home are listened to: a process of the same user that is not confined, and that has the key which
//! lies in its folder, where no confined command can read. What a command is given to read is thus on record.
//!
//! It is one thread without an async runtime, so that it is up in a millisecond or two. It decides nothing
//! that a plan does not say, and knows no credential: its environment is what the command sees.

mod capture;
mod child;
pub mod confine;
mod control;
mod digest;
mod ends;
mod helper;
mod input;
pub mod lease;
mod log;
pub mod log_files;
pub mod output_log;
mod phase;
pub mod protocol;
pub mod record;
mod run;
mod session;
mod signals;
mod stream;
mod tree;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub use capture::Kept;
pub use helper::{CANNOT_EXECUTE, Helper, SERVER_ENDS, SERVER_GRACE, server};
pub use log::INCOMPLETE;
#[cfg(test)]
use log::Log;

/// The hidden subcommand of a supervisor; its argument is the folder that it works in.
pub const SUPERVISE: &str = "__supervise";

/// Names inside the folder of a supervisor.
pub const SOCKET: &str = "socket";
/// What a runtime that comes later proves with that it is one: made by the one that starts the supervisor, for its eyes alone.
pub const KEY: &str = "key";
/// Made before the command is executed; then it says which process that became.
pub const STARTED: &str = "started";
pub const RECORD: &str = "exit.json";

/// This binary, whatever has become of the file that it was started from.
pub fn program() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Runs as a supervisor or as its helper if that is what the process was started for. Before anything else
/// is looked at: no command line is parsed, no setting read.
pub fn asked(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let subcommand = arguments.nth(1)?;
    if subcommand.as_encoded_bytes().starts_with(b"__") {
        signals::default_in_children();
    }
    if subcommand == OsStr::new(SUPERVISE) {
        let folder = arguments.next()?;
        return Some(session::supervise(Path::new(&folder)));
    }
    helper::asked(&subcommand, arguments)
}
