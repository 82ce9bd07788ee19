//! Output that was too long to show stays as a file that the model knows of. The file is named by its
//! content: equal output is kept once, and equal results are equal bytes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_supervise::{Kept, log_files};

use super::retention;

/// Keeps a log under a name that follows from its content; none when there is no log. In which order the
/// lines of two streams came may differ: the first one stays.
pub(super) fn keep(outputs: &Path, log: &Path, streams: [&Kept; 2]) -> Option<PathBuf> {
    let [first, second] = streams.map(|kept| kept.digest);
    let path = outputs.join(format!("{first:016x}{second:016x}.log"));
    match fs::hard_link(log, &path) {
        Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => {
            copy(log, &path).ok()?;
        }
        Ok(()) | Err(_) => {}
    }
    retention::prune_artifacts(outputs, &path);
    Some(path)
}

/// Nothing but a log: a command can have put a link in its place.
fn copy(log: &Path, path: &Path) -> io::Result<()> {
    let mut from = log_files::open(log)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    io::copy(&mut from, &mut to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::retention::FILES;
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
