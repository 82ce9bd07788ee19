//! Files of an agent's home that are there whole or not at all, wherever the process dies.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, statat, unlinkat};
use rustix::io::Errno;

/// A folder itself, and not what a link of its name leads to.
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file under another name until all of it is written. Dropping it takes that name away.
pub(super) struct Draft<'a> {
    folder: Folder<'a>,
    name: &'a str,
    hidden: String,
    file: File,
}

enum Folder<'a> {
    Home(&'a OwnedFd),
    Inside(OwnedFd),
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Home(home) => home.as_fd(),
            Self::Inside(folder) => folder.as_fd(),
        }
    }
}

/// Puts a file where none is, in the home or in a folder of it; nothing is put behind a link.
pub(super) fn put(home: &OwnedFd, name: &str, text: &[u8]) -> io::Result<()> {
    Draft::write(home, name, text)?.map_or(Ok(()), Draft::place)
}

impl<'a> Draft<'a> {
    /// Writes what shall become a file of the home or of a folder of it; none where its place is taken, or behind
    /// a link.
    pub(super) fn write(home: &'a OwnedFd, path: &'a str, mut text: impl Read) -> io::Result<Option<Self>> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let (folder, name) = match path.split_once('/') {
            None => (Folder::Home(home), path),
            Some((parent, name)) => match openat(home, parent, FOLDER, Mode::empty()) {
                Ok(folder) => (Folder::Inside(folder), name),
                Err(Errno::LOOP | Errno::NOTDIR) => return Ok(None),
                Err(problem) => return Err(problem.into()),
            },
        };
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Ok(None),
            Err(Errno::NOENT) => {}
            Err(problem) => return Err(problem.into()),
        }
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let hidden = format!(".{name}.{}-{number}.draft", process::id());
        // Only a process that died had this name before.
        match unlinkat(&folder, &hidden, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(problem) => return Err(problem.into()),
        }
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&folder, &hidden, new, Mode::from_raw_mode(0o666))?;
        let mut draft = Self { folder, name, hidden, file: file.into() };
        io::copy(&mut text, &mut draft.file)?;
        Ok(Some(draft))
    }

    /// Makes it outlive the machine's death, for what could not be made again.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Gives it its name. Whoever took the place meanwhile keeps it.
    pub(super) fn place(self) -> io::Result<()> {
        match linkat(&self.folder, &self.hidden, &self.folder, self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(problem) => Err(problem.into()),
        }
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // What is left behind is in nobody's way.
        unlinkat(&self.folder, &self.hidden, AtFlags::empty()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rustix::fs::open;

    use super::*;

    fn opened(folder: &Path) -> OwnedFd {
        open(folder, FOLDER, Mode::empty()).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        fs::read_dir(folder).unwrap().map(name).collect()
    }

    #[test]
    fn whoever_dies_in_the_middle_leaves_no_part_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = opened(folder.path());
        std::mem::forget(Draft::write(&home, "self.md", "lear".as_bytes()).unwrap());
        assert!(!folder.path().join("self.md").exists());
        put(&home, "self.md", b"learned").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("self.md")).unwrap(), "learned");
    }

    #[test]
    fn a_place_that_is_taken_meanwhile_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = opened(folder.path());
        let draft = Draft::write(&home, "self.md", "late".as_bytes()).unwrap().unwrap();
        fs::write(folder.path().join("self.md"), "early").unwrap();
        draft.place().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("self.md")).unwrap(), "early");
        assert_eq!(names(folder.path()), ["self.md"]);
    }

    #[test]
    fn what_can_not_be_written_leaves_nothing() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let home = opened(folder.path());
        assert!(Draft::write(&home, "self.md", Broken).is_err());
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
