//! `run/daemon.log`: bounded, rotated while it is written, and read from its end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::home::Home;

/// A log that is longer becomes the previous one.
const BYTES: u64 = 4 << 20;
/// Previous logs that are kept: `daemon.log.1` is the newest.
const KEPT: u32 = 3;
/// Most bytes that a tail looks at.
const TAIL_BYTES: u64 = 1 << 20;
/// Most lines of a tail.
pub const TAIL_LINES: u32 = 10_000;

/// Where the log of a home is.
pub fn path(home: &Home) -> PathBuf {
    home.run_file("daemon.log")
}

/// The file of a log for writing at its end, for its owner alone.
///
/// # Errors
/// The folder can't be written to.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// A log that is written. Standard output and standard error of the process go where it goes.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
    /// Whether the process's own streams go along.
    streams: bool,
}

impl Log {
    /// Opens the log, and sends the process's own streams there.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn take_over(path: &Path) -> io::Result<Self> {
        Self::new(path, BYTES, true)
    }

    fn new(path: &Path, limit: u64, streams: bool) -> io::Result<Self> {
        let file = open(path)?;
        let written = file.metadata()?.len();
        let log = Self { path: path.to_owned(), file, written, limit, streams };
        log.redirect()?;
        Ok(log)
    }

    fn redirect(&self) -> io::Result<()> {
        if self.streams {
            rustix::stdio::dup2_stdout(&self.file)?;
            rustix::stdio::dup2_stderr(&self.file)?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        // Where an earlier attempt got no further than this, or somebody has removed the log, the previous ones stay as they are.
        if self.path.try_exists()? {
            for number in (0..KEPT).rev() {
                shift(&previous(&self.path, number), &previous(&self.path, number + 1))?;
            }
        }
        self.file = open(&self.path)?;
        self.written = self.file.metadata()?.len();
        self.redirect()
    }
}

impl Write for Log {
    /// Takes a whole line; a log that can't be rotated goes on growing rather than losing lines.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rotated = if self.written >= self.limit { self.rotate() } else { Ok(()) };
        self.file.write_all(bytes)?;
        self.written = self.written.saturating_add(bytes.len() as u64);
        rotated.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Gives a log another name. One that is not there has none to give.
fn shift(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The log itself is number 0.
fn previous(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The last lines of a log, and what comes after them.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    followed: Option<Followed>,
}

/// A file of which whole lines are read. It stays open: by the next look it may have another name.
#[derive(Debug)]
struct Followed {
    file: File,
    inode: u64,
    /// How far it was read.
    at: u64,
}

impl Tail {
    /// The last lines, at most so many; none where there is no log.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn read(path: &Path, lines: u32) -> io::Result<(Vec<String>, Self)> {
        let mut tail = Self { path: path.to_owned(), followed: None };
        let Some(mut followed) = Followed::open(path)? else { return Ok((Vec::new(), tail)) };
        let begin = followed.file.metadata()?.len().saturating_sub(TAIL_BYTES);
        followed.at = begin;
        let text = followed.text()?;
        followed.at += text.len() as u64;
        tail.followed = Some(followed);
        let text = String::from_utf8_lossy(&text).into_owned();
        // A line whose beginning is missing is none.
        let skipped = usize::from(begin > 0);
        let all: Vec<&str> = text.lines().skip(skipped).collect();
        let from = all.len().saturating_sub(lines.min(TAIL_LINES) as usize);
        Ok((all.into_iter().skip(from).map(ToOwned::to_owned).collect(), tail))
    }

    /// The whole lines that were written since, also to a log that is a previous one by now.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn more(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let now = Followed::open(&self.path)?;
        if let Some(before) = &mut self.followed {
            if now.as_ref().is_some_and(|now| now.inode == before.inode) {
                before.lines(&mut lines)?;
                return Ok(lines);
            }
            before.rest(&mut lines)?;
            for mut between in self.rotated_since()? {
                between.rest(&mut lines)?;
            }
        }
        self.followed = now;
        if let Some(now) = &mut self.followed {
            now.lines(&mut lines)?;
        }
        Ok(lines)
    }

    /// Logs that were begun after the one that was read, and are previous ones, too. The oldest is the first.
    fn rotated_since(&self) -> io::Result<Vec<Followed>> {
        let Some(before) = self.followed.as_ref().map(|before| before.inode) else { return Ok(Vec::new()) };
        let mut since = Vec::new();
        for number in 1..=KEPT {
            match Followed::open(&previous(&self.path, number))? {
                Some(log) if log.inode == before => {
                    since.reverse();
                    return Ok(since);
                }
                found => since.extend(found),
            }
        }
        // Somebody has removed it: which of the others are older does not show.
        Ok(Vec::new())
    }
}

