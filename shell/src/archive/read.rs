//! The reading side. What stands in an archive is somebody else's word: names lead nowhere outside, and nothing counts before the
//! end was reached.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use holon_platform::regular;
use tar::{Archive, Entry};
use zstd::Decoder;

use super::{About, ArchiveError, END, End, FILE, FOLDER, LINK, LONGEST_DESCRIPTION, Sum};

/// What `tar` writes behind the last member at most.
const LONGEST_REST: u64 = 1 << 20;

type Unpacked = Decoder<'static, BufReader<File>>;

/// A member, as whoever reads an archive gets it. Its path is relative and leads upwards nowhere.
pub enum Member<'a> {
    File { path: PathBuf, about: About, bytes: u64, content: Content<'a> },
    Folder { path: PathBuf },
    Link { path: PathBuf, target: PathBuf },
}

/// The content of a file. What is not read is passed over.
pub struct Content<'a> {
    entry: &'a mut dyn Read,
    bytes: u64,
    sum: &'a mut Sum,
    path: &'a Path,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.entry.read(buffer)?;
        self.sum.content(&buffer[..read]);
        Ok(read)
    }
}

impl Content<'_> {
    /// All of it, as long as it is no longer than that.
    ///
    /// # Errors
    /// When it is, or can't be read.
    pub fn whole(&mut self, most: u64) -> Result<Vec<u8>, ArchiveError> {
        let archive = self.path.to_owned();
        let (size, mut read) = (self.bytes, Vec::new());
        if size > most {
            let problem = format!("a member of it has {size} bytes, at most {most} are read");
            return Err(ArchiveError::Damaged { path: archive, problem });
        }
        self.read_to_end(&mut read).map_err(|error| broken(&archive, &error))?;
        Ok(read)
    }
}

impl Drop for Content<'_> {
    fn drop(&mut self) {
        // A rest that can't be read is found with the sum.
        drop(io::copy(self, &mut io::sink()));
    }
}

/// The first member, which has to be called `name`, and nothing more of it.
///
/// # Errors
/// When it is no archive of this kind, or can't be read.
pub fn beginning(path: &Path, kind: &'static str, name: &str) -> Result<Vec<u8>, ArchiveError> {
    let mut archive = open(path)?;
    let not_one = |problem: String| ArchiveError::NotOne { path: path.to_owned(), kind, problem };
    let unreadable = |error: io::Error| not_one(format!("it is not compressed as one ({error})"));
    let mut entries = archive.entries().map_err(unreadable)?;
    let mut first = match entries.next() {
        Some(first) => first.map_err(unreadable)?,
        None => return Err(not_one("it is empty".to_owned())),
    };
    if first.path_bytes() != name.as_bytes() {
        return Err(not_one(format!("its first member is not {name}")));
    }
    if first.size() > LONGEST_DESCRIPTION {
        return Err(not_one(format!("{name} has {} bytes", first.size())));
    }
    let mut text = Vec::new();
    first.read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Gives every member but the last one to `each`, and compares them with what the last one sums up.
///
/// # Errors
/// When it is not whole or can't be read, or the first error of `each`.
pub fn read<E: From<ArchiveError>>(
    path: &Path,
    each: &mut dyn FnMut(Member<'_>) -> Result<(), E>,
) -> Result<End, E> {
    let mut archive = open(path)?;
    let end = members(path, &mut archive, each)?;
    // The sum of what is compressed comes behind everything.
    let mut rest = archive.into_inner().take(LONGEST_REST);
    io::copy(&mut rest, &mut io::sink()).map_err(|error| broken(path, &error))?;
    Ok(end)
}

fn members<E: From<ArchiveError>>(
    path: &Path,
    archive: &mut Archive<Unpacked>,
    each: &mut dyn FnMut(Member<'_>) -> Result<(), E>,
) -> Result<End, E> {
    let mut sum = Sum::default();
    let entries = archive.entries().map_err(|error| broken(path, &error))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| broken(path, &error))?;
        let name = name_of(path, &entry)?;
        if name == Path::new(END) {
            return Ok(ended(path, &mut entry, sum)?);
        }
        let kind = entry.header().entry_type();
        if kind.is_file() {
            let bytes = entry.size();
            let about = About {
                modified: entry.header().mtime().unwrap_or(0),
                executable: entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0),
            };
            sum.member(FILE, &name, bytes);
            let content = Content { entry: &mut entry, bytes, sum: &mut sum, path };
            each(Member::File { path: name, about, bytes, content })?;
        } else if kind.is_dir() {
            sum.member(FOLDER, &name, 0);
            each(Member::Folder { path: name })?;
        } else if kind.is_symlink() {
            let target = entry.link_name().map_err(|error| broken(path, &error))?;
            let target = target.unwrap_or_default().into_owned();
            sum.member(LINK, &name, 0);
            sum.content(target.as_os_str().as_encoded_bytes());
            each(Member::Link { path: name, target })?;
        } else {
            let problem = format!("{} is neither file, folder nor link ({kind:?})", name.display());
            return Err(ArchiveError::Damaged { path: path.to_owned(), problem }.into());
        }
    }
    let problem = format!("it ends without {END}");
    Err(ArchiveError::Damaged { path: path.to_owned(), problem }.into())
}

