//! The home's socket: taken over from a runtime that is gone, never from somebody who lives. It is private from
//! its first moment: nobody can connect before it listens, and then its mode is set.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use holon_platform::socket::{connect, inside, parts};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::getuid;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;

/// A path at which no socket can be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("{} is not a socket; it was left alone", path.display())]
    NotASocket { path: PathBuf },
    #[error("the socket {} belongs to another user; it was left alone", path.display())]
    Foreign { path: PathBuf },
    #[error("another program listens at {}; it was left alone", path.display())]
    InUse { path: PathBuf },
    #[error("the socket {} can't be made: {source}", path.display())]
    Failed { path: PathBuf, source: io::Error },
}

impl SocketError {
    /// What helps where something else is in the way.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotASocket { .. } | Self::Foreign { .. } | Self::InUse { .. } => {
                Some("move it away, or name another one: HOLON_SOCKET_PATH=/…")
            }
            Self::Failed { .. } => None,
        }
    }
}

/// A socket that is there, but listens only when it is told to. Dropping it takes it away.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    socket: OwnedFd,
    /// Which file it is: by the end another one may stand there.
    file: (u64, u64),
}

impl Claim {
    /// Makes the socket, in the place of one that nobody listens at any more.
    ///
    /// # Errors
    /// Whatever stands there and is not a leftover of this user.
    pub fn new(path: &Path) -> Result<Self, SocketError> {
        let failed = |source: io::Error| SocketError::Failed { path: path.to_owned(), source };
        make_room(path)?;
        let (folder, name) = parts(path).map_err(failed)?;
        let short = inside(&folder, name);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(|error| failed(error.into()))?;
        let address = SocketAddrUnix::new(&short).map_err(|error| failed(error.into()))?;
        bind(&socket, &address).map_err(|error| failed(error.into()))?;
        fs::set_permissions(path, PermissionsExt::from_mode(0o600)).map_err(failed)?;
        let about = path.symlink_metadata().map_err(failed)?;
        Ok(Self { path: path.to_owned(), socket, file: (about.dev(), about.ino()) })
    }

    /// Whether it still stands at its path.
    pub fn is_in_place(&self) -> bool {
        self.path.symlink_metadata().is_ok_and(|about| (about.dev(), about.ino()) == self.file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on others can connect.
    ///
    /// # Errors
    /// The kernel can't listen, or hand out another handle.
    pub fn listen(&self) -> io::Result<UnixListener> {
        listen(&self.socket, BACKLOG)?;
        Ok(UnixListener::from(self.socket.try_clone()?))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_in_place() {
            // One that stays is a leftover, which the next start takes away.
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Takes a leftover away, where one is.
///
/// # Errors
/// Whatever stands there and is not a leftover of this user.
pub fn make_room(path: &Path) -> Result<(), SocketError> {
    if is_leftover(path)? {
        fs::remove_file(path).map_err(|source| SocketError::Failed { path: path.to_owned(), source })?;
    }
    Ok(())
}

/// Whether a socket of this user stands there at which nobody listens; changes nothing.
///
/// # Errors
/// Whatever else stands there.
pub fn is_leftover(path: &Path) -> Result<bool, SocketError> {
    let failed = |source: io::Error| SocketError::Failed { path: path.to_owned(), source };
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    if !about.file_type().is_socket() {
        return Err(SocketError::NotASocket { path: path.to_owned() });
    }
    if about.uid() != getuid().as_raw() {
        return Err(SocketError::Foreign { path: path.to_owned() });
    }
    match connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(error)),
        Ok(_) => Err(SocketError::InUse { path: path.to_owned() }),
    }
}

/// The process that began to listen at a socket.
///
/// # Errors
/// As for every connection.
pub fn listener(path: &Path) -> io::Result<u32> {
    let peer = socket_peercred(connect(path)?)?;
    Ok(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_leftover_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a-folder-with-a-rather-long-name".repeat(4));
        fs::create_dir(&deep).unwrap();
        let path = deep.join("holon.sock");
        let claim = Claim::new(&path).unwrap();
        assert!(connect(&path).is_err(), "it does not listen yet");
        let listener = claim.listen().unwrap();
        assert_eq!(path.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(connect(&path).unwrap());
        assert_eq!(super::listener(&path).unwrap(), std::process::id());
        assert!(matches!(Claim::new(&path), Err(SocketError::InUse { .. })));
        drop(listener);
        drop(claim);
        assert!(!path.exists());
        drop(UnixListener::bind(inside(&File::open(&deep).unwrap(), "holon.sock")).unwrap());
        assert!(path.exists(), "a leftover");
        let claim = Claim::new(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        drop(claim);
        assert!(path.exists(), "it was somebody else's by then");
        assert!(matches!(Claim::new(&path), Err(SocketError::NotASocket { .. })));
    }
}
