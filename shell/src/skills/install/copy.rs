//! Copies the folder of a skill, in bounded parts. Nothing in it is executed, and no link is followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use holon_facts::content::ContentId;
use holon_text::hash;

use super::InstallError;

const FILES: usize = 500;
/// Folders, and folders in folders.
const FOLDERS: usize = 500;
const DEPTH: usize = 16;
const FILE_BYTES: u64 = 1 << 20;
const ALL_BYTES: u64 = 32 << 20;

/// What a folder comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    pub files: usize,
    pub bytes: u64,
    /// SHA-256 of names, modes and bytes.
    pub digest: ContentId,
}

/// Copies a folder to where nothing is.
///
/// # Errors
/// Links, devices, names that are no text, and too much of anything.
pub(super) fn copy(from: &Path, to: &Path) -> Result<Tree, InstallError> {
    walk(from, Some(to))
}

/// What a folder comes to, without copying it.
///
/// # Errors
/// The same.
pub(super) fn look(folder: &Path) -> Result<Tree, InstallError> {
    walk(folder, None)
}

fn walk(from: &Path, to: Option<&Path>) -> Result<Tree, InstallError> {
    let about = fs::symlink_metadata(from).map_err(|problem| InstallError::read(from, &problem))?;
    if !about.is_dir() {
        return Err(InstallError::Invalid { problem: format!("{} is not a folder", from.display()) });
    }
    let mut walk = Walk { files: 0, folders: 0, bytes: 0, lines: String::new() };
    walk.folder(from, to, "", 0)?;
    Ok(Tree { files: walk.files, bytes: walk.bytes, digest: hash(walk.lines.as_bytes()) })
}

struct Walk {
    files: usize,
    folders: usize,
    bytes: u64,
    /// A line for each file.
    lines: String,
}

fn refused<T>(problem: String) -> Result<T, InstallError> {
    Err(InstallError::Invalid { problem })
}

impl Walk {
    fn folder(
        &mut self,
        from: &Path,
        to: Option<&Path>,
        inside: &str,
        depth: usize,
    ) -> Result<(), InstallError> {
        self.folders += 1;
        if depth > DEPTH || self.folders > FOLDERS {
            return refused(format!(
                "it has more than {FOLDERS} folders, or more than {DEPTH} in each other"
            ));
        }
        if let Some(to) = to {
            fs::create_dir(to).map_err(|problem| InstallError::write(to, &problem))?;
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(from).map_err(|problem| InstallError::read(from, &problem))? {
            let name = entry.map_err(|problem| InstallError::read(from, &problem))?.file_name();
            let Ok(name) = name.into_string() else {
                return refused(format!("{} has a name that is not UTF-8", from.display()));
            };
            // The folder of a repository is nothing of a skill.
            if name != ".git" {
                names.push(name);
            }
            if names.len() > FILES + FOLDERS {
                return refused(format!("it has more than {FILES} files"));
            }
        }
        names.sort();
        for name in names {
            let (from, to) = (from.join(&name), to.map(|to| to.join(&name)));
            let inside = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            let about = fs::symlink_metadata(&from).map_err(|problem| InstallError::read(&from, &problem))?;
            if about.is_dir() {
                self.folder(&from, to.as_deref(), &inside, depth + 1)?;
            } else if about.is_file() {
                self.file(&from, to.as_deref(), &inside)?;
            } else if about.is_symlink() {
                return refused(format!("{inside} is a link, and links are not installed"));
            } else {
                return refused(format!("{inside} is neither a file nor a folder"));
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: Option<&Path>, inside: &str) -> Result<(), InstallError> {
        self.files += 1;
        if self.files > FILES {
            return refused(format!("it has more than {FILES} files"));
        }
        // A link that came in between is not followed, and a pipe not waited for.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let file = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
            let about = file.metadata()?;
            if !about.is_file() {
                return Err(io::Error::other("it is no file any more"));
            }
            let mut bytes = Vec::new();
            file.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
            Ok((bytes, about.mode() & 0o111 != 0))
        };
        let (bytes, runs) = read().map_err(|problem| InstallError::read(from, &problem))?;
        let size = bytes.len() as u64;
        if size > FILE_BYTES {
            return refused(format!("{inside} has more than {FILE_BYTES} bytes"));
        }
        self.bytes += size;
        if self.bytes > ALL_BYTES {
            return refused(format!("its files have more than {ALL_BYTES} bytes together"));
        }
        let mode = if runs { 0o755 } else { 0o644 };
        self.lines += &format!("{mode:o} {} {inside}\n", hash(&bytes));
        let Some(to) = to else { return Ok(()) };
        let write = || -> io::Result<()> {
            let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(|problem| InstallError::write(to, &problem))
    }
}
