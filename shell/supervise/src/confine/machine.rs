//! Calls that are about the machine as a whole, or about secrets that the kernel keeps for a user: no file stands for them,
//! so no rule about files holds them back. Most of them are root's, as which runtimes in containers run. Nothing that
//! builds or tests a program asks for one.

/// Refused with whatever arguments.
pub(super) const CALLS: &[libc::c_long] = &[
    // Keys of the user and of its session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Programs within the kernel, which see every process.
    libc::SYS_bpf,
    // Faults of a process that another one answers: of use for attacks on the kernel.
    libc::SYS_userfaultfd,
    // Files by their numbers, past the names that rules are about; and whatever others open.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // What all processes share: the clock, names, memory on disk, accounting.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
];
