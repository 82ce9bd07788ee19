//! Files that somebody has named. Only a regular file is opened: a pipe or a device could be waited for without end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
#[cfg(not(target_vendor = "apple"))]
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
#[cfg(target_vendor = "apple")]
use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use rustix::fs::OFlags;

/// Opens a regular file for reading.
///
/// # Errors
/// It is not there, can't be read, or is something else than a file.
pub fn open(path: &Path) -> io::Result<File> {
    check(path)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The name may lead to another one by now.
    is_file(&file.metadata()?)?;
    Ok(file)
}

/// The text of a regular file that has at most so many bytes.
///
/// # Errors
/// As [`open`]; it is larger, or is no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    let too_large = |size| io::Error::other(format!("it has {size} bytes, the limit is {most}"));
    if size > most {
        return Err(too_large(size));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    let size = text.len() as u64;
    if size > most { Err(too_large(size)) } else { Ok(text) }
}

/// Whether a path leads to a regular file.
///
/// # Errors
/// As [`open`].
pub fn check(path: &Path) -> io::Result<()> {
    is_file(&path.metadata()?)
}

/// Where an open file really is: names that lead to it may have changed since.
///
/// # Errors
/// The kernel does not show it.
pub fn location(file: &File) -> io::Result<PathBuf> {
    #[cfg(target_vendor = "apple")]
    let path = PathBuf::from(OsString::from_vec(rustix::fs::getpath(file)?.into_bytes()));
    #[cfg(not(target_vendor = "apple"))]
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(path)
}

pub(crate) fn is_file(about: &std::fs::Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    let (kind, what) = if about.is_dir() {
        (ErrorKind::IsADirectory, "it is a folder, not a file")
    } else {
        (ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file")
    };
    Err(io::Error::new(kind, what))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn nothing_but_a_regular_file_is_opened() {
        let folder = std::env::temp_dir().join(format!("holon-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("file");
        std::fs::write(&file, "text").unwrap();
        let socket = folder.join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert_eq!(text(&file, 4).unwrap(), "text");
        let problem = |path: &Path, most| text(path, most).unwrap_err().to_string();
        assert_eq!(problem(&file, 3), "it has 4 bytes, the limit is 3");
        assert_eq!(problem(&folder, 9), "it is a folder, not a file");
        for special in [&socket, Path::new("/dev/null")] {
            assert_eq!(problem(special, 9), "it is a pipe, a socket or a device, not a file");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
