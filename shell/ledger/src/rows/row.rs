//! Rows as they are stored, the hash of each, and the way back to a record.

use holon_facts::event::DecodeError;
use holon_facts::{AgentId, Event, EventSeq, Record, StepSeq, Wall};
use holon_platform::hex;
use sha2::{Digest, Sha256};

use crate::error::{LedgerError, Position};
use crate::sql::{Row, SqlError};

/// A record, ready to be stored or just read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordRow {
    pub(crate) agent: String,
    pub(crate) event_seq: i64,
    pub(crate) step: i64,
    pub(crate) at: i64,
    pub(crate) kind: String,
    pub(crate) version: i64,
    pub(crate) payload: String,
}

/// A record with what is known only of a stored one.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    pub(crate) batch: i64,
    pub(crate) sum: i64,
    pub(crate) row: RecordRow,
}

/// A call of the host, as the flight recorder keeps it.
#[derive(Debug, Clone)]
pub(crate) struct StoredCall {
    pub(crate) position: i64,
    pub(crate) batch: i64,
    pub(crate) step: Option<i64>,
    pub(crate) call: String,
    pub(crate) sum: i64,
}

/// Columns of [`StoredRecord::read`].
pub(crate) const RECORD_COLUMNS: &str = "batch, sum, agent, event_seq, step, at, kind, v, payload";

/// Columns of [`StoredCall::read`].
pub(crate) const CALL_COLUMNS: &str = "position, batch, step, call, sum";

/// What a row costs beyond its text: a rough figure for the bound on what is under way.
pub(crate) const ROW_BYTES: usize = 100;

/// How the text begins that stands for a call which was removed; its hash and `"}` follow.
const REMOVED_BEGINS: &str = "{\"call\":\"removed\",\"sha256\":\"";

pub(crate) type Hash = [u8; 32];

impl RecordRow {
    /// Roughly what it takes on disk.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len() + ROW_BYTES
    }

    /// Hash of everything in the row, each piece with its length.
    pub(crate) fn hash(&self) -> Hash {
        let mut hash = Sha256::new();
        for number in [self.event_seq, self.step, self.at, self.version] {
            hash.update(number.to_le_bytes());
        }
        for text in [&self.agent, &self.kind, &self.payload] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.finalize().into()
    }
}

impl StoredRecord {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, SqlError> {
        Ok(Self {
            batch: row.get(0)?,
            sum: row.get(1)?,
            row: RecordRow {
                agent: row.get(2)?,
                event_seq: row.get(3)?,
                step: row.get(4)?,
                at: row.get(5)?,
                kind: row.get(6)?,
                version: row.get(7)?,
                payload: row.get(8)?,
            },
        })
    }

    pub(crate) fn at(&self) -> Position {
        Position::event(&self.row.agent, self.row.event_seq, Some(self.batch))
    }

    /// The row's hash, after comparing it with its sum.
    pub(crate) fn checked_hash(&self) -> Result<Hash, LedgerError> {
        let hash = self.row.hash();
        if sum(&hash) == self.sum {
            return Ok(hash);
        }
        Err(LedgerError::damaged(self.at(), "the record is not what was written"))
    }

    /// The record, after checking that the row is what was written.
    pub(crate) fn decode(&self) -> Result<Record, LedgerError> {
        self.checked_hash()?;
        let row = &self.row;
        let at = || self.at();
        let version = u16::try_from(row.version).unwrap_or(u16::MAX);
        let event = Event::decode(&row.kind, version, &row.payload).map_err(|source| match source {
            DecodeError::UnknownKind { .. } | DecodeError::NewerVersion { .. } => {
                LedgerError::Newer { at: Box::new(at()), source }
            }
            DecodeError::Damaged { .. } => LedgerError::damaged(at(), source),
        })?;
        let number = |number: i64| {
            u64::try_from(number).map_err(|_| LedgerError::damaged(at(), format!("{number} is negative")))
        };
        Ok(Record {
            step: StepSeq(number(row.step)?),
            agent: AgentId::new(&row.agent).map_err(|error| LedgerError::damaged(at(), error))?,
            event_seq: EventSeq(number(row.event_seq)?),
            at: Wall(row.at),
            event,
        })
    }
}

impl StoredCall {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, SqlError> {
        Ok(Self {
            position: row.get(0)?,
            batch: row.get(1)?,
            step: row.get(2)?,
            call: row.get(3)?,
            sum: row.get(4)?,
        })
    }

    pub(crate) fn checked_hash(&self) -> Result<Hash, LedgerError> {
        let hash = call_hash(self.step, &self.call);
        if sum(&hash) == self.sum {
            return Ok(hash);
        }
        let at = Position::call(self.position, Some(self.batch));
        Err(LedgerError::damaged(at, "the call is not what was written"))
    }
}

/// What stands for a call that was removed.
pub(crate) fn removed_call(hash: &Hash) -> String {
    format!("{REMOVED_BEGINS}{}\"}}", hex::write(hash))
}

/// The hash that such a text keeps.
fn removed(call: &str) -> Option<Hash> {
    let digits = call.strip_prefix(REMOVED_BEGINS)?.strip_suffix("\"}")?;
    hex::read(digits)
}

/// The hash of a call, also of one of which nothing else is left.
pub(crate) fn call_hash(step: Option<i64>, call: &str) -> Hash {
    if let Some(hash) = removed(call) {
        return hash;
    }
    let mut hash = Sha256::new();
    hash.update([u8::from(step.is_some())]);
    hash.update(step.unwrap_or(0).to_le_bytes());
    hash.update(call.as_bytes());
    hash.finalize().into()
}

/// What a row keeps of its hash: enough to notice damage in that row without reading its whole batch.
pub(crate) fn sum(hash: &Hash) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = *hash;
    i64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// A number of the core as SQLite stores it.
pub(crate) fn stored(number: u64) -> Result<i64, LedgerError> {
    i64::try_from(number).map_err(|_| LedgerError::Range { number })
}

/// A number of rows as SQLite stores it.
pub(crate) fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
