//! Room on the disk for a stop or a shutdown when nothing else has room any more: a file beside the ledger
//! that holds nothing, and is given up so that what is urgent can be written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::error::LedgerError;

/// What is held back: four times the bound on what may be under way to the ledger.
pub const RESERVE_BYTES: u64 = 32 << 20;

const FILE_NAME: &str = "ledger.reserve";

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    held: bool,
}

impl Reserve {
    pub(super) fn new(home: &Path) -> Self {
        Self { path: home.join(FILE_NAME), held: false }
    }

    /// Sets the room aside; false when the disk has none.
    pub(super) fn hold(&mut self) -> Result<bool, LedgerError> {
        if !self.held {
            self.held = self.allocate().map_err(|error| LedgerError::Reserve {
                path: self.path.clone(),
                problem: error.to_string(),
            })?;
        }
        Ok(self.held)
    }

    /// Gives the room up; false when there was none.
    pub(super) fn release(&mut self) -> bool {
        std::mem::take(&mut self.held) && std::fs::remove_file(&self.path).is_ok()
    }

    fn allocate(&self) -> io::Result<bool> {
        if std::fs::metadata(&self.path).is_ok_and(|file| file.len() == RESERVE_BYTES) {
            return Ok(true);
        }
        // Under its name it is whole: a process that ends in between leaves nothing that looks like it.
        let unfinished = self.path.with_extension("reserve.new");
        let done = fill(&unfinished).and_then(|()| std::fs::rename(&unfinished, &self.path));
        match done {
            Ok(()) => Ok(true),
            Err(error) => {
                if unfinished.exists() {
                    std::fs::remove_file(&unfinished)?;
                }
                if is_full(&error) { Ok(false) } else { Err(error) }
            }
        }
    }
}

fn fill(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
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

    #[test]
    fn the_room_is_held_given_up_and_held_again() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE_NAME);
        let mut reserve = Reserve::new(home.path());
        assert!(!reserve.release());
        assert!(reserve.hold().unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), RESERVE_BYTES);
        assert!(reserve.release());
        assert!(!file.exists());
        assert!(reserve.hold().unwrap());
        assert!(Reserve::new(home.path()).hold().unwrap(), "the next start finds it");
    }

    #[test]
    fn a_home_that_is_gone_is_no_full_disk() {
        let home = tempfile::tempdir().unwrap();
        let refused = Reserve::new(&home.path().join("gone")).hold().unwrap_err();
        assert!(matches!(refused, LedgerError::Reserve { .. }), "{refused}");
    }
}
