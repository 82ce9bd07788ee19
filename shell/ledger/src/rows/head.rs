//! The head of a ledger: a small file beside it that names the last batch that was acknowledged. What opens must reach
//! as far, or something was lost that the files themselves no longer show: a write-ahead log that was removed, a ledger
//! that was replaced.
//!
//! It is written after each commit and not synced, so it costs no wait: the end of the process can't take it back, and
//! after the end of the machine it may be older than the ledger, which is no damage.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holon_facts::Wall;
use holon_platform::{hex, process};
use holon_text::hash;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::link::BatchRow;
use crate::durability::Durability;

/// Two lines take turns, so that one of them is whole whatever happens to the other.
const LINE: usize = 512;

/// The last batch that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub batch: i64,
    pub epoch: i64,
    pub step: i64,
    pub records: i64,
    /// Its hash link.
    pub link: String,
    /// Whose record was the last of all, where the batch had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_seq: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Wall>,
    /// Whether it survives the end of the machine.
    pub power_safe: bool,
    /// The start of the machine in which it was written.
    pub boot: String,
    /// The latest loss of a cell that an operator had accepted by then.
    #[serde(default, skip_serializing_if = "is_none")]
    pub acceptance: i64,
}

fn is_none(acceptance: &i64) -> bool {
    *acceptance == 0
}

/// What is in the file.
#[derive(Debug)]
pub(crate) enum Kept {
    Nothing,
    Unreadable,
    Head(Box<Head>),
}

impl Kept {
    /// The last acknowledged batch that it names.
    pub(crate) fn acknowledged(&self) -> Option<&Head> {
        match self {
            Self::Head(head) => Some(head),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// The writing side.
#[derive(Debug)]
pub(crate) struct HeadFile {
    /// None where it can't be written: the head is older than the ledger then, which is no damage.
    file: io::Result<File>,
    power_safe: bool,
    boot: String,
    acceptance: i64,
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "batch {} (step {}, {} records", self.batch, self.step, self.records)?;
        if let (Some(agent), Some(event_seq)) = (&self.agent, self.event_seq) {
            write!(f, ", the last of them {agent} #{event_seq}")?;
        }
        if let Some(at) = self.at {
            write!(f, " at {at}")?;
        }
        f.write_str(")")
    }
}

pub(crate) fn path_of(ledger: &Path) -> PathBuf {
    ledger.with_extension("head")
}

impl Head {
    /// What the newest batch of a ledger is.
    pub(crate) fn of(row: &BatchRow) -> Self {
        Self {
            batch: row.batch,
            epoch: row.epoch,
            step: row.ends.step,
            records: row.ends.record,
            link: hex::write(&row.link),
            agent: None,
            event_seq: None,
            at: None,
            power_safe: true,
            boot: String::new(),
            acceptance: 0,
        }
    }

    /// Whether what it names may be gone by the rules: the process alone was to survive, and the machine ended.
    pub(crate) fn may_be_lost(&self) -> bool {
        !self.power_safe && process::boot_id().is_ok_and(|boot| boot != self.boot)
    }
}

/// What the head of a ledger says.
pub(crate) fn read(ledger: &Path) -> io::Result<Kept> {
    let bytes = match std::fs::read(path_of(ledger)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Nothing),
        Err(error) => return Err(error),
    };
    let newest = bytes.chunks(LINE).filter_map(parse).max_by_key(|head| head.batch);
    let written = bytes.iter().any(|byte| *byte != 0);
    Ok(match newest {
        Some(head) => Kept::Head(Box::new(head)),
        None if written => Kept::Unreadable,
        None => Kept::Nothing,
    })
}

fn parse(line: &[u8]) -> Option<Head> {
    let (sum, json) = std::str::from_utf8(line).ok()?.trim().split_once(' ')?;
    if sum != sum_of(json) {
        return None;
    }
    serde_json::from_str(json).ok()
}

/// Where the line of a batch stands.
fn turn(batch: i64) -> u64 {
    if batch % 2 == 0 { 0 } else { LINE as u64 }
}

fn sum_of(json: &str) -> String {
    let hash = hash(json.as_bytes()).0;
    hex::write(&hash[..8])
}

impl HeadFile {
    pub(crate) fn open(ledger: &Path, durability: Durability) -> Self {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path_of(ledger));
        let boot = process::boot_id().unwrap_or_default();
        Self { file, power_safe: durability == Durability::Full, boot, acceptance: 0 }
    }

    /// Of a cell with a loss that an operator has accepted.
    #[cfg(feature = "postgres")]
    pub(crate) fn since(self, acceptance: i64) -> Self {
        Self { acceptance, ..self }
    }

    /// After a commit.
    pub(crate) fn committed(&self, row: &BatchRow, batch: &Batch) -> io::Result<()> {
        let mut head = Head::of(row);
        if let Some(last) = batch.records.last() {
            head.agent = Some(last.agent.clone());
            head.event_seq = Some(last.event_seq);
            head.at = Some(Wall(last.at));
        }
        self.write(head)
    }

    /// The first of a process: lines of before are of no use any more.
    pub(crate) fn begin(&self, head: Head) -> io::Result<()> {
        if head.batch == 0 {
            return self.file()?.set_len(0);
        }
        let other = turn(head.batch + 1);
        self.write(head)?;
        self.file()?.write_all_at(&[b' '; LINE], other)
    }

    fn write(&self, head: Head) -> io::Result<()> {
        let (power_safe, boot, acceptance) = (self.power_safe, self.boot.clone(), self.acceptance);
        let head = Head { power_safe, boot, acceptance, ..head };
        let json = serde_json::to_string(&head)?;
        let mut line = format!("{} {json}", sum_of(&json)).into_bytes();
        line.resize(LINE - 1, b' ');
        line.push(b'\n');
        self.file()?.write_all_at(&line, turn(head.batch))
    }

    /// When there is time.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(batch: i64) -> Head {
        Head { batch, step: 7, ..Head::of(&BatchRow::START) }
    }

    #[test]
    fn the_newest_line_that_is_whole_counts() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite3");
        assert!(matches!(read(&ledger).unwrap(), Kept::Nothing));
        let file = HeadFile::open(&ledger, Durability::Full);
        assert!(matches!(read(&ledger).unwrap(), Kept::Nothing), "nothing was acknowledged yet");
        let newest = || match read(&ledger).unwrap() {
            Kept::Head(head) => Some(head.batch),
            Kept::Nothing | Kept::Unreadable => None,
        };
        for batch in 3..7 {
            file.write(head(batch)).unwrap();
            assert_eq!(newest(), Some(batch));
        }
        file.file().unwrap().write_all_at(b"x", 20).unwrap();
        assert_eq!(newest(), Some(5), "the other line");
        file.file().unwrap().write_all_at(b"x", LINE as u64 + 20).unwrap();
        assert!(matches!(read(&ledger).unwrap(), Kept::Unreadable));
        file.begin(head(4)).unwrap();
        assert_eq!(newest(), Some(4), "lines of before are gone");
    }

    #[test]
    fn the_longest_head_fits() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite3");
        let most = i64::MAX - 1;
        let file = HeadFile { acceptance: most, ..HeadFile::open(&ledger, Durability::Process) };
        let row = BatchRow { batch: most, epoch: most, ..BatchRow::START };
        let longest = Head {
            step: most,
            records: most,
            agent: Some("a".repeat(63)),
            event_seq: Some(most),
            at: Some(Wall(253_402_300_799_999_999)),
            ..Head::of(&row)
        };
        file.write(longest).unwrap();
        assert!(matches!(read(&ledger).unwrap(), Kept::Head(head) if head.batch == most));
    }
}
