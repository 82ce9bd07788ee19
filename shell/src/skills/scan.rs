//! What one folder of skills has, in bounded parts. A `SKILL.md` that is as it was is not read again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use holon_facts::content::ContentId;
use holon_facts::skill::{DESCRIPTION_CHARS, NAME_CHARS};
use holon_supervise::confine::Readable;
use holon_text::hash;

use super::front_matter::{self, Value};

/// Folders that are looked at in one root, by name.
pub(super) const ENTRIES: usize = 256;
/// Names that are read of one, whatever has them: the first folders by name can be anywhere in the order of a disk.
const NAMES: usize = 65_536;
/// Bytes of a `SKILL.md`.
const BYTES: u64 = 256 << 10;
/// What is kept of files that were read.
const CACHED: usize = 2_048;
const METADATA: usize = 16;

/// One folder that has a `SKILL.md`.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    /// The name of the folder.
    pub(super) dir: String,
    /// Its `SKILL.md`: without links where that can be found out.
    pub(super) entrypoint: PathBuf,
    /// The folder is a link.
    pub(super) linked: bool,
    /// What it says, or why it can't be used.
    pub(super) read: Reading,
}

/// What a `SKILL.md` says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Where it has one.
    pub name: Option<String>,
    /// One line.
    pub description: String,
    pub digest: ContentId,
    pub bytes: u64,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// Shown, and grants nothing.
    pub allowed_tools: Option<String>,
    pub metadata: Vec<(String, String)>,
    /// What is wrong with it, and does not keep it from being used.
    pub problems: Vec<String>,
}

/// How a file looked when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// What a `SKILL.md` says, or why it can't be used.
type Reading = Result<Arc<Manifest>, String>;

/// Files that were read, for all agents of a runtime.
#[derive(Debug, Clone, Default)]
pub struct Cache(Arc<Mutex<HashMap<PathBuf, (Stamp, Reading)>>>);

impl Cache {
    fn get(&self, path: &Path, stamp: Stamp) -> Option<Reading> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(path).filter(|(known, _)| *known == stamp).map(|(_, read)| read.clone())
    }

    fn put(&self, path: &Path, stamp: Stamp, read: Reading) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= CACHED {
            kept.clear();
        }
        kept.insert(path.to_owned(), (stamp, read));
    }
}

/// The skills of a root, by the names of their folders, and how many folders more there are.
///
/// # Errors
/// The root can't be listed.
pub(super) fn scan(
    root: &Path,
    within: Option<&Path>,
    cache: &Cache,
    readable: &Readable,
) -> io::Result<(Vec<Scanned>, usize)> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)?.take(NAMES) {
        let entry = entry?;
        let name = entry.file_name();
        // A file of another kind is no skill, and takes no place of one. What begins with a dot is nobody's skill either: an
        // installation that is under way, for one.
        let may_be_one = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
        if may_be_one && !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    let more = first(&mut names);
    let one = |name: &OsString| entry(&root.join(name), within, cache, readable);
    Ok((names.iter().filter_map(one).collect(), more))
}

/// Leaves the first by name, whichever order a disk lists them in; how many more there are.
fn first(names: &mut Vec<OsString>) -> usize {
    names.sort();
    let more = names.len().saturating_sub(ENTRIES);
    names.truncate(ENTRIES);
    more
}

/// A folder, if it has a `SKILL.md`.
pub(super) fn entry(
    folder: &Path,
    within: Option<&Path>,
    cache: &Cache,
    readable: &Readable,
) -> Option<Scanned> {
    let file = folder.join("SKILL.md");
    let about = match fs::symlink_metadata(&file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        about => about,
    };
    let linked = fs::symlink_metadata(folder).is_ok_and(|about| about.is_symlink());
    let name = folder.file_name()?;
    let dir = name.to_string_lossy().into_owned();
    let broken = |entrypoint: PathBuf, problem: String| {
        Some(Scanned { dir: dir.clone(), entrypoint, linked, read: Err(problem) })
    };
    if name.to_str().is_none() {
        return broken(file, "the name of its folder is not UTF-8".to_owned());
    }
    // Where it is and what it says are asked of the file that is open: links may change meanwhile.
    let (open, real) = match about.and_then(|_| file.metadata()) {
        Ok(about) if !about.is_file() => {
            return broken(file, "its SKILL.md is not a regular file".to_owned());
        }
        about => match about.and_then(|_| readable.open_at(&file)) {
            Ok(opened) => opened,
            Err(problem) => return broken(file, format!("its SKILL.md can't be read: {problem}")),
        },
    };
    if within.is_some_and(|within| !real.starts_with(within)) {
        return broken(file, "it leads out of the workspace".to_owned());
    }
    if real.to_str().is_none() {
        return broken(file, "its path is not UTF-8".to_owned());
    }
    let read = cached(&real, open, cache);
    Some(Scanned { dir, entrypoint: real, linked, read })
}

