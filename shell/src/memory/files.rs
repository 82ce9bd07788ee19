//! Files of an agent's home that are searched: its memory, its notes, the plans of its work items. Nobody watches them: each
//! search looks at their stamps.

use std::cmp::Reverse;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use holon_facts::{AgentId, Wall};
use holon_memory::{Document, Fill, Kind, Source, Standing};
use holon_platform::beneath::{self, entries};
use holon_platform::clock;
use holon_text::Texts;

use super::problem::MemoryProblem;

/// Files of an agent that are searched: the newest.
const FILES: usize = 256;
/// The newest of a kind that no other kind takes the place of.
const SHARE: usize = FILES / 4;
/// The part of each that is.
const FILE_BYTES: u64 = 256 << 10;
/// Folders within each other.
const DEPTH: u32 = 8;
/// Entries of folders that are looked at.
const ENTRIES: usize = 4_096;
/// Those among them of memory, and of work items; notes have all that these leave.
const MEMORY_ENTRIES: usize = 1_024;
const ITEM_ENTRIES: usize = 1_536;

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
        let looked = look(texts, home, &source.id, before.as_deref());
        let Looked::Other(Text { stamp, text, updated_at }) = looked else { continue };
        if text.is_empty() {
            if before.is_some() {
                fill.remove(agent, &source)?;
                changed = true;
            }
            continue;
        }
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
    let Looked::Other(Text { text, .. }) = look(texts, home, &document.source.id, None) else { return None };
    (!text.is_empty()).then_some(text)
}

/// What there is to search, within the bounds.
fn found(home: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut left = ENTRIES;
    let is_text = |name: &str| {
        let ending = Path::new(name).extension();
        ending.is_some_and(|ending| ending == "md" || ending == "txt")
    };
    let mut texts = |folder, kind, depth, left: &mut usize| {
        below(home, folder, depth, left, &mut |name| {
            if is_text(name) {
                found.push(Candidate { kind, name: name.to_owned() });
            }
        });
    };
    within(MEMORY_ENTRIES, &mut left, |left| texts("memory", Kind::AgentMemory, 1, left));
    let of_items = within(ITEM_ENTRIES, &mut left, |left| plans(home, left));
    texts("notes", Kind::Note, DEPTH, &mut left);
    found.extend(of_items);
    newest(home, found)
}

/// Takes no more than so many of the entries that are left.
fn within<T>(most: usize, left: &mut usize, take: impl FnOnce(&mut usize) -> T) -> T {
    let own = most.min(*left);
    let mut rest = own;
    let taken = take(&mut rest);
    *left -= own - rest;
    taken
}

/// The plan of each work item that has one.
fn plans(home: &Path, left: &mut usize) -> Vec<Candidate> {
    let Ok(items) = entries(home, Path::new("work-items"), *left) else { return Vec::new() };
    *left -= items.len();
    let folders = items.iter().filter(|(_, kind)| *kind == beneath::Kind::Folder);
    let names = folders.filter_map(|(item, _)| Some(format!("work-items/{}/plan.md", item.to_str()?)));
    let is_file = |name: &String| home.join(name).symlink_metadata().is_ok_and(|about| about.is_file());
    names.filter(is_file).map(|name| Candidate { kind: Kind::WorkPlan, name }).collect()
}

/// The newest of too many, by their names where they are of one time. Of each kind some are among them: whoever writes many
/// notes still finds the plans.
fn newest(home: &Path, mut found: Vec<Candidate>) -> Vec<Candidate> {
    if found.len() <= FILES {
        return found;
    }
    found.sort_by_cached_key(|one| {
        let about = home.join(&one.name).symlink_metadata().ok();
        let written = about.map(|about| (about.mtime(), about.mtime_nsec()));
        (Reverse(written), one.name.clone())
    });
    let (mut kept, mut others) = (Vec::<Candidate>::new(), Vec::new());
    for one in found {
        let of_kind = kept.iter().filter(|known| known.kind == one.kind).count();
        let list = if of_kind < SHARE { &mut kept } else { &mut others };
        list.push(one);
    }
    others.truncate(FILES.saturating_sub(kept.len()));
    kept.extend(others);
    kept
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

/// The beginning of a file without secrets, what it was when it was read, and when it was written.
#[derive(Default)]
struct Text {
    stamp: String,
    text: String,
    updated_at: Wall,
}

/// One that is not there any more, or can't be read, has no text.
fn look(texts: &Texts, home: &Path, name: &str, before: Option<&str>) -> Looked {
    read(texts, home, name, before).unwrap_or_else(|_| Looked::Other(Text::default()))
}

fn read(texts: &Texts, home: &Path, name: &str, before: Option<&str>) -> io::Result<Looked> {
    let file = beneath::open(home, Path::new(name))?;
    let about = file.metadata()?;
    let stamp = format!("{}:{}:{}.{}", about.ino(), about.len(), about.ctime(), about.ctime_nsec());
    if before == Some(stamp.as_str()) {
        return Ok(Looked::Same);
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // A part of a secret that the cut goes through would be known to nobody as one, nor what is left of a character.
    let text = match about.len() > FILE_BYTES {
        true => texts.secrets().redact_head(text.trim_end_matches('\u{fffd}')),
        false => texts.redact(&text),
    };
    let updated_at = clock::wall_of(about.modified()?);
    // What was changed just now may change again within the same tick of the disk's clock.
    let fresh = (clock::now().wall.0 - updated_at.0).abs() < FRESH;
    let stamp = if fresh { format!("{stamp}?") } else { stamp };
    Ok(Looked::Other(Text { stamp, text, updated_at }))
}
