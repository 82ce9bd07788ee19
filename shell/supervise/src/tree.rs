//! Everything that a command has started, wherever it moved to: a subreaper adopts what its parents leave.
//!
//! Until they are reaped, which only this thread does, the ids of direct children are theirs, and so is that of
//! the command's group as long as it has a member. Whoever is further down is held by a handle and looked at
//! again before it is signalled, since an id may be given away at any moment; and comes up when its parent ends.

use std::collections::BTreeSet;

use holon_platform::process::{self, Stat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait};

use super::ends::Ends;

pub(super) struct Tree {
    main: Pid,
    /// How the command itself ended, once it has.
    pub(super) status: Option<i32>,
    /// Nobody is left.
    pub(super) empty: bool,
    /// None where nothing more could be opened: then they are looked for again and again.
    ends: Option<Ends>,
    /// Signalled to everybody so far, and to whoever comes up later.
    asked: Option<Signal>,
    /// Those who have been signalled: a second signal means something else to some programs.
    signalled: BTreeSet<(u32, u64)>,
}

impl Tree {
    pub(super) fn of(main: Pid) -> Self {
        let ends = Ends::listen().ok();
        Self { main, status: None, empty: false, ends, asked: None, signalled: BTreeSet::new() }
    }

    /// Becomes readable when somebody has ended.
    pub(super) fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// Takes note of everybody who has ended.
    pub(super) fn reap(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.clear();
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid == self.main {
                        self.status = Some(code(status));
                    }
                }
                Ok(None) => return,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.empty = true;
                    return;
                }
            }
        }
    }

    /// Whoever has come up since everybody was signalled is signalled, too.
    pub(super) fn signal_newcomers(&mut self) {
        let Some(signal) = self.asked.filter(|_| !self.empty && self.status.is_some()) else { return };
        for child in children() {
            if self.signalled.insert((child.pid, child.started))
                && let Some(pid) = process::pid(child.pid)
            {
                kill_process(pid, signal).ok();
            }
        }
    }

    /// Signals the command's process group at once, and everybody who has left it.
    pub(super) fn signal(&mut self, signal: Signal) {
        self.asked = Some(signal);
        let everybody = process::descendants(std::process::id());
        self.signalled = everybody.iter().map(|stat| (stat.pid, stat.started)).collect();
        let group = self.main.as_raw_nonzero().get().unsigned_abs();
        // Without a member that we know, the number of the group may be somebody else's by now.
        let has_members = self.status.is_none() || everybody.iter().any(|stat| stat.group == group);
        for signal in [Some(signal), (signal == Signal::TERM).then_some(Signal::CONT)].into_iter().flatten() {
            // Whoever is stopped could not obey.
            if has_members {
                kill_process_group(self.main, signal).ok();
            }
            for stat in everybody.iter().filter(|stat| stat.group != group && !stat.ended) {
                process::signal(stat, signal);
            }
        }
    }
}

fn children() -> Vec<Stat> {
    let own = std::process::id();
    process::all().into_iter().filter(|stat| stat.parent == own).collect()
}

fn code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
