//! Follows the ledger and sends what has ended as traces. Nobody waits for it: it reads what is durable on a connection of
//! its own. What a collector has not taken stays where it is, in the ledger, so a collector that is away costs no memory and
//! loses nothing. How far it has come is in a file; whoever dies in between sends the same spans again, with the same ids.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holon_facts::{AgentId, EventSeq, Record};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{LedgerSeq, Overall, Reader, Wanted};
use holon_models::DocumentPost;
use holon_platform::spawn;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::cursor::{Cursor, CursorError};
use super::offer::Taken;
use super::{Contents, Fold, KINDS, PARTS, Span, Target, Trace, document};

/// Records that one read brings, and spans that one request has.
const RECORDS: usize = 512;
const SPANS: usize = 512;
/// What has ended waits so long for more.
const GATHER: Duration = Duration::from_secs(1);
/// Between two attempts at a collector that is away, at first and at most.
const AGAIN: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// Agents whose open turns are kept in memory; others are read again, from their first record.
const AGENTS: usize = 4_096;

/// Counts of an exporter, and its alarm clock. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Following {
    woken: Arc<Notify>,
    pub sent: Counter,
    pub dropped: Counter,
    pub failures: Counter,
}

impl Following {
    /// A record has become durable.
    pub fn see(&self, record: &Record) {
        if KINDS.contains(&record.event.kind()) {
            self.woken.notify_one();
        }
    }
}

/// Why a collector does not take a document, whenever it is offered.
enum Refused {
    Never(String),
    TooLarge(String),
}

/// Sends the traces of one ledger to one collector.
pub struct Exporter {
    target: Target,
    reader: Arc<Reader>,
    cursor: Arc<Cursor>,
    contents: Contents,
    following: Following,
    post: DocumentPost,
    folds: Folds,
}

impl Exporter {
    /// `cursor` is the file that says how far a former one has come.
    pub fn new(
        target: Target,
        reader: Arc<Reader>,
        cursor: PathBuf,
        contents: Contents,
        following: Following,
    ) -> Self {
        let cursor = Arc::new(Cursor::at(cursor));
        let post = DocumentPost::default();
        Self { target, reader, cursor, contents, following, post, folds: Folds::default() }
    }

    /// Exports until it is dropped.
    pub async fn run(mut self) {
        let shown = self.target.shown();
        let mut here = loop {
            match self.begin().await {
                Ok(here) => break here,
                Err(problem) => {
                    tracing::warn!("traces are not exported yet: {problem}");
                    sleep(LONGEST).await;
                }
            }
        };
        tracing::info!("traces are exported to {shown}, from position {} of the ledger on", here.0);
        loop {
            match self.page(here).await {
                Ok((traces, reached, more)) => {
                    self.deliver(&traces).await;
                    if reached > here {
                        self.keep(reached).await;
                        here = reached;
                    }
                    if !more {
                        self.following.woken.notified().await;
                        sleep(GATHER).await;
                    }
                }
                Err(problem) => {
                    tracing::warn!("the ledger can't be read for traces: {problem}");
                    sleep(LONGEST).await;
                }
            }
        }
    }

    /// Where a former exporter has stopped; the end of the ledger, where there was none.
    async fn begin(&self) -> Result<LedgerSeq, String> {
        let (reader, cursor) = (self.reader.clone(), self.cursor.clone());
        let begun = spawn::blocking(move || -> Result<LedgerSeq, CursorError> {
            if let Some(here) = cursor.read(&reader)? {
                return Ok(here);
            }
            let newest = reader.last_of_all()?;
            tracing::info!("no traces of this ledger were exported before: holon telemetry export has those");
            cursor.put(&reader, newest)?;
            Ok(newest)
        });
        let begun = begun.await.map_err(|error| error.to_string())?;
        begun.map_err(|error| error.to_string())
    }

    /// What the next records end.
    async fn page(&mut self, after: LedgerSeq) -> Result<(Vec<Trace>, LedgerSeq, bool), String> {
        let (reader, contents) = (self.reader.clone(), self.contents.clone());
        let mut folds = std::mem::take(&mut self.folds);
        let read = spawn::blocking(move || {
            let page = reader.of_kinds_of_all(KINDS, after, RECORDS)?;
            let (reached, more) = (page.reached, page.more);
            let traces = folded(&reader, &contents, &mut folds, page);
            Ok::<_, LedgerError>((traces, reached, more, folds))
        });
        let (traces, reached, more, folds) =
            read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        self.folds = folds;
        Ok((traces, reached, more))
    }

