//! What a file looks like, so that a change of it is seen although it differed from the last commit before.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use holon_facts::ContentId;
use sha2::{Digest, Sha256};

use crate::workplace::{self, REFS_BYTES};

/// Bytes of one file, and of all, whose content is compared; beyond them size and time have to do.
const FILE_BYTES: u64 = 8 << 20;
const ALL_BYTES: u64 = 64 << 20;

/// Equal prints are equal files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Print {
    Absent,
    /// A submodule, or another repository: the commit that is checked out there, where that is known.
    Folder {
        commit: Option<String>,
    },
    /// Permissions, size and content.
    Read {
        mode: u32,
        bytes: u64,
        content: ContentId,
    },
    /// Permissions, size and time of the last change.
    Seen {
        mode: u32,
        bytes: u64,
        changed: (i64, i64),
    },
}

/// The prints of files below a folder.
pub(super) fn all(top: &Path, paths: Vec<String>) -> BTreeMap<String, Print> {
    let mut budget = ALL_BYTES;
    let print = |path: String| {
        let print = one(&top.join(&path), &mut budget);
        (path, print)
    };
    paths.into_iter().map(print).collect()
}

fn one(path: &Path, budget: &mut u64) -> Print {
    let Ok(about) = path.symlink_metadata() else { return Print::Absent };
    if about.is_dir() {
        let left = budget.checked_sub(REFS_BYTES);
        *budget = left.unwrap_or(*budget);
        return Print::Folder { commit: left.and_then(|_| workplace::commit_of(path)) };
    }
    let seen =
        Print::Seen { mode: about.mode(), bytes: about.len(), changed: (about.mtime(), about.mtime_nsec()) };
    if about.len() > FILE_BYTES || about.len() > *budget {
        return seen;
    }
    *budget -= about.len();
    match content(path, &about) {
        Ok(content) => Print::Read { mode: about.mode(), bytes: about.len(), content },
        Err(_) => seen,
    }
}

fn content(path: &Path, about: &Metadata) -> io::Result<ContentId> {
    let mut hash = Sha256::new();
    if about.is_symlink() {
        hash.update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
    } else if about.is_file() {
        let (mut file, mut buffer) = (File::open(path)?.take(FILE_BYTES), [0_u8; 16 << 10]);
        while let count @ 1.. = file.read(&mut buffer)? {
            hash.update(&buffer[..count]);
        }
    } else {
        return Err(io::Error::other("it has no content"));
    }
    Ok(ContentId(hash.finalize().into()))
}
