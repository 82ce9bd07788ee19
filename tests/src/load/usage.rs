//! What the kernel says of a process.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// A tick of the kernel's accounting, on every Linux that programs see.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Of all its threads; of those that ended in steps of 10 ms.
    pub cpu: Duration,
    /// Bytes in memory.
    pub resident: u64,
    /// The most that it ever had.
    pub peak: u64,
    pub threads: u64,
    /// Of its children that have ended, and of theirs.
    pub children: Duration,
    /// Files, sockets and the like that it has open.
    pub descriptors: u64,
    /// How often the threads that are there began to run again after they had waited for something.
    pub wakeups: u64,
}

/// # Panics
/// When there is no such process.
pub fn of(process: u32) -> Usage {
    let folder = format!("/proc/{process}");
    let folder = Path::new(&folder);
    let status = read(&folder.join("status"));
    let stat = read(&folder.join("stat"));
    // The name in parentheses may hold anything; times are the 14th and 15th of all.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let times: Vec<u32> =
        rest.split_whitespace().skip(11).take(4).filter_map(|part| part.parse().ok()).collect();
    let ticks = |from: usize| times.iter().skip(from).take(2).sum::<u32>();
    // One that ended meanwhile counts no more.
    let tasks = |file: &'static str| {
        let tasks = fs::read_dir(folder.join("task")).expect("a process has threads");
        tasks.filter_map(move |task| fs::read_to_string(task.ok()?.path().join(file)).ok())
    };
    // Exact, where the kernel has it, but without threads that ended.
    let exact = tasks("schedstat").filter_map(|stat| stat.split(' ').next()?.parse::<u64>().ok()).sum();
    Usage {
        cpu: Duration::from_nanos(exact).max(TICK * ticks(0)),
        resident: field(&status, "VmRSS") << 10,
        peak: field(&status, "VmHWM") << 10,
        threads: field(&status, "Threads"),
        children: TICK * ticks(2),
        descriptors: fs::read_dir(folder.join("fd")).map_or(0, |open| open.count() as u64),
        wakeups: tasks("status").map(|status| field(&status, "voluntary_ctxt_switches")).sum(),
    }
}

/// The processes that it has started and that are still there.
pub fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("a process has threads");
    let started = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let started: Vec<String> = tasks.filter_map(|task| started(task.ok()?)).collect();
    started.iter().flat_map(|line| line.split_whitespace()).filter_map(|child| child.parse().ok()).collect()
}

/// The program itself.
pub fn own() -> Usage {
    of(std::process::id())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let value = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {status}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_child_is_found_as_long_as_it_is_there() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(super::children(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!super::children(std::process::id()).contains(&child.id()));
    }

    #[test]
    fn a_program_finds_itself() {
        let before = super::own();
        let busy = std::time::Instant::now();
        let mut sum = 0_u64;
        while super::own().cpu < before.cpu + super::TICK * 2 {
            sum = sum.wrapping_add(1);
            assert!(busy.elapsed().as_secs() < 60, "{before:?} after {sum}");
        }
        assert!(before.resident > 1 << 20 && before.resident <= before.peak && before.threads > 0);
    }
}
