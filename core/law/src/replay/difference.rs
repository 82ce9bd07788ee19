//! The first record that is decided otherwise now than it was then, for a person to read: what the host was
//! asked, what it stood on, which fact differs and in which fields, and what the decision names as its evidence.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use holon_facts::ids::AgentId;
use holon_facts::record::Record;
use serde_json::Value;

/// Fields that are shown of one difference; the others are counted.
const FIELDS: usize = 12;
/// Characters of a value, and of a call or a whole payload.
const VALUE: usize = 160;
const WHOLE: usize = 600;

/// Where a step of a replay leaves what was recorded. Its `Display` has several lines and ends without a break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub call: String,
    /// Where the agent stood before the call, in words; none when it did not exist.
    pub stood: Option<String>,
    /// Records of this step that are the same, before the first that is not.
    pub same: Vec<Record>,
    /// The first record that differs, as it was recorded and as it is decided now; one of them may be missing.
    pub then: Option<Record>,
    pub now: Option<Record>,
    /// How many records the step had then, and has now.
    pub counts: (usize, usize),
}

/// A field of two payloads that differs: its path, then, now.
type Field = (String, String, String);

impl Difference {
    /// The first difference between two lists of records that are not equal. `before` is the state of an agent
    /// as the records before this call leave it.
    pub fn between(
        call: String,
        stands: impl FnOnce(&AgentId) -> Option<String>,
        then: &[Record],
        now: &[Record],
    ) -> Self {
        let same = then.iter().zip(now).take_while(|(then, now)| then == now).count();
        let first = then.get(same).or(now.get(same));
        Self {
            call,
            stood: first.and_then(|record| stands(&record.agent)),
            same: then[..same].to_vec(),
            then: then.get(same).cloned(),
            now: now.get(same).cloned(),
            counts: (then.len(), now.len()),
        }
    }

    fn header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = self.same.len();
        let (then, now) = (self.counts.0 - same, self.counts.1 - same);
        // Where a fact is missing, the other side tells the earlier event.
        let sides = self.then.iter().chain(&self.now);
        if let Some(Record { step, agent, event_seq, .. }) = sides.min_by_key(|record| record.event_seq) {
            write!(f, "step {step} decides otherwise from {agent} #{event_seq} on: ")?;
        }
        write!(f, "after {same} equal records {then} were recorded, and {now} are decided now")
    }

    fn sides(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(then), Some(now)) = (&self.then, &self.now) else {
            write!(f, "\n  then: {}", self.then.as_ref().map_or("nothing".to_string(), whole))?;
            return write!(f, "\n  now:  {}", self.now.as_ref().map_or("nothing".to_string(), whole));
        };
        if then.event.kind() != now.event.kind() {
            return write!(f, "\n  then: {}\n  now:  {}", whole(then), whole(now));
        }
        write!(f, "\n  {} {}:", name(then), then.event.kind())?;
        let fields = differing(then, now);
        for (path, then, now) in fields.iter().take(FIELDS) {
            write!(f, "\n    {path}: then {then}, now {now}")?;
        }
        match fields.len().saturating_sub(FIELDS) {
            0 => Ok(()),
            more => write!(f, "\n    and {more} more fields"),
        }
    }

    /// What each side says that it was decided from.
    fn evidence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |record: &Option<Record>| record.as_ref().and_then(evidence);
        match (of(&self.then), of(&self.now)) {
            (None, None) => Ok(()),
            (then, now) if then == now => {
                write!(f, "\n  evidence, then and now: {}", then.unwrap_or_default())
            }
            (then, now) => {
                let none = || "none".to_string();
                write!(f, "\n  evidence then: {}", then.unwrap_or_else(none))?;
                write!(f, "\n  evidence now:  {}", now.unwrap_or_else(none))
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header(f)?;
        write!(f, "\n  call: {}", cut(&self.call, WHOLE))?;
        if let Some(stood) = &self.stood {
            write!(f, "\n  before it: {stood}")?;
        }
        if let Some(last) = self.same.last() {
            write!(f, "\n  still the same: {}", whole(last))?;
        }
        self.sides(f)?;
        self.evidence(f)
    }
}

fn name(record: &Record) -> String {
    format!("{} #{}", record.agent, record.event_seq)
}

fn whole(record: &Record) -> String {
    let payload = record.event.payload().unwrap_or_else(|error| error.to_string());
    format!("{} {} {}", name(record), record.event.kind(), cut(&payload, WHOLE))
}

/// The facts that a decision names, and the boundary at which it was taken.
fn evidence(record: &Record) -> Option<String> {
    let payload = payload(record);
    let evidence = payload.get("evidence")?;
    let boundary = payload.get("boundary").map(|boundary| format!(" at the boundary {boundary}"));
    Some(cut(&evidence.to_string(), WHOLE) + &boundary.unwrap_or_default())
}

fn payload(record: &Record) -> Value {
    let text = record.event.payload().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// Every field in which two records of one kind differ, the envelope first.
fn differing(then: &Record, now: &Record) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut envelope = |path: &str, then: String, now: String| {
        if then != now {
            fields.push((path.to_string(), then, now));
        }
    };
    envelope("agent", then.agent.to_string(), now.agent.to_string());
    envelope("event_seq", then.event_seq.to_string(), now.event_seq.to_string());
    envelope("step", then.step.to_string(), now.step.to_string());
    envelope("at", then.at.to_string(), now.at.to_string());
    compare("", Some(&payload(then)), Some(&payload(now)), &mut fields);
    fields
}

fn compare(path: &str, then: Option<&Value>, now: Option<&Value>, fields: &mut Vec<Field>) {
    if then == now {
        return;
    }
    match (then, now) {
        (Some(Value::Object(then)), Some(Value::Object(now))) => {
            let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
            let dot = if path.is_empty() { "" } else { "." };
            for key in keys {
                compare(&format!("{path}{dot}{key}"), then.get(key), now.get(key), fields);
            }
        }
        (Some(Value::Array(then)), Some(Value::Array(now))) => {
            for at in 0..then.len().max(now.len()) {
                compare(&format!("{path}[{at}]"), then.get(at), now.get(at), fields);
            }
        }
        (then, now) => {
            let shown = |side: Option<&Value>| {
                side.map_or("nothing".to_string(), |value| cut(&value.to_string(), VALUE))
            };
            fields.push((path.to_string(), shown(then), shown(now)));
        }
    }
}

/// At most so many characters, and how many there were.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.to_string(),
    }
}
