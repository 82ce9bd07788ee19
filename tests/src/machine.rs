//! Machines with a kernel that knows less than this one.

use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// A call that a kernel may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Landlock,
    Filters,
    /// Files of a process by its number, which service managers and containers keep from a process.
    FilesOfProcesses,
}

/// Runs something whose processes find a kernel without that: for this thread and whatever it starts, the call fails as
/// one that there isn't.
pub fn without<T: Send>(missing: Missing, run: impl FnOnce() -> T + Send) -> T {
    let call = match missing {
        Missing::Landlock => libc::SYS_landlock_create_ruleset,
        Missing::Filters => libc::SYS_seccomp,
        Missing::FilesOfProcesses => libc::SYS_pidfd_getfd,
    };
    thread::scope(|scope| {
        let inside = scope.spawn(move || {
            let processor = TargetArch::try_from(std::env::consts::ARCH).expect("a processor that is known");
            let there_is_none = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
            let calls = [(call, Vec::new())].into_iter().collect();
            let filter = SeccompFilter::new(calls, SeccompAction::Allow, there_is_none, processor);
            let program: BpfProgram = filter.and_then(TryInto::try_into).expect("a filter");
            seccompiler::apply_filter(&program).expect("this kernel has filters");
            run()
        });
        inside.join().expect("it ends")
    })
}
