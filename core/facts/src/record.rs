//! What is on record of one agent, in the order in which it happened.

use alloc::string::String;

use crate::event::Event;
use crate::ids::{AgentId, EventSeq, StepSeq};
use crate::time::Wall;

/// One fact of one agent. `event_seq` has no gap; `at` never decreases but by a recorded step of the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub step: StepSeq,
    pub agent: AgentId,
    pub event_seq: EventSeq,
    pub at: Wall,
    pub event: Event,
}

impl Record {
    /// The record as one line of JSON, in the form of an export: `agent`, `event_seq`, `step`, `at`, `type`, `v`,
    /// `payload`.
    ///
    /// # Errors
    /// None in practice: every payload is a plain struct with string keys.
    pub fn json_line(&self) -> Result<String, serde_json::Error> {
        Ok(alloc::format!(
            r#"{{"agent":"{}","event_seq":{},"step":{},"at":"{}","type":"{}","v":{},"payload":{}}}"#,
            self.agent,
            self.event_seq,
            self.step,
            self.at,
            self.event.kind(),
            self.event.version(),
            self.event.payload()?
        ))
    }
}
