//! What a run has come to so far: whether it brings anything on, and what it keeps repeating.

use alloc::vec::Vec;

use holon_facts::ids::WorkItemId;
use holon_facts::task::Fingerprint;
use serde::{Deserialize, Serialize};

/// What is counted of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// Whether this run recorded a round or a tool result.
    pub recorded_something: bool,
    /// Whether it has brought anything on (contract: scheduler.md, Progress).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub progress: bool,
    /// Work items for which the agent said that they need input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<WorkItemId>,
    /// The last command that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Fingerprint>,
    #[serde(default)]
    pub unchanged: Unchanged,
    /// It was reminded of a work item that still says that it needs input.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub question_reminded: bool,
    pub repeats: Repeats,
}

/// How long a run has left the work items as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Rounds since the last change.
    pub rounds: u32,
    /// Rounds since the last reminder of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded: Option<u32>,
}

/// How often the last tool call came with the same result in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    pub fingerprint: u64,
    pub count: u32,
    /// How often it had come when the model was reminded.
    pub reminded: u32,
}

impl Course {
    pub(super) fn answered(&mut self) {
        self.recorded_something = true;
        self.unchanged.rounds = self.unchanged.rounds.saturating_add(1);
        self.unchanged.reminded = self.unchanged.reminded.map(|rounds| rounds.saturating_add(1));
    }
}

impl Repeats {
    pub(super) fn called(&mut self, fingerprint: u64) {
        if fingerprint == self.fingerprint {
            self.count = self.count.saturating_add(1);
        } else {
            *self = Self { fingerprint, count: 1, reminded: 0 };
        }
    }
}
