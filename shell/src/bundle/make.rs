//! Makes a bundle, also while a runtime writes the ledger.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_core::replay::Replay;
use holon_core::tool;
use holon_facts::{AgentId, ContentId, EventSeq, Record, StepSeq};
use holon_law::replay::{Again, ExportReader, Line, RUNTIME_STARTED};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{self, Reader};
use holon_platform::build;
use holon_text::Secrets;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::redact::Redactor;
use super::remake::{Remake, Scan};
use super::{
    CONFIG, CONTENTS, DESCRIPTION, Description, Environment, FORMAT, RECORDER, RECORDS, Redact, WHY,
};
use crate::archive::{About, Draft, DraftError, Writer};

/// What is to be put into which file.
pub struct Request<'a> {
    pub reader: &'a Reader,
    pub agent: &'a AgentId,
    /// The events of the agent, all of them where none is named.
    pub from: Option<EventSeq>,
    pub to: Option<EventSeq>,
    pub redact: Redact,
    /// What hashes of a strict bundle are made with.
    pub key: &'a [u8],
    /// What stands in no bundle, whatever its level.
    pub secrets: Arc<Secrets>,
    pub config: Value,
    pub why: Value,
    pub file: &'a Path,
}

/// A bundle that was made.
#[derive(Debug, Serialize)]
pub struct Made {
    pub path: PathBuf,
    pub size_bytes: u64,
    #[serde(flatten)]
    pub description: Description,
}

