//! Putting back what a patch did, and taking away what it needed meanwhile. Every step may be done again:
//! a process can die in here as well.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_text::hash;

use super::journal::{Entry, Journal, sync};

/// Puts every file back that is as the patch left it, in the opposite order. Returns those that are neither
/// as before nor as the patch left them: whoever changed them keeps the change.
pub(super) fn roll_back(journal: &Journal) -> io::Result<Vec<PathBuf>> {
    let (mut left, mut failed) = (Vec::new(), None);
    for entry in journal.files.iter().rev() {
        match put_back(entry) {
            Ok(true) => {}
            Ok(false) => left.push(entry.target.clone()),
            // The others are put back all the same.
            Err(problem) => drop(failed.get_or_insert(problem)),
        }
    }
    if let Some(problem) = failed {
        return Err(problem);
    }
    tidy(journal)?;
    for folder in journal.folders.iter().rev() {
        // One that is in use by now stays.
        drop(fs::remove_dir(folder));
    }
    Ok(left)
}

/// Removes the files that only the patch needed.
pub(super) fn tidy(journal: &Journal) -> io::Result<()> {
    for path in journal.files.iter().flat_map(|entry| [&entry.staged, &entry.kept]).flatten() {
        gone(fs::remove_file(path))?;
    }
    Ok(())
}

fn put_back(entry: &Entry) -> io::Result<bool> {
    let now = Now::look(&entry.target)?;
    let Some(before) = &entry.before else {
        return match now {
            None => Ok(true),
            Some(now) if Some(&now.digest) == entry.after.as_ref() => {
                gone(fs::remove_file(&entry.target))?;
                Ok(true)
            }
            Some(_) => Ok(false),
        };
    };
    if now.as_ref().is_some_and(|now| now.digest == before.digest && now.mode == before.mode) {
        return Ok(true);
    }
    if now.map(|now| now.digest) != entry.after {
        return Ok(false);
    }
    // The second name is made before the first file is replaced; without it this one never was.
    let Some(kept) = entry.kept.as_ref().filter(|kept| kept.symlink_metadata().is_ok()) else {
        return Ok(false);
    };
    fs::rename(kept, &entry.target)?;
    entry.target.parent().map_or(Ok(()), sync)?;
    Ok(true)
}

/// A file as it is now.
struct Now {
    digest: String,
    mode: u32,
}

impl Now {
    /// None when there is no file; what is no regular file has no digest that anything else has.
    fn look(path: &Path) -> io::Result<Option<Self>> {
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            Err(problem) if missing(&problem) => return Ok(None),
            Err(problem) => return Err(problem),
        };
        let mode = about.permissions().mode() & 0o7777;
        if !about.is_file() {
            return Ok(Some(Self { digest: String::new(), mode }));
        }
        Ok(Some(Self { digest: digest(&fs::read(path)?), mode }))
    }
}

pub(super) fn digest(bytes: &[u8]) -> String {
    hash(bytes).to_string()
}

fn missing(problem: &io::Error) -> bool {
    // A name that is too long is nobody's.
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::InvalidFilename];
    kinds.contains(&problem.kind())
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(problem) if !missing(&problem) => Err(problem),
        Ok(()) | Err(_) => Ok(()),
    }
}
