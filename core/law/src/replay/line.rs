//! One line of an exported ledger: a record, or a call of the flight recorder.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;

use holon_facts::event::{DecodeError, Event};
use holon_facts::ids::{AgentId, EventSeq, StepSeq};
use holon_facts::record::Record;
use holon_facts::time::Wall;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The `type` of a line that is a call; no event has this name.
const CALL: &str = "call";

/// What a line says. Keys may stand in any order; those that are not known are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// `{"agent","event_seq","step","at","type","v","payload"}`, as [`Record::json_line`] writes it.
    Record(Box<Record>),
    /// `{"type":"call","step","call"}`, as [`call_line`] writes it: the call as JSON, not read yet, for another
    /// build's calls may have another form.
    Call { step: Option<StepSeq>, call: &'a str },
}

/// A line that is neither.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("it is not a line of an export: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it lacks {0:?}")]
    Lacks(&'static str),
    #[error(transparent)]
    Event(#[from] DecodeError),
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    step: Option<StepSeq>,
    agent: Option<AgentId>,
    event_seq: Option<EventSeq>,
    at: Option<Wall>,
    v: Option<u16>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    call: Option<&'a RawValue>,
}

impl<'a> Line<'a> {
    /// Reads a line; a break at its end does not matter.
    ///
    /// # Errors
    /// When it is not JSON, lacks a key, or is of a kind or version that this build does not know.
    pub fn parse(text: &'a str) -> Result<Self, LineError> {
        let raw: Raw<'a> = serde_json::from_str(text)?;
        if raw.kind == CALL {
            let call = raw.call.ok_or(LineError::Lacks("call"))?;
            return Ok(Self::Call { step: raw.step, call: call.get() });
        }
        let payload = raw.payload.ok_or(LineError::Lacks("payload"))?;
        let version = raw.v.ok_or(LineError::Lacks("v"))?;
        Ok(Self::Record(Box::new(Record {
            step: raw.step.ok_or(LineError::Lacks("step"))?,
            agent: raw.agent.ok_or(LineError::Lacks("agent"))?,
            event_seq: raw.event_seq.ok_or(LineError::Lacks("event_seq"))?,
            at: raw.at.ok_or(LineError::Lacks("at"))?,
            event: Event::decode(&raw.kind, version, payload.get())?,
        })))
    }
}

/// A call of the flight recorder as a line, without a break; `call` is its JSON as it was recorded.
pub fn call_line(step: Option<StepSeq>, call: &str) -> String {
    match step {
        Some(step) => format!(r#"{{"type":"{CALL}","step":{step},"call":{call}}}"#),
        None => format!(r#"{{"type":"{CALL}","call":{call}}}"#),
    }
}
