//! Ways to end, to command or to watch somebody else that no file and no signal stands for: limits of another process, at
//! which the kernel ends it, keys typed into a terminal, and measurements of all processes at once. The machine as a whole
//! is [`machine`]'s.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{ConfineError, calls, machine};

/// In the second set of numbers this call has one of its own.
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = 514;

/// `PERF_FLAG_PID_CGROUP` of Linux: what stands for a process is a control group.
const OF_A_GROUP: u64 = 1 << 2;
/// Minus one, as it stands in an argument.
const NO_PROCESS: u64 = 0xffff_ffff;

pub(super) fn hold_back() -> Result<(), ConfineError> {
    let Rules { limits, keys, everybody } = rules().map_err(seccompiler::Error::from)?;
    let refused = [
        (libc::SYS_prlimit64, limits),
        (libc::SYS_ioctl, keys.clone()),
        (libc::SYS_perf_event_open, everybody),
    ];
    let refused = refused.into_iter().chain(machine::CALLS.iter().map(|call| (*call, Vec::new())));
    #[cfg(target_arch = "x86_64")]
    let refused = refused.chain([(X32_IOCTL, keys)]);
    calls::refuse(refused)
}

struct Rules {
    /// New limits of anybody but the caller.
    limits: Vec<SeccompRule>,
    /// What terminals take for typed or pasted.
    keys: Vec<SeccompRule>,
    /// Measurements of whoever runs on a processor, or in a group: what one process does the kernel shows to those alone
    /// who may look into it.
    everybody: Vec<SeccompRule>,
}

fn rules() -> Result<Rules, BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    let limits = SeccompRule::new(vec![
        SeccompCondition::new(0, Dword, SeccompCmpOp::Ne, 0)?,
        SeccompCondition::new(2, Qword, SeccompCmpOp::Ne, 0)?,
    ])?;
    let key = |request: libc::Ioctl| {
        SeccompRule::new(vec![SeccompCondition::new(1, Dword, SeccompCmpOp::Eq, number(request))?])
    };
    let no_process = SeccompRule::new(vec![SeccompCondition::new(1, Dword, SeccompCmpOp::Eq, NO_PROCESS)?])?;
    let group = SeccompRule::new(vec![SeccompCondition::new(
        4,
        Qword,
        SeccompCmpOp::MaskedEq(OF_A_GROUP),
        OF_A_GROUP,
    )?])?;
    Ok(Rules {
        limits: vec![limits],
        keys: vec![key(libc::TIOCSTI)?, key(libc::TIOCLINUX)?],
        everybody: vec![no_process, group],
    })
}

/// A request as it stands in an argument; its type is another one in each library.
fn number(request: impl TryInto<u64>) -> u64 {
    request.try_into().unwrap_or(u64::MAX)
}
