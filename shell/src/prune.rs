//! Homes of temporary runs that nobody needs any more.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use holon_ledger::sqlite::HomeLock;
use serde::Serialize;

use crate::tasks;

/// Homes that are removed at once; what is left is for later runs.
const AT_ONCE: usize = 16;
/// A home that changed within this time is left alone, whoever it belongs to.
const RECENT: Duration = Duration::from_hours(1);

/// One home below `runs/`.
struct Run {
    path: PathBuf,
    changed: SystemTime,
}

/// The homes of temporary runs, each with its last change.
pub fn runs(runs: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(runs).into_iter().flatten();
    entries.filter_map(|entry| Run::of(&entry.ok()?)).map(|run| (run.path, run.changed)).collect()
}

/// Removes the oldest homes beyond the newest `keep`, a few at a time. A home that a process holds, or that
/// changed within the hour before `now`, stays; so does one with a worktree, which is there for somebody to look at, and
/// whatever can't be removed: it is tried again.
pub fn old_runs(runs: &Path, keep: u64, now: SystemTime) -> usize {
    let mut found: Vec<Run> = match fs::read_dir(runs) {
        Ok(entries) => entries.filter_map(|entry| Run::of(&entry.ok()?)).collect(),
        Err(_) => return 0,
    };
    found.sort_by(|one, other| other.changed.cmp(&one.changed).then_with(|| one.path.cmp(&other.path)));
    let old = found.into_iter().skip(usize::try_from(keep).unwrap_or(usize::MAX));
    let stale = |run: &Run| {
        let old = now.duration_since(run.changed).is_ok_and(|age| age >= RECENT);
        old && !run.has_worktrees()
    };
    let candidates = old.filter(stale).collect::<Vec<_>>();
    candidates.iter().rev().take(AT_ONCE).filter(|run| run.remove().is_ok()).count()
}

/// What is older than somebody wants to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Old {
    pub count: u64,
    pub bytes: u64,
}

impl Old {
    fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes += bytes;
    }
}

/// Homes of temporary runs that did not change since `before`; they are removed, or counted alone. A home that a process holds, or
/// that has a worktree, stays.
pub fn runs_before(runs: &Path, before: SystemTime, remove: bool) -> Old {
    let mut old = Old::default();
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let Some(run) = Run::of(&entry) else { continue };
        if run.changed >= before || run.has_worktrees() || HomeLock::probe(&run.path).is_err() {
            continue;
        }
        let bytes = bytes_below(&run.path);
        if !remove || run.remove().is_ok() {
            old.add(bytes);
        }
    }
    old
}

/// Files with output of commands, of all agents, that did not change since `before`; they are removed, or counted alone. No command
/// may be at work.
pub fn outputs_before(agents: &Path, before: SystemTime, remove: bool) -> Old {
    let mut old = Old::default();
    let homes = fs::read_dir(agents).into_iter().flatten().flatten();
    let outputs =
        homes.filter_map(|home| fs::read_dir(tasks::outputs(&home.path())).ok()).flatten().flatten();
    for output in outputs {
        let is_old = output
            .metadata()
            .ok()
            .filter(fs::Metadata::is_file)
            .and_then(|about| Some((about.modified().ok()?, about.len())))
            .filter(|(changed, _)| *changed < before);
        let Some((_, bytes)) = is_old else { continue };
        if !remove || fs::remove_file(output.path()).is_ok() {
            old.add(bytes);
        }
    }
    old
}

/// Links are not followed.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => bytes_below(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Homes that have worktrees, and no process any more.
pub fn with_worktrees(runs: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(runs) else { return Vec::new() };
    let runs = entries.filter_map(|entry| Run::of(&entry.ok()?));
    let left = |run: &Run| run.has_worktrees() && HomeLock::probe(&run.path).is_ok();
    let mut homes: Vec<PathBuf> = runs.filter(left).map(|run| run.path).collect();
    homes.sort();
    homes
}

/// The worktrees of a home, whichever agent they were made for.
pub fn worktrees(home: &Path) -> Vec<PathBuf> {
    let folders =
        |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut worktrees: Vec<PathBuf> = folders(home.join("worktrees")).flat_map(folders).collect();
    worktrees.sort();
    worktrees
}

impl Run {
    /// A folder with a name that runs are given. A link is none.
    fn of(entry: &fs::DirEntry) -> Option<Self> {
        let ours = entry.file_name().to_str()?.starts_with("run-") && entry.file_type().ok()?.is_dir();
        let path = entry.path();
        let changed = [path.clone(), path.join("ledger.sqlite3"), path.join("ledger.sqlite3-wal")]
            .iter()
            .filter_map(|file| file.symlink_metadata().ok()?.modified().ok())
            .max()?;
        ours.then_some(Self { path, changed })
    }

