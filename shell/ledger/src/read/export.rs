//! History as JSON Lines, for people and other programs. Kinds that this build does not know pass through.

use std::collections::BTreeMap;
use std::io::{self, Write};

use holon_facts::{AgentId, StepSeq, Wall};
use holon_law::replay::call_line;

use super::reader::Reader;
use super::recorder::each_call;
use super::restore;
use crate::error::{LedgerError, Position};
use crate::rows::row::{RECORD_COLUMNS, StoredRecord};
use crate::sql::Source;

/// Records that are read at once.
const PAGE: u64 = 512;

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
    reader.at_one_moment(|source| {
        let mut lines = Lines { out, before: None, written: 0 };
        match agent {
            Some(agent) => lines.of_agent(source, agent.as_str())?,
            None => {
                for row in restore::agent_names(source)? {
                    lines.of_agent(source, &row)?;
                }
            }
        }
        lines.out.flush()?;
        Ok(lines.written)
    })
}

/// Lines in the writing.
struct Lines<'a> {
    out: &'a mut dyn Write,
    /// The event of the last line of this agent.
    before: Option<i64>,
    written: u64,
}

impl Lines<'_> {
    /// A page of records at a time.
    fn of_agent(&mut self, source: Source<'_>, agent: &str) -> Result<(), ExportError> {
        let sql = format!(
            "SELECT {RECORD_COLUMNS} FROM records WHERE agent = ?1 AND event_seq > ?2 ORDER BY event_seq LIMIT {PAGE}"
        );
        self.before = None;
        loop {
            let (after, written) = (self.before.unwrap_or(0), self.written);
            let at = || Position::event(agent, after, None);
            let failed = |error| ExportError::from(LedgerError::unreadable(at())(error));
            source.each(&sql, &[agent.into(), after.into()], failed, |row| {
                let record = StoredRecord::read(row).map_err(failed)?;
                check(self.before, &record)?;
                write_line(&record, self.out)?;
                self.before = Some(record.row.event_seq);
                self.written += 1;
                Ok(())
            })?;
            if self.written - written < PAGE {
                return Ok(());
            }
        }
    }
}

/// Writes the flight recorder, and says how many lines: each call as `{"type":"call","step","call"}` (`step` only
/// where the call made one), followed by the records that it brought, as [`export`] writes them. That is all
/// that a replay needs (`sim replay`). The ledger is read as it is at one moment.
///
/// # Errors
/// At the first damaged or missing row; the lines before it are good.
pub fn export_recorder(reader: &Reader, out: &mut dyn Write) -> Result<u64, ExportError> {
    let mut ends: BTreeMap<String, i64> = BTreeMap::new();
    let mut lines = 0;
    reader.at_one_moment(|source| {
        each_call::<ExportError>(source, |call, records| {
            let step = call.step.map(|step| StepSeq(u64::try_from(step).unwrap_or(0)));
            writeln!(out, "{}", call_line(step, &call.call))?;
            for record in records {
                check(ends.get(&record.row.agent).copied(), record)?;
                write_line(record, out)?;
                ends.insert(record.row.agent.clone(), record.row.event_seq);
            }
            lines += 1 + records.len() as u64;
            Ok(())
        })
    })?;
    out.flush()?;
    Ok(lines)
}

/// Whether the record is what was written, and the next one of its agent.
fn check(before: Option<i64>, record: &StoredRecord) -> Result<(), LedgerError> {
    record.checked_hash()?;
    let expected = before.map_or(1, |before| before + 1);
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
    use super::*;
    use crate::sqlite::testing::{Home, id};
    use holon_law::replay::{Again, ExportReader};

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
    fn the_recorder_is_a_line_for_each_call_and_record_and_can_be_replayed() {
        let home = Home::with_turns(2);
        home.start().prompt("main", "after a restart");
        let mut out = Vec::new();
        let lines = export_recorder(&home.reader(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count() as u64, lines);
        let mut reader = ExportReader::<holon_core::replay::Replay>::new(Again::Every);
        for line in text.lines() {
            reader.line(line).unwrap();
        }
        let report = reader.finish().unwrap();
        assert_eq!(report, super::super::replay(&home.reader(), Again::Every).unwrap());
        assert_eq!(report.calls + report.records, lines);
        assert_eq!(report.segments, 2);

        home.vandal("DELETE FROM records WHERE event_seq = 2");
        let error = export_recorder(&home.reader(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("event 2"), "{error}");
        home.vandal("DELETE FROM recorder WHERE position > 4");
        let error = export_recorder(&home.reader(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("event"), "{error}");
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
