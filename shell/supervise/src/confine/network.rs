//! The network, by a seccomp filter: no sockets. Those of one machine are no exception, because whoever listens at one
//! may be told to do what the command can't. Pairs of connected sockets between processes that know each other stay.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{ConfineError, calls};

/// The kind of a socket among its flags.
const KIND: u64 = 0xf;

/// A program for another processor family that asks for anything at all is ended.
pub(super) fn hold_back() -> Result<(), ConfineError> {
    let pairs = pairs_for_others().map_err(seccompiler::Error::from)?;
    // A ring would be asked for sockets past the filter.
    calls::refuse([
        (libc::SYS_socket, Vec::new()),
        (libc::SYS_io_uring_setup, Vec::new()),
        (libc::SYS_socketpair, pairs),
    ])
}

/// Pairs whose ends can be connected to somebody else once more: all but streams and sequences between processes.
fn pairs_for_others() -> Result<Vec<SeccompRule>, BackendError> {
    let value = |number: libc::c_int| u64::from(number.unsigned_abs());
    let rule = |argument, operator, number| {
        SeccompRule::new(vec![SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Dword,
            operator,
            value(number),
        )?])
    };
    let kind = |kind| rule(1, SeccompCmpOp::MaskedEq(KIND), kind);
    Ok(vec![rule(0, SeccompCmpOp::Ne, libc::AF_UNIX)?, kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?])
}
