//! The log of a command: all of its output as it comes, within a bound. Past the bound its head and its tail
//! are kept and the middle is counted. A log that can't be written says why, and costs nothing else.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::log_files::{self, Joined, PIECE_HEAD_BYTES, PieceHead, private};

/// What is said of a log that does not have everything, although there was room for it.
pub const INCOMPLETE: &str = "the log could not be written";

/// Least bytes of a log: below that the heads of its pieces would be most of it.
const LEAST: u64 = 1 << 10;

/// Half of its bytes are for the head, a quarter for each of two pieces that hold the tail in turn.
pub(crate) struct Log {
    path: PathBuf,
    limit: u64,
    head: Option<File>,
    /// Bytes of the head.
    written: u64,
    tail: Tail,
    problem: Option<String>,
}

/// The newest output, once the head is full.
#[derive(Default)]
struct Tail {
    older: Option<Piece>,
    newer: Option<Piece>,
    /// Bytes of output that are in no piece any more.
    dropped: u64,
}

struct Piece {
    path: PathBuf,
    file: File,
    /// Bytes of output.
    bytes: u64,
}

impl Log {
    pub(crate) fn new(path: &Path, limit: u64) -> Self {
        let (path, limit) = (path.to_owned(), limit.max(LEAST));
        Self { path, limit, head: None, written: 0, tail: Tail::default(), problem: None }
    }

    /// Appends output. After the first failure nothing more is written: a hole would not show.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.problem.is_none()
            && let Err(problem) = self.write(bytes)
        {
            self.problem = Some(format!("{INCOMPLETE}: {problem}"));
        }
    }

    /// Puts head and tail together, and says what went wrong. What can't be put together stays as it is.
    pub(crate) fn finish(mut self) -> Option<String> {
        if self.tail.newer.is_some()
            && let Err(problem) = self.join()
        {
            if let Some(head) = &self.head {
                // Room for others: the pieces still have it.
                head.set_len(self.written).ok();
            }
            let why = format!("the end of the log could not be put together with its beginning: {problem}");
            self.problem.get_or_insert(why);
        }
        self.problem
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let path = &self.path;
        let head = match &mut self.head {
            Some(head) => head,
            head @ None => {
                if let Some(folder) = path.parent() {
                    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                log_files::remove(path)?;
                head.insert(private(path)?)
            }
        };
        let room = usize::try_from(self.limit / 2 - self.written).unwrap_or(usize::MAX).min(bytes.len());
        head.write_all(&bytes[..room])?;
        self.written += room as u64;
        self.write_tail(&bytes[room..])
    }

    fn write_tail(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let most = self.limit / 4;
        while !bytes.is_empty() {
            if self.tail.newer.as_ref().is_none_or(|newer| newer.bytes >= most) {
                self.begin_piece()?;
            }
            let Some(newer) = &mut self.tail.newer else { return Ok(()) };
            let room = usize::try_from(most - newer.bytes).unwrap_or(usize::MAX).min(bytes.len());
            newer.file.write_all(&bytes[..room])?;
            newer.bytes += room as u64;
            bytes = &bytes[room..];
        }
        Ok(())
    }

    /// In the place of the older piece, under a name of its own: who reads the older one still has it.
    fn begin_piece(&mut self) -> io::Result<()> {
        let tail = &mut self.tail;
        let [first, second] = log_files::pieces(&self.path);
        let path = match (tail.older.take(), &tail.newer) {
            (Some(oldest), _) => {
                tail.dropped += oldest.bytes;
                oldest.path
            }
            (None, None) => first,
            (None, Some(_)) => second,
        };
        let begins = self.written + tail.dropped + tail.newer.as_ref().map_or(0, |newer| newer.bytes);
        let file = headed(private(&path)?, &path, PieceHead { head_bytes: self.written, begins })?;
        tail.older = tail.newer.replace(Piece { path, file, bytes: 0 });
        Ok(())
    }

    fn join(&mut self) -> io::Result<()> {
        let Some(head) = &mut self.head else { return Ok(()) };
        let dropped = self.tail.dropped;
        let marker =
            if dropped > 0 { format!("\n… [{dropped} bytes left out] …\n") } else { String::new() };
        head.write_all(marker.as_bytes())?;
        for Piece { file, .. } in [&mut self.tail.older, &mut self.tail.newer].into_iter().flatten() {
            file.seek(SeekFrom::Start(PIECE_HEAD_BYTES as u64))?;
            io::copy(file, head)?;
        }
        // Before the pieces go: they may be all there is after a loss of power.
        head.sync_data()?;
        let joined =
            Joined { head_bytes: self.written, left_out_bytes: dropped, marker_bytes: marker.len() as u64 };
        joined.write(&self.path)?;
        for path in log_files::pieces(&self.path) {
            // One that stays is not looked at any more, and goes with the log.
            fs::remove_file(path).ok();
        }
        Ok(())
    }
}

