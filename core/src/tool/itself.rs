//! The argument types of the tools with which an agent looks after itself.

use alloc::format;
use alloc::string::String;

use holon_facts::call::{FollowUpPriority, Urgency};
use holon_facts::ids::AgentId;
use holon_facts::receipt::ToolError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Check, invalid};

/// Most bytes of a message to itself, or to the operator.
const NOTE_BYTES: usize = 4 * 1024;

/// Most bytes of what a sleep is for.
const REASON_BYTES: usize = 512;

/// Bounds of a sleep in milliseconds; the longest is a year.
const SHORTEST_SLEEP: u64 = 1_000;

const LONGEST_SLEEP: u64 = 365 * 86_400_000;

/// Look at itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentGet {
    /// Whom to look at; itself where it is left out.
    #[serde(default)]
    pub agent_id: Option<AgentId>,
}

/// Leave a message for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enqueue {
    /// What it says; at most 4 KiB.
    pub text: String,
    /// Before or after what else waits.
    #[serde(default)]
    pub priority: FollowUpPriority,
}

/// Rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// What for; at most 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long in milliseconds, at least 1000; without an end when omitted or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// Tell the operator something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyOperator {
    /// What there is to say; at most 4 KiB.
    pub message: String,
    /// Whether somebody has to act.
    #[serde(default)]
    pub urgency: Urgency,
}

impl Check for Enqueue {
    fn check(&self) -> Result<(), ToolError> {
        check_note("text", &self.text)
    }
}

impl Check for NotifyOperator {
    fn check(&self) -> Result<(), ToolError> {
        check_note("message", &self.message)
    }
}

impl Check for AgentGet {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

impl Check for Sleep {
    fn check(&self) -> Result<(), ToolError> {
        let bytes = self.reason.as_ref().map_or(0, String::len);
        if bytes > REASON_BYTES {
            let problem = format!("has {bytes} bytes, the most is {REASON_BYTES}");
            return Err(invalid("reason", &problem, "say it shorter"));
        }
        match self.duration_ms {
            None | Some(0 | SHORTEST_SLEEP..=LONGEST_SLEEP) => Ok(()),
            Some(duration) => {
                let problem = format!("is {duration}, expected {SHORTEST_SLEEP} to {LONGEST_SLEEP}, or 0");
                Err(invalid("duration_ms", &problem, "a shorter wait is a command of its own"))
            }
        }
    }
}

fn check_note(field: &str, note: &str) -> Result<(), ToolError> {
    let bytes = note.len();
    if !note.trim().is_empty() && bytes <= NOTE_BYTES {
        return Ok(());
    }
    let problem = format!("has {bytes} bytes, expected 1 to {NOTE_BYTES}");
    Err(invalid(field, &problem, "details belong into a file, which it can name"))
}
