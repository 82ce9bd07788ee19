//! A ledger made from an export with its flight recorder, to be looked at. An export has no texts; whoever has them beside it
//! gives them.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::agent::{Agent, FoldError};
use holon_facts::{AgentId, ContentId, Record, StepSeq};
use holon_law::replay::{Line, LineError};
use serde::Deserialize;

use super::append::Ledger;
use crate::durability::Durability;
use crate::error::{AppendError, LedgerError};
use crate::read::PAST_RECORDS;
use crate::rows::batch::{Batch, CallRow, encode};
use crate::rows::row::stored;
use crate::store::AgentRow;

/// Bytes of one line.
const LINE_BYTES: u64 = 16 << 20;
/// Calls that are written at once, and bytes of texts with them.
const CALLS: usize = 1_024;
const TEXT_BYTES: usize = 8 << 20;

/// An export that no ledger can be made from, and the line that shows it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("the export can't be read: {0}")]
    Io(#[from] io::Error),
    #[error("line {line}: {problem}")]
    Line { line: u64, problem: LineError },
    #[error("line {line} has more than {LINE_BYTES} bytes")]
    LongLine { line: u64 },
    #[error("line {line}: a record without the call that brought it; export with --recorder")]
    NoCall { line: u64 },
    #[error("line {line}: {problem}")]
    Fold { line: u64, problem: FoldError },
    #[error("the export has more than {PAST_RECORDS} records")]
    Long,
    #[error("the export is empty")]
    Empty,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the ledger made from the export can't be written: {0}")]
    Append(#[from] AppendError),
}

/// Reads an export with its recorder into a new ledger. Each start of a runtime in it is a writer of its own there, as it
/// was in the ledger that was exported.
///
/// # Errors
/// At the first line that does not go on from those before it; the ledger is of no use then.
pub fn import(export: impl BufRead, path: &Path) -> Result<(), ImportError> {
    import_with_texts(export, path, |_| None)
}

/// The same with those texts that `text` has of what records name.
///
/// # Errors
/// As for [`import`].
pub fn import_with_texts(
    mut export: impl BufRead,
    path: &Path,
    text: impl FnMut(ContentId) -> Option<Arc<str>>,
) -> Result<(), ImportError> {
    let mut into = Import::new(path, text);
    let (mut read_line, mut line) = (String::new(), 0_u64);
    loop {
        read_line.clear();
        line += 1;
        let read = (&mut export).take(LINE_BYTES + 1).read_line(&mut read_line)?;
        if read == 0 {
            return into.finish();
        }
        if read as u64 > LINE_BYTES {
            return Err(ImportError::LongLine { line });
        }
        if read_line.trim().is_empty() {
            continue;
        }
        match Line::parse(&read_line).map_err(|problem| ImportError::Line { line, problem })? {
            Line::Call { step, call } => into.call(step, call, line)?,
            Line::Record(record) => into.record(&record, line)?,
        }
    }
}

struct Import<T> {
    path: PathBuf,
    text: T,
    text_bytes: usize,
    ledger: Option<Ledger>,
    batch: Batch,
    agents: BTreeMap<AgentId, Agent>,
    records: u64,
}

/// The name of a call.
#[derive(Deserialize)]
struct Named<'a> {
    call: &'a str,
}

impl<T: FnMut(ContentId) -> Option<Arc<str>>> Import<T> {
    fn new(path: &Path, text: T) -> Self {
        let (batch, agents) = (Batch::default(), BTreeMap::new());
        Self { path: path.to_owned(), text, text_bytes: 0, ledger: None, batch, agents, records: 0 }
    }

    fn call(&mut self, step: Option<StepSeq>, call: &str, line: u64) -> Result<(), ImportError> {
        let named = serde_json::from_str::<Named<'_>>(call);
        let named = named.map_err(|error| ImportError::Line { line, problem: error.into() })?;
        let starts = named.call == "runtime_started";
        if starts || self.batch.calls.len() >= CALLS || self.text_bytes >= TEXT_BYTES {
            self.flush()?;
        }
        if starts || self.ledger.is_none() {
            if let Some(ledger) = self.ledger.take() {
                ledger.close()?;
            }
            self.ledger = Some(Ledger::open(&self.path, Durability::Process)?.ledger);
        }
        let step = step.map(|step| stored(step.0)).transpose()?;
        self.batch.calls.push(CallRow { step, json: call.to_owned() });
        Ok(())
    }