fn open(path: &Path) -> Result<Archive<Unpacked>, ArchiveError> {
    let failed = |source| ArchiveError::Read { path: path.to_owned(), source };
    let file = regular::open(path).map_err(failed)?;
    Ok(Archive::new(Decoder::new(file).map_err(failed)?))
}

fn broken(path: &Path, error: &io::Error) -> ArchiveError {
    ArchiveError::Damaged { path: path.to_owned(), problem: error.to_string() }
}

/// A name that leads nowhere but into the folder that members are put into.
fn name_of(path: &Path, entry: &Entry<'_, Unpacked>) -> Result<PathBuf, ArchiveError> {
    let name = entry.path().map_err(|error| broken(path, &error))?.into_owned();
    let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    if inside && name.components().next().is_some() {
        // Without the stroke that tar puts behind a folder.
        return Ok(name.components().collect());
    }
    let problem = format!("a member is called {}", name.display());
    Err(ArchiveError::Damaged { path: path.to_owned(), problem })
}

fn ended(path: &Path, entry: &mut Entry<'_, Unpacked>, sum: Sum) -> Result<End, ArchiveError> {
    let damaged = |problem: String| ArchiveError::Damaged { path: path.to_owned(), problem };
    let mut text = Vec::new();
    entry.take(LONGEST_DESCRIPTION).read_to_end(&mut text).map_err(|error| broken(path, &error))?;
    let end: End = holon_facts::json::read(&text).map_err(|error| damaged(format!("{END}: {error}")))?;
    if end == sum.end() {
        return Ok(end);
    }
    Err(damaged("it is damaged".to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Writer;
    use super::*;

    fn sample() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.text("sample.json", b"{}").unwrap();
        writer.folder(Path::new("folder")).unwrap();
        let about = About { modified: 7, executable: true };
        assert!(!writer.file(Path::new("folder/file"), about, 5, &b"hello"[..]).unwrap());
        assert!(writer.file(&Path::new("folder").join("n".repeat(300)), about, 5, &b"he"[..]).unwrap());
        writer.link(Path::new("folder/link"), Path::new("../file")).unwrap();
        writer.finish().unwrap()
    }

    fn listed(archive: &[u8]) -> Result<Vec<String>, ArchiveError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive");
        std::fs::write(&path, archive).unwrap();
        let mut members = Vec::new();
        read::<ArchiveError>(&path, &mut |member| {
            members.push(match member {
                Member::File { path, about, mut content, .. } => {
                    let text = String::from_utf8(content.whole(1_000)?).unwrap_or_default();
                    format!("{} {about:?} {text:?}", path.display())
                }
                Member::Folder { path } => format!("{}/", path.display()),
                Member::Link { path, target } => format!("{} -> {}", path.display(), target.display()),
            });
            Ok(())
        })?;
        Ok(members)
    }

    #[test]
    fn what_was_written_is_read_and_equal_members_give_equal_bytes() {
        let members = listed(&sample()).unwrap();
        assert_eq!(members.len(), 5);
        assert_eq!(members[2], r#"folder/file About { modified: 7, executable: true } "hello""#);
        assert!(members[3].ends_with(r#""he\0\0\0""#), "{}", members[3]);
        assert_eq!(members[4], "folder/link -> ../file");
        assert_eq!(sample(), sample());
    }

    #[test]
    fn a_name_that_leads_outside_and_a_device_are_refused() {
        for name in ["../up", "/etc/passwd", "a/../../b"] {
            let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(0);
            header.set_cksum();
            tar.append(&header, io::empty()).unwrap();
            let archive = tar.into_inner().unwrap().finish().unwrap();
            let refused = listed(&archive).unwrap_err().to_string();
            assert!(refused.contains("is called"), "{refused}");
        }
        let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Fifo);
        header.set_size(0);
        tar.append_data(&mut header, "pipe", io::empty()).unwrap();
        let refused = listed(&tar.into_inner().unwrap().finish().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("neither"), "{refused}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..Default::default() })]

        /// Whatever byte goes bad, and wherever it is cut: it is noticed, or what was written is read.
        #[test]
        fn a_bad_byte_and_a_cut_are_noticed(at in 0.0..1.0_f64, bits in 0_u8..=255) {
            let good = sample();
            let at = ((good.len() as f64) * at) as usize;
            let mut bad = good.clone();
            if bits == 0 { bad.truncate(at) } else { bad[at] ^= bits }
            if let Ok(read) = listed(&bad) {
                prop_assert_eq!(read, listed(&good).unwrap());
            }
        }
    }
}