    /// Worktrees stand below the agents that they were made for. What can't be looked at may be one.
    fn has_worktrees(&self) -> bool {
        let folders = |path: &Path| -> io::Result<Vec<PathBuf>> {
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
        };
        match folders(&self.path.join("worktrees")) {
            Ok(agents) => agents.iter().any(|agent| folders(agent).map_or(true, |trees| !trees.is_empty())),
            Err(problem) => problem.kind() != io::ErrorKind::NotFound,
        }
    }

    /// The lock is held until the folder is gone.
    fn remove(&self) -> io::Result<()> {
        let lock = match File::open(self.path.join("run").join("lock")) {
            Ok(lock) => Some(lock),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(lock) = &lock {
            lock.try_lock()?;
        }
        fs::remove_dir_all(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(2_000_000_000);

    /// Homes of runs, each an hour older than the one before it.
    fn runs(count: u64) -> tempfile::TempDir {
        let runs = tempfile::tempdir().unwrap();
        for age in 0..count {
            let path = runs.path().join(format!("run-{age}"));
            fs::create_dir_all(path.join("run")).unwrap();
            fs::write(path.join("run/lock"), "1\n").unwrap();
            fs::write(path.join("ledger.sqlite3"), "").unwrap();
            let at = SystemTime::UNIX_EPOCH + NOW - RECENT * u32::try_from(age).unwrap();
            for file in [path.clone(), path.join("ledger.sqlite3")] {
                File::open(file).unwrap().set_modified(at).unwrap();
            }
        }
        runs
    }

    fn left(runs: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(runs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_by_key(|name| (name.len(), name.clone()));
        names
    }

    fn prune(runs: &Path, keep: u64) -> usize {
        old_runs(runs, keep, SystemTime::UNIX_EPOCH + NOW)
    }

    #[test]
    fn the_newest_stay_and_the_oldest_go_first_a_few_at_a_time() {
        let folder = runs(40);
        assert_eq!(prune(folder.path(), 3), AT_ONCE);
        assert_eq!(left(folder.path()).len(), 40 - AT_ONCE);
        assert_eq!(left(folder.path()).last().unwrap(), "run-23");
        assert_eq!((prune(folder.path(), 3), prune(folder.path(), 3), prune(folder.path(), 3)), (16, 5, 0));
        assert_eq!(left(folder.path()), ["run-0", "run-1", "run-2"]);
    }

    #[test]
    fn a_worktree_that_is_there_to_be_looked_at_stays_with_its_home() {
        let folder = runs(3);
        for (run, what) in [("run-1", "worktrees/main--1/1"), ("run-2", "worktrees/main--1")] {
            let path = folder.path().join(run);
            let changed = path.metadata().unwrap().modified().unwrap();
            fs::create_dir_all(path.join(what)).unwrap();
            File::open(&path).unwrap().set_modified(changed).unwrap();
        }
        assert_eq!(prune(folder.path(), 1), 1);
        assert_eq!(left(folder.path()), ["run-0", "run-1"]);
    }

    #[test]
    fn a_home_with_a_worktree_is_left_once_nobody_has_it() {
        let folder = runs(2);
        let home = folder.path().join("run-1");
        fs::create_dir_all(home.join("worktrees/run-1/2")).unwrap();
        let lock = HomeLock::acquire(&home).unwrap();
        assert!(with_worktrees(folder.path()).is_empty());
        drop(lock);
        // Another test may be about to execute a program, with every file that is open here.
        let left = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            with_worktrees(folder.path()) == [home.clone()]
        });
        assert!(left);
        assert_eq!(worktrees(&home), [home.join("worktrees/run-1/2")]);
        assert!(with_worktrees(&folder.path().join("nowhere")).is_empty());
    }

    #[test]
    fn what_is_recent_held_or_not_ours_stays() {
        let folder = runs(4);
        fs::create_dir(folder.path().join("mine")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("run-x")).unwrap();
        let held = folder.path().join("run-2");
        let lock = HomeLock::acquire(&held).unwrap();
        let at = SystemTime::UNIX_EPOCH + NOW - RECENT * 2;
        File::open(&held).unwrap().set_modified(at).unwrap();
        assert_eq!(prune(folder.path(), 0), 2);
        assert_eq!(left(folder.path()), ["mine", "run-0", "run-2", "run-x"]);
        drop(lock);
        // Another test may be about to execute a program: between fork and exec it has every file that is open here.
        let pruned = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            prune(folder.path(), 0) == 1
        });
        assert!(pruned);
        assert_eq!(prune(&folder.path().join("nowhere"), 0), 0);
    }
}