    fn record(&mut self, record: &Record, line: u64) -> Result<(), ImportError> {
        let step = stored(record.step.0)?;
        if self.batch.calls.last().and_then(|call| call.step) != Some(step) {
            return Err(ImportError::NoCall { line });
        }
        self.records += 1;
        if self.records > PAST_RECORDS {
            return Err(ImportError::Long);
        }
        let fold = |problem| ImportError::Fold { line, problem };
        let agent = match self.agents.get_mut(&record.agent) {
            Some(agent) => {
                agent.fold(record).map_err(fold)?;
                &*agent
            }
            None => {
                let created = Agent::created(record).map_err(fold)?;
                self.agents.entry(record.agent.clone()).or_insert(created)
            }
        };
        let Self { text, text_bytes, batch, .. } = self;
        record.event.contents(&mut |content| {
            if let Some(text) = text(content.id) {
                *text_bytes += text.len();
                batch.contents.insert(content.id, text);
            }
        });
        self.batch.records.push(encode(record)?);
        self.batch.agents.insert(record.agent.clone(), AgentRow::of(agent));
        self.batch.accounts.insert(record.agent.clone(), agent.account);
        self.batch.through = Some(record.step);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        let batch = std::mem::take(&mut self.batch);
        self.text_bytes = 0;
        if let Some(ledger) = &mut self.ledger
            && !batch.is_empty()
        {
            ledger.append(&batch)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), ImportError> {
        self.flush()?;
        match self.ledger.take() {
            Some(ledger) if self.records > 0 => Ok(ledger.close()?),
            Some(_) | None => Err(ImportError::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use holon_facts::EventSeq;

    use super::super::testing::{Home, id};
    use super::*;
    use crate::read::{Reader, export, export_recorder};

    fn exported(home: &Home) -> String {
        let mut out = Vec::new();
        export_recorder(&home.reader(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_was_exported_is_what_a_ledger_made_from_it_exports() {
        let home = Home::with_turns(2);
        home.start().prompt("main", "after a restart");
        let text = exported(&home);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite3");
        import(text.as_bytes(), &path).unwrap();
        let reader = Reader::open(&path).unwrap();
        let mut again = Vec::new();
        export_recorder(&reader, &mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), text);
        let main = id("main");
        let last = home.reader().last_event(&main).unwrap();
        for event in 1..=last.0 {
            let event = EventSeq(event);
            let runtimes =
                [&reader, &home.reader()].map(|it| it.runtime_of(&main, event).unwrap().unwrap().seed);
            assert_eq!(runtimes[0], runtimes[1], "{event}");
            let states = [&reader, &home.reader()].map(|it| it.agent_after(&main, event).unwrap().agent);
            assert_eq!(states[0], states[1], "{event}");
        }
    }

    #[test]
    fn an_export_that_can_not_be_gone_on_from_names_the_line() {
        let home = Home::with_turns(1);
        let refused = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            import(text.as_bytes(), &folder.path().join("ledger.sqlite3")).unwrap_err().to_string()
        };
        assert_eq!(refused(""), "the export is empty");
        assert!(refused("nonsense\n").starts_with("line 1: it is not a line of an export"));
        let mut plain = Vec::new();
        export(&home.reader(), None, &mut plain).unwrap();
        let plain = refused(&String::from_utf8(plain).unwrap());
        assert!(plain.starts_with("line 1:") && plain.ends_with("export with --recorder"), "{plain}");
        let text = exported(&home);
        let gap: Vec<&str> = text.lines().filter(|line| !line.contains(r#""event_seq":3,"#)).collect();
        let gap = refused(&gap.join("\n"));
        assert!(gap.contains("continues at event 4, expected 3"), "{gap}");
    }
}
