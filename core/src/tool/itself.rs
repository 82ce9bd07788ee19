//! The argument types of the tools with which an agent looks after itself.

use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Check, invalid};
use super::receipt::ToolError;
use crate::message::Priority;

/// Most bytes of a message to itself, or to the operator.
const NOTE_BYTES: usize = 4 * 1024;

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

/// Where a message to itself is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpPriority {
    Next,
    #[default]
    Normal,
    Background,
}

impl From<FollowUpPriority> for Priority {
    fn from(priority: FollowUpPriority) -> Self {
        match priority {
            FollowUpPriority::Next => Self::Next,
            FollowUpPriority::Normal => Self::Normal,
            FollowUpPriority::Background => Self::Background,
        }
    }
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

/// What an operator is to do about a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    #[default]
    Info,
    ActionRequired,
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

fn check_note(field: &str, note: &str) -> Result<(), ToolError> {
    let bytes = note.len();
    if !note.trim().is_empty() && bytes <= NOTE_BYTES {
        return Ok(());
    }
    let problem = format!("has {bytes} bytes, expected 1 to {NOTE_BYTES}");
    Err(invalid(field, &problem, "details belong into a file, which it can name"))
}
