//! Writes one batch within its transaction, and checks that it continues what is there.

use std::collections::BTreeMap;

use holon_core::view::standing::Standing;
use holon_facts::{AgentId, ContentId};
use holon_platform::crash_point::{Point, reached};
use rusqlite::{OptionalExtension, Transaction, params};

use super::open;
use crate::error::{LedgerError, Position};
use crate::rows::batch::Batch;
use crate::rows::link::{BatchRow, Ends, Link};
use crate::rows::packed::{Packed, SNAPSHOTS, STRETCH};
use crate::rows::row::{RecordRow, call_hash, count, stored, sum};
use crate::store::AgentRow;

/// One batch in the writing.
pub(super) struct BatchWriter<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) epoch: i64,
    pub(super) last: BatchRow,
}

impl BatchWriter<'_> {
    /// Refuses when another writer has opened the ledger since.
    pub(super) fn check_epoch(&self) -> Result<(), LedgerError> {
        let found = open::epoch(self.transaction)?;
        if found == self.epoch { Ok(()) } else { Err(LedgerError::Fenced { own: self.epoch, found }) }
    }

    pub(super) fn kinds(
        &self,
        known: &BTreeMap<String, i64>,
        records: &[RecordRow],
    ) -> Result<(), LedgerError> {
        for record in records {
            if known.get(&record.kind).is_none_or(|version| *version < record.version) {
                self.execute(
                    "INSERT INTO kinds VALUES (?1, ?2)
                     ON CONFLICT (kind) DO UPDATE SET v = max(v, excluded.v)",
                    params![record.kind, record.version],
                )?;
            }
        }
        Ok(())
    }

    pub(super) fn batch(&self, batch: &Batch) -> Result<BatchRow, LedgerError> {
        let number = self.last.batch + 1;
        let fresh = self.contents(batch)?;
        let ends = Ends {
            step: batch.through.map_or(Ok(self.last.ends.step), |step| stored(step.0))?,
            record: self.last.ends.record + count(batch.records.len()),
            call: self.last.ends.call + count(batch.calls.len()),
            content: self.last.ends.content + count(fresh.len()),
        };
        let mut link = Link::new(&self.last.link, number, self.epoch, ends);
        self.records(batch, number, &mut link)?;
        self.calls(batch, number, &mut link)?;
        fresh.iter().for_each(|id| link.row(&id.0));
        self.agents(batch)?;
        self.rests(batch)?;
        self.snapshots(batch)?;
        let row = BatchRow { batch: number, epoch: self.epoch, ends, link: link.finish() };
        self.execute(
            "INSERT INTO batches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![number, row.epoch, ends.step, ends.record, ends.call, ends.content, row.link],
        )?;
        Ok(row)
    }

    /// Stores the texts that are not stored yet, and says which these are.
    fn contents(&self, batch: &Batch) -> Result<Vec<ContentId>, LedgerError> {
        let mut fresh = Vec::new();
        for (id, text) in &batch.contents {
            let position = self.last.ends.content + count(fresh.len()) + 1;
            // One that was removed because no record named it is named again.
            let sql = "INSERT INTO content VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET text = excluded.text WHERE content.text IS NULL
                 RETURNING position";
            let stored = self
                .transaction
                .prepare_cached(sql)
                .and_then(|mut statement| {
                    let values = params![position, id.0, count(text.len()), &**text];
                    statement.query_row(values, |row| row.get::<_, i64>(0)).optional()
                })
                .map_err(LedgerError::sqlite("writing a text"))?;
            if stored == Some(position) {
                fresh.push(*id);
            }
        }
        Ok(fresh)
    }

    fn records(&self, batch: &Batch, number: i64, link: &mut Link) -> Result<(), LedgerError> {
        for (position, record) in (self.last.ends.record + 1..).zip(&batch.records) {
            let hash = record.hash();
            link.row(&hash);
            self.execute(
                "INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    position,
                    record.agent,
                    record.event_seq,
                    record.step,
                    number,
                    record.at,
                    record.kind,
                    record.version,
                    record.payload,
                    sum(&hash)
                ],
            )?;
        }
        Ok(())
    }

    fn calls(&self, batch: &Batch, number: i64, link: &mut Link) -> Result<(), LedgerError> {
        for (position, call) in (self.last.ends.call + 1..).zip(&batch.calls) {
            let hash = call_hash(call.step, &call.json);
            link.row(&hash);
            self.execute(
                "INSERT INTO recorder VALUES (?1, ?2, ?3, ?4, ?5)",
                params![position, number, call.step, call.json, sum(&hash)],
            )?;
        }
        Ok(())
    }

    /// Updates the row of each agent, where its new records continue its log.
    fn agents(&self, batch: &Batch) -> Result<(), LedgerError> {
        let mut spans = batch.spans()?;
        for (id, row) in &batch.agents {
            if let Some((first, last)) = spans.remove(id.as_str()) {
                let account = batch.account(id)?;
                self.agent(row, account.as_deref(), (first, last))?;
            }
        }
        match spans.into_iter().next() {
            None => Ok(()),
            Some((agent, _)) => Err(LedgerError::NoAgent { agent: agent.to_owned() }),
        }
    }

    fn agent(
        &self,
        row: &AgentRow,
        account: Option<&str>,
        (first, last): (i64, i64),
    ) -> Result<(), LedgerError> {
        let id = &row.agent;
        let deadline = row.next_deadline.map(|at| at.0);
        let (status, open_work) = (row.status.name(), stored(row.open_work)?);
        let standing = row.standing.as_ref().map(serde_json::to_string).transpose();
        let standing = standing
            .map_err(|error| LedgerError::damaged(Position::event(id.as_str(), last, None), error))?;
        let asks = stored(row.standing.as_ref().map_or(0, Standing::open_asks))?;
        let values = params![
            id.as_str(),
            last,
            status,
            deadline,
            open_work,
            first - 1,
            account,
            row.private,
            row.archived,
            standing,
            asks,
            row.name.as_ref().map(AgentId::as_str)
        ];
        let sql = if first == 1 {
            "INSERT INTO agents SELECT ?1, ?2, ?3, ?4, ?5, ?7, ?8, ?9, ?10, ?11, ?12 WHERE ?6 = 0 ON CONFLICT (agent) DO NOTHING"
        } else {
            "UPDATE agents SET event_seq = ?2, status = ?3, next_deadline = ?4, open_work = ?5, account = ?7,
             private = ?8, archived = ?9, standing = ?10, asks = ?11, name = ?12
             WHERE agent = ?1 AND event_seq = ?6"
        };
        if self.execute(sql, values)? == 1 {
            return Ok(());
        }
        let held = self
            .transaction
            .query_row("SELECT event_seq FROM agents WHERE agent = ?1", [id.as_str()], |row| row.get(0))
            .optional()
            .map_err(LedgerError::sqlite("reading where a log ends"))?;
        Err(LedgerError::gap(id.as_str(), held.unwrap_or(0) + 1, first))
    }

    /// Builds before this one counted waits for the wall clock as open work: whoever leaves memory is written anew.
    fn rests(&self, batch: &Batch) -> Result<(), LedgerError> {
        for row in &batch.rests {
            self.execute(
                "UPDATE agents SET next_deadline = ?3, open_work = ?4
                 WHERE agent = ?1 AND event_seq = ?2 AND (open_work <> ?4 OR next_deadline IS NOT ?3)",
                params![
                    row.agent.as_str(),
                    stored(row.event_seq.0)?,
                    row.next_deadline.map(|at| at.0),
                    stored(row.open_work)?
                ],
            )?;
        }
        Ok(())
    }

    fn snapshots(&self, batch: &Batch) -> Result<(), LedgerError> {
        for (id, event_seq) in &batch.rejected {
            self.execute(
                "DELETE FROM snapshots WHERE agent = ?1 AND event_seq = ?2",
                params![id.as_str(), stored(event_seq.0)?],
            )?;
        }
        self.packed(&batch.packed)
    }

    /// States of agents, and those that they take the place of.
    pub(super) fn packed(&self, packed: &[Packed]) -> Result<(), LedgerError> {
        for Packed { agent: id, event_seq, version, bytes, hash, .. } in packed {
            self.execute(
                "INSERT OR REPLACE INTO snapshots (agent, event_seq, version, state, hash, packed)
                 VALUES (?1, ?2, ?3, '', ?4, ?5)",
                params![id.as_str(), stored(event_seq.0)?, version, hash, bytes],
            )?;
            reached(Point::SnapshotWritten);
            self.execute(
                "DELETE FROM snapshots WHERE agent = ?1 AND event_seq NOT IN
                 (SELECT event_seq FROM snapshots WHERE agent = ?1 ORDER BY event_seq DESC LIMIT ?2)
                 AND event_seq NOT IN
                 (SELECT min(event_seq) FROM snapshots WHERE agent = ?1 GROUP BY event_seq / ?3)",
                params![id.as_str(), SNAPSHOTS, STRETCH],
            )?;
            reached(Point::SnapshotsPruned);
        }
        Ok(())
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, LedgerError> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(LedgerError::sqlite("writing a batch"))
    }
}
