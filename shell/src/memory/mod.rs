//! What agents remember, for whoever searches it: an index over the ledger and over files of agents' homes, which follows
//! them at a distance (contract: context.md, Memory). It is in nobody's way: it reads what is durable on a connection of its
//! own, and nothing waits for it.

mod bodies;
mod documents;
mod files;
mod filler;
mod follower;
mod problem;
#[cfg(test)]
mod tests;
mod turn;

use std::fs;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use holon_api::{
    MemoryCount, MemoryFound, MemoryHit, MemoryIndex, MemoryMetadata, MemorySource, MemoryStatus, MemoryText,
};
use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, EventSeq};
use holon_memory::{Document, Entry, Index, Query, Search, SourceRef, Workspaces, snippet};
use holon_platform::clock;
use holon_text::Texts;

use crate::home::Home;
use filler::{OpenIndex, Progress, after};
use turn::Turn;

pub use filler::path as index_path;
pub use follower::Follower;
pub use problem::MemoryProblem;

/// How long a search lets the index catch up.
const CATCH_UP: Duration = Duration::from_millis(200);
/// How long one slice of that takes.
const SLICE: Duration = Duration::from_millis(20);
/// Between two looks at whether somebody else still fills it.
const LOOK: Duration = Duration::from_millis(2);

/// Results of one search, where nothing else is asked for, and at most.
pub const RESULTS: (u32, u32) = (10, 50);
/// Characters of a text, in the same way.
pub const TEXT_CHARS: (u32, u32) = (12_000, 50_000);

/// The memory of all agents of a home. Cheap to clone; nothing is opened before it is used.
#[derive(Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