/// A piece that has its head; without one it would be in the way of who reads the log.
fn headed(mut file: File, path: &Path, head: PieceHead) -> io::Result<File> {
    if let Err(problem) = file.write_all(&head.encode()) {
        // One that stays is passed over.
        fs::remove_file(path).ok();
        return Err(problem);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::protocol::LOG_BYTES;
    use super::*;

    fn log_of(folder: &Path, limit: u64, lines: usize) -> (PathBuf, Log) {
        let path = folder.join("logs").join("op.log");
        let mut log = Log::new(&path, limit);
        for number in 0..lines {
            log.push(format!("{number:09}\n").as_bytes());
        }
        (path, log)
    }

    fn logged(limit: u64, lines: usize) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = log_of(folder.path(), limit, lines);
        assert_eq!(log.finish(), None);
        assert!(log_files::pieces(&path).iter().all(|piece| !piece.exists()));
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn within_its_bound_a_log_has_everything() {
        assert_eq!(logged(2_000, 3), "000000000\n000000001\n000000002\n");
        let whole = logged(2_000, 195);
        assert_eq!(whole.lines().count(), 195);
        assert!(!whole.contains("left out"));
    }

    #[test]
    fn past_its_bound_it_has_head_and_tail_and_counts_the_middle() {
        let log = logged(2_000, 10_000);
        assert!(log.starts_with("000000000\n000000001\n") && log.ends_with("000009999\n"), "{log}");
        assert!(log.len() <= 2_100, "{}", log.len());
        let lines = log.lines().filter(|line| !line.is_empty() && !line.contains("left out")).count();
        let left_out = log.split("… [").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(lines * 10 + left_out.parse::<usize>().unwrap(), 100_000, "{log}");
    }

    #[test]
    fn meanwhile_the_newest_output_is_beside_it_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut log) = log_of(folder.path(), 2_000, 1_000);
        log.push(&[b'x'; 5_000]);
        assert_eq!(fs::metadata(&path).unwrap().len(), 1_000);
        let mut ends = Vec::new();
        for piece in log_files::pieces(&path) {
            let about = fs::metadata(&piece).unwrap();
            assert_eq!(about.permissions().mode() & 0o777, 0o600);
            let head = PieceHead::decode(&fs::read(&piece).unwrap()).unwrap();
            assert_eq!(head.head_bytes, 1_000);
            ends.push(head.begins + about.len() - PIECE_HEAD_BYTES as u64);
        }
        assert_eq!(ends.into_iter().max(), Some(15_000));
    }

    /// Whatever an earlier writer left under these names is not taken for this one's.
    #[test]
    fn a_log_begins_without_the_files_of_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, log) = log_of(folder.path(), 2_000, 1_000);
        assert_eq!(log.finish(), None);
        assert!(Joined::read(&path).unwrap().is_some());
        drop(log_of(folder.path(), 2_000, 1));
        assert_eq!(Joined::read(&path).unwrap(), None);
    }

    #[test]
    fn a_piece_for_whose_head_there_is_no_room_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("piece");
        fs::write(&path, "").unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let head = PieceHead { head_bytes: 1, begins: 1 };
        assert_eq!(headed(full, &path, head).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
    }

    #[test]
    fn a_disk_that_refuses_is_named_once() {
        let mut log = Log::new(Path::new("/dev/null/op.log"), LOG_BYTES);
        log.push(b"some");
        log.push(b"more");
        assert!(log.finish().unwrap().contains("could not be written"));
    }
}
