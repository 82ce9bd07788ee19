//! The log of a command: all of its output as it came, within a bound. Past the bound its head and its tail
//! are kept and the middle is counted. A log that can't be written says why, and costs nothing else.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of a log: half of it for the head, a quarter for each of two pieces that hold the tail in turn.
pub(super) const LIMIT: u64 = 256 << 20;

pub(super) struct Log {
    path: PathBuf,
    /// Where pieces of the tail are kept meanwhile.
    folder: PathBuf,
    limit: u64,
    head: Option<File>,
    written: u64,
    tail: Tail,
    problem: Option<String>,
}

/// The newest output, once the head is full.
#[derive(Default)]
struct Tail {
    older: Option<Piece>,
    newer: Option<Piece>,
    dropped: u64,
}

struct Piece {
    file: File,
    bytes: u64,
}

impl Log {
    pub(super) fn new(path: &Path, folder: &Path, limit: u64) -> Self {
        let (path, folder) = (path.to_owned(), folder.to_owned());
        Self { path, folder, limit, head: None, written: 0, tail: Tail::default(), problem: None }
    }

    /// Appends output. After the first failure nothing more is written: a hole would not show.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.problem.is_none()
            && let Err(problem) = self.write(bytes)
        {
            self.problem = Some(format!("the log could not be written: {problem}"));
        }
    }

    /// Puts head and tail together, and says what went wrong.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.problem.is_none()
            && let Err(problem) = self.join()
        {
            self.problem = Some(format!("the end of the log could not be written: {problem}"));
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
                head.insert(private(path)?)
            }
        };
        let room = usize::try_from(self.limit / 2 - self.written).unwrap_or(usize::MAX).min(bytes.len());
        head.write_all(&bytes[..room])?;
        self.written += room as u64;
        self.write_tail(&bytes[room..])
    }

    fn write_tail(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.tail.newer.as_ref().is_none_or(|newer| newer.bytes >= self.limit / 4) {
            let free = match self.tail.older.take() {
                Some(mut oldest) => {
                    self.tail.dropped += oldest.bytes;
                    oldest.file.set_len(0)?;
                    oldest.file.rewind()?;
                    oldest.file
                }
                None => {
                    let name = if self.tail.newer.is_none() { "tail.1" } else { "tail.2" };
                    private(&self.folder.join(name))?
                }
            };
            self.tail.older = self.tail.newer.replace(Piece { file: free, bytes: 0 });
        }
        if let Some(newer) = &mut self.tail.newer {
            newer.file.write_all(bytes)?;
            newer.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    fn join(&mut self) -> io::Result<()> {
        let Some(head) = &mut self.head else { return Ok(()) };
        if self.tail.dropped > 0 {
            let dropped = self.tail.dropped;
            head.write_all(format!("\n… [{dropped} bytes left out] …\n").as_bytes())?;
        }
        for piece in [&mut self.tail.older, &mut self.tail.newer].into_iter().flatten() {
            piece.file.seek(SeekFrom::Start(0))?;
            io::copy(&mut piece.file, head)?;
        }
        Ok(())
    }
}

/// A new file for its owner alone; one that is there under that name is replaced.
fn private(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(limit: u64, pieces: usize) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs").join("op.log");
        let mut log = Log::new(&path, folder.path(), limit);
        for number in 0..pieces {
            log.push(format!("{number:09}\n").as_bytes());
        }
        assert_eq!(log.finish(), None);
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn within_its_bound_a_log_has_everything() {
        assert_eq!(logged(1_000, 3), "000000000\n000000001\n000000002\n");
        let whole = logged(1_000, 95);
        assert_eq!(whole.lines().count(), 95);
        assert!(!whole.contains("left out"));
    }

    #[test]
    fn past_its_bound_it_has_head_and_tail_and_counts_the_middle() {
        let log = logged(1_000, 10_000);
        assert!(log.starts_with("000000000\n000000001\n") && log.ends_with("000009999\n"), "{log}");
        assert!(log.len() <= 1_100, "{}", log.len());
        let lines = log.lines().filter(|line| !line.is_empty() && !line.contains("left out")).count();
        let left_out = log.split("… [").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(lines * 10 + left_out.parse::<usize>().unwrap(), 100_000, "{log}");
    }

    #[test]
    fn a_disk_that_refuses_is_named_once() {
        let mut log = Log::new(Path::new("/dev/null/op.log"), Path::new("/dev/null"), LIMIT);
        log.push(b"some");
        log.push(b"more");
        assert!(log.finish().unwrap().contains("could not be written"));
    }
}
