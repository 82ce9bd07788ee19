//! Records as JSON Lines, for people and other programs. Kinds that this build does not know pass through.

use std::io::{self, Write};

use holon_core::{AgentId, Wall};

use super::error::{LedgerError, Position};
use super::read::Reader;
use super::row::{RECORD_COLUMNS, StoredRecord};

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the export can't be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes one line per record, by agent and event, and says how many:
/// `{"agent","event_seq","step","at","type","v","payload"}`, where `at` is RFC 3339. Each record is checked
/// against its sum, and each log for gaps. The ledger is read as it is at one moment.
///
/// # Errors
/// At the first damaged or missing record; the lines before it are good.
pub fn export(reader: &Reader, agent: Option<&AgentId>, out: &mut dyn Write) -> Result<u64, ExportError> {
    if let Some(agent) = agent {
        reader.last_event(agent)?;
    }
    reader.at_one_moment(|connection| {
        let failed = |at: &Position| LedgerError::unreadable(at.clone());
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM records WHERE ?1 IS NULL OR agent = ?1 ORDER BY agent, event_seq"
        );
        let one = format!("SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 ORDER BY event_seq");
        let sql = if agent.is_some() { one } else { sql };
        let mut at = Position::default();
        let mut statement = connection.prepare(&sql).map_err(failed(&at))?;
        let mut rows = statement.query([agent.map(AgentId::as_str)]).map_err(failed(&at))?;
        let mut lines = 0;
        let mut before: Option<StoredRecord> = None;
        while let Some(row) = rows.next().map_err(failed(&at))? {
            let record = StoredRecord::read(row).map_err(failed(&at))?;
            check(before.as_ref(), &record)?;
            write_line(&record, out)?;
            at = record.at();
            before = Some(record);
            lines += 1;
        }
        out.flush()?;
        Ok(lines)
    })
}

fn check(before: Option<&StoredRecord>, record: &StoredRecord) -> Result<(), LedgerError> {
    record.checked_hash()?;
    let before = before.filter(|before| before.row.agent == record.row.agent);
    let expected = before.map_or(1, |before| before.row.event_seq + 1);
    if record.row.event_seq == expected {
        return Ok(());
    }
    Err(LedgerError::damaged(Position::event(&record.row.agent, expected, None), "the record is missing"))
}

fn write_line(record: &StoredRecord, out: &mut dyn Write) -> io::Result<()> {
    let row = &record.row;
    let quoted = |text: &str| serde_json::to_string(text).map_err(io::Error::other);
    writeln!(
        out,
        r#"{{"agent":{},"event_seq":{},"step":{},"at":"{}","type":{},"v":{},"payload":{}}}"#,
        quoted(&row.agent)?,
        row.event_seq,
        row.step,
        Wall(row.at),
        quoted(&row.kind)?,
        row.version,
        row.payload
    )
}
