//! The network, by a seccomp filter: no sockets, or those for addresses of the Internet Protocol alone. Sockets between
//! programs of this machine are no exception: whoever listens at one may be told to do what the command can't. Pairs of
//! connected sockets between processes that know each other stay.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{ConfineError, Network, calls};

/// The kind of a socket among its flags.
const KIND: u64 = 0xf;

/// A program for another processor family that asks for anything at all is ended.
pub(super) fn hold_back(network: Network) -> Result<(), ConfineError> {
    let sockets = match network {
        Network::On => return Ok(()),
        Network::Internet => elsewhere().map_err(seccompiler::Error::from)?,
        Network::Off => Vec::new(),
    };
    let pairs = pairs_for_others().map_err(seccompiler::Error::from)?;
    // A ring would be asked for sockets past the filter.
    calls::refuse([
        (libc::SYS_socket, sockets),
        (libc::SYS_io_uring_setup, Vec::new()),
        (libc::SYS_socketpair, pairs),
    ])
}

fn is(argument: u8, operator: SeccompCmpOp, number: libc::c_int) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(number.unsigned_abs()))
}

/// Sockets for anything but addresses of the Internet Protocol. Names are looked up with the help of the kernel's list of
/// this machine's addresses; what else the kernel answers is not asked for.
fn elsewhere() -> Result<Vec<SeccompRule>, BackendError> {
    let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let others: Result<_, _> = families.iter().map(|family| is(0, SeccompCmpOp::Ne, *family)).collect();
    let more_than_addresses =
        vec![is(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?, is(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?];
    Ok(vec![SeccompRule::new(others?)?, SeccompRule::new(more_than_addresses)?])
}

/// Pairs whose ends can be connected to somebody else once more: all but streams and sequences between processes.
fn pairs_for_others() -> Result<Vec<SeccompRule>, BackendError> {
    let kind = |kind| SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(KIND), kind)?]);
    let family = SeccompRule::new(vec![is(0, SeccompCmpOp::Ne, libc::AF_UNIX)?])?;
    Ok(vec![family, kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?])
}
