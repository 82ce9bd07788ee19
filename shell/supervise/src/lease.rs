//! Until when commands may run whose runtime shares its ledger with others: past it another one has settled them (contract:
//! scale.md). The runtime writes the moment into a file that it renews; whoever can't read it knows of none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_facts::Millis;
use holon_platform::clock;

/// A file with a moment of [`clock::boot`], read again when that is over.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    until: u64,
}

/// Writes the moment, whole or not at all. It survives no loss of power, and need not.
///
/// # Errors
/// When the folder takes no file.
pub fn write(path: &Path, until: u64) -> io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, until.to_string())?;
    fs::rename(&draft, path)
}

impl Lease {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { path, until: 0 }
    }

    /// How long it still is.
    pub(super) fn left(&mut self) -> Millis {
        let now = clock::boot();
        if self.until <= now {
            let read = fs::read_to_string(&self.path).ok();
            self.until = read.and_then(|text| text.parse().ok()).unwrap_or_default();
        }
        Millis(self.until.saturating_sub(now).div_ceil(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_over_unless_it_is_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let mut lease = Lease::of(path.clone());
        assert_eq!(lease.left(), Millis(0), "nobody has written it");
        write(&path, clock::boot() + 30_000_000).unwrap();
        assert!(lease.left() > Millis(29_000));
        fs::remove_file(&path).unwrap();
        assert!(lease.left() > Millis(29_000), "what was read holds");
        write(&path, clock::boot()).unwrap();
        assert_eq!(Lease::of(path.clone()).left(), Millis(0));
        fs::write(&path, "no number").unwrap();
        assert_eq!(Lease::of(path).left(), Millis(0));
    }
}
