//! Output that was too long to show stays as a file that the model is told of. The file is named by its
//! content: equal output is kept once, and equal results are equal bytes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::supervise::Kept;

/// Bounds of what is kept for one agent.
const FILES: usize = 100;
const BYTES: u64 = 1 << 30;

/// Keeps a log under a name that follows from its content; none when there is no log. In which order the
/// lines of two streams came may differ: the first one stays.
pub(super) fn keep(outputs: &Path, log: &Path, streams: [&Kept; 2]) -> Option<PathBuf> {
    let [first, second] = streams.map(|kept| kept.digest);
    let path = outputs.join(format!("{first:016x}{second:016x}.log"));
    match fs::hard_link(log, &path) {
        Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => {
            fs::copy(log, &path).ok()?;
        }
        Ok(()) | Err(_) => {}
    }
    prune(outputs, &path);
    Some(path)
}

/// Removes the oldest beyond the bounds, never the newest one.
fn prune(outputs: &Path, newest: &Path) {
    let Ok(entries) = fs::read_dir(outputs) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        })
        .filter(|(_, _, path)| path != newest)
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let mut count = files.len();
    for (_, size, path) in files {
        if count < FILES && bytes <= BYTES {
            return;
        }
        if fs::remove_file(path).is_ok() {
            (count, bytes) = (count - 1, bytes - size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_output_is_kept_once_and_the_oldest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("op_1.log");
        let kept: Vec<PathBuf> = (0..3 * FILES)
            .map(|number| {
                let text = format!("output {}", number / 2);
                fs::write(&log, &text).unwrap();
                let stream = Kept { digest: number as u64 / 2, ..Kept::default() };
                let path = keep(folder.path(), &log, [&stream, &Kept::default()]).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
                fs::remove_file(&log).unwrap();
                path
            })
            .collect();
        assert_eq!(kept[0], kept[1]);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert!((2..=FILES).contains(&left), "{left} files are left");
        assert!(kept.last().unwrap().exists() && !kept[0].exists());
        assert_eq!(keep(folder.path(), &log, [&Kept { digest: 9_999, ..Kept::default() }; 2]), None);
    }
}