/// A bundle that was not made. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{agent} has no events {from} to {to}: its log goes from 1 to {last}")]
    Range { agent: AgentId, from: EventSeq, to: EventSeq, last: EventSeq },
    #[error("the bundle can't be written: {0}")]
    Write(#[from] io::Error),
    #[error("the flight recorder can't be exported: {0}")]
    Export(#[from] read::ExportError),
    #[error("the ledger can't be put into a bundle: {0}")]
    Recorder(String),
}

/// How often the ledger is gone through until no word is new and no decision differs; then records alone are told.
const PASSES: u32 = 8;

/// The events of a bundle, and in which steps they are.
#[derive(Clone, Copy)]
struct Range {
    from: EventSeq,
    to: EventSeq,
    from_step: StepSeq,
    to_step: StepSeq,
}

/// Makes a bundle.
///
/// # Errors
/// When there is no such agent or event, the ledger is not in order, or the file can't be written.
pub fn make(request: &Request<'_>) -> Result<Made, MakeError> {
    let range = range(request)?;
    let draft = Draft::begin(request.file)?;
    let folder = draft.path().parent().unwrap_or(Path::new("."));
    let mut raw = tempfile::tempfile_in(folder)?;
    read::export_recorder(request.reader, &mut BufWriter::new(&raw))?;
    let scan = scanned(&mut raw)?;
    let mut redactor = redactor(request, &mut raw)?;
    let (mut words, mut passes, mut folds, mut differs) = (0, 0, 0, None);
    let mut pieces = loop {
        let mut pieces = Pieces {
            remake: Remake::new(redactor, build::id(), range.from_step, &scan, folds),
            range,
            agent: request.agent.clone(),
            recorder: tempfile::tempfile_in(folder)?,
            records: tempfile::tempfile_in(folder)?,
            named: BTreeSet::new(),
        };
        pieces.read(&mut raw)?;
        passes += 1;
        let remake = &mut pieces.remake;
        let known = remake.redactor.as_ref().map_or(0, Redactor::words);
        // A word that is learned late stands for itself from the beginning; and records that were made anew stand on no others.
        if remake.differs_in.is_none() && (known == words || passes >= PASSES) {
            break pieces;
        }
        if let Some(runtime) = remake.differs_in {
            folds = if passes >= PASSES { usize::MAX } else { runtime + 1 };
            differs = remake.recorded.differs.take();
        }
        (words, redactor) = (known, remake.redactor.take());
    };
    pieces.remake.recorded.differs = differs;
    drop(raw);
    pieces.check()?;
    let description = Description {
        format: FORMAT,
        agent_id: request.agent.clone(),
        from: pieces.range.from,
        to: pieces.range.to,
        redact: request.redact,
        build: build::id().to_owned(),
        environment: environment(),
        recorder: std::mem::take(&mut pieces.remake.recorded),
    };
    pack(request, &draft, &mut pieces, &description)?;
    let size_bytes = draft.place()?;
    Ok(Made { path: request.file.to_owned(), size_bytes, description })
}

/// What takes texts out, where they are to be taken out; where they stay, secrets alone, if there is one.
fn redactor(request: &Request<'_>, raw: &mut File) -> Result<Option<Redactor>, MakeError> {
    if request.redact == Redact::None && !has_secret(&request.secrets, raw)? {
        return Ok(None);
    }
    let agents = request.reader.agents()?.into_iter().map(|row| row.agent.to_string());
    let keys = request.config["values"].as_array().into_iter().flatten();
    let keys = keys.filter_map(|entry| entry["key"].as_str().map(ToOwned::to_owned));
    let keep = agents.chain(keys).chain(words_of_tools());
    Ok(Some(Redactor::new(request.redact, request.key, keep).with_secrets(request.secrets.clone())))
}

/// Whether a secret stands in what was recorded: one that nobody knew as such when it was.
fn has_secret(secrets: &Secrets, raw: &mut File) -> io::Result<bool> {
    raw.rewind()?;
    for line in BufReader::new(raw).lines() {
        if secrets.are_in(line?.as_bytes()).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Words that arguments of tools may have, by their schemas.
fn words_of_tools() -> Vec<String> {
    let mut found = Vec::new();
    tool::catalogue().iter().for_each(|tool| words(&tool.schema, &mut found));
    found
}

fn words(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| words(item, found)),
        Value::Object(fields) => {
            let listed = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
            let all = listed.chain(fields.get("const")).filter_map(Value::as_str);
            found.extend(all.map(ToOwned::to_owned));
            fields.values().for_each(|field| words(field, found));
        }
    }
}

fn range(request: &Request<'_>) -> Result<Range, MakeError> {
    let Request { reader, agent, .. } = request;
    let last = reader.last_event(agent)?;
    let (from, to) = (request.from.unwrap_or(EventSeq(1)), request.to.unwrap_or(last));
    let step_of = |event: EventSeq| -> Result<Option<StepSeq>, LedgerError> {
        let mut records = reader.records(agent, EventSeq(event.0.saturating_sub(1)), event)?;
        records.next().transpose().map(|record| record.map(|record| record.step))
    };
    let out = || MakeError::Range { agent: (*agent).clone(), from, to, last };
    if from.0 < 1 || from > to || to > last {
        return Err(out());
    }
    let (from_step, to_step) = (step_of(from)?.ok_or_else(out)?, step_of(to)?.ok_or_else(out)?);
    Ok(Range { from, to, from_step, to_step })
}

/// What is read of a call in the first pass.
#[derive(Deserialize)]
struct Head {
    call: String,
    after: Option<StepSeq>,
    from: Option<AgentId>,
    of: Option<StepSeq>,
}

fn scanned(raw: &mut File) -> Result<Scan, MakeError> {
    raw.rewind()?;
    let mut scan = Scan::default();
    for line in BufReader::new(&*raw).lines() {
        let line = line?;
        let Line::Call { call, .. } = parsed(&line)? else { continue };
        let head: Head =
            serde_json::from_str(call).map_err(|error| MakeError::Recorder(error.to_string()))?;
        if head.call == RUNTIME_STARTED {
            scan.starts.push(head.after.unwrap_or(StepSeq(0)));
        }
        scan.copied.extend(head.from.zip(head.of));
    }
    scan.starts = scan.starts.split_off(scan.starts.len().min(1));
    Ok(scan)
}

fn parsed(line: &str) -> Result<Line<'_>, MakeError> {
    Line::parse(line).map_err(|error| MakeError::Recorder(error.to_string()))
}

