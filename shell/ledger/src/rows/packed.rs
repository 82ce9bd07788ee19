//! States of agents as they lie in the ledger: compressed, with the hash of what is stored. A state is a few large lists of
//! facts that look alike: a tenth is left of it.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use holon_core::snapshot::{AgentSnapshot, SnapshotError};
use holon_facts::{AgentId, EventSeq};
use holon_text::hash;

use super::schema;
use crate::error::LedgerError;
use crate::sql::{Row, Source, SqlError};
use crate::store::State;

/// Bytes of a state as text. A larger one is not stored; the log is.
const MOST: usize = 64 << 20;

/// Newest snapshots that are kept per agent.
pub(crate) const SNAPSHOTS: i64 = 2;
/// Of each stretch of so many events the oldest snapshot is kept as well: a past state is folded from no farther back, and
/// from the distance of two snapshots.
pub(crate) const STRETCH: i64 = 8_192;

/// An agent's state, ready to be written.
#[derive(Debug, Clone)]
pub struct Packed {
    pub(crate) agent: AgentId,
    pub(crate) event_seq: EventSeq,
    pub(crate) version: u16,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: [u8; 32],
    /// Bytes of the text.
    pub(crate) whole: usize,
}

/// A row of the table.
pub(crate) struct Kept {
    pub(crate) version: u16,
    bytes: Vec<u8>,
    /// Builds before schema version [`schema::PACKED`] stored the text itself.
    packed: bool,
    hash: [u8; 32],
}

impl Packed {
    /// None of a state that is too large to be read back.
    ///
    /// # Errors
    /// When it can't be written as text.
    pub(crate) fn of(snapshot: &AgentSnapshot) -> Result<Option<Self>, SnapshotError> {
        let text = snapshot.encode()?;
        if text.len() > MOST {
            return Ok(None);
        }
        let bytes = compress(text.as_bytes()).map_err(|error| SnapshotError::Damaged(error.to_string()))?;
        Ok(Some(Self {
            agent: snapshot.agent.id.clone(),
            event_seq: snapshot.agent.event_seq,
            version: snapshot.version,
            hash: hash(&bytes).0,
            whole: text.len(),
            bytes,
        }))
    }
}

impl State for Packed {
    fn of(snapshot: &AgentSnapshot) -> Option<Self> {
        Self::of(snapshot).ok().flatten()
    }

    fn agent(&self) -> &AgentId {
        &self.agent
    }

    fn bytes(&self) -> usize {
        self.whole
    }
}

impl Kept {
    /// Columns that [`Kept::read`] takes, from `first` on.
    pub(crate) fn columns(source: Source<'_>) -> Result<&'static str, LedgerError> {
        let packed = schema::version(source)? >= schema::PACKED;
        Ok(if packed { "version, state, hash, packed" } else { "version, state, hash, NULL" })
    }

    pub(crate) fn read(row: &Row<'_>, first: usize) -> Result<Self, SqlError> {
        let packed: Option<Vec<u8>> = row.get(first + 3)?;
        Ok(Self {
            version: u16::try_from(row.get::<i64>(first)?).unwrap_or(u16::MAX),
            packed: packed.is_some(),
            bytes: match packed {
                Some(packed) => packed,
                None => row.get::<String>(first + 1)?.into_bytes(),
            },
            hash: row.get(first + 2)?,
        })
    }

    /// Whether its bytes are those that were written.
    pub(crate) fn is_whole(&self) -> bool {
        hash(&self.bytes).0 == self.hash
    }

    /// The state as text.
    ///
    /// # Errors
    /// It is not what was written, or no state.
    pub(crate) fn text(self) -> Result<String, SnapshotError> {
        if !self.is_whole() {
            return Err(SnapshotError::Damaged("it is not what was written".into()));
        }
        let text = if self.packed { decompress(&self.bytes, MOST) } else { Ok(self.bytes) };
        let text = text.map_err(|error| SnapshotError::Damaged(error.to_string()))?;
        String::from_utf8(text).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }
}

fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Never more than `most` bytes, whatever a few of them unfold to.
fn decompress(bytes: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    ZlibDecoder::new(bytes).take(bound).read_to_end(&mut text)?;
    if text.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unpacked_is_bounded() {
        let packed = compress(&vec![b' '; 1_000_000]).unwrap();
        assert!(packed.len() < 10_000);
        assert_eq!(decompress(&packed, 1_000_000).unwrap().len(), 1_000_000);
        let error = decompress(&packed, 999_999).unwrap_err();
        assert!(error.to_string().contains("more than 999999 bytes"), "{error}");
        assert!(decompress(&packed[..packed.len() - 5], 1_000_000).is_err());
        assert!(decompress(b"no stream", 1_000).is_err());
    }
}
