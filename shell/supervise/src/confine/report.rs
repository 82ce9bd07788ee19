//! What the running kernel really holds back, in words that claim no more.

use std::sync::OnceLock;
use std::thread;

use holon_facts::execution::{Enforcement, ExecutionPolicy};
use rustix::process::geteuid;

use super::{Network, Policy, calls_can_be_refused, network, peer, writes};

/// The first version of Landlock that holds back the truncation of files by their names.
const TRUNCATE: u32 = 3;
/// The first one that holds back requests to devices.
const DEVICES: u32 = 5;
/// The first one that holds back signals, and sockets without a file.
const SCOPES: u32 = 6;
/// The first one that holds back connections to sockets with a name elsewhere.
const SOCKETS: u32 = 9;

/// Found out by trying it, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The version of Landlock that is used; 0 where writes aren't held back.
    pub landlock: u32,
    /// Whether sockets can be held back.
    pub sockets: bool,
}

impl Report {
    pub fn of_this_kernel() -> Self {
        static FOUND: OnceLock<Report> = OnceLock::new();
        *FOUND.get_or_init(|| Self {
            landlock: tried(|| writes::hold_back(&[], writes::Neighbours::Spared, None).ok())
                .map_or(0, |version| version as u32),
            sockets: tried(|| network::hold_back(Network::Off).ok()).is_some(),
        })
    }

    /// Whether a command with a network reaches servers at sockets whose files lie where it can't write.
    pub fn leaves_sockets(&self) -> bool {
        self.landlock < SOCKETS
    }

    /// What commands are held back from under this policy.
    pub fn of(&self, policy: &Policy) -> ExecutionPolicy {
        let mut gaps = vec![
            match &policy.hidden {
                Some(hidden) => {
                    format!("files elsewhere can be read, but for those of this runtime in {}", hidden.folder.display())
                }
                None => "files elsewhere can be read, those of this runtime with its secrets among them".to_owned(),
            },
            "modes, owners, times, attributes and locks of files elsewhere can be changed, as far as the user may"
                .to_owned(),
            "a file that has a second name elsewhere is changed there, too".to_owned(),
            "terminals of the user can be written to".to_owned(),
            "commands that were begun without confinement are held back from nothing as long as they run".to_owned(),
        ];
        let mut gap = |there: bool, words: &str| gaps.extend(there.then(|| words.to_owned()));
        gap(self.landlock < TRUNCATE, "files elsewhere can be truncated");
        gap(self.landlock < DEVICES, "devices can be given requests");
        gap(self.landlock < SCOPES, "processes of the same user can be sent signals");
        gap(true, "priority and processors of the user's other processes can be changed");
        let limits = !calls_can_be_refused();
        gap(
            limits,
            "other processes can be given limits and watched, terminals keys, and the kernel's own calls are open",
        );
        gap(
            true,
            "memory and queues that the user's processes share by a number or a name (System V, POSIX) can be used",
        );
        let open = policy.network != Network::Off;
        gap(open, self.servers(policy.network));
        gap(
            open && peer::can_be_identified(),
            "this runtime's control token may be found in a file, and passed to a process that is not confined",
        );
        gap(open && !peer::can_be_identified(), "this runtime can be asked to do what a command can't");
        gap(geteuid().is_root(), "root can read whole disks, what is hidden on them included");
        let scoped = self.landlock >= SCOPES && !limits;
        ExecutionPolicy {
            paths: Enforcement::NotEnforced,
            writes: if self.landlock > 0 { Enforcement::Partly } else { Enforcement::NotEnforced },
            network: match policy.network {
                Network::Off if self.sockets => Enforcement::Enforced,
                Network::Internet if self.sockets => Enforcement::Partly,
                Network::On | Network::Internet | Network::Off => Enforcement::NotEnforced,
            },
            secrets: Enforcement::NotEnforced,
            child_processes: if scoped { Enforcement::Enforced } else { Enforcement::Partly },
            writable: policy.writable.iter().map(|folder| folder.display().to_string()).collect(),
            gaps,
        }
    }
}

impl Report {
    /// Who can be asked over a network.
    fn servers(self, network: Network) -> &'static str {
        match (network, self.leaves_sockets()) {
            (Network::On, true) => "servers on this machine can be asked to do what a command can't",
            (Network::On, false) => {
                "servers on this machine that listen at an address, or at a socket in a folder that can be written to, can be \
                 asked to do what a command can't"
            }
            (Network::Internet | Network::Off, _) => {
                "servers on this machine that listen at an address can be asked to do what a command can't"
            }
        }
    }
}

/// On a thread of its own, which takes it along.
fn tried<T: Send + 'static>(work: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    thread::Builder::new().spawn(work).ok()?.join().ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn told(landlock: u32, network: Network) -> ExecutionPolicy {
        let policy = Policy { writable: vec![PathBuf::from("/w")], network, hidden: None };
        Report { landlock, sockets: true }.of(&policy)
    }

    #[test]
    fn an_older_kernel_is_said_to_hold_back_less() {
        let has = |policy: &ExecutionPolicy, word: &str| policy.gaps.iter().any(|gap| gap.contains(word));
        let new = told(10, Network::On);
        assert_eq!((new.writes, new.child_processes), (Enforcement::Partly, Enforcement::Enforced));
        assert!(has(&new, "read") && has(&new, "modes"), "{new:?}");
        let words = ["truncated", "requests", "signals", "servers"];
        assert!(!has(&told(10, Network::Off), "servers"), "nobody can be asked");
        assert!(has(&told(8, Network::On), "servers on this machine can"), "of every kind");
        assert!(
            has(&told(9, Network::On), "at a socket in a folder")
                && !has(&told(9, Network::Internet), "socket")
        );
        for (version, missing) in [(2, 4), (3, 3), (5, 2), (6, 1), (9, 1)] {
            let told = told(version, Network::On);
            assert_eq!(words.iter().filter(|word| has(&told, word)).count(), missing, "{version}: {told:?}");
        }
        assert_eq!(told(5, Network::On).child_processes, Enforcement::Partly);
    }

    #[test]
    fn a_network_is_held_back_when_it_is_off_and_the_kernel_does_it() {
        assert_eq!(told(7, Network::On).network, Enforcement::NotEnforced);
        assert_eq!(told(7, Network::Off).network, Enforcement::Enforced);
        assert_eq!(told(7, Network::Internet).network, Enforcement::Partly);
        let policy = Policy { writable: Vec::new(), network: Network::Off, hidden: None };
        let without = Report { landlock: 0, sockets: false }.of(&policy);
        assert_eq!((without.writes, without.network), (Enforcement::NotEnforced, Enforcement::NotEnforced));
    }
}
