//! Room on the disk for a stop or a shutdown when nothing else has room any more: a file beside the ledger
//! that holds nothing, and is given up so that what is urgent can be written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_platform::crash_point::{Point, reached};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;

use crate::error::LedgerError;
use crate::queue;

/// What is held back: four times the bound on what may be under way to the ledger.
pub const RESERVE_BYTES: u64 = 32 << 20;

const FILE_NAME: &str = "ledger.reserve";

/// Why a start would wait for its disk; none where the reserve is held, or there is room for it.
pub fn reserve_problem(home: &Path) -> Option<String> {
    if std::fs::metadata(home.join(FILE_NAME)).is_ok_and(|file| file.len() == RESERVE_BYTES) {
        return None;
    }
    let about = statvfs(home).ok()?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    (free < RESERVE_BYTES).then(|| {
        format!(
            "the disk under {} has {} MiB free, less than the {} MiB that a runtime keeps in reserve: nothing new is admitted before there is free space",
            home.display(),
            free >> 20,
            RESERVE_BYTES >> 20
        )
    })
}

#[derive(Debug)]
pub(super) struct Reserve {
    /// None where nothing is held back.
    path: Option<PathBuf>,
    held: bool,
}

impl Reserve {
    pub(super) fn new(home: Option<&Path>) -> Self {
        Self { path: home.map(|home| home.join(FILE_NAME)), held: false }
    }
}

impl queue::Reserve for Reserve {
    type Error = LedgerError;

    fn hold(&mut self) -> Result<bool, LedgerError> {
        let Some(path) = &self.path else { return Ok(true) };
        if !self.held {
            let failed =
                |error: io::Error| LedgerError::Reserve { path: path.clone(), problem: error.to_string() };
            self.held = allocate(path).map_err(failed)?;
        }
        Ok(self.held)
    }

    fn release(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        held && self.path.as_ref().is_some_and(|path| std::fs::remove_file(path).is_ok())
    }
}

fn allocate(path: &Path) -> io::Result<bool> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() == RESERVE_BYTES) {
        return Ok(true);
    }
    // Under its name it is whole: a process that ends in between leaves nothing that looks like it.
    let unfinished = path.with_extension("reserve.new");
    let filled = fill(&unfinished).inspect(|()| reached(Point::ReserveFilled));
    match filled.and_then(|()| std::fs::rename(&unfinished, path)) {
        Ok(()) => Ok(true),
        Err(error) => {
            if unfinished.exists() {
                std::fs::remove_file(&unfinished)?;
            }
            if is_full(&error) { Ok(false) } else { Err(error) }
        }
    }
}

fn fill(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => write_zeros(&mut file),
        Err(error) => Err(error.into()),
    }
}

/// Where the file system can't promise room, written blocks have it.
fn write_zeros(file: &mut File) -> io::Result<()> {
    let zeros = vec![0_u8; 1 << 20];
    for _ in 0..RESERVE_BYTES >> 20 {
        file.write_all(&zeros)?;
    }
    file.sync_all()
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Reserve as _;

    #[test]
    fn the_room_is_held_given_up_and_held_again() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE_NAME);
        let mut reserve = Reserve::new(Some(home.path()));
        assert!(!reserve.release());
        assert!(reserve.hold().unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), RESERVE_BYTES);
        assert!(reserve.release());
        assert!(!file.exists());
        assert!(reserve.hold().unwrap());
        assert!(Reserve::new(Some(home.path())).hold().unwrap(), "the next start finds it");
    }

    #[test]
    fn a_home_that_is_gone_is_no_full_disk() {
        let home = tempfile::tempdir().unwrap();
        let refused = Reserve::new(Some(&home.path().join("gone"))).hold().unwrap_err();
        assert!(matches!(refused, LedgerError::Reserve { .. }), "{refused}");
    }
}
