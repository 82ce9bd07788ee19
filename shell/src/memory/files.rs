//! Files of an agent's home that are searched: its memory, its notes, the plans of its work items. Nobody watches them: each
//! search looks at their stamps.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use holon_facts::{AgentId, Wall};
use holon_memory::{Document, Fill, Kind, Source, Standing};
use holon_platform::beneath::{self, entries};
use holon_platform::clock;
use holon_text::Texts;

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
    for Candidate { kind, name } in found(home) {
        let source = Source { kind, id: name };
        let at = known.iter().position(|entry| entry.document.source == source);
        let before = at.map(|at| known.swap_remove(at).document.stamp).unwrap_or_default();
        let Looked::Other(Text { stamp, text, updated_at }) = look(home, &source.id, before.as_deref())
        else {
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
        let path = home.join(&source.id).display().to_string();
        let document = Document {
            agent: agent.clone(),
            source,
            standing: Standing::Own,
            workspace: None,
            path: Some(path),
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

/// The text of a file that is a document of the agent with this home.
pub(super) fn body(texts: &Texts, home: &Path, document: &Document) -> Option<String> {
    let Looked::Other(Text { text, .. }) = look(home, &document.source.id, None) else { return None };
    (!text.is_empty()).then(|| texts.redact(&text))
}

/// What there is to search, in order, within the bounds.
fn found(home: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut left = ENTRIES;
    let mut add = |kind, name: &str| found.push(Candidate { kind, name: name.to_owned() });
    for (folder, kind, depth) in [("memory", Kind::AgentMemory, 1), ("notes", Kind::Note, DEPTH)] {
        below(home, folder, depth, &mut left, &mut |name| {
            let ending = Path::new(name).extension();
            if ending.is_some_and(|ending| ending == "md" || ending == "txt") {
                add(kind, name);
            }
        });
    }
    below(home, "work-items", 2, &mut left, &mut |name| {
        if Path::new(name).ends_with("plan.md") {
            add(Kind::WorkPlan, name);
        }
    });
    found.truncate(FILES);
    found
}

/// Each file below a folder of a home, in order, by its name below the home. Links are not followed: what they stand for
/// is elsewhere.
fn below(home: &Path, folder: &str, depth: u32, left: &mut usize, each: &mut dyn FnMut(&str)) {
    let Ok(mut entries) = entries(home, Path::new(folder), *left) else { return };
    *left -= entries.len();
    entries.sort();
    for (file, kind) in entries {
        let Some(file) = file.to_str() else { continue };
        let name = format!("{folder}/{file}");
        match kind {
            beneath::Kind::File => each(&name),
            beneath::Kind::Folder if depth > 1 => below(home, &name, depth - 1, left, each),
            beneath::Kind::Folder | beneath::Kind::Other => {}
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
fn look(home: &Path, name: &str, before: Option<&str>) -> Looked {
    read(home, name, before).unwrap_or_else(|_| Looked::Other(Text::default()))
}

fn read(home: &Path, name: &str, before: Option<&str>) -> io::Result<Looked> {
    let file = beneath::open(home, Path::new(name))?;
    let about = file.metadata()?;
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