struct Inner {
    home: Home,
    texts: Texts,
    filler: Mutex<Option<OpenIndex>>,
    searcher: Mutex<Option<OpenIndex>>,
    /// What is wanted of the follower.
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Wanted {
    /// There is something new in the ledger.
    look: bool,
    /// The runtime ends.
    end: bool,
}

/// What a search is for.
#[derive(Debug, Clone)]
pub struct Asked {
    pub agent: AgentId,
    pub query: String,
    pub limit: u32,
    /// The active workspace; none searches all.
    pub workspace: Option<WorkspaceId>,
    /// Whether the agent asks in a turn: what the turn is for is not remembered yet.
    pub in_turn: bool,
}

impl Memory {
    pub fn new(home: Home, texts: Texts) -> Self {
        let inner = Inner {
            home,
            texts,
            filler: Mutex::default(),
            searcher: Mutex::default(),
            wanted: Mutex::default(),
            changed: Condvar::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Searches. Blocks on the disk, for a fifth of a second at most where the index is behind.
    ///
    /// # Errors
    /// A query that can't be searched for; an index or a ledger that can't be read.
    pub fn search(&self, asked: &Asked) -> Result<MemoryFound, MemoryProblem> {
        let query = Query::new(&asked.query)?;
        self.catch_up(&asked.agent, CATCH_UP)?;
        let workspaces = asked.workspace.as_ref().map_or(Workspaces::All, Workspaces::Only);
        let limit = usize::try_from(asked.limit.clamp(1, RESULTS.1)).unwrap_or(1);
        self.with(&self.inner.searcher, |open| {
            let turn = if asked.in_turn { Turn::of(&open.ledger, &asked.agent)? } else { None };
            let most = limit + turn.as_ref().map_or(0, |_| turn::MARGIN);
            let now = clock::now().wall;
            let search = Search { agent: &asked.agent, query: &query, workspaces, limit: most, now };
            let found = open.index.search(&search)?;
            let mut results = Vec::with_capacity(limit);
            let is_known = |document: &Document| turn.as_ref().is_some_and(|turn| turn.has(document));
            for hit in found.hits.into_iter().filter(|hit| !is_known(&hit.entry.document)) {
                if results.len() == limit {
                    break;
                }
                // What was deleted since it was indexed is found no more.
                let Some(body) = self.body(open, &hit.entry.document)? else { continue };
                let snippet = snippet(&body, &query);
                results.push(MemoryHit { source: source(hit.entry), snippet, score: rounded(hit.score) });
            }
            let matched = found.matched.name().to_owned();
            Ok(MemoryFound { results, matched, index: state(open.progress()?) })
        })
    }

    /// The text that a reference stands for.
    ///
    /// # Errors
    /// One that this agent was not given.
    pub fn get(
        &self,
        agent: &AgentId,
        source_ref: &str,
        max_chars: u32,
    ) -> Result<MemoryText, MemoryProblem> {
        let not_found = || {
            // Nobody needs to read a megabyte that was no reference.
            let source_ref = holon_facts::content::clip(source_ref, 64);
            MemoryProblem::NotFound { source_ref }
        };
        let wanted = SourceRef::read(source_ref).ok_or_else(not_found)?;
        let most = usize::try_from(max_chars.clamp(1, TEXT_CHARS.1)).unwrap_or(1);
        let look = || {
            self.with(&self.inner.searcher, |open| {
                let Some(entry) = open.index.get(agent, wanted)? else { return Ok(None) };
                let Some(body) = self.body(open, &entry.document)? else { return Ok(None) };
                let end = body.char_indices().nth(most).map(|(end, _)| end);
                let content = end.map_or(body.as_str(), |end| &body[..end]).to_owned();
                Ok(Some(MemoryText { source: source(entry), content, truncated: end.is_some() }))
            })
        };
        if let Some(text) = look()? {
            return Ok(text);
        }
        // The index may be new, and the reference older.
        self.catch_up(agent, CATCH_UP)?;
        look()?.ok_or_else(not_found)
    }

    /// What there is to search.
    ///
    /// # Errors
    /// An index or a ledger that can't be read.
    pub fn status(&self, agent: &AgentId) -> Result<MemoryStatus, MemoryProblem> {
        self.catch_up(agent, CATCH_UP)?;
        self.with(&self.inner.searcher, |open| {
            let totals = open.index.totals(agent)?;
            let path = filler::path(&self.inner.home);
            let by_kind = totals.by_kind.into_iter();
            let by_kind =
                by_kind.map(|(kind, documents)| MemoryCount { kind: kind.name().into(), documents });
            Ok(MemoryStatus {
                ok: true,
                agent_id: agent.clone(),
                index: state(open.progress()?),
                bytes: fs::metadata(&path).map_or(0, |about| about.len()),
                path: path.display().to_string(),
                documents: totals.documents,
                by_kind: by_kind.collect(),
            })
        })
    }

    /// Throws the index away; it is filled anew while others go on.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn reindex(&self, agent: &AgentId) -> Result<MemoryStatus, MemoryProblem> {
        {
            let mut filler = locked(&self.inner.filler);
            *filler = None;
            Index::remove(&filler::path(&self.inner.home))?;
        }
        self.notify();
        self.status(agent)
    }

    /// Something that is searched may have become durable. Costs next to nothing.
    pub fn notify(&self) {
        let mut wanted = locked(&self.inner.wanted);
        if !wanted.look {
            wanted.look = true;
            self.inner.changed.notify_all();
        }
    }

    /// Whether a record of that kind is searched.
    pub fn is_about(kind: &str) -> bool {
        documents::KINDS.contains(&kind)
    }

    /// Lets the index catch up, as far as it gets in that time.
    fn catch_up(&self, agent: &AgentId, time: Duration) -> Result<(), MemoryProblem> {
        let until = after(time);
        loop {
            let busy = matches!(self.inner.filler.try_lock(), Err(TryLockError::WouldBlock));
            if busy {
                thread::sleep(LOOK);
            } else if self.with(&self.inner.filler, |open| open.fill(SLICE))?.is_complete() {
                break;
            }
            if clock::now().mono >= until {
                break;
            }
        }
        let Inner { texts, home, .. } = &*self.inner;
        self.with(&self.inner.filler, |open| open.refresh(texts, home, agent))
    }

    /// Works with the index, opened where it is not open, and anew where the file has gone or turns out to be damaged.
    fn with<T>(
        &self,
        slot: &Mutex<Option<OpenIndex>>,
        work: impl Fn(&mut OpenIndex) -> Result<T, MemoryProblem>,
    ) -> Result<T, MemoryProblem> {
        let home = &self.inner.home;
        let mut slot = locked(slot);
        let mut again = true;
        loop {
            let mut open = match slot.take().filter(|open| open.is_in_place(home)) {
                Some(open) => open,
                None => open_anew(home)?,
            };
            match work(&mut open) {
                Err(problem) if problem.is_damage() && again => {
                    tracing::warn!("{problem}: it is put aside and filled anew");
                    drop(open);
                    Index::put_aside(&filler::path(home))?;
                    again = false;
                }
                done => {
                    *slot = Some(open);
                    return done;
                }
            }
        }
    }

    /// The text of a document, where it is.
    fn body(&self, open: &OpenIndex, document: &Document) -> Result<Option<String>, MemoryProblem> {
        if document.stamp.is_some() {
            let home = self.inner.home.agent(&document.agent);
            return Ok(files::body(&self.inner.texts, &home, document));
        }
        Ok(bodies::of(&open.ledger, document, None)?)
    }
}

fn open_anew(home: &Home) -> Result<OpenIndex, MemoryProblem> {
    let (open, aside) = OpenIndex::of(home)?;
    if let Some(aside) = aside {
        tracing::warn!(
            "the index of the memory is filled anew: {}; it is {} now",
            aside.why,
            aside.path.display()
        );
    }
    Ok(open)
}

fn source(Entry { source_ref, document }: Entry) -> MemorySource {
    let scope_kind = if document.workspace.is_some() { "workspace" } else { "agent" };
    MemorySource {
        source_ref: source_ref.to_string(),
        kind: document.source.kind.name().to_owned(),
        standing: document.standing.name().to_owned(),
        scope_kind: scope_kind.to_owned(),
        workspace_id: document.workspace,
        agent_id: document.agent,
        source_path: document.path,
        title: document.title,
        updated_at: document.updated_at,
        metadata: MemoryMetadata {
            id: document.source.id,
            event_seqs: document.events.into_iter().map(EventSeq).collect(),
        },
    }
}

fn state(progress: Progress) -> MemoryIndex {
    let state = if progress.is_complete() { "ready" } else { "index_building" };
    MemoryIndex {
        state: state.to_owned(),
        indexed_through: progress.through.0,
        ledger_position: progress.last.0,
    }
}

/// More digits say nothing, and are paid for.
fn rounded(score: f64) -> f64 {
    (score * 1e3).round() / 1e3
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
