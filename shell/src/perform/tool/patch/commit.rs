//! A planned patch into the file system: all of it or nothing, whatever happens in between.
//!
//! The steps stand in a list, so that a test can stop after any of them.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use holon_facts::receipt::ToolErrorKind;
use holon_platform::beneath;
use holon_platform::crash_point::{Point, reached};
use holon_platform::entropy;
use holon_supervise::confine;

use super::journal::{Before, Entry, Held, Journal, sync};
use super::plan::{Change, File, Mode};
use super::undo::{self, digest};
use super::{Refusal, Root, failed, rejected, unheld};

/// One change of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Folder(usize),
    /// Writes the new file beside the old one.
    Stage(usize),
    /// Gives the old file a second name.
    Keep(usize),
    /// Asks whether somebody still waits for the patch.
    Wanted,
    /// Puts the new file in the place of the old one.
    Swap(usize),
    /// Makes the new names last.
    Sync,
    /// From here on the patch has happened.
    Done,
    Tidy,
}

/// Folders that nothing may be written outside of; none where nothing is held back.
pub(super) type Bounds<'b> = Option<&'b [PathBuf]>;

/// A patch that is being written.
pub(super) struct Commit<'p> {
    changes: &'p [Change],
    given_up: &'p AtomicBool,
    journal: Journal,
    held: Held,
}

/// Puts all changes in place, or none.
pub(super) fn commit(
    root: &Root,
    changes: &[Change],
    journals: &Path,
    given_up: &AtomicBool,
    bounds: Bounds<'_>,
) -> Result<(), Refusal> {
    let mut commit = Commit::begin(root, changes, journals, given_up)?;
    reached(Point::PatchJournalled);
    let steps = commit.steps();
    let done = steps.iter().position(|step| *step == Step::Done).unwrap_or(steps.len());
    let (writing, rest) = steps.split_at(done);
    let (done, tidying) = rest.split_at(rest.len().min(1));
    // The journal is the runtime's own, for which nothing that is led elsewhere may stand: whoever writes files does not
    // write it.
    for (phase, bounds) in [(writing, bounds), (done, None), (tidying, bounds)] {
        let performed = confine::within(bounds, || phase.iter().try_for_each(|step| commit.take(*step)));
        if let Err(refusal) = performed.unwrap_or_else(|problem| Err(unheld(problem))) {
            return Err(commit.undo(refusal, bounds));
        }
    }
    commit.end(bounds);
    Ok(())
}

impl<'p> Commit<'p> {
    /// Writes down what is going to be done.
    pub(super) fn begin(
        root: &Root,
        changes: &'p [Change],
        journals: &Path,
        given_up: &'p AtomicBool,
    ) -> Result<Self, Refusal> {
        let written = entropy::name().and_then(|token| {
            let journal = journal(root, changes, &token);
            let held = Held::write(journals, &token, &journal)?;
            Ok(Self { changes, given_up, journal, held })
        });
        written.map_err(|problem| failed("the journal of the patch", "can't be written", &problem))
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        let files = 0..self.changes.len();
        let mut steps: Vec<Step> = (0..self.journal.folders.len()).map(Step::Folder).collect();
        steps.extend(files.clone().map(Step::Stage));
        steps.extend(files.clone().map(Step::Keep));
        steps.push(Step::Wanted);
        steps.extend(files.map(Step::Swap));
        steps.extend([Step::Sync, Step::Done, Step::Tidy]);
        steps
    }

    fn take(&mut self, step: Step) -> Result<(), Refusal> {
        self.perform(step)?;
        match step {
            Step::Swap(_) => reached(Point::FileSwapped),
            Step::Done => reached(Point::PatchDone),
            Step::Folder(_) | Step::Stage(_) | Step::Keep(_) | Step::Wanted | Step::Sync | Step::Tidy => {}
        }
        Ok(())
    }

