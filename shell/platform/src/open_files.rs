//! How many files a process may have open: a server takes what its connections need, and its commands get what the
//! server was given, since programs that wait with `select` break beyond 1,024.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections and what serves them.
pub const NEEDED: u64 = 5_000;
/// Connections, the ledger, commands and calls to models, with room to spare.
const WANTED: u64 = 16_384;

/// The soft limit before [`raise`].
static GIVEN: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit to what a server needs, or as far as the hard one goes; says what it is now, none where
/// there is no limit.
///
/// # Errors
/// When the kernel refuses.
pub fn raise() -> io::Result<Option<u64>> {
    let limit = getrlimit(Resource::Nofile);
    let Some(given) = limit.current else { return Ok(None) };
    let wanted = WANTED.min(limit.maximum.unwrap_or(WANTED));
    if wanted <= given {
        return Ok(Some(given));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit })?;
    GIVEN.get_or_init(|| given);
    Ok(Some(wanted))
}

/// What this process was given before it took more; none when it did not.
pub fn given() -> Option<u64> {
    GIVEN.get().copied()
}

/// Sets the soft limit of this process, and of those that it starts.
///
/// # Errors
/// When the kernel refuses.
pub fn lower(current: u64) -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit })?)
}
