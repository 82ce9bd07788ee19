//! What a tool call came to: the text for the model, or an error in one shape.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::Tool;
use crate::content::Text;
use crate::names::names;

/// The one result of an accepted or refused call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Success: what the model reads, already bounded by the performer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    #[serde(default)]
    pub facts: ToolFacts,
}

/// What happened, for the runtime's own use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub truncated: bool,
    /// Paths relative to the execution root that `ApplyPatch` changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
}

/// A failure in the one shape of tools.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolError {
    pub kind: ToolErrorKind,
    pub message: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub retryable: bool,
}

names! {
    /// The kinds of tool errors (contract: tools.md).
    ToolErrorKind {
        InvalidToolInput "invalid_tool_input", UnknownTool "unknown_tool",
        ToolNotExposed "tool_not_exposed", ExecutionRootViolation "execution_root_violation",
        CommandSpawnFailed "command_spawn_failed", CommandTimedOut "command_timed_out",
        PatchRejected "patch_rejected", LimitReached "limit_reached",
        TruncatedToolCall "truncated_tool_call", PolicyDenied "policy_denied",
        ToolExecutionFailed "tool_execution_failed", Interrupted "interrupted",
    }
}

/// What the core said about a proposed call when the round arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted(Tool),
    Refused(ToolError),
}

impl Receipt {
    pub fn success(content: Text, facts: ToolFacts) -> Self {
        Self { content: Some(content), error: None, facts }
    }

    pub fn failure(error: ToolError) -> Self {
        Self { content: None, error: Some(error), facts: ToolFacts::default() }
    }

    /// Every text that the receipt names.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.content.iter().chain(self.error.iter().map(|error| &error.message))
    }
}

impl ToolError {
    pub fn new(kind: ToolErrorKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: Text::short(message), field: None, hint: None, retryable: false }
    }

    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The bounded JSON that the model reads. `message` is the resolved text of the error.
    pub fn render(&self, tool_name: &str, message: &str) -> String {
        let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let mut json = format!(
            r#"{{"ok":false,"tool_name":{},"kind":"{}","message":{}"#,
            quoted(tool_name),
            self.kind,
            quoted(message)
        );
        if let Some(hint) = &self.hint {
            json.push_str(&format!(r#","hint":{}"#, quoted(hint)));
        }
        if let Some(field) = &self.field {
            json.push_str(&format!(r#","field":{}"#, quoted(field)));
        }
        json.push_str(&format!(r#","retryable":{}}}"#, self.retryable));
        json
    }
}
