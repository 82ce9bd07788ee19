//! What a ledger gives up with time: the flight recorder of runtimes that ended long ago, and texts that no record names. Records
//! stay, and so does every hash link: a call leaves its hash, a text its name.

use std::collections::BTreeSet;

use holon_core::agent::Agent;
use holon_core::snapshot::AgentSnapshot;
use holon_facts::{ContentId, Wall};
use holon_law::replay::RUNTIME_STARTED;
use serde::Serialize;

use crate::error::{LedgerError, Position};
use crate::read::past::PastError;
use crate::read::reader::Reader;
use crate::rows::link::newest;
use crate::rows::row::{CALL_COLUMNS, Hash, RECORD_COLUMNS, StoredCall, StoredRecord, removed_call};
use crate::sql::Source;
use crate::store::LedgerReader as _;

/// Rows that are changed in one transaction.
pub(crate) const PAGE: usize = 512;

/// What may go, or has gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    pub calls: u64,
    pub call_bytes: u64,
    pub texts: u64,
    pub text_bytes: u64,
}

/// Which texts of that time go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTexts {
    /// Those that no record names.
    Unnamed,
    /// Those too that only records of that time name, and no agent's state: nothing that goes on needs them.
    Unused,
}

/// What may go of a ledger: calls of runtimes that had ended before `cutoff`, and texts of that time.
#[derive(Debug)]
pub struct Plan {
    pub(crate) garbage: Garbage,
    /// The newest batch when it was made.
    pub(crate) batch: i64,
    /// The first call that stays.
    pub(crate) from_call: i64,
    pub(crate) texts: BTreeSet<Hash>,
}

impl Plan {
    pub fn garbage(&self) -> Garbage {
        self.garbage
    }

    /// A page of calls that may go, behind a position: each with what stays of it.
    pub(crate) fn page(&self, source: Source<'_>, after: i64) -> Result<Vec<(i64, String)>, LedgerError> {
        let page = calls(source, after, self.from_call)?;
        page.iter().map(|call| Ok((call.position, removed_call(&call.checked_hash()?)))).collect()
    }
}

/// Looks what may go; changes nothing, and may be asked while a runtime writes. Reads every record once.
///
/// # Errors
/// When the ledger can't be read, or has records that this build does not know.
pub fn plan(reader: &Reader, cutoff: Wall, texts: OldTexts) -> Result<Plan, LedgerError> {
    let needed = match texts {
        OldTexts::Unnamed => BTreeSet::new(),
        OldTexts::Unused => named_by_states(reader)?,
    };
    reader.at_one_moment(|source| {
        let batch = newest(source)?.batch;
        let mut plan = Plan { garbage: Garbage::default(), batch, from_call: 0, texts: BTreeSet::new() };
        let kept = first_kept(source, cutoff)?;
        if let Some(kept) = &kept {
            plan.from_call = kept.call;
            plan.calls(source)?;
        }
        let (through, names_from) = match texts {
            OldTexts::Unnamed => (kept.map_or(0, |kept| kept.content), Wall(i64::MIN)),
            OldTexts::Unused => (last_text_before(source, cutoff)?, cutoff),
        };
        plan.texts(source, through, names_from)?;
        plan.texts.retain(|id| !needed.contains(id));
        plan.sum_up(source)?;
        Ok(plan)
    })
}

/// What agents hold: their queues, conversations, plans and catalogues.
pub(crate) fn named_by_states(reader: &Reader) -> Result<BTreeSet<Hash>, LedgerError> {
    let mut agents = Vec::new();
    reader.each_agent(|row| agents.push((row.agent, row.event_seq)))?;
    let mut named = BTreeSet::new();
    for (agent, through) in agents {
        let stood = reader.agent_after(&agent, through).map_err(|error| match error {
            PastError::Ledger(error) => error,
            error @ (PastError::Beyond { .. } | PastError::TooFar { .. }) => {
                LedgerError::Refused { doing: "reading the states of agents", problem: error.to_string() }
            }
        })?;
        named.extend(named_by(&stood.agent)?);
    }
    Ok(named)
}

/// The texts that an agent holds.
fn named_by(agent: &Agent) -> Result<BTreeSet<Hash>, LedgerError> {
    let damaged = |error| LedgerError::damaged(Position::event(agent.id.as_str(), 0, None), error);
    let state = AgentSnapshot::of(agent).encode().map_err(damaged)?;
    // Whatever has the form of a name of a text is one.
    let words = state.split(|letter: char| !letter.is_ascii_hexdigit());
    Ok(words.filter_map(ContentId::parse).map(|id| id.0).collect())
}

/// How many of the texts that an agent holds were removed.
pub(crate) fn removed_of(source: Source<'_>, agent: &Agent) -> Result<usize, LedgerError> {
    let unreadable = || LedgerError::unreadable(Position::default());
    let mut removed = 0;
    for id in named_by(agent)? {
        let sql = "SELECT 1 FROM content WHERE id = ?1 AND text IS NULL";
        let found = source.first(sql, &[(&id).into()], |row| row.get::<i64>(0)).map_err(unreadable())?;
        removed += usize::from(found.is_some());
    }
    Ok(removed)
}

