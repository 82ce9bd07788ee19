//! The flight recorder without texts. Taking texts out of records alone would leave decisions that nobody can take again: hashes and
//! sizes of requests follow from texts. So texts are taken out of the calls, and the same host makes the records anew from them.
//! Nothing of a text is in what was never shown one.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::replay::{Call, Replay};
use holon_facts::replay::Machine;
use holon_facts::{AgentId, Event, Record, StepSeq};
use holon_law::replay::{REMOVED, RUNTIME_STARTED, call_line};
use serde::Deserialize;
use serde_json::Value;

use super::Recorded;
use super::redact::Redactor;

/// What has to be known of a recorder before its calls are gone through.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The last step before each start of the runtime but the first.
    pub(super) starts: Vec<StepSeq>,
    /// Steps of agents whose records others have copied.
    pub(super) copied: BTreeSet<(AgentId, StepSeq)>,
}

/// What stands for a call that a replay passes over.
const REMOVED_CALL: &str = r#"{"call":"removed"}"#;

/// What is read of a call before it is known whether it is made again.
#[derive(Deserialize)]
struct Head {
    call: String,
    build: Option<String>,
}

/// Calls with their records, one after the other, as lines of an export.
pub(super) struct Remake {
    /// None where everything stays as it is.
    pub(super) redactor: Option<Redactor>,
    machine: Replay,
    build: String,
    /// Calls of runtimes that ended before this step are left out.
    from: StepSeq,
    /// Where each runtime begins, but the first.
    starts: Vec<StepSeq>,
    makes: bool,
    /// Runtimes so far, and how many of the first ones are told by their records alone.
    runtimes: usize,
    folds: usize,
    /// What the steps recorded that others are copies of.
    copied: BTreeMap<(AgentId, StepSeq), Vec<Event>>,
    /// The runtime of which a call is decided otherwise without its texts.
    pub(super) differs_in: Option<usize>,
    pub(super) recorded: Recorded,
}

/// Records that a call brought, or why they can't be told without their texts.
type Made = Result<(String, Vec<Record>), String>;

impl Remake {
    pub(super) fn new(
        redactor: Option<Redactor>,
        build: &str,
        from: StepSeq,
        scan: &Scan,
        folds: usize,
    ) -> Self {
        Self {
            redactor,
            machine: Replay::default(),
            build: build.to_owned(),
            from,
            starts: scan.starts.iter().rev().copied().collect(),
            makes: false,
            runtimes: 0,
            folds,
            copied: scan.copied.iter().map(|step| (step.clone(), Vec::new())).collect(),
            differs_in: None,
            recorded: Recorded::default(),
        }
    }

    /// The lines of a call with its records, and the records.
    ///
    /// # Errors
    /// What can't be told without its texts, in words.
    pub(super) fn call(
        &mut self,
        step: Option<StepSeq>,
        call: &str,
        records: &[Record],
    ) -> Result<(Vec<String>, Vec<Record>), String> {
        let head: Head = serde_json::from_str(call).map_err(|error| error.to_string())?;
        let starts = head.call == RUNTIME_STARTED;
        if starts {
            let last = self.starts.pop();
            self.makes = head.build.as_deref() == Some(&self.build)
                && last.is_none_or(|last| last >= self.from)
                && self.runtimes >= self.folds;
            self.runtimes += 1;
        }
        let made = self.makes.then(|| match head.call.as_str() {
            REMOVED => Err("its call was removed by holon ledger gc".to_owned()),
            _ => self.made(call, starts, records),
        });
        let (line, made) = match made {
            Some(Ok((line, made))) => {
                self.recorded.calls += 1;
                (line, made)
            }
            Some(Err(problem)) => {
                self.makes = false;
                let at = step.map_or_else(|| head.call.clone(), |step| format!("step {step}"));
                self.recorded.differs.get_or_insert(format!("{at}: {problem}"));
                self.differs_in.get_or_insert(self.runtimes.saturating_sub(1));
                self.folded(call, starts, records)?
            }
            None => self.folded(call, starts, records)?,
        };
        self.machine.fold(&made).map_err(|error| error.to_string())?;
        self.recorded.records += made.len() as u64;
        for record in &made {
            if let Some(events) = self.copied.get_mut(&(record.agent.clone(), record.step)) {
                events.push(record.event.clone());
            }
        }
        let mut lines = vec![call_line(step, &line)];
        for record in &made {
            lines.push(record.json_line().map_err(|error| error.to_string())?);
        }
        Ok((lines, made))
    }

