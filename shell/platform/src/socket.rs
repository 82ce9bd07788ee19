//! Unix sockets by a path of any length: the address of a socket has 108 bytes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Connects to a socket, however long its path is.
///
/// # Errors
/// As for every connection.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (folder, name) = parts(path)?;
    UnixStream::connect(inside(&folder, name))
}

/// The folder of a socket, open, and its name there.
///
/// # Errors
/// A path without a name, or a folder that can't be opened.
pub fn parts(path: &Path) -> io::Result<(File, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a socket needs a name"))?;
    Ok((File::open(path.parent().unwrap_or(Path::new("/")))?, name))
}

/// A path inside an open folder that is short wherever the folder is.
pub fn inside(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}
