//! The network, by a seccomp filter: no sockets. Those of one machine are no exception, because whoever listens at one
//! may be told to do what the command can't. Pairs of connected sockets between processes that know each other stay.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::ConfineError;

/// A second set of numbers for the same calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The kind of a socket among its flags.
const KIND: u64 = 0xf;

/// A program for another processor family that asks for anything at all is ended.
pub(super) fn hold_back() -> Result<(), ConfineError> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| ConfineError::Processor)?;
    let pairs = pairs_for_others().map_err(seccompiler::Error::from)?;
    // A ring would be asked for sockets past the filter.
    let calls = [
        (libc::SYS_socket, Vec::new()),
        (libc::SYS_io_uring_setup, Vec::new()),
        (libc::SYS_socketpair, pairs),
    ];
    #[cfg(target_arch = "x86_64")]
    let calls = calls.into_iter().flat_map(|(call, rules)| [(call, rules.clone()), (X32 | call, rules)]);
    let refused = calls.into_iter().collect::<BTreeMap<_, _>>();
    let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refusal, processor);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(seccompiler::Error::from)?;
    Ok(seccompiler::apply_filter(&program)?)
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
