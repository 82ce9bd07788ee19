//! Who writes the index: it reads the ledger in slices from where the index is, and looks at files.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_facts::{AgentId, Mono};
use holon_ledger::read::{LedgerSeq, Overall, Reader};
use holon_memory::{Aside, Index, RefKey};
use holon_platform::clock;
use holon_text::Texts;

use super::documents;
use super::problem::MemoryProblem;
use crate::home::{Home, secret};

/// Records of one slice.
const RECORDS: usize = 10_000;
/// Digits of the key of references.
const DIGITS: usize = 64;

/// The index of a home, open for writing or for searching.
pub(super) struct OpenIndex {
    pub(super) index: Index,
    /// A connection of its own: a long read is in nobody else's way.
    pub(super) ledger: Reader,
    pub(super) key: RefKey,
    file: FileId,
}

/// Which file a path led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

/// How far the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) through: LedgerSeq,
    pub(super) last: LedgerSeq,
}

impl Progress {
    pub(super) fn is_complete(self) -> bool {
        self.through >= self.last
    }
}

/// Where the index of a home is.
pub fn path(home: &Home) -> PathBuf {
    home.root().join("index").join("memory.sqlite3")
}

impl OpenIndex {
    /// Opens the index, empty where there is none of this build and of this ledger.
    pub(super) fn of(home: &Home) -> Result<(Self, Option<Aside>), MemoryProblem> {
        let path = path(home);
        let ledger = home.ledger().reader()?;
        let key = key(home)?;
        private_folder(&path).map_err(holon_memory::MemoryError::from)?;
        let opened = Index::open(&path)?;
        let (mut index, mut aside) = (opened.index, opened.aside);
        if !is_of(&index, &ledger)? {
            drop(index);
            Index::put_aside(&path)?;
            let anew = Index::open(&path)?;
            (index, aside) = (anew.index, aside.or(anew.aside));
        }
        let file = FileId::of(&path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let file = file.map_err(holon_memory::MemoryError::from)?;
        Ok((Self { index, ledger, key, file }, aside))
    }

    /// Whether the path still leads to it: it may be deleted at any time.
    pub(super) fn is_in_place(&self, home: &Home) -> bool {
        FileId::of(&path(home)) == Some(self.file)
    }

    /// It is not written for a while.
    pub(super) fn let_go(&self) -> Result<(), MemoryProblem> {
        Ok(self.index.let_go()?)
    }

    /// Reads on from where the index is, until it is up to date or the time is over.
    pub(super) fn fill(&mut self, time: Duration) -> Result<Progress, MemoryProblem> {
        let until = after(time);
        let fill = self.index.fill(&self.key)?;
        let from = LedgerSeq(fill.cursor()?);
        let Overall { records, mut reached, last, .. } =
            self.ledger.of_kinds_of_all(&documents::KINDS, from, RECORDS)?;
        for located in records {
            match located.record {
                Ok(record) => documents::take(&fill, &self.ledger, &record)?,
                // Damage of one agent's log concerns no other agent.
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error.into()),
            }
            if clock::now().mono >= until {
                reached = located.at;
                break;
            }
        }
        if reached == from {
            return Ok(Progress { through: reached, last });
        }
        let mark = self.ledger.sum_at(reached)?.unwrap_or_default();
        fill.commit_through(reached.0, mark)?;
        Ok(Progress { through: reached, last })
    }

    /// Looks at the files of an agent.
    pub(super) fn refresh(
        &mut self,
        texts: &Texts,
        home: &Home,
        agent: &AgentId,
    ) -> Result<(), MemoryProblem> {
        let fill = self.index.fill(&self.key)?;
        if super::files::refresh(&fill, texts, &home.agent(agent), agent)? {
            fill.commit()?;
        }
        Ok(())
    }

    pub(super) fn progress(&self) -> Result<Progress, MemoryProblem> {
        Ok(Progress { through: LedgerSeq(self.index.cursor()?), last: self.ledger.last_of_all()? })
    }
}

/// The folder of the index, for its owner alone: texts of the ledger are in it. One of an earlier build was not.
fn private_folder(index: &Path) -> io::Result<()> {
    let Some(folder) = index.parent() else { return Ok(()) };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if fs::metadata(folder)?.mode() & 0o077 != 0 {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

impl FileId {
    fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|about| Self(about.dev(), about.ino()))
    }
}

/// Whether an index was filled from this ledger, rather than from one that a backup has replaced.
fn is_of(index: &Index, ledger: &Reader) -> Result<bool, MemoryProblem> {
    let (cursor, mark) = index.mark()?;
    Ok(cursor == 0 || ledger.sum_at(LedgerSeq(cursor))? == Some(mark))
}

/// What references are signed with: the home keeps it, so that those of yesterday can be opened although the index is new.
fn key(home: &Home) -> Result<RefKey, MemoryProblem> {
    let path = home.memory_key();
    let known = secret::known(&path, 4 * DIGITS)?;
    let key = match known {
        Some(key) if key.len() == DIGITS => key,
        Some(_) | None => secret::make(&path).map_err(secret::SecretError::from)?,
    };
    Ok(RefKey::new(key.as_bytes()))
}

pub(super) fn after(time: Duration) -> Mono {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    Mono(clock::now().mono.0.saturating_add(micros))
}
