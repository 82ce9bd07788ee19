//! Removals in a folder, as the kernel reports them: nothing is looked at while nothing changes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

/// Reports that are read at once, in bytes.
const REPORTS: usize = 4 << 10;

/// Watches one folder.
#[derive(Debug)]
pub struct Removals(AsyncFd<OwnedFd>);

impl Removals {
    /// # Errors
    /// A folder that isn't there, or more watches than the kernel has.
    #[expect(deprecated, reason = "the file is owned by what it is wrapped in, so its number stays its own")]
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let kernel = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        add_watch(&kernel, folder, WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::ONLYDIR)?;
        Ok(Self(AsyncFd::new(kernel)?))
    }

    /// Waits until something was removed, or moved away.
    ///
    /// # Errors
    /// The kernel reports no more.
    pub async fn next(&self) -> io::Result<()> {
        loop {
            let mut ready = self.0.readable().await?;
            let mut space = [MaybeUninit::uninit(); REPORTS];
            let mut reports = Reader::new(self.0.get_ref(), &mut space);
            let mut any = false;
            loop {
                match reports.next() {
                    Ok(_) => any = true,
                    Err(Errno::AGAIN) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            ready.clear_ready();
            if any {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_is_removed_is_reported_and_what_is_made_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let [stays, goes] = ["stays", "goes"].map(|name| folder.path().join(name));
        fs::write(&goes, "").unwrap();
        let removals = Removals::in_folder(folder.path()).unwrap();
        fs::write(&stays, "").unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(50), removals.next()).await.is_err());
        fs::remove_file(&goes).unwrap();
        removals.next().await.unwrap();
        assert!(Removals::in_folder(&stays).is_err());
    }
}
