//! Ways to end or to command somebody else that no file and no signal stands for: limits of another process, at which the
//! kernel ends it, and keys typed into a terminal.

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::{ConfineError, calls};

/// In the second set of numbers this call has one of its own.
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = 514;

pub(super) fn hold_back() -> Result<(), ConfineError> {
    let (limits, keys) = rules().map_err(seccompiler::Error::from)?;
    let refused = [(libc::SYS_prlimit64, limits), (libc::SYS_ioctl, keys.clone())];
    #[cfg(target_arch = "x86_64")]
    let refused = refused.into_iter().chain([(X32_IOCTL, keys)]);
    calls::refuse(refused)
}

/// New limits of anybody but the caller, and what terminals take for typed or pasted.
fn rules() -> Result<(Vec<SeccompRule>, Vec<SeccompRule>), BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    let limits = SeccompRule::new(vec![
        SeccompCondition::new(0, Dword, SeccompCmpOp::Ne, 0)?,
        SeccompCondition::new(2, Qword, SeccompCmpOp::Ne, 0)?,
    ])?;
    let key = |request: libc::Ioctl| {
        SeccompRule::new(vec![SeccompCondition::new(1, Dword, SeccompCmpOp::Eq, request)?])
    };
    Ok((vec![limits], vec![key(libc::TIOCSTI)?, key(libc::TIOCLINUX)?]))
}
