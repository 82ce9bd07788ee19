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
    /// Which file it was read from, and how far.
    file: Option<(u64, u64)>,
}

impl Tail {
    /// The last lines, at most so many; none where there is no log.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn read(path: &Path, lines: u32) -> io::Result<(Vec<String>, Self)> {
        let mut tail = Self { path: path.to_owned(), file: None };
        let Some(mut file) = tail.open()? else { return Ok((Vec::new(), tail)) };
        let about = file.metadata()?;
        let begin = about.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(begin))?;
        let text = text(&file)?;
        tail.file = Some((about.ino(), begin + text.len() as u64));
        let text = String::from_utf8_lossy(&text).into_owned();
        // A line whose beginning is missing is none.
        let skipped = usize::from(begin > 0);
        let all: Vec<&str> = text.lines().skip(skipped).collect();
        let from = all.len().saturating_sub(lines.min(TAIL_LINES) as usize);
        Ok((all.into_iter().skip(from).map(ToOwned::to_owned).collect(), tail))
    }

    /// The whole lines that were written since.
    ///
    /// # Errors
    /// The log can't be read.
    pub fn more(&mut self) -> io::Result<Vec<String>> {
        let Some(mut file) = self.open()? else { return Ok(Vec::new()) };
        let about = file.metadata()?;
        let begin = match self.file {
            Some((inode, at)) if inode == about.ino() && at <= about.len() => at,
            // Another file, or one that was emptied.
            Some(_) | None => 0,
        };
        file.seek(SeekFrom::Start(begin))?;
        let mut text = text(&file)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text.truncate(whole);
        self.file = Some((about.ino(), begin + whole as u64));
        Ok(String::from_utf8_lossy(&text).lines().map(ToOwned::to_owned).collect())
    }

    fn open(&self) -> io::Result<Option<File>> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn text(file: &File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut text)?;
    Ok(text)
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
        assert_eq!(tail.more().unwrap(), ["new"], "the file is another one");
        for number in 0..100 {
            write(&format!("line number {number} is longer\n"));
        }
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(fs::metadata(&path).unwrap().len() < 80);
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
