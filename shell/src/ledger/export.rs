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

#[cfg(test)]
mod tests {
    use super::super::testing::{Home, id};
    use super::*;

    fn exported(home: &Home, agent: Option<&str>) -> Result<Vec<serde_json::Value>, ExportError> {
        let mut out = Vec::new();
        let agent = agent.map(id);
        let lines = export(&home.reader(), agent.as_ref(), &mut out)?;
        let parsed: Vec<serde_json::Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(parsed.len() as u64, lines);
        Ok(parsed)
    }

    #[test]
    fn a_line_is_a_record() {
        let home = Home::with_turns(1);
        home.start().create("another");
        let all = exported(&home, None).unwrap();
        assert_eq!(all[0]["agent"], "another");
        let main = exported(&home, Some("main")).unwrap();
        assert!(main.iter().zip(1..).all(|(line, seq)| line["event_seq"] == seq && line["agent"] == "main"));
        assert_eq!(main[0]["type"], "agent_created");
        assert_eq!(main[0]["v"], 1);
        assert_eq!(main[0]["payload"]["spec"]["kind"], "named");
        assert!(Wall::parse(main[0]["at"].as_str().unwrap()).is_some());
        assert!(exported(&home, Some("nobody")).is_err());
    }

    #[test]
    fn kinds_that_nobody_knows_pass_and_damage_does_not() {
        let home = Home::with_turns(1);
        home.vandal("UPDATE records SET payload = '{}' WHERE event_seq = 2");
        assert!(exported(&home, None).unwrap_err().to_string().contains("event 2"));
        home.vandal("DELETE FROM records WHERE event_seq = 2");
        assert!(exported(&home, None).unwrap_err().to_string().contains("event 2"));
    }

    #[test]
    fn a_folder_that_can_not_be_written_is_still_read() {
        use std::os::unix::fs::PermissionsExt;
        let home = Home::with_turns(1);
        let mode =
            |mode| std::fs::set_permissions(home.folder.path(), PermissionsExt::from_mode(mode)).unwrap();
        mode(0o500);
        let read = exported(&home, None);
        mode(0o700);
        assert!(read.is_ok_and(|lines| !lines.is_empty()));
    }
}
