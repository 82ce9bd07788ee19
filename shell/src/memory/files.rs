//! Files of an agent's home that are searched: its memory, its notes, the plans of its work items. Nobody watches them: each
//! search looks at their stamps.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holon_facts::{AgentId, Wall};
use holon_memory::{Document, Fill, Kind, Source, Standing};
use holon_platform::clock;
use holon_text::Texts;
use rustix::fs::OFlags;

use super::problem::MemoryProblem;

/// Files of an agent that are searched.
const FILES: usize = 256;
/// The part of each that is.
const FILE_BYTES: u64 = 256 << 10;
/// Folders within each other.
const DEPTH: u32 = 8;
/// Entries of folders that are looked at.
const ENTRIES: usize = 4_096;

/// Microseconds in which a file may change twice with one stamp.
const FRESH: i64 = 100_000;

/// A file that is there.
struct Candidate {
    kind: Kind,
    path: PathBuf,
    /// Below the agent's home.
    name: String,
}

/// Brings the documents of an agent's files up to date. A file that can't be read is none.
pub(super) fn refresh(
    fill: &Fill<'_>,
    texts: &Texts,
    home: &Path,
    agent: &AgentId,
) -> Result<bool, MemoryProblem> {
    if fill.workspace(agent)?.is_none() {
        return Ok(false);
    }
    let mut known: Vec<_> = fill.files(agent)?;
    known.retain(|entry| entry.document.stamp.is_some());
    let mut changed = false;
    for Candidate { kind, path, name } in found(home) {
        let source = Source { kind, id: name };
        let at = known.iter().position(|entry| entry.document.source == source);
        let before = at.map(|at| known.swap_remove(at).document.stamp).unwrap_or_default();
        let Looked::Other(Text { stamp, text, updated_at }) = look(&path, before.as_deref()) else {
            continue;
        };
        if text.is_empty() {
            if before.is_some() {
                fill.remove(agent, &source)?;
                changed = true;
            }
            continue;
        }
        let text = texts.redact(&text);
        let title = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(&source.id);
        let title = title.trim_start_matches(['#', ' ']).to_owned();
        let document = Document {
            agent: agent.clone(),
            source,
            standing: Standing::Own,
            workspace: None,
            path: Some(path.display().to_string()),
            title,
            updated_at,
            events: Vec::new(),
            stamp: Some(stamp),
        };
        fill.put(&document, &text)?;
        changed = true;
    }
    for gone in known {
        fill.remove(agent, &gone.document.source)?;
        changed = true;
    }
    Ok(changed)
}

/// The text of a file that is a document.
pub(super) fn body(texts: &Texts, document: &Document) -> Option<String> {
    let path = document.path.as_ref().filter(|_| document.stamp.is_some())?;
    let Looked::Other(Text { text, .. }) = look(Path::new(path), None) else { return None };
    (!text.is_empty()).then(|| texts.redact(&text))
}

/// What there is to search, in order, within the bounds.
fn found(home: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut left = ENTRIES;
    for (folder, kind, depth) in [("memory", Kind::AgentMemory, 1), ("notes", Kind::Note, DEPTH)] {
        below(&home.join(folder), folder, depth, &mut left, &mut |path, name| {
            if path.extension().is_some_and(|ending| ending == "md" || ending == "txt") {
                found.push(Candidate { kind, path, name });
            }
        });
    }
    below(&home.join("work-items"), "work-items", 2, &mut left, &mut |path, name| {
        if path.file_name().is_some_and(|file| file == "plan.md") {
            found.push(Candidate { kind: Kind::WorkPlan, path, name });
        }
    });
    found.truncate(FILES);
    found
}

/// Each file below a folder, in order. Links are not followed: what they stand for is elsewhere.
fn below(folder: &Path, name: &str, depth: u32, left: &mut usize, each: &mut dyn FnMut(PathBuf, String)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<DirEntry> = entries.flatten().take(*left).collect();
    *left -= entries.len();
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
        let (Ok(kind), Some(file)) = (entry.file_type(), entry.file_name().to_str().map(ToOwned::to_owned))
        else {
            continue;
        };
        let name = format!("{name}/{file}");
        if kind.is_file() {
            each(entry.path(), name);
        } else if kind.is_dir() && depth > 1 {
            below(&entry.path(), &name, depth - 1, left, each);
        }
    }
}

/// What a look at a file came to.
enum Looked {
    /// It is what it was before.
    Same,
    Other(Text),
}

/// The beginning of a file, what it was when it was read, and when it was written.
#[derive(Default)]
struct Text {
    stamp: String,
    text: String,
    updated_at: Wall,
}

/// One that is not there any more, or can't be read, has no text.
fn look(path: &Path, before: Option<&str>) -> Looked {
    read(path, before).unwrap_or_else(|_| Looked::Other(Text::default()))
}

fn read(path: &Path, before: Option<&str>) -> io::Result<Looked> {
    // Neither another file behind a link, nor a wait for whoever writes to a pipe.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(Looked::Other(Text::default()));
    }
    let stamp = format!("{}:{}:{}.{}", about.ino(), about.len(), about.ctime(), about.ctime_nsec());
    if before == Some(stamp.as_str()) {
        return Ok(Looked::Same);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let updated_at = clock::wall_of(about.modified()?);
    // What was changed just now may change again within the same tick of the disk's clock.
    let fresh = (clock::now().wall.0 - updated_at.0).abs() < FRESH;
    let stamp = if fresh { format!("{stamp}?") } else { stamp };
    Ok(Looked::Other(Text { stamp, text, updated_at }))
}
