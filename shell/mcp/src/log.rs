//! What a server writes to its standard error: kept in two files that are written in turn, so that the newest is always there
//! and all of it has a bound.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holon_text::Redactor;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of one of the two files.
const FILE_BYTES: u64 = 512 << 10;
const CHUNK: usize = 16 << 10;

/// The log of one server.
#[derive(Debug, Clone)]
pub struct Log {
    newest: PathBuf,
    older: PathBuf,
}

impl Log {
    /// That of a server, in the folder of all logs.
    pub fn of(folder: &Path, server: &str) -> Self {
        Self { newest: folder.join(format!("{server}.log")), older: folder.join(format!("{server}.log.old")) }
    }

    /// All that is kept, the oldest first; none where nothing was ever written.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn read(&self) -> io::Result<Option<String>> {
        let mut text = None;
        for path in [&self.older, &self.newest] {
            match fs::read(path) {
                Ok(bytes) => text.get_or_insert_with(String::new).push_str(&String::from_utf8_lossy(&bytes)),
                Err(problem) if problem.kind() == io::ErrorKind::NotFound => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(text)
    }

    /// Takes both files away.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn remove(&self) -> io::Result<()> {
        for path in [&self.older, &self.newest] {
            match fs::remove_file(path) {
                Err(problem) if problem.kind() != io::ErrorKind::NotFound => return Err(problem),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn open(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.newest.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.newest)?;
        let bytes = file.metadata()?.len();
        Ok((file, bytes))
    }

    fn write(&self, open: &mut (File, u64), bytes: &[u8]) -> io::Result<()> {
        if open.1 >= FILE_BYTES {
            fs::rename(&self.newest, &self.older)?;
            *open = self.open()?;
        }
        open.0.write_all(bytes)?;
        open.1 += bytes.len() as u64;
        Ok(())
    }

    /// Keeps what comes, without secrets, until its end. Where it can't be kept it is read all the same: a server whose
    /// errors nobody reads would stand still.
    pub(crate) async fn keep(self, mut source: impl AsyncRead + Unpin, mut redactor: Redactor) {
        let mut open = self.open().ok();
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = source.read(&mut buffer).await.unwrap_or(0);
            let shown = if read == 0 { redactor.finish() } else { redactor.push(&buffer[..read]) };
            if open.as_mut().is_some_and(|open| self.write(open, &shown).is_err()) {
                open = None;
            }
            if read == 0 {
                return;
            }
        }
    }
}
