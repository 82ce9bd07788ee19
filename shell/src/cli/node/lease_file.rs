//! Until when the commands of a cell may run, where their supervisors look. They run no longer when the file is gone.

use std::path::{Path, PathBuf};

use holon_ledger::postgres::node::Epoch;
use holon_platform::spawn;
use holon_supervise::lease;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::home::Home;

/// The file of one cell and epoch. It goes with this value.
pub(super) struct LeaseFile {
    path: PathBuf,
    keeping: JoinHandle<()>,
}

impl LeaseFile {
    /// Names of these files in `run/`.
    const BEGINS: &str = "lease-";

    /// Writes each new end of the lease into the home of the cell.
    pub(super) fn keep(home: &Home, epoch: Epoch, mut until: watch::Receiver<Option<u64>>) -> Self {
        let path = home.run_file(&format!("{}{}", Self::BEGINS, epoch.0));
        let file = path.clone();
        let write = move |until: Option<u64>| {
            // Supervisors that can't read it end their commands.
            if let Err(error) = until.map_or(Ok(()), |until| lease::write(&file, until)) {
                tracing::warn!("{} can't be written, so commands end: {error}", file.display());
            }
        };
        write(*until.borrow_and_update());
        let keeping = spawn::task(async move {
            while until.changed().await.is_ok() {
                write(*until.borrow_and_update());
            }
        });
        Self { path, keeping }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What a process that was killed has left in the home of a cell.
    pub(super) fn remove_old(home: &Home) {
        let run = home.run_file("");
        let entries = run.read_dir().into_iter().flatten().flatten();
        let old = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(Self::BEGINS));
        old.for_each(|entry| drop(std::fs::remove_file(entry.path())));
    }
}

impl Drop for LeaseFile {
    fn drop(&mut self) {
        self.keeping.abort();
        drop(std::fs::remove_file(&self.path));
    }
}