impl Followed {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self { inode: file.metadata()?.ino(), file, at: 0 })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What was written since, as much of it as is looked at at once.
    fn text(&mut self) -> io::Result<Vec<u8>> {
        if self.file.metadata()?.len() < self.at {
            // It was emptied.
            self.at = 0;
        }
        self.file.seek(SeekFrom::Start(self.at))?;
        let mut text = Vec::new();
        (&self.file).take(TAIL_BYTES).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Whole lines; says whether there may be more. What is longer than is looked at at once is handed over in pieces.
    fn lines(&mut self, lines: &mut Vec<String>) -> io::Result<bool> {
        let mut text = self.text()?;
        let full = text.len() as u64 == TAIL_BYTES;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map(|end| end + 1);
        text.truncate(whole.unwrap_or(if full { text.len() } else { 0 }));
        self.at += text.len() as u64;
        lines.extend(String::from_utf8_lossy(&text).lines().map(ToOwned::to_owned));
        Ok(full)
    }

    /// Everything up to the end, which no line comes after any more.
    fn rest(&mut self, lines: &mut Vec<String>) -> io::Result<()> {
        while self.lines(lines)? {}
        let text = self.text()?;
        self.at += text.len() as u64;
        lines.extend(String::from_utf8_lossy(&text).lines().map(ToOwned::to_owned));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_rotated_and_followed_across_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        assert!(Tail::read(&path, 5).unwrap().0.is_empty());
        let mut log = Log::new(&path, 30, false).unwrap();
        let mut write = |text: &str| log.write_all(text.as_bytes()).unwrap();
        (0..3).for_each(|number| write(&format!("line {number}\n")));
        let (lines, mut tail) = Tail::read(&path, 2).unwrap();
        assert_eq!(lines, ["line 1", "line 2"]);
        assert!(tail.more().unwrap().is_empty());
        write("line 3\nhal");
        assert_eq!(tail.more().unwrap(), ["line 3"]);
        write("new\n");
        assert_eq!(tail.more().unwrap(), ["hal", "new"], "the file is another one");
        for number in 0..100 {
            write(&format!("line number {number} is longer\n"));
        }
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(fs::metadata(&path).unwrap().len() < 80);
    }

    #[test]
    fn no_line_is_lost_where_a_log_is_rotated_between_two_looks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let mut log = Log::new(&path, 30, false).unwrap();
        let mut write = |text: &str| log.write_all(text.as_bytes()).unwrap();
        write("line 0\n");
        let (_, mut tail) = Tail::read(&path, 5).unwrap();
        // Five lines fill a log: the second look comes after one rotation, the third after two.
        let numbers = [1..6, 6..12, 12..24, 24..25, 25..27];
        for number in numbers {
            let lines: Vec<String> = number.map(|number| format!("line {number}")).collect();
            lines.iter().for_each(|line| write(&format!("{line}\n")));
            assert_eq!(tail.more().unwrap(), lines);
        }
        // Somebody takes it away: what was in it before that is not lost, and nothing older is repeated.
        write("line 27\n");
        fs::remove_file(&path).unwrap();
        fs::write(&path, "line 28\n").unwrap();
        assert_eq!(tail.more().unwrap(), ["line 27", "line 28"]);
    }

    #[test]
    fn a_line_of_any_length_is_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        fs::write(&path, "first\n").unwrap();
        let (_, mut tail) = Tail::read(&path, 5).unwrap();
        let long = "x".repeat(usize::try_from(TAIL_BYTES).unwrap() + 10);
        let mut file = open(&path).unwrap();
        file.write_all(format!("{long}\nlast\n").as_bytes()).unwrap();
        let mut lines = Vec::new();
        for _ in 0..3 {
            lines.extend(tail.more().unwrap());
        }
        assert_eq!((lines.concat(), lines.last().map(String::as_str)), (format!("{long}last"), Some("last")));
    }

    #[test]
    fn a_log_that_was_removed_is_made_again_and_pushes_no_other_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let mut log = Log::new(&path, 10, false).unwrap();
        log.write_all(b"the first line\n").unwrap();
        log.write_all(b"the second line\n").unwrap();
        fs::remove_file(&path).unwrap();
        log.write_all(b"the third line\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the third line\n");
        assert_eq!(fs::read_to_string(previous(&path, 1)).unwrap(), "the first line\n");
        assert!(!previous(&path, 2).exists());
        // As long as it can't be made, each line is another attempt.
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(folder.path().join("missing/daemon.log"), &path).unwrap();
        (0..5).for_each(|_| assert!(log.write_all(b"lost\n").is_err()));
        assert_eq!(fs::read_to_string(previous(&path, 1)).unwrap(), "the first line\n");
        fs::create_dir(folder.path().join("missing")).unwrap();
        log.write_all(b"the last line\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the last line\n");
    }

    #[test]
    fn a_tail_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        fs::write(&path, "a line\n".repeat(400_000)).unwrap();
        let (lines, mut tail) = Tail::read(&path, u32::MAX).unwrap();
        assert_eq!((lines.len(), lines[0].as_str()), (TAIL_LINES as usize, "a line"));
        assert!(tail.more().unwrap().is_empty());
    }
}