/// The last text that was stored with a batch that is older than `cutoff`.
fn last_text_before(source: Source<'_>, cutoff: Wall) -> Result<i64, LedgerError> {
    let sql = "SELECT through_content FROM batches WHERE batch =
        (SELECT batch FROM records WHERE at < ?1 ORDER BY position DESC LIMIT 1)";
    let found = source.first(sql, &[cutoff.0.into()], |row| row.get::<i64>(0));
    Ok(found.map_err(LedgerError::unreadable(Position::default()))?.unwrap_or(0))
}

/// The oldest runtime that stays in the recorder.
struct Kept {
    call: i64,
    /// The last text that was stored before it.
    content: i64,
}

/// Of the runtimes before which everything is older than `cutoff`, the newest.
fn first_kept(source: Source<'_>, cutoff: Wall) -> Result<Option<Kept>, LedgerError> {
    let unreadable = || LedgerError::unreadable(Position::default());
    let sql = format!(
        "SELECT recorder.position, before.through_content, last.at FROM recorder
         JOIN (SELECT batch, through_call, through_content, through_record FROM batches) AS before
             ON before.batch = recorder.batch - 1 AND before.through_call = recorder.position - 1
         JOIN (SELECT position, at FROM records) AS last ON last.position = before.through_record
         WHERE recorder.step IS NULL AND recorder.call LIKE '{{\"call\":\"{RUNTIME_STARTED}\"%'
         ORDER BY recorder.position DESC"
    );
    let starts =
        source.all(&sql, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<i64>(2)?)));
    let starts = starts.map_err(unreadable())?;
    let old = starts.into_iter().find(|(_, _, last_record)| *last_record < cutoff.0);
    Ok(old.map(|(call, content, _)| Kept { call, content }))
}

/// What [`calls`] reads: those that were not removed, and are longer than what stands for them then.
const CALLS: &str = "position > ?1 AND position < ?2 AND length(call) > 128 \
    AND call NOT LIKE '{\"call\":\"runtime_started\"%' AND call NOT LIKE '{\"call\":\"agents_left\"%' \
    AND call NOT LIKE '{\"call\":\"removed\"%'";

/// Gives pages of calls that may go to `each`.
fn calls(source: Source<'_>, after: i64, before: i64) -> Result<Vec<StoredCall>, LedgerError> {
    let sql = format!("SELECT {CALL_COLUMNS} FROM recorder WHERE {CALLS} ORDER BY position LIMIT {PAGE}");
    source
        .all(&sql, &[after.into(), before.into()], StoredCall::read)
        .map_err(LedgerError::unreadable(Position::default()))
}

impl Plan {
    fn calls(&mut self, source: Source<'_>) -> Result<(), LedgerError> {
        let mut last = 0;
        loop {
            let page = calls(source, last, self.from_call)?;
            let Some(newest) = page.last() else { return Ok(()) };
            last = newest.position;
            for call in &page {
                let hash = call.checked_hash()?;
                self.garbage.calls += 1;
                self.garbage.call_bytes += (call.call.len() - removed_call(&hash).len()) as u64;
            }
        }
    }

    /// Texts that were stored through a position, but for those that records from a time on name.
    fn texts(&mut self, source: Source<'_>, through: i64, names_from: Wall) -> Result<(), LedgerError> {
        let unreadable = || LedgerError::unreadable(Position::default());
        let sql = "SELECT id FROM content WHERE position <= ?1 AND text IS NOT NULL";
        let stored = source.all(sql, &[through.into()], |row| row.get::<Hash>(0)).map_err(unreadable())?;
        self.texts = stored.into_iter().collect();
        let sql = format!(
            "SELECT {RECORD_COLUMNS}, position FROM records WHERE position > ?1 ORDER BY position LIMIT {PAGE}"
        );
        let mut last = 0;
        loop {
            let page = source
                .all(&sql, &[i64::into(last)], |row| Ok((row.get::<i64>(9)?, StoredRecord::read(row)?)));
            let page = page.map_err(unreadable())?;
            let Some((newest, _)) = page.last() else { break };
            last = *newest;
            for (_, record) in page.iter().filter(|(_, record)| record.row.at >= names_from.0) {
                record.decode()?.event.contents(&mut |content| {
                    self.texts.remove(&content.id.0);
                });
            }
        }
        Ok(())
    }

    fn sum_up(&mut self, source: Source<'_>) -> Result<(), LedgerError> {
        let unreadable = || LedgerError::unreadable(Position::default());
        for id in &self.texts {
            let sql = "SELECT bytes FROM content WHERE id = ?1";
            let bytes = source.first(sql, &[id.into()], |row| row.get::<i64>(0)).map_err(unreadable())?;
            self.garbage.texts += 1;
            self.garbage.text_bytes += bytes.unwrap_or(0).unsigned_abs();
        }
        Ok(())
    }
}
