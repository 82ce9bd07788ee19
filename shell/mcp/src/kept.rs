//! Files of a home that are for their owner alone, each written whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a file. One that can't be read, or is larger than ours are, is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, most: u64) -> Option<T> {
    let about = fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > most {
        return None;
    }
    holon_facts::json::read(&fs::read(path).ok()?).ok()
}

/// Writes a file, in the place of the one that is there, and makes its folder.
///
/// # Errors
/// The folder can't be written to.
pub(crate) fn replace(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    let mut writer = io::BufWriter::new(file);
    serde_json::to_writer(&mut writer, content)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(draft, path)
}

/// Removes a file; false where there is none.
///
/// # Errors
/// A file that can't be removed.
pub(crate) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}
