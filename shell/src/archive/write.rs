//! The writing side.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::Serialize;
use tar::{Builder, EntryType, Header};
use zstd::Encoder;

use super::{Draft, END, FILE, FOLDER, LINK, Sum};

/// How hard to compress: zstd's own default.
const LEVEL: i32 = 3;

/// What is kept of a file beside its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct About {
    /// Seconds since 1970.
    pub modified: u64,
    pub executable: bool,
}

/// Writes the members of an archive, in the order in which they come.
pub struct Writer<W: Write> {
    tar: Builder<Encoder<'static, W>>,
    sum: Sum,
}

impl<'a> Writer<BufWriter<&'a File>> {
    /// Begins an archive in a draft with what it says of itself, under this name.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn describing(draft: &'a Draft, name: &str, description: &impl Serialize) -> io::Result<Self> {
        let mut writer = Self::new(BufWriter::new(draft.file()))?;
        writer.text(name, &serde_json::to_vec_pretty(description)?)?;
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    /// # Errors
    /// When nothing can be written.
    pub fn new(to: W) -> io::Result<Self> {
        let mut zstd = Encoder::new(to, LEVEL)?;
        zstd.include_checksum(true)?;
        Ok(Self { tar: Builder::new(zstd), sum: Sum::default() })
    }

    /// A file of so many bytes. Says whether `content` gave fewer: the rest is zero then, as a file that is cut while it is
    /// copied has no better rest.
    ///
    /// # Errors
    /// When `content` can't be read, or the archive not be written.
    pub fn file(&mut self, path: &Path, about: About, bytes: u64, content: impl Read) -> io::Result<bool> {
        self.sum.member(FILE, path, bytes);
        let mut header = header(EntryType::Regular, if about.executable { 0o700 } else { 0o600 }, about);
        header.set_size(bytes);
        let mut summed =
            Summed { content: content.take(bytes), left: bytes, short: false, sum: &mut self.sum };
        self.tar.append_data(&mut header, path, &mut summed)?;
        Ok(summed.short)
    }

    /// A text.
    ///
    /// # Errors
    /// When the archive can't be written.
    pub fn text(&mut self, path: &str, text: &[u8]) -> io::Result<()> {
        self.file(Path::new(path), About::default(), text.len() as u64, text).map(drop)
    }

    /// A folder; those above it come first.
    ///
    /// # Errors
    /// When the archive can't be written.
    pub fn folder(&mut self, path: &Path) -> io::Result<()> {
        self.sum.member(FOLDER, path, 0);
        let mut header = header(EntryType::Directory, 0o700, About::default());
        self.tar.append_data(&mut header, path, io::empty())
    }

    /// A symbolic link.
    ///
    /// # Errors
    /// When the archive can't be written.
    pub fn link(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        self.sum.member(LINK, path, 0);
        self.sum.content(target.as_os_str().as_encoded_bytes());
        let mut header = header(EntryType::Symlink, 0o777, About::default());
        self.tar.append_link(&mut header, path, target)
    }

    /// Writes the sum of all members, and ends the archive.
    ///
    /// # Errors
    /// When the archive can't be written.
    pub fn finish(self) -> io::Result<W> {
        let Self { mut tar, sum } = self;
        let end = serde_json::to_vec(&sum.end())?;
        let mut header = header(EntryType::Regular, 0o600, About::default());
        header.set_size(end.len() as u64);
        tar.append_data(&mut header, END, &*end)?;
        tar.into_inner()?.finish()
    }
}

/// Nothing in it depends on who writes it, or when.
fn header(kind: EntryType, mode: u32, about: About) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(about.modified);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
}

/// Exactly so many bytes, which are summed up on the way.
struct Summed<'a, R> {
    content: io::Take<R>,
    left: u64,
    short: bool,
    sum: &'a mut Sum,
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = &mut buffer[..most];
        let mut read = if self.short { 0 } else { self.content.read(buffer)? };
        if read == 0 && most > 0 {
            self.short = true;
            buffer.fill(0);
            read = most;
        }
        self.left -= read as u64;
        self.sum.content(&buffer[..read]);
        Ok(read)
    }
}
