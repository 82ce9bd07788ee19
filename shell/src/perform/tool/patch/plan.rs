//! From what a patch says to what will change, worked out in memory. Nothing is written here.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_platform::beneath;

use super::apply;
use super::parse::{Action, FilePatch, Line};
use super::refusal::of_hunk;
use super::{Changed, Refusal, Root, failed, rejected};

/// Largest file that a patch may change, in bytes, before and after.
const FILE_BYTES: u64 = 32 << 20;
/// All files of a patch together, in bytes.
const TOTAL_BYTES: u64 = 256 << 20;
/// The bits of a mode that are kept: a changed program does not stay one that runs as its owner.
const MODE: u32 = 0o777;

/// One path with what is there and what will be there; none is no file.
#[derive(Debug)]
pub(super) struct Change {
    /// Below the root, as it is reported.
    pub(super) path: String,
    pub(super) target: PathBuf,
    pub(super) before: Option<File>,
    pub(super) after: Option<File>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Permission bits of a file that is there.
    Bits(u32),
    /// Of a new one: what the process makes of it, as for any file that a command creates.
    New { executable: bool },
}

/// Everything that a patch changes, and what the model is shown about it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Vec<Change>,
    pub(super) report: Vec<Changed>,
}

/// What is there now at a path that the patch names.
struct Current {
    /// Below the root, without links and dots: a file has one name, however the patch writes it.
    path: String,
    target: PathBuf,
    file: Option<File>,
}

/// One file of the patch with both of its sides looked up.
struct Draft<'p> {
    patch: &'p FilePatch<'p>,
    old: Option<Current>,
    new: Option<Current>,
    what: &'static str,
}

