//! Files below a folder into which somebody else can put links. Below the folder no link is followed, at whatever depth:
//! what a link stands for is elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::regular::is_file;

/// A folder on the way to a file. It need not be one whose names can be listed.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A folder that is listed.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe is not waited for, and a terminal does not become this process's own.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens a regular file below a folder for reading. Links on the way to the folder itself are followed.
///
/// # Errors
/// It is not there, can't be read, or is something else than a file; a part of `name` is a link, or leads upwards.
pub fn open(folder: &Path, name: &Path) -> io::Result<File> {
    let (parent, last) = parent(folder, name)?;
    let file = File::from(opened(&parent, last, READ)?);
    is_file(&file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file by the path that it really has: absolute, and without a link.
///
/// # Errors
/// As [`open`].
pub fn open_real(path: &Path) -> io::Result<File> {
    let name = path.strip_prefix("/").map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    open(Path::new("/"), name)
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    File,
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

/// At most so many entries of a folder below a folder, in no order.
///
/// # Errors
/// As [`open`], for a folder.
pub fn entries(folder: &Path, name: &Path, most: usize) -> io::Result<Vec<(OsString, Kind)>> {
    let (parent, last) = parent(folder, name)?;
    let listed = opened(&parent, last, LISTED)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&listed)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() == most {
            break;
        }
        // Not every file system knows it without a look.
        let look = || statat(&listed, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let looked = || kind(FileType::from_raw_mode(look()?.st_mode));
        let kind = kind(entry.file_type()).or_else(looked).unwrap_or(Kind::Other);
        entries.push((name.to_owned(), kind));
    }
    Ok(entries)
}

/// None where nobody has looked yet.
fn kind(kind: FileType) -> Option<Kind> {
    match kind {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice => Some(Kind::Other),
        FileType::Unknown => None,
    }
}

/// Goes down to the folder of what has this name.
fn parent<'n>(folder: &Path, name: &'n Path) -> io::Result<(OwnedFd, &'n OsStr)> {
    let mut parent: OwnedFd =
        openat(rustix::fs::CWD, folder, WAY.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let mut last = None;
    for part in name.components() {
        let part = match part {
            Component::Normal(part) => part,
            Component::CurDir => continue,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it leads out of its folder"));
            }
        };
        if let Some(above) = last.replace(part) {
            parent = opened(&parent, above, WAY)?;
        }
    }
    let last = last.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no name"))?;
    Ok((parent, last))
}

fn opened(parent: &OwnedFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    openat(parent, name, flags, Mode::empty()).map_err(|problem| {
        let is_link = || {
            let about = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
            about.is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Symlink)
        };
        // A link where a folder is wanted is named as no folder.
        match problem {
            Errno::LOOP | Errno::NOTDIR | Errno::MLINK if is_link() => {
                io::Error::new(ErrorKind::InvalidInput, "it is a link")
            }
            problem => problem.into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rustix::fs::{RenameFlags, renameat_with};

    use super::*;

    /// A folder `home/a/b` with a file, and `other` next to it with one of the same name.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("holon-beneath-{name}-{}", std::process::id()));
            for (path, text) in
                [("home/a/b/file", "own"), ("other/b/file", "foreign"), ("other/file", "foreign")]
            {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(folder.canonicalize().unwrap())
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn read(&self, name: &str) -> Result<String, String> {
            let file = open(&self.at("home"), Path::new(name)).map_err(|problem| problem.to_string())?;
            Ok(io::read_to_string(file).unwrap())
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_link_is_refused_at_every_depth() {
        let place = Place::new("depth");
        assert_eq!(place.read("a/b/file").unwrap(), "own");
        assert_eq!(place.read("./a/./b/file").unwrap(), "own");
        for (link, to) in
            [("a/b/last", "../../../other/file"), ("a/way", "../../other/b"), ("top", "../other")]
        {
            symlink(to, place.at("home").join(link)).unwrap();
        }
        for (at, name) in [("a/b/inside", "file"), ("around", "a")] {
            symlink(name, place.at("home").join(at)).unwrap();
        }
        for name in ["a/b/last", "a/way/file", "top/b/file", "top/file", "a/b/inside", "around/b/file"] {
            assert_eq!(place.read(name).unwrap_err(), "it is a link", "{name}");
        }
        for name in ["../other/file", "a/../../other/file", "/etc/passwd"] {
            assert_eq!(place.read(name).unwrap_err(), "it leads out of its folder", "{name}");
        }
        let kind = |name: &str| open(&place.at("home"), Path::new(name)).unwrap_err().kind();
        assert_eq!(kind("a/none"), ErrorKind::NotFound);
        assert_eq!(kind("a/b/file/none"), ErrorKind::NotADirectory);
        assert_eq!(kind("a/b"), ErrorKind::IsADirectory);
        assert_eq!(kind(""), ErrorKind::InvalidInput);
        // What leads to the folder is its owner's.
        symlink("home", place.at("known")).unwrap();
        assert!(open(&place.at("known"), Path::new("a/b/file")).is_ok());
        assert!(open_real(&place.at("known/a/b/file")).is_err());
        assert!(open_real(&place.at("home/a/b/file")).is_ok());
    }

    #[test]
    fn folders_are_listed_and_no_link_to_one_is() {
        let place = Place::new("list");
        symlink("../../other", place.at("home/a/link")).unwrap();
        let list = |name: &str, most| {
            let mut entries = entries(&place.at("home"), Path::new(name), most)?;
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Ok::<_, io::Error>(entries)
        };
        assert_eq!(list("a", 9).unwrap(), [("b".into(), Kind::Folder), ("link".into(), Kind::Other)]);
        assert_eq!(list("a/b", 9).unwrap(), [("file".into(), Kind::File)]);
        assert_eq!(list("a", 1).unwrap().len(), 1);
        assert_eq!(list("a/link", 9).unwrap_err().to_string(), "it is a link");
        assert_eq!(list("a/link/b", 9).unwrap_err().to_string(), "it is a link");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let place = Place::new("pipe");
        let pipe = place.at("home/a/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let problem = "it is a pipe, a socket or a device, not a file";
        assert_eq!(place.read("a/pipe").unwrap_err(), problem);
    }

    /// A folder changes places with a link to a foreign one, again and again.
    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_foreign_is_read_while_a_link_changes_places_with_a_folder() {
        let place = Place::new("swap");
        symlink("../../other/b", place.at("home/a/link")).unwrap();
        let (one, other) = (place.at("home/a/b"), place.at("home/a/link"));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &other, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            });
            let foreign = (0..20_000).filter_map(|_| place.read("a/b/file").ok()).find(|text| text != "own");
            over.store(true, Ordering::Relaxed);
            assert_eq!(foreign, None);
        });
    }
}