/// The parts of a bundle that grow with the ledger.
struct Pieces {
    remake: Remake,
    range: Range,
    agent: AgentId,
    recorder: File,
    records: File,
    /// Texts that records of the agent name, where texts are told.
    named: BTreeSet<ContentId>,
}

impl Pieces {
    /// Reads calls with their records up to the last one that is wanted.
    fn read(&mut self, raw: &mut File) -> Result<(), MakeError> {
        raw.rewind()?;
        let mut call: Option<(Option<StepSeq>, String)> = None;
        let mut records: Vec<Record> = Vec::new();
        for line in BufReader::new(&*raw).lines() {
            let line = line?;
            match parsed(&line)? {
                Line::Record(record) => records.push(*record),
                Line::Call { step, call: next } => {
                    let next = (step, next.to_owned());
                    if let Some((step, call)) = call.replace(next) {
                        self.call(step, &call, &records)?;
                        records.clear();
                    }
                    if step.is_some_and(|step| step > self.range.to_step) {
                        return Ok(());
                    }
                }
            }
        }
        match call {
            Some((step, call)) => self.call(step, &call, &records),
            None => Ok(()),
        }
    }

    fn call(&mut self, step: Option<StepSeq>, call: &str, records: &[Record]) -> Result<(), MakeError> {
        let (lines, made) = self.remake.call(step, call, records).map_err(MakeError::Recorder)?;
        let mut out = BufWriter::new(&self.recorder);
        for line in lines {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        let mut out = BufWriter::new(&self.records);
        let wanted = |record: &&Record| {
            record.agent == self.agent && (self.range.from..=self.range.to).contains(&record.event_seq)
        };
        for record in made.iter().filter(wanted) {
            writeln!(out, "{}", record.json_line().map_err(io::Error::from)?)?;
            record.event.contents(&mut |content| {
                self.named.insert(content.id);
            });
        }
        Ok(out.flush()?)
    }

    /// Replays what was put together: a bundle that can't be replayed is none.
    fn check(&mut self) -> Result<(), MakeError> {
        self.recorder.rewind()?;
        let mut replay = ExportReader::<Replay>::new(Again::Build(build::id().to_owned()));
        for line in BufReader::new(&self.recorder).lines() {
            replay.line(&line?).map_err(|error| MakeError::Recorder(error.to_string()))?;
        }
        replay.finish().map_err(|error| MakeError::Recorder(error.to_string()))?;
        Ok(())
    }
}

fn environment() -> Environment {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Environment {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        kernel: kernel.trim().to_owned(),
    }
}

fn pack(
    request: &Request<'_>,
    draft: &Draft,
    pieces: &mut Pieces,
    description: &Description,
) -> Result<(), MakeError> {
    let mut writer = Writer::describing(draft, DESCRIPTION, description)?;
    for (name, file) in [(RECORDER, &mut pieces.recorder), (RECORDS, &mut pieces.records)] {
        file.rewind()?;
        let bytes = file.metadata()?.len();
        writer.file(Path::new(name), About::default(), bytes, &*file)?;
    }
    for (name, document) in [(CONFIG, &request.config), (WHY, &request.why)] {
        let mut document = document.clone();
        if let Some(redactor) = &mut pieces.remake.redactor {
            redactor.document(&mut document);
        }
        let text = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
        writer.text(name, request.secrets.redact(&text).as_bytes())?;
    }
    if request.redact == Redact::None {
        writer.folder(Path::new(CONTENTS))?;
        for id in &pieces.named {
            // One that was erased, or that another program has taken, is not there. One with a secret would have another hash
            // without it.
            if let Ok(Some(text)) = request.reader.content(*id)
                && request.secrets.are_in(text.as_bytes()).is_none()
            {
                writer.text(&format!("{CONTENTS}/{id}"), text.as_bytes())?;
            }
        }
    }
    writer.finish()?.flush()?;
    Ok(())
}
