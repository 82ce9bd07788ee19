//! Calls of the kernel that a thread, and whatever it starts, is refused: a seccomp filter.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use super::ConfineError;

/// A second set of numbers for the same calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Each with the rules of which one must hold; without rules always. A program for another processor family that asks
/// for anything at all is ended.
pub(super) fn refuse(calls: impl IntoIterator<Item = (i64, Vec<SeccompRule>)>) -> Result<(), ConfineError> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(|_| ConfineError::Processor)?;
    #[cfg(target_arch = "x86_64")]
    let calls = calls.into_iter().flat_map(|(call, rules)| [(call, rules.clone()), (X32 | call, rules)]);
    let refused = calls.into_iter().collect::<BTreeMap<_, _>>();
    let refusal = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refusal, processor);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(seccompiler::Error::from)?;
    Ok(seccompiler::apply_filter(&program)?)
}
