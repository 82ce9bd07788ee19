//! The rows of a batch as columns: one value of a statement holds a column of all rows.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::view::standing::Standing;
use holon_facts::{AgentId, ContentId};

use crate::error::{LedgerError, Position};
use crate::rows::batch::Batch;
use crate::rows::link::{BatchRow, Ends, Link};
use crate::rows::row::{call_hash, count, stored, sum};

/// Columns of new records.
#[derive(Debug, Default)]
pub(super) struct Records<'a> {
    pub(super) position: Vec<i64>,
    pub(super) agent: Vec<&'a str>,
    pub(super) event_seq: Vec<i64>,
    pub(super) step: Vec<i64>,
    pub(super) at: Vec<i64>,
    pub(super) kind: Vec<&'a str>,
    pub(super) version: Vec<i64>,
    pub(super) payload: Vec<&'a str>,
    pub(super) sum: Vec<i64>,
}

/// Columns of new calls.
#[derive(Debug, Default)]
pub(super) struct Calls<'a> {
    pub(super) position: Vec<i64>,
    pub(super) step: Vec<Option<i64>>,
    pub(super) call: Vec<&'a str>,
    pub(super) sum: Vec<i64>,
}

/// Columns of new texts.
#[derive(Debug, Default)]
pub(super) struct Contents<'a> {
    pub(super) position: Vec<i64>,
    pub(super) id: Vec<&'a [u8]>,
    pub(super) bytes: Vec<i64>,
    pub(super) text: Vec<&'a str>,
}

/// Which texts of a batch the ledger has a row of.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) whole: BTreeSet<ContentId>,
    /// Their rows have no text: it was removed because no record named it.
    pub(super) erased: BTreeSet<ContentId>,
}

/// Texts that were removed, and are named again.
#[derive(Debug, Default)]
pub(super) struct Restored<'a> {
    pub(super) id: Vec<&'a [u8]>,
    pub(super) text: Vec<&'a str>,
}

/// Columns of the rows of agents.
#[derive(Debug, Default)]
pub(super) struct Agents<'a> {
    pub(super) agent: Vec<&'a str>,
    pub(super) event_seq: Vec<i64>,
    pub(super) status: Vec<&'a str>,
    pub(super) next_deadline: Vec<Option<i64>>,
    pub(super) open_work: Vec<i64>,
    pub(super) account: Vec<Option<String>>,
    pub(super) private: Vec<i64>,
    pub(super) archived: Vec<i64>,
    pub(super) standing: Vec<Option<String>>,
    pub(super) asks: Vec<i64>,
    pub(super) name: Vec<Option<&'a str>>,
    pub(super) continues: Vec<i64>,
}

/// A batch, ready to be appended behind another.
#[derive(Debug)]
pub(super) struct Arrays<'a> {
    pub(super) row: BatchRow,
    pub(super) records: Records<'a>,
    pub(super) calls: Calls<'a>,
    pub(super) contents: Contents<'a>,
    pub(super) restored: Restored<'a>,
    pub(super) agents: Agents<'a>,
    pub(super) kind: Vec<&'a str>,
    pub(super) kind_version: Vec<i64>,
    /// What was deposited and is taken.
    pub(super) deposits: Vec<i64>,
}

impl<'a> Arrays<'a> {
    /// # Errors
    /// When records do not continue the log of their agent.
    pub(super) fn new(
        batch: &'a Batch,
        last: &BatchRow,
        epoch: i64,
        kinds: &BTreeMap<String, i64>,
        held: &Held,
    ) -> Result<Self, LedgerError> {
        let (mut fresh, mut restored) = (Vec::new(), Restored::default());
        for (id, text) in &batch.contents {
            if held.erased.contains(id) {
                restored.id.push(&id.0[..]);
                restored.text.push(text);
            } else if !held.whole.contains(id) {
                fresh.push((id, text));
            }
        }
        let ends = Ends {
            step: batch.through.map_or(Ok(last.ends.step), |step| stored(step.0))?,
            record: last.ends.record + count(batch.records.len()),
            call: last.ends.call + count(batch.calls.len()),
            content: last.ends.content + count(fresh.len()),
        };
        let mut link = Link::new(&last.link, last.batch + 1, epoch, ends);
        let mut records = Records::default();
        for (position, record) in (last.ends.record + 1..).zip(&batch.records) {
            let hash = record.hash();
            link.row(&hash);
            records.position.push(position);
            records.agent.push(&record.agent);
            records.event_seq.push(record.event_seq);
            records.step.push(record.step);
            records.at.push(record.at);
            records.kind.push(&record.kind);
            records.version.push(record.version);
            records.payload.push(&record.payload);
            records.sum.push(sum(&hash));
        }
        let mut calls = Calls::default();
        for (position, call) in (last.ends.call + 1..).zip(&batch.calls) {
            let hash = call_hash(call.step, &call.json);
            link.row(&hash);
            calls.position.push(position);
            calls.step.push(call.step);
            calls.call.push(&call.json);
            calls.sum.push(sum(&hash));
        }
        let mut contents = Contents::default();
        for (position, (id, text)) in (last.ends.content + 1..).zip(fresh) {
            link.row(&id.0);
            contents.position.push(position);
            contents.id.push(&id.0);
            contents.bytes.push(count(text.len()));
            contents.text.push(text);
        }
        let newer = batch
            .records
            .iter()
            .filter(|record| kinds.get(&record.kind).is_none_or(|version| *version < record.version));
        let newer: BTreeMap<&str, i64> = newer.map(|record| (record.kind.as_str(), record.version)).collect();
        let row = BatchRow { batch: last.batch + 1, epoch, ends, link: link.finish() };
        Ok(Self {
            row,
            records,
            calls,
            contents,
            restored,
            agents: Agents::of(batch)?,
            kind: newer.keys().copied().collect(),
            kind_version: newer.values().copied().collect(),
            deposits: batch.deposits.iter().map(|deposit| stored(deposit.0)).collect::<Result<_, _>>()?,
        })
    }
}

impl<'a> Agents<'a> {
    /// The row of each agent that has new records, where these continue one another.
    fn of(batch: &'a Batch) -> Result<Self, LedgerError> {
        let mut spans = batch.spans()?;
        let mut agents = Self::default();
        for (id, row) in &batch.agents {
            let Some((first, last)) = spans.remove(id.as_str()) else { continue };
            let damaged = |error| LedgerError::damaged(Position::event(id.as_str(), last, None), error);
            let standing = row.standing.as_ref().map(serde_json::to_string).transpose();
            agents.agent.push(id.as_str());
            agents.event_seq.push(last);
            agents.status.push(row.status.name());
            agents.next_deadline.push(row.next_deadline.map(|at| at.0));
            agents.open_work.push(stored(row.open_work)?);
            agents.account.push(batch.account(id)?);
            agents.private.push(i64::from(row.private));
            agents.archived.push(i64::from(row.archived));
            agents.standing.push(standing.map_err(damaged)?);
            agents.asks.push(stored(row.standing.as_ref().map_or(0, Standing::open_asks))?);
            agents.name.push(row.name.as_ref().map(AgentId::as_str));
            agents.continues.push(first - 1);
        }
        match spans.into_iter().next() {
            None => Ok(agents),
            Some((agent, _)) => Err(LedgerError::NoAgent { agent: agent.to_owned() }),
        }
    }
}
