//! The bytes of rows on the disk. Each row has its length and a link over everything before it, so a reader finds a row
//! that is torn, missing, changed or in another's place (contract: D4, D11).

use std::ops::Range;

use holon_facts::event::Event;
use holon_facts::ids::{AgentId, EventSeq, StepSeq};
use holon_facts::{Record, Wall};

use super::Row;
use crate::choices::{chain, hash};

/// Bytes of the length and the link before each row.
const HEADER: usize = 12;

/// Damage to rows on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The last row is cut after so many bytes, reduced to what it has.
    Torn { bytes: u32 },
    /// A row was never written, but later rows were.
    Hole { row: usize },
    /// One bit is another, somewhere in a row.
    Flipped { row: usize, bit: u32 },
    /// A row has the bytes of another row.
    Misdirected { row: usize, other: usize },
}

/// A row that a reader found damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub row: usize,
}

/// How the ledger is read; all readers but the first are sabotaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reader {
    #[default]
    Careful,
    /// Trusts every link.
    Trusting,
    /// Also drops the row before the damage.
    Timid,
}

/// Some consecutive rows as bytes.
#[derive(Debug)]
pub struct Image {
    from: usize,
    bytes: Vec<u8>,
    rows: Vec<Range<usize>>,
}

impl Image {
    /// The rows of a ledger from a position on, linked to everything before it.
    pub fn of(rows: &[Row], from: usize) -> Self {
        let mut image = Self { from, bytes: Vec::new(), rows: Vec::new() };
        let mut link = start(from);
        for row in &rows[from..] {
            let begin = image.bytes.len();
            let body = encode(row);
            link = chain(link, &body);
            let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
            image.bytes.extend(length.to_le_bytes());
            image.bytes.extend(link.to_le_bytes());
            image.bytes.extend(body);
            image.rows.push(begin..image.bytes.len());
        }
        image
    }

    pub fn suffer(&mut self, damage: Damage) {
        match damage {
            Damage::Torn { bytes } => {
                let Some(last) = self.rows.last() else { return };
                let most = u32::try_from(last.len()).unwrap_or(u32::MAX);
                self.bytes.truncate(last.start + (bytes % most.max(1)) as usize);
            }
            Damage::Hole { row } => {
                if let Some(range) = self.range(row) {
                    self.bytes[range].fill(0);
                }
            }
            Damage::Flipped { row, bit } => {
                if let Some(range) = self.range(row) {
                    let at = range.start + (bit as usize / 8) % range.len();
                    self.bytes[at] ^= 1 << (bit % 8);
                }
            }
            Damage::Misdirected { row, other } => {
                if let (Some(to), Some(from)) = (self.range(row), self.range(other)) {
                    let foreign = self.bytes[from].to_vec();
                    self.bytes.splice(to, foreign);
                }
            }
        }
    }

    fn range(&self, row: usize) -> Option<Range<usize>> {
        self.rows.get(row.checked_sub(self.from)?).cloned()
    }

    /// Reads rows up to the first damaged one.
    pub fn read(&self, reader: Reader) -> (Vec<Row>, Option<Found>) {
        let (mut rows, mut link, mut rest) = (Vec::new(), start(self.from), self.bytes.as_slice());
        while !rest.is_empty() {
            let found = Some(Found { row: self.from + rows.len() });
            let Some((body, recorded, after)) = framed(rest) else { return (rows, found) };
            link = chain(link, body);
            let believed = link == recorded || reader == Reader::Trusting;
            let Some(row) = decode(body).filter(|_| believed) else {
                rows.truncate(rows.len().saturating_sub(usize::from(reader == Reader::Timid)));
                return (rows, found);
            };
            rows.push(row);
            rest = after;
        }
        (rows, None)
    }
}

/// The link before the first row of an image.
fn start(from: usize) -> u64 {
    chain(hash(b"ledger"), &from.to_le_bytes())
}

/// Splits off a row and its link; returns them and the rest.
fn framed(bytes: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let (length, link) = header.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    // A row is never empty: zeros where one should be are a hole.
    let (body, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
    Some((body, u64::from_le_bytes(link.try_into().ok()?), after))
}

/// One line for the call, and one per record.
fn encode(row: &Row) -> Vec<u8> {
    let step = row.step.map_or(0, |step| step.0);
    let mut text = format!("{step}\t{}", serde_json::to_string(&row.call).unwrap_or_default());
    for record in &row.records {
        let Record { step, agent, event_seq, at, event } = record;
        let payload = event.payload().unwrap_or_default();
        let (kind, version) = (event.kind(), event.version());
        text += &format!("\n{}\t{agent}\t{}\t{}\t{kind}\t{version}\t{payload}", step.0, event_seq.0, at.0);
    }
    text.into_bytes()
}

fn decode(bytes: &[u8]) -> Option<Row> {
    let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
    let (step, call) = lines.next()?.split_once('\t')?;
    let step: u64 = step.parse().ok()?;
    let records = lines.map(record).collect::<Option<Vec<_>>>()?;
    let call = serde_json::from_str(call).ok()?;
    Some(Row::new(call, (step > 0).then_some(StepSeq(step)), records))
}

fn record(line: &str) -> Option<Record> {
    let parts: Vec<&str> = line.splitn(7, '\t').collect();
    let &[step, agent, event_seq, at, kind, version, payload] = parts.as_slice() else { return None };
    Some(Record {
        step: StepSeq(step.parse().ok()?),
        agent: AgentId::new(agent).ok()?,
        event_seq: EventSeq(event_seq.parse().ok()?),
        at: Wall(at.parse().ok()?),
        event: Event::decode(kind, version.parse().ok()?, payload).ok()?,
    })
}
