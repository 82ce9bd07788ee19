//! Secrets that a home makes for itself, each in a file for its owner alone: whole and on the disk, or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use holon_platform::entropy;

/// A file that can't be used. Nothing of it is repeated.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("it can't be read or made: {0}")]
    Unusable(#[from] io::Error),
    #[error("it may be read by others (mode {mode:04o})")]
    OpenToOthers { mode: u32 },
}

/// The text of such a file, at most so many bytes of it; none where there is no file.
///
/// # Errors
/// A file that can't be read, or that others may read.
pub fn known(path: &Path, bytes: usize) -> Result<Option<String>, SecretError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::OpenToOthers { mode });
    }
    let mut text = String::new();
    file.take(bytes as u64).read_to_string(&mut text)?;
    Ok(Some(text.trim().to_owned()))
}

/// Makes one of 64 hexadecimal digits in the place of whatever stands there. Only who has the home may call this.
///
/// # Errors
/// The folder can't be written to, or the kernel has no randomness.
pub fn make(path: &Path) -> io::Result<String> {
    let secret = entropy::key()?;
    put(path, &secret)?;
    Ok(secret)
}

/// Puts a text in the place of whatever stands there. Only who has the home may call this.
///
/// # Errors
/// The folder can't be written to.
pub fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".draft");
    let draft = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
