//! A file that gets its name when all of it is on the disk. Who dies before leaves a draft, which the next one takes away.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// How names of drafts end.
const SUFFIX: &str = ".holon-draft";
/// And of what a draft is made with.
const ASIDE: &str = ".holon-draft-aside";

/// A draft beside what it becomes. Dropping it takes it away.
#[derive(Debug)]
pub struct Draft {
    to: PathBuf,
    path: PathBuf,
    file: File,
}

/// A file that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("{path} exists already, and is left alone", path = path.display())]
    Exists { path: PathBuf },
    #[error("another process writes {path}", path = path.display())]
    Busy { path: PathBuf },
    #[error("{path} can't be written: {source}", path = path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl DraftError {
    fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

impl Draft {
    /// Begins a file where nothing is, for this user alone.
    ///
    /// # Errors
    /// When something is there, another process writes the same, or the folder can't be written to.
    pub fn begin(to: &Path) -> Result<Self, DraftError> {
        let failed = DraftError::write(to);
        if to.symlink_metadata().is_ok() {
            return Err(DraftError::Exists { path: to.to_owned() });
        }
        let folder = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        remove_leftovers(folder);
        let name = to.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        let path = folder.join(hidden(name, SUFFIX));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(&failed)?;
        if file.try_lock().is_err() {
            return Err(DraftError::Busy { path: to.to_owned() });
        }
        file.set_len(0).map_err(&failed)?;
        Ok(Self { to: to.to_owned(), path, file })
    }

    /// What is written to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it lies until it has its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Another file beside it, for what is needed while it is made; it goes with the draft.
    pub fn aside(&self) -> PathBuf {
        let name = self.to.file_name().unwrap_or_default();
        self.path.with_file_name(hidden(name, ASIDE))
    }

    /// Makes sure that it is on the disk, and gives it its name; says how many bytes it has. Whoever took the name meanwhile
    /// keeps it.
    ///
    /// # Errors
    /// When it can't be synced or renamed.
    pub fn place(self) -> Result<u64, DraftError> {
        let failed = DraftError::write(&self.to);
        self.file.sync_all().map_err(&failed)?;
        let bytes = self.file.metadata().map_err(&failed)?.len();
        let named = match renameat_with(CWD, &self.path, CWD, &self.to, RenameFlags::NOREPLACE) {
            // File systems that know no such thing.
            Err(Errno::INVAL | Errno::NOSYS) if self.to.symlink_metadata().is_err() => {
                fs::rename(&self.path, &self.to)
            }
            Err(Errno::EXIST) => return Err(DraftError::Exists { path: self.to.clone() }),
            named => named.map_err(io::Error::from),
        };
        named.map_err(&failed)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(&failed)?;
        }
        Ok(bytes)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What is left behind is removed by whoever comes next.
        fs::remove_file(self.aside()).unwrap_or_default();
        fs::remove_file(&self.path).unwrap_or_default();
    }
}

fn hidden(name: &std::ffi::OsStr, suffix: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(suffix);
    hidden
}

/// Takes away drafts whose process is gone.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(of) = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(SUFFIX)) else {
            continue;
        };
        let Ok(file) = OpenOptions::new().read(true).write(true).open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            fs::remove_file(folder.join(hidden(of.as_ref(), ASIDE))).unwrap_or_default();
            fs::remove_file(entry.path()).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("archive");
        let draft = Draft::begin(&to).unwrap();
        draft.file().write_all(b"half").unwrap();
        fs::write(draft.aside(), "beside").unwrap();
        assert!(matches!(Draft::begin(&to), Err(DraftError::Busy { .. })));
        drop(draft);
        assert!(names(folder.path()).is_empty());
        let draft = Draft::begin(&to).unwrap();
        draft.file().write_all(b"whole").unwrap();
        assert_eq!(draft.place().unwrap(), 5);
        assert_eq!(names(folder.path()), ["archive"]);
        assert!(matches!(Draft::begin(&to), Err(DraftError::Exists { .. })));
        assert_eq!(fs::read_to_string(&to).unwrap(), "whole");
    }

    #[test]
    fn drafts_of_the_dead_are_taken_away_and_a_place_that_was_taken_stays() {
        let folder = tempfile::tempdir().unwrap();
        for left in [".old.holon-draft", ".old.holon-draft-aside", ".other"] {
            fs::write(folder.path().join(left), "").unwrap();
        }
        let to = folder.path().join("archive");
        let draft = Draft::begin(&to).unwrap();
        fs::write(&to, "mine").unwrap();
        assert!(matches!(draft.place(), Err(DraftError::Exists { .. })));
        assert_eq!(names(folder.path()), [".other", "archive"]);
        assert_eq!(fs::read_to_string(&to).unwrap(), "mine");
    }
}