    /// Makes a call without its texts.
    fn made(&mut self, call: &str, starts: bool, records: &[Record]) -> Made {
        let Some(redactor) = &mut self.redactor else { return Ok((call.to_owned(), records.to_vec())) };
        let read = |text: &str| self.machine.read(text);
        let call = match starts {
            true => read(&started(redactor, call)?).map_err(|error| error.to_string())?,
            false => redactor.read(call, read)?,
        };
        let copied = match &call {
            Call::Copy { from, of, .. } => copied(redactor, self.copied.get(&(from.clone(), *of)), records)?,
            Call::RuntimeStarted { .. }
            | Call::Admit { .. }
            | Call::Recover { .. }
            | Call::Step { .. }
            | Call::Park { .. }
            | Call::AgentsLeft { .. } => Vec::new(),
        };
        let step = self.machine.make(&call, &copied).map_err(|error| error.to_string())?;
        let made = step.as_ref().map_or(&[][..], Replay::records).to_vec();
        let line = Replay::written(&call);
        if let Some(difference) = difference(&made, records) {
            return Err(difference);
        }
        for record in &made {
            let payload = record.event.payload().map_err(|error| error.to_string())?;
            redactor.learn(&serde_json::from_str(&payload).map_err(|error| error.to_string())?);
        }
        Ok((line, made))
    }

    /// Records alone, without their texts.
    fn folded(
        &mut self,
        call: &str,
        starts: bool,
        records: &[Record],
    ) -> Result<(String, Vec<Record>), String> {
        self.recorded.folded_calls += 1;
        let line = match (&self.redactor, starts) {
            (Some(redactor), true) => started(redactor, call)?,
            (None, true) => call.to_owned(),
            (_, false) => REMOVED_CALL.to_owned(),
        };
        let Some(redactor) = &mut self.redactor else { return Ok((line, records.to_vec())) };
        let records =
            records.iter().map(|record| without_texts(redactor, record)).collect::<Result<_, _>>()?;
        Ok((line, records))
    }
}

/// The records of a copy, as they are in the log that it is of.
fn copied(
    redactor: &mut Redactor,
    origin: Option<&Vec<Event>>,
    records: &[Record],
) -> Result<Vec<Record>, String> {
    let mut copied = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let same =
            origin.and_then(|origin| origin.get(at)).filter(|event| event.kind() == record.event.kind());
        copied.push(match same {
            // The first one says what it is a copy of.
            Some(event) if record.event_seq.0 > 1 => Record { event: event.clone(), ..record.clone() },
            Some(_) | None => without_texts(redactor, record)?,
        });
    }
    Ok(copied)
}

/// How a runtime was started: there are no texts of anybody in it.
fn started(redactor: &Redactor, call: &str) -> Result<String, String> {
    let mut call: Value = serde_json::from_str(call).map_err(|error| error.to_string())?;
    redactor.paths(&mut call);
    Ok(call.to_string())
}

fn without_texts(redactor: &mut Redactor, record: &Record) -> Result<Record, String> {
    let payload = record.event.payload().map_err(|error| error.to_string())?;
    let (kind, version) = (record.event.kind(), record.event.version());
    let event = redactor.read(&payload, |payload| Event::decode(kind, version, payload));
    let event = event.map_err(|error| format!("{} #{}: {error}", record.agent, record.event_seq))?;
    Ok(Record { event, ..record.clone() })
}

/// The first record that is another fact now, or another decision where it is one.
fn difference(made: &[Record], then: &[Record]) -> Option<String> {
    let at = then.iter().zip(made).position(|(then, made)| !is_like(made, then));
    let at = at.or_else(|| (then.len() != made.len()).then_some(then.len().min(made.len())))?;
    let kind = |records: &[Record]| records.get(at).map_or("nothing", |record| record.event.kind());
    Some(format!("{} is recorded differently, now as {}", kind(then), kind(made)))
}

/// Whether a record is the same fact in the same place, and the same decision where it is one.
fn is_like(made: &Record, then: &Record) -> bool {
    let place = |record: &Record| -> (AgentId, u64, u64) {
        (record.agent.clone(), record.event_seq.0, record.step.0)
    };
    let decides =
        matches!(then.event.kind(), "scheduler_decision" | "continuation_resolved" | "closure_decided");
    place(made) == place(then)
        && made.at == then.at
        && made.event.kind() == then.event.kind()
        && (!decides || made.event.payload().ok() == then.event.payload().ok())
}