    pub(super) fn perform(&mut self, step: Step) -> Result<(), Refusal> {
        let named = |at: usize, what: &'static str| {
            let path = self.changes.get(at).map_or("a folder of the patch", |change| &change.path);
            move |problem: io::Error| failed(path, what, &problem)
        };
        match step {
            Step::Folder(at) => fs::create_dir(&self.journal.folders[at]).map_err(|problem| {
                failed(&self.journal.folders[at].display().to_string(), "can't be made", &problem)
            }),
            Step::Stage(at) => self.stage(at).map_err(named(at, "can't be written")),
            Step::Keep(at) => {
                self.check(at)?;
                self.keep(at).map_err(named(at, "can't be kept aside"))
            }
            Step::Wanted if self.given_up.load(Ordering::Relaxed) => {
                let message = "the call was given up before the patch was written";
                Err(Refusal::new(ToolErrorKind::Interrupted, message))
            }
            Step::Wanted => Ok(()),
            Step::Swap(at) => {
                self.check(at)?;
                self.swap(at).map_err(named(at, "can't be replaced"))
            }
            Step::Sync => self
                .folders()
                .into_iter()
                .try_for_each(|folder| sync(&folder))
                .map_err(named(0, "can't be synced")),
            Step::Done => self.held.done().map_err(named(0, "can't be replaced")),
            // The patch has happened: what stays is for the next one to tidy up.
            Step::Tidy => undo::tidy(&self.journal).or(Ok(())),
        }
    }

    fn stage(&self, at: usize) -> io::Result<()> {
        let (Some(after), Some(staged)) = (&self.changes[at].after, &self.journal.files[at].staged) else {
            return Ok(());
        };
        let mode = match after.mode {
            // Nobody else reads it before it has its own permissions.
            Mode::Bits(_) => 0o600,
            Mode::New { executable: false } => 0o666,
            Mode::New { executable: true } => 0o777,
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(staged)?;
        file.write_all(&after.bytes)?;
        if let Mode::Bits(bits) = after.mode {
            // A file of the runtime's own user serves where it may not be given away.
            give_to_owner(&file, &self.changes[at].target).ok();
            file.set_permissions(Permissions::from_mode(bits))?;
        }
        file.sync_all()
    }

    /// Refuses when the file is not what the patch was worked out for.
    fn check(&self, at: usize) -> Result<(), Refusal> {
        let change = &self.changes[at];
        let now = match fs::symlink_metadata(&change.target) {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => None,
            Ok(about) if about.is_file() => {
                let read = read(&change.target);
                Some(read.map_err(|problem| failed(&change.path, "can't be read", &problem))?)
            }
            Ok(_) => return Err(moved(&change.path)),
            Err(problem) => return Err(failed(&change.path, "can't be looked at", &problem)),
        };
        if now.as_ref() == change.before.as_ref().map(|file| &file.bytes) {
            Ok(())
        } else {
            Err(moved(&change.path))
        }
    }

    fn keep(&self, at: usize) -> io::Result<()> {
        let entry = &self.journal.files[at];
        let Some(kept) = &entry.kept else { return Ok(()) };
        // A second name keeps the file itself; where there are no second names, a copy has to do.
        fs::hard_link(&entry.target, kept).or_else(|_| {
            let mut from = beneath::open_real(&entry.target)?;
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(kept)?;
            io::copy(&mut from, &mut to)?;
            to.set_permissions(from.metadata()?.permissions())?;
            to.sync_all()
        })
    }

    fn swap(&self, at: usize) -> io::Result<()> {
        let Entry { target, staged, .. } = &self.journal.files[at];
        match staged {
            Some(staged) => fs::rename(staged, target),
            None => fs::remove_file(target),
        }
    }

    /// Every folder that a name came into or left.
    fn folders(&self) -> Vec<PathBuf> {
        let targets = self.journal.files.iter().map(|entry| &entry.target);
        let mut folders: Vec<PathBuf> = targets
            .chain(&self.journal.folders)
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect();
        folders.sort();
        folders.dedup();
        folders
    }

    /// Puts everything back; what can't be is said, and tried again later.
    fn undo(self, refusal: Refusal, bounds: Bounds<'_>) -> Refusal {
        let rolled_back = confine::within(bounds, || undo::roll_back(&self.journal));
        // What somebody else changed in between stays theirs.
        match rolled_back.map_err(io::Error::other).flatten().and_then(|_| self.held.remove()) {
            Ok(()) => refusal,
            Err(problem) => refusal.hint(format!(
                "undoing the patch failed as well: {problem}; it is tried again before the next patch"
            )),
        }
    }

    fn end(self, bounds: Bounds<'_>) {
        if matches!(confine::within(bounds, || undo::tidy(&self.journal)), Ok(Ok(()))) {
            drop(self.held.remove());
        }
    }
}

fn journal(root: &Root, changes: &[Change], token: &str) -> Journal {
    let mut folders: Vec<PathBuf> = Vec::new();
    let files = changes.iter().enumerate().map(|(number, change)| {
        let beside =
            |kind: &str| change.target.with_file_name(format!(".holon-patch-{token}-{number}-{kind}"));
        let Change { target, before, after, .. } = change;
        if after.is_some() {
            let parents = target.ancestors().skip(1);
            let missing: Vec<&Path> =
                parents.take_while(|folder| folder.symlink_metadata().is_err()).collect();
            folders.extend(missing.into_iter().rev().map(Path::to_owned));
        }
        Entry {
            target: target.clone(),
            staged: after.as_ref().map(|_| beside("new")),
            kept: before.as_ref().map(|_| beside("old")),
            before: before
                .as_ref()
                .map(|file| Before { digest: digest(&file.bytes), mode: bits(file, target) }),
            after: after.as_ref().map(|file| digest(&file.bytes)),
        }
    });
    let files = files.collect();
    let mut seen = std::collections::BTreeSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    Journal { root: root.path().to_owned(), folders, files }
}

/// All bits of the file's mode, also those that a patched file does not keep.
fn bits(file: &File, target: &Path) -> u32 {
    let whole = fs::symlink_metadata(target).map(|about| about.mode() & 0o7777);
    match (whole, file.mode) {
        (Ok(bits), _) | (Err(_), Mode::Bits(bits)) => bits,
        (Err(_), Mode::New { .. }) => 0,
    }
}

/// Gives a new file to the owner and the group of the old one.
fn give_to_owner(new: &fs::File, old: &Path) -> io::Result<()> {
    let (was, is) = (fs::symlink_metadata(old)?, new.metadata()?);
    if (was.uid(), was.gid()) == (is.uid(), is.gid()) {
        return Ok(());
    }
    // Without the right to give files away, those of another group of the user can still be made.
    fchown(new, Some(was.uid()), Some(was.gid())).or_else(|_| fchown(new, None, Some(was.gid())))
}

/// The file in that place, and none that a link has put there meanwhile.
fn read(target: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    beneath::open_real(target)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn moved(path: &str) -> Refusal {
    rejected(format!("{path}: something else changed it while the patch was being applied"))
        .hint("read it again; no file was changed by the patch")
}