fn cached(real: &Path, file: File, cache: &Cache) -> Reading {
    let about = file.metadata().map_err(|problem| format!("its SKILL.md can't be read: {problem}"))?;
    let stamp = Stamp::of(&about);
    if let Some(read) = cache.get(real, stamp) {
        return read;
    }
    let read = read(file).map(Arc::new);
    cache.put(real, stamp, read.clone());
    read
}

fn read(file: File) -> Result<Manifest, String> {
    let (text, digest) = text_of(file)?;
    manifest(&text, digest)
}

/// The text of a `SKILL.md`, and its hash.
pub(super) fn text_of(file: File) -> Result<(String, ContentId), String> {
    let unreadable = |problem: io::Error| format!("its SKILL.md can't be read: {problem}");
    let bytes = file.metadata().map_err(unreadable)?.len();
    if bytes > BYTES {
        return Err(format!("its SKILL.md has {bytes} bytes, and may have {BYTES}"));
    }
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.contains(&0) {
        return Err("its SKILL.md is not a text file".to_owned());
    }
    let digest = hash(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| "its SKILL.md is not UTF-8".to_owned())?;
    Ok((text, digest))
}

fn manifest(text: &str, digest: ContentId) -> Result<Manifest, String> {
    let parts = front_matter::split(text)?;
    let mut problems = Vec::new();
    let values = match parts.front_matter {
        Some(front_matter) => front_matter::read(front_matter)?,
        None => {
            problems.push("it has no front matter".to_owned());
            Vec::new()
        }
    };
    let value = |key: &str| values.iter().find(|(known, _)| known == key).map(|(_, value)| value);
    let text_of = |key: &str| value(key).map(shown).filter(|text| !text.is_empty());
    let mut description = text_of("description").unwrap_or_default();
    if description.is_empty() {
        problems.push("it has no description: its first paragraph stands in for it".to_owned());
        description = paragraph(parts.body);
    }
    if description.is_empty() {
        return Err("it has no description; write one into its front matter".to_owned());
    }
    if description.chars().count() > DESCRIPTION_CHARS {
        problems.push(format!("its description has more than {DESCRIPTION_CHARS} characters"));
        description = clipped(&description, DESCRIPTION_CHARS);
    }
    let metadata = match value("metadata") {
        Some(Value::Map(map)) => map
            .iter()
            .take(METADATA)
            .map(|(key, text)| (one_line(key), clipped(&one_line(text), 200)))
            .collect(),
        Some(Value::Text(_) | Value::List(_)) | None => Vec::new(),
    };
    let short = |key| text_of(key).map(|text| clipped(&text, 500));
    Ok(Manifest {
        name: text_of("name").map(|name| clipped(&name, NAME_CHARS)),
        description,
        digest,
        bytes: text.len() as u64,
        license: short("license"),
        compatibility: short("compatibility"),
        allowed_tools: short("allowed-tools"),
        metadata,
        problems,
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => one_line(text),
        Value::List(list) => one_line(&list.join(", ")),
        Value::Map(map) => {
            one_line(&map.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The first lines of a body that are no heading.
fn paragraph(body: &str) -> String {
    let lines = body.lines().map(str::trim).skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).take(20).collect();
    clipped(&one_line(&paragraph.join(" ")), DESCRIPTION_CHARS)
}

fn clipped(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

/// Without breaks, and without what changes how its neighbours are read.
pub(super) fn one_line(text: &str) -> String {
    let plain = |char: char| {
        let hidden = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
            || matches!(char, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if char.is_control() || hidden { ' ' } else { char }
    };
    let text: String = text.chars().map(plain).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CX3: which folders are looked at, where there are more than that.
    #[test]
    fn in_whichever_order_a_disk_lists_them_the_first_by_name_are_looked_at() {
        let names: Vec<OsString> = (0..ENTRIES + 3).map(|at| format!("s{at:03}").into()).collect();
        let mut turned: Vec<OsString> = names.iter().rev().cloned().collect();
        turned.rotate_left(100);
        assert_eq!(first(&mut turned), 3);
        assert_eq!(turned, names[..ENTRIES]);
    }

    #[test]
    fn plain_files_take_no_place_of_a_folder() {
        let root = tempfile::tempdir().unwrap();
        for at in 0..ENTRIES + 50 {
            fs::write(root.path().join(format!("a{at:03}.md")), "").unwrap();
        }
        fs::create_dir(root.path().join("zeta")).unwrap();
        fs::write(root.path().join("zeta/SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        std::os::unix::fs::symlink("zeta", root.path().join("link")).unwrap();
        let (scanned, more) = scan(root.path(), None, &Cache::default(), &Readable::default()).unwrap();
        let names: Vec<&str> = scanned.iter().map(|one| one.dir.as_str()).collect();
        assert_eq!((names, more), (vec!["link", "zeta"], 0));
    }
}
