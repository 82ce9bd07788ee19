//! What keeps this process's secrets from other processes of the same user, the commands of its agents among them
//! (contract: agent.md, Secrets). Whoever is root, or may trace any process, is kept from the environment alone.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Largest environment that is gone through.
const ENVIRONMENT_BYTES: u64 = 8 << 20;

/// From now on nobody of the same user reads this process's memory, environment or open files through `/proc`, or
/// traces it; it leaves no core either. What it executes is as open as always.
///
/// # Errors
/// The kernel refuses.
pub fn hide_memory() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// For a process that executes commands: takes secrets out of the environment that it was started with, once
/// [`Environment`](crate::Environment) has them, and hides its memory. To be done before there are other threads, and before
/// [`hide_memory`]. A kernel that does not let a process write there still hides it from everybody but root.
pub fn cover(is_secret: impl Fn(&str) -> bool) {
    forget(is_secret).ok();
    hide_memory().ok();
}

/// Overwrites the values in the block that `/proc/self/environ` shows: they end where they begin.
fn forget(is_secret: impl Fn(&str) -> bool) -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (begins, ends) =
        block(&stat).ok_or_else(|| io::Error::other("/proc/self/stat names no environment"))?;
    let length = ends.checked_sub(begins).filter(|length| *length <= ENVIRONMENT_BYTES);
    let length = length.and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
    let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
    let mut block = vec![0; length];
    memory.read_exact_at(&mut block, begins)?;
    let mut at = begins;
    for entry in block.split(|byte| *byte == 0) {
        let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
        let value = at + name.len() as u64 + 1;
        let bytes = entry.len().saturating_sub(name.len() + 1);
        if bytes > 0 && std::str::from_utf8(name).is_ok_and(&is_secret) {
            memory.write_all_at(&vec![0; bytes], value)?;
        }
        at += entry.len() as u64 + 1;
    }
    Ok(())
}

/// Where the environment begins and ends: fields 50 and 51. The name of the program may hold anything.
fn block(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(47).map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_found_whatever_the_program_is_called() {
        let fields: Vec<String> = (3..=52).map(|field: u32| field.to_string()).collect();
        assert_eq!(block(&format!("1 (a) b) {}", fields.join(" "))), Some((50, 51)));
        assert_eq!(block("1 (a) S 1 2"), None);
        assert!(block(&fs::read_to_string("/proc/self/stat").unwrap()).is_some_and(|(a, b)| a <= b));
    }
}
