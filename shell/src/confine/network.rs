//! The network, by a seccomp filter: no sockets. Those of one machine are no exception, because whoever listens at one
//! may be told to do what the command can't. Pairs of sockets between processes that know each other stay.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::ConfineError;

/// A second set of numbers for the same calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// A program for another processor family that asks for anything at all is ended.
pub(super) fn hold_back() -> Result<(), ConfineError> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| ConfineError::Processor)?;
    // A ring would be asked for sockets past the filter.
    let calls = [libc::SYS_socket, libc::SYS_io_uring_setup];
    #[cfg(target_arch = "x86_64")]
    let calls = calls.into_iter().flat_map(|call| [call, X32 | call]);
    let refused = calls.into_iter().map(|call| (call, Vec::new())).collect::<BTreeMap<_, _>>();
    let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refusal, processor);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(seccompiler::Error::from)?;
    Ok(seccompiler::apply_filter(&program)?)
}