    /// Waits until the collector has taken everything, or has refused it for good. What is too large for it is sent in halves.
    async fn deliver(&self, traces: &[Trace]) {
        let spans: Vec<(&[u8; 16], &Span)> =
            traces.iter().flat_map(|trace| trace.spans.iter().map(|span| (&trace.id, span))).collect();
        let mut left: Vec<&[(&[u8; 16], &Span)]> = spans.chunks(SPANS).rev().collect();
        while let Some(some) = left.pop() {
            let document = document(&self.target.resource, some.iter().copied());
            let count = some.len() as u64;
            match self.insist(&document).await {
                Ok(()) => drop(self.following.sent.inc_by(count)),
                Err(Refused::TooLarge(_)) if some.len() > 1 => {
                    let (first, second) = some.split_at(some.len() / 2);
                    left.extend([second, first]);
                }
                Err(Refused::TooLarge(refusal) | Refused::Never(refusal)) => {
                    self.following.dropped.inc_by(count);
                    tracing::warn!(
                        "{} takes no such spans, {count} are left out: {refusal}",
                        self.target.shown()
                    );
                }
            }
        }
    }

    async fn insist(&self, document: &str) -> Result<(), Refused> {
        let mut wait = AGAIN;
        let mut failed = false;
        loop {
            match self.target.offer(&self.post, document.to_owned()).await {
                Taken::Yes => {
                    if failed {
                        tracing::info!("{} takes traces again", self.target.shown());
                    }
                    return Ok(());
                }
                Taken::Never(refusal) => return Err(Refused::Never(refusal)),
                Taken::TooLarge(refusal) => return Err(Refused::TooLarge(refusal)),
                Taken::NotNow(problem, after) => {
                    self.following.failures.inc();
                    if !failed {
                        let shown = self.target.shown();
                        tracing::warn!(
                            "{shown} takes no traces, which stay in the ledger until it does: {problem}"
                        );
                    }
                    failed = true;
                    sleep(after.unwrap_or(wait).clamp(AGAIN, LONGEST)).await;
                    wait = (wait * 2).min(LONGEST);
                }
            }
        }
    }

    /// A cursor that can't be written costs nothing but spans that are sent twice.
    async fn keep(&self, here: LedgerSeq) {
        let (reader, cursor) = (self.reader.clone(), self.cursor.clone());
        match spawn::blocking(move || cursor.put(&reader, here)).await {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => tracing::warn!("how far traces were exported can't be kept: {problem}"),
            Err(problem) => tracing::warn!("how far traces were exported can't be kept: {problem}"),
        }
    }
}

/// Goes on with the open turns of agents; those that are not in memory are folded from their first record.
fn folded(reader: &Reader, contents: &Contents, folds: &mut Folds, page: Overall) -> Vec<Trace> {
    let mut traces = Vec::new();
    for located in page.records {
        let record = match located.record {
            Ok(record) => record,
            Err(damage) => {
                tracing::warn!("{} of {} has no span: {damage}", located.event_seq, located.agent);
                continue;
            }
        };
        match folds.of(&record.agent, || until(reader, contents, &record)) {
            Ok(fold) => traces.extend(fold.next(&record)),
            Err(damage) => tracing::warn!("the turn of {} has no trace: {damage}", record.agent),
        }
    }
    traces
}

/// The open turns of agents, with the use of each that was the last.
#[derive(Default)]
struct Folds {
    of: BTreeMap<AgentId, (u64, Fold)>,
    uses: u64,
}

impl Folds {
    fn of<E>(&mut self, agent: &AgentId, read: impl FnOnce() -> Result<Fold, E>) -> Result<&mut Fold, E> {
        self.uses += 1;
        if !self.of.contains_key(agent) && self.of.len() >= AGENTS {
            let oldest = self.of.iter().min_by_key(|(_, (used, _))| *used).map(|(agent, _)| agent.clone());
            oldest.map(|oldest| self.of.remove(&oldest));
        }
        let (used, fold) = match self.of.entry(agent.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert((0, read()?)),
        };
        *used = self.uses;
        Ok(fold)
    }
}

/// The fold of an agent's records before this one. What turns consist of that have ended is not read.
fn until(reader: &Reader, contents: &Contents, record: &Record) -> Result<Fold, LedgerError> {
    let (agent, before) = (&record.agent, record.event_seq);
    let turn = Wanted { kinds: &["turn_started"], after: EventSeq(0), before, limit: 1, newest: true };
    let turn = reader.of_kinds(agent, turn)?.first().map_or(before, |record| record.event_seq);
    let whole: Vec<&str> = KINDS.iter().copied().filter(|kind| !PARTS.contains(kind)).collect();
    let mut fold = Fold::of(agent.clone(), contents.clone());
    for (kinds, mut after, before) in
        [(&*whole, EventSeq(0), turn), (KINDS, EventSeq(turn.0.saturating_sub(1)), before)]
    {
        loop {
            let wanted = Wanted { kinds, after, before, limit: RECORDS, newest: false };
            let page = reader.of_kinds(agent, wanted)?;
            page.iter().for_each(|record| drop(fold.next(record)));
            let Some(last) = page.last().filter(|_| page.len() == RECORDS) else { break };
            after = last.event_seq;
        }
    }
    Ok(fold)
}
