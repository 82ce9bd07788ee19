//! Who else holds a lock on the files of a ledger, as far as the kernel says: `/proc/locks` names processes and files.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use super::wal;
use crate::error::LedgerError;
use crate::report::Holders;

/// Bytes of the shared index that stand for writing, moving the log into the file, and recovery.
const OF_WRITERS: std::ops::RangeInclusive<u64> = 120..=122;
/// Those that stand for readers: who writes waits only for whoever has one of them alone.
const OF_READERS: std::ops::RangeInclusive<u64> = 123..=127;

/// A line of `/proc/locks`.
#[derive(Debug, PartialEq, Eq)]
struct Lock {
    exclusive: bool,
    pid: Option<u32>,
    file: String,
    from: u64,
    to: u64,
}

/// Who holds locks on a ledger at this moment, but for this process.
pub(super) fn holders_of(ledger: &Path) -> Holders {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let (file, index) = (name_of(ledger), name_of(&wal::index_of(ledger)));
    let mut pids: Vec<u32> = locks
        .lines()
        .filter_map(parse)
        .filter(|lock| {
            let of_file = Some(&lock.file) == file.as_ref() && lock.exclusive;
            of_file || (Some(&lock.file) == index.as_ref() && keeps_out(lock))
        })
        .filter_map(|lock| lock.pid)
        .filter(|pid| *pid != std::process::id())
        .collect();
    pids.sort_unstable();
    pids.dedup();
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    Holders(pids.into_iter().map(|pid| (pid, name(pid).map(|name| name.trim().to_owned()))).collect())
}

/// Who has locked a file or a folder as a whole.
pub(super) fn owner_of(path: &Path) -> Option<u32> {
    let (locks, file) = (std::fs::read_to_string("/proc/locks").ok()?, name_of(path)?);
    let held = locks.lines().filter_map(parse).find(|lock| lock.exclusive && lock.file == file)?;
    // A process of another container has no number here.
    held.pid.filter(|pid| *pid != 0)
}

impl LedgerError {
    /// Names who has the ledger locked, where somebody has.
    pub(super) fn naming_holders(self, path: &Path) -> Self {
        if matches!(self, Self::Locked { .. }) { Self::Locked { by: holders_of(path) } } else { self }
    }
}

/// Whether a lock on the shared index is in the way of whoever writes.
fn keeps_out(lock: &Lock) -> bool {
    let overlaps =
        |bytes: std::ops::RangeInclusive<u64>| lock.from <= *bytes.end() && lock.to >= *bytes.start();
    overlaps(OF_WRITERS) || (lock.exclusive && overlaps(OF_READERS))
}

/// `1: POSIX  ADVISORY  WRITE 1234 08:01:5678 120 120`; whoever waits for a lock holds none.
fn parse(line: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? == "->" {
        return None;
    }
    let _sort = words.next()?;
    let exclusive = words.next()? == "WRITE";
    let pid = words.next()?.parse().ok();
    let file = words.next()?.to_owned();
    let from = words.next()?.parse().ok()?;
    let to = words.next()?.parse().unwrap_or(u64::MAX);
    Some(Lock { exclusive, pid, file, from, to })
}

/// How the kernel names a file there.
fn name_of(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    Some(format!("{:02x}:{:02x}:{}", major(about.dev()), minor(about.dev()), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let lock = parse("3: POSIX  ADVISORY  READ 812 fd:01:123456 0 EOF").unwrap();
        assert_eq!(
            lock,
            Lock { exclusive: false, pid: Some(812), file: "fd:01:123456".into(), from: 0, to: u64::MAX }
        );
        assert!(keeps_out(&lock));
        for (line, keeps) in [
            ("1: POSIX  ADVISORY  WRITE 812 08:01:77 120 120", true),
            ("1: POSIX  ADVISORY  READ 812 08:01:77 123 123", false),
            ("1: POSIX  ADVISORY  WRITE 812 08:01:77 124 124", true),
            ("1: POSIX  ADVISORY  READ 812 08:01:77 128 128", false),
        ] {
            assert_eq!(keeps_out(&parse(line).unwrap()), keeps, "{line}");
        }
        let unnamed = parse("9: OFDLCK ADVISORY  WRITE -1 08:01:77 0 EOF").unwrap();
        assert_eq!(unnamed.pid, None);
        assert_eq!(parse("1: -> POSIX  ADVISORY  WRITE 812 08:01:77 120 120"), None);
        assert_eq!(parse(""), None);
    }
}