/// Works out all files of a patch, or says what is wrong with the first one that is refused.
pub(super) fn plan(root: &Root, files: &[FilePatch<'_>]) -> Result<Plan, Refusal> {
    let mut drafts = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for patch in files {
        let draft = Draft::look(root, patch)?;
        let found = [&draft.old, &draft.new].into_iter().flatten().filter_map(|found| found.file.as_ref());
        bytes += found.map(|file| file.bytes.len() as u64).sum::<u64>();
        if bytes > TOTAL_BYTES {
            let message = format!("the files of the patch have more than {TOTAL_BYTES} bytes together");
            return Err(rejected(message).hint("send it in pieces"));
        }
        drafts.push(draft);
    }
    check_claims(&drafts)?;
    let mut plan = Plan { changes: Vec::new(), report: Vec::with_capacity(drafts.len()) };
    let mut at: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for draft in drafts {
        let (after, changed) = draft.work_out()?;
        plan.report.push(changed);
        let Draft { patch, old, new, .. } = draft;
        let kept = matches!(patch.action, Action::Copy { .. });
        if let Some(old) = old.filter(|_| !kept) {
            plan.put(&mut at, old, None);
        }
        if let Some(new) = new {
            plan.put(&mut at, new, after);
        }
    }
    Ok(plan)
}

impl Plan {
    /// Notes what becomes of a path. One that a file leaves and another takes is one change.
    fn put(&mut self, at: &mut BTreeMap<PathBuf, usize>, found: Current, after: Option<File>) {
        let Current { path, target, file: before } = found;
        let index = *at.entry(target.clone()).or_insert(self.changes.len());
        match self.changes.get_mut(index) {
            Some(change) => change.after = after.or(change.after.take()),
            None => self.changes.push(Change { path, target, before, after }),
        }
    }
}

/// Refuses a path that two files of the patch want to change, or to take while something else has it.
fn check_claims(drafts: &[Draft<'_>]) -> Result<(), Refusal> {
    let mut left: BTreeMap<&PathBuf, &Draft<'_>> = BTreeMap::new();
    let mut taken: BTreeMap<&PathBuf, &Draft<'_>> = BTreeMap::new();
    for draft in drafts {
        let leaves = draft.old.as_ref().filter(|_| !matches!(draft.patch.action, Action::Copy { .. }));
        let takes = draft.new.as_ref();
        let first = leaves.and_then(|found| Some((found, left.insert(&found.target, draft)?)));
        let second = takes.and_then(|found| Some((found, taken.insert(&found.target, draft)?)));
        if let Some((found, before)) = first.or(second) {
            let (path, lines) = (&found.path, [before.patch.line, draft.patch.line]);
            let message =
                format!("{path} is named twice, in lines {} and {} of the patch", lines[0], lines[1]);
            return Err(rejected(message).hint("put all hunks of a file under one --- and +++"));
        }
    }
    for (target, draft) in &taken {
        let Some(new) = draft.new.as_ref().filter(|new| new.file.is_some() && !left.contains_key(target))
        else {
            continue;
        };
        let path = &new.path;
        let message = format!("{path}: the patch makes a file of this name, and there is one already");
        return Err(rejected(message)
            .hint("read it; to change it, name it on both sides; to replace it, delete it first"));
    }
    Ok(())
}

impl<'p> Draft<'p> {
    fn look(root: &Root, patch: &'p FilePatch<'p>) -> Result<Self, Refusal> {
        let path = patch.action.path();
        let (old, new, what) = match &patch.action {
            Action::Create { path } => (None, Some(look(root, path, Link::Refused)?), "created"),
            Action::Delete { path } => (Some(existing(root, path, Link::Refused)?), None, "deleted"),
            Action::Modify { path } => {
                let found = look(root, path, Link::Followed)?;
                if found.file.is_none() && creates(patch) {
                    (None, Some(found), "created")
                } else {
                    let found = there(found)?;
                    let (path, target) = (found.path.clone(), found.target.clone());
                    (Some(found), Some(Current { path, target, file: None }), "modified")
                }
            }
            Action::Rename { from, to } => {
                (Some(existing(root, from, Link::Refused)?), Some(look(root, to, Link::Refused)?), "renamed")
            }
            Action::Copy { from, to } => {
                (Some(existing(root, from, Link::Refused)?), Some(look(root, to, Link::Refused)?), "copied")
            }
        };
        let draft = Self { patch, old, new, what };
        match draft.read_only() {
            Some(mode) => {
                let message = format!("{path}: the file is read-only (mode {mode:o})");
                Err(rejected(message).hint("if it is meant to be changed, chmod u+w it first"))
            }
            None => Ok(draft),
        }
    }

    /// The mode of a file whose text would change, or go, and that nobody may write to.
    fn read_only(&self) -> Option<u32> {
        let stays = self.patch.hunks.is_empty() && self.new.is_some();
        match self.old.as_ref()?.file.as_ref()?.mode {
            Mode::Bits(mode) if mode & 0o200 == 0 && !stays => Some(mode),
            Mode::Bits(_) | Mode::New { .. } => None,
        }
    }

    /// The file as it will be, and what the model is shown.
    fn work_out(&self) -> Result<(Option<File>, Changed), Refusal> {
        let path = self.patch.action.path();
        let hunks = &self.patch.hunks;
        let before = self.old.as_ref().and_then(|found| found.file.as_ref());
        let applied = apply::apply(before.map_or(&[][..], |file| &file.bytes), hunks)
            .map_err(|mismatch| of_hunk(path, hunks.len(), &mismatch))?;
        if applied.text.len() as u64 > FILE_BYTES {
            return Err(rejected(format!("{path}: it would have more than {FILE_BYTES} bytes")));
        }
        let mut changed = self.report(&applied.notes);
        if self.new.is_none() {
            if self.patch.whole {
                changed.removed =
                    before.map_or(0, |file| file.bytes.split_inclusive(|&byte| byte == b'\n').count());
            }
            if self.patch.whole || applied.text.is_empty() {
                return Ok((None, changed));
            }
            let rest = applied.text.split_inclusive(|&byte| byte == b'\n').count();
            let message = format!("{path}: the patch deletes it, and {rest} lines would remain");
            return Err(rejected(message).hint("remove every line of the file, or delete it with rm"));
        }
        let after = File { bytes: applied.text, mode: self.mode(before) };
        if self.what == "modified" && before == Some(&after) {
            let message = format!("{path}: the patch changes nothing in it");
            return Err(rejected(message).hint("read the file: it may be as it should be already"));
        }
        Ok((Some(after), changed))
    }

    fn mode(&self, before: Option<&File>) -> Mode {
        let executable = self.patch.executable;
        match before.map(|file| file.mode) {
            Some(Mode::Bits(mode)) => Mode::Bits(match executable {
                // Whoever may read it may execute it.
                Some(true) => mode | (mode & 0o444) >> 2,
                Some(false) => mode & !0o111,
                None => mode,
            }),
            Some(Mode::New { .. }) | None => Mode::New { executable: executable == Some(true) },
        }
    }

    fn report(&self, notes: &[String]) -> Changed {
        let count = |of: fn(&Line<'_>) -> bool| {
            self.patch.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| of(line)).count()
        };
        let path_of = |found: &Option<Current>| found.as_ref().map(|found| found.path.clone());
        let from = match &self.patch.action {
            Action::Rename { .. } | Action::Copy { .. } => path_of(&self.old),
            Action::Create { .. } | Action::Delete { .. } | Action::Modify { .. } => None,
        };
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Changed {
            path: path_of(&self.new).or_else(|| path_of(&self.old)).unwrap_or_default(),
            change: self.what,
            from,
            added: count(|line| matches!(line, Line::Added(_))),
            removed: count(|line| matches!(line, Line::Removed(_))),
            executable: self.patch.executable,
            note,
        }
    }
}

/// A file that is not there can come about by a patch that expects nothing of it.
fn creates(patch: &FilePatch<'_>) -> bool {
    let [hunk] = &patch.hunks[..] else { return false };
    hunk.range.is_some_and(|range| range.old == 0) && hunk.old().next().is_none()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Followed,
    Refused,
}

fn existing(root: &Root, path: &str, link: Link) -> Result<Current, Refusal> {
    there(look(root, path, link)?)
}

fn there(found: Current) -> Result<Current, Refusal> {
    if found.file.is_some() {
        return Ok(found);
    }
    let message = format!("{}: there is no such file in the execution root", found.path);
    Err(rejected(message).hint("list the folder for its name; use --- /dev/null for a new file"))
}

/// What is at a path.
fn look(root: &Root, path: &str, link: Link) -> Result<Current, Refusal> {
    let mut target = root.file(path)?;
    let mut about = match target.symlink_metadata() {
        Ok(about) => about,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => {
            return Ok(Current { path: named(root, path, &target), target, file: None });
        }
        Err(problem) => return Err(failed(path, "can't be looked at", &problem)),
    };
    if about.is_symlink() {
        if link == Link::Refused {
            let message = format!("{path}: it is a symbolic link");
            return Err(rejected(message).hint("create, move and delete links by commands: ln, mv, rm"));
        }
        target = root.follow(path, &target)?;
        about = target.metadata().map_err(|problem| failed(path, "can't be looked at", &problem))?;
    }
    if about.is_dir() {
        return Err(rejected(format!("{path}: it is a folder")).hint("name a file; move folders with mv"));
    }
    if !about.is_file() {
        return Err(rejected(format!("{path}: it is no regular file")).hint("name a regular file"));
    }
    // Names may lead elsewhere by now, out of the root too: the file that is read is the one in that place.
    let mut bytes = Vec::new();
    let about = beneath::open_real(&target)
        .and_then(|file| {
            let about = file.metadata()?;
            file.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
            Ok(about)
        })
        .map_err(|problem| failed(path, "can't be read", &problem))?;
    if bytes.len() as u64 > FILE_BYTES {
        let message = format!("{path}: it has {} bytes, the limit is {FILE_BYTES}", about.len());
        return Err(rejected(message).hint("change it by a command, such as sed -i"));
    }
    let mode = Mode::Bits(about.permissions().mode() & MODE);
    Ok(Current { path: named(root, path, &target), target, file: Some(File { bytes, mode }) })
}

/// The name of a place below the root; as the patch writes it where that is no text.
fn named(root: &Root, path: &str, target: &Path) -> String {
    let below = target.strip_prefix(root.path()).ok().and_then(Path::to_str);
    below.unwrap_or(path).to_owned()
}
