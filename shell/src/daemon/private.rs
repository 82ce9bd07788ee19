//! Small files in `run/`, for their owner alone, whole or not there.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::home::Home;

/// More than any of these files takes.
const BYTES: u64 = 1 << 20;

/// Puts a document into a file, at once.
pub(crate) fn write(path: &Path, document: &impl Serialize) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let written = serde_json::to_writer_pretty(&mut file, document)
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What is wrong with the file is what matters.
        fs::remove_file(&draft).ok();
    }
    written
}

/// Takes away what a process that was killed had not finished. Only who has the home may call this.
///
/// # Errors
/// `run/` can't be listed, or changed.
pub fn remove_drafts(home: &Home) -> io::Result<()> {
    for entry in fs::read_dir(home.run_file(""))? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "draft") {
            remove(&path)?;
        }
    }
    Ok(())
}

/// The document in a file; none where there is no file.
///
/// # Errors
/// What can't be read, or is something else.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(BYTES).read_to_string(&mut text)?;
    Ok(Some(serde_json::from_str(&text)?))
}

/// Takes a file away, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
