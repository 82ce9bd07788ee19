//! Commands begin with the default dispositions of signals, whatever the runtime inherited: one that was started by
//! `nohup`, or in the background of a script, ignores signals by which a command is to be ended. What a process handles
//! goes back to the default when it executes another program; what it ignores does not.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
    SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::flag;

/// Those that can be ignored, and that mean something to a command. The standard library sees to `SIGPIPE`.
const SIGNALS: [i32; 19] = [
    SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
    SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
];

/// Handles what this process ignores, by doing nothing.
pub(super) fn default_in_children() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    for signal in SIGNALS.into_iter().filter(|signal| ignored & (1 << (signal - 1)) != 0) {
        // One that can't be handled stays ignored: the command is executed all the same.
        let _unhandled = flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}
