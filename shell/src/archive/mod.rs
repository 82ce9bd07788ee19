//! Archives that leave a home: a `tar` that is compressed with zstd. The first member says what the archive is, the last one
//! (`end.json`) sums up all others, so that one that was cut or changed is known. Equal members give equal bytes.

mod draft;
mod read;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use holon_platform::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use draft::{Draft, DraftError};
pub use read::{Content, Member, beginning, read};
pub use write::{About, Writer};

/// Name of the last member.
const END: &str = "end.json";

/// Longest description that an archive begins with, in bytes.
const LONGEST_DESCRIPTION: u64 = 1 << 20;

/// What `end.json` holds: the members before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub members: u64,
    /// Of all files together.
    pub content_bytes: u64,
    /// Over kind, name, size and content of each, in their order.
    pub sha256: String,
}

/// An archive that can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{path} can't be read: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} can't be written: {source}", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{path} is no {kind} of Holon: {problem}", path = path.display())]
    NotOne { path: PathBuf, kind: &'static str, problem: String },
    #[error("{path} is not whole: {problem}", path = path.display())]
    Damaged { path: PathBuf, problem: String },
}

impl ArchiveError {
    /// Whether there was no room for it.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => is_full(source),
            Self::NotOne { .. } | Self::Damaged { .. } => false,
        }
    }
}

/// Whether there was no room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Sums up members as they are written or read.
#[derive(Debug, Default)]
struct Sum {
    members: u64,
    content_bytes: u64,
    hash: Sha256,
}

impl Sum {
    /// A member without what it contains.
    fn member(&mut self, kind: u8, path: &Path, bytes: u64) {
        self.members += 1;
        self.content_bytes += bytes;
        let name = path.as_os_str().as_encoded_bytes();
        self.hash.update([kind]);
        self.hash.update((name.len() as u64).to_le_bytes());
        self.hash.update(name);
        self.hash.update(bytes.to_le_bytes());
    }

    fn content(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    fn end(self) -> End {
        let sha256 = hex::write(self.hash.finalize().as_slice());
        End { members: self.members, content_bytes: self.content_bytes, sha256 }
    }
}

const FILE: u8 = b'f';
const FOLDER: u8 = b'd';
const LINK: u8 = b'l';
