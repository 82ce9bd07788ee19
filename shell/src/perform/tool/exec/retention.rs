//! How much of the output of an agent's commands stays: artifacts that a model was notified of, and the logs of tasks
//! that have ended. The oldest go first.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use holon_supervise::log_files;

/// Bounds of each kind, for one agent.
pub(super) const FILES: usize = 100;
const BYTES: u64 = 1 << 30;

/// Removes artifacts beyond the bounds, never the newest one.
pub(super) fn prune_artifacts(outputs: &Path, newest: &Path) {
    prune(files(outputs, |path| !is_of_task(path) && path != newest));
}

/// Removes logs of ended tasks beyond the bounds; those of active commands stay.
pub(super) fn prune_tasks(outputs: &Path, active: &[PathBuf]) {
    prune(files(outputs, |path| is_of_task(path) && !active.iter().any(|log| log == path)));
}

fn is_of_task(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("task_"))
}

fn files(outputs: &Path, removable: impl Fn(&Path) -> bool) -> Vec<(SystemTime, u64, PathBuf)> {
    let Ok(entries) = fs::read_dir(outputs) else { return Vec::new() };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, about.len(), entry.path()))
        })
        // What lies beside a log goes with it.
        .filter(|(_, _, path)| {
            path.extension().is_some_and(|extension| extension == "log") && removable(path)
        })
        .collect();
    files.sort();
    files
}

fn prune(files: Vec<(SystemTime, u64, PathBuf)>) {
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let mut count = files.len();
    for (_, size, path) in files {
        if count < FILES && bytes <= BYTES {
            return;
        }
        if log_files::remove(&path).is_ok() {
            (count, bytes) = (count - 1, bytes - size);
        }
    }
}
