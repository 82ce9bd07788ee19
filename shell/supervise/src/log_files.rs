//! The files of a log, for who writes it and for who reads it.
//!
//! Within its bound a log is one file. Past it, while the command runs, the newest output is in two pieces
//! beside it, which are written in turn; each begins with a [`PieceHead`] that says where it belongs. At the
//! end they are joined: the log gets a marker and the pieces, and only then there is a [`Joined`] beside it.
//! Without one the pieces count, and of the log only the head; with one the log alone. So whoever dies in
//! between leaves a log that is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_platform::beneath;
use serde::{Deserialize, Serialize};

/// Bytes before the output in a piece.
pub const PIECE_HEAD_BYTES: usize = 64;

/// Largest [`Joined`] that is read.
const JOINED_BYTES: u64 = 4 << 10;

/// Where a piece belongs, in bytes of output since the beginning of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceHead {
    /// How much of the output is in the log itself.
    pub head_bytes: u64,
    /// Where the piece begins.
    pub begins: u64,
}

/// What a log that was put together consists of: the head, a marker in words, the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    pub head_bytes: u64,
    pub left_out_bytes: u64,
    pub marker_bytes: u64,
}

impl PieceHead {
    pub(super) fn encode(self) -> Vec<u8> {
        let mut line = format!("tail of a log: {:020} {:020}", self.head_bytes, self.begins).into_bytes();
        line.resize(PIECE_HEAD_BYTES - 1, b' ');
        line.push(b'\n');
        line
    }

    /// None when it is not there yet.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(bytes.get(..PIECE_HEAD_BYTES)?).ok()?;
        let mut numbers = line.strip_prefix("tail of a log: ")?.split_ascii_whitespace();
        let (head_bytes, begins) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(Self { head_bytes, begins })
    }
}

impl Joined {
    /// None when the log was not put together.
    ///
    /// # Errors
    /// When it is there and can't be read.
    pub fn read(log: &Path) -> io::Result<Option<Self>> {
        let file = match open(&joined(log)) {
            Ok(file) => file,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(problem),
        };
        let mut json = Vec::new();
        file.take(JOINED_BYTES).read_to_end(&mut json)?;
        Ok(Some(holon_facts::json::read(&json)?))
    }

    /// From now on the log alone counts.
    pub(super) fn write(&self, log: &Path) -> io::Result<()> {
        let draft = sibling(log, "joining");
        let mut file = private(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_data()?;
        fs::rename(draft, joined(log))
    }
}

/// Opens a log or a piece for reading. A command can put anything in its place, and in that of its folder: what would
/// keep a reader waiting, or lead it elsewhere, is refused.
///
/// # Errors
/// It can't be opened, or is no file with content; it or its folder is a link.
pub fn open(path: &Path) -> io::Result<File> {
    let around = path.parent().and_then(Path::parent).filter(|around| !around.as_os_str().is_empty());
    let around = around.unwrap_or(Path::new("."));
    beneath::open(around, path.strip_prefix(around).unwrap_or(path))
}

/// Whether there is anything under the name of a log, be it one or not.
pub fn is_there(log: &Path) -> bool {
    !matches!(open(log), Err(problem) if problem.kind() == io::ErrorKind::NotFound)
}

/// The two pieces of the tail.
pub fn pieces(log: &Path) -> [PathBuf; 2] {
    ["tail1", "tail2"].map(|end| sibling(log, end))
}

fn joined(log: &Path) -> PathBuf {
    sibling(log, "joined")
}

/// Removes a log and what is beside it; what is not there is no failure.
///
/// # Errors
/// The first one; the others are removed all the same.
pub fn remove(log: &Path) -> io::Result<()> {
    let [first, second] = pieces(log);
    let files = [log.to_owned(), first, second, sibling(log, "joining"), joined(log)];
    let removed = files.map(|file| match fs::remove_file(file) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
        Ok(()) | Err(_) => Ok(()),
    });
    removed.into_iter().collect()
}

/// A new file for its owner alone; one that is there under that name is replaced.
pub(super) fn private(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn sibling(log: &Path, end: &str) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_piece_is_read_back_and_half_of_one_is_not() {
        let head = PieceHead { head_bytes: 128 << 20, begins: u64::MAX };
        let bytes = head.encode();
        assert_eq!(bytes.len(), PIECE_HEAD_BYTES);
        assert_eq!(PieceHead::decode(&bytes), Some(head));
        assert!((0..bytes.len()).all(|end| PieceHead::decode(&bytes[..end]).is_none()));
        assert_eq!(PieceHead::decode(&[b'x'; PIECE_HEAD_BYTES]), None);
    }

    #[test]
    fn everything_that_belongs_to_a_log_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("op_1.log");
        assert!(remove(&log).is_ok(), "nothing is there");
        let joined = Joined { head_bytes: 1, left_out_bytes: 2, marker_bytes: 3 };
        joined.write(&log).unwrap();
        assert_eq!(Joined::read(&log).unwrap(), Some(joined));
        for path in pieces(&log).iter().chain([&log]) {
            fs::write(path, "x").unwrap();
        }
        remove(&log).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
