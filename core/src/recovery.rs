//! What a start of the runtime knows of an agent's commands before it recovers the agent.

use alloc::boxed::Box;
use alloc::vec::Vec;

use holon_facts::ids::OpId;
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::Receipt;
use serde::{Deserialize, Serialize};

/// What a start of the runtime found out about an agent before it is recovered. Commands have supervisors of
/// their own, which are asked; whatever else was in flight has ended with its process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryReport {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<FoundCommand>,
}

/// What became of a command whose supervisor was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCommand {
    pub op: OpId,
    pub found: Found,
    /// What the call of one that goes on is told, with what it has written so far; none where that was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<Receipt>>,
}

impl FoundCommand {
    /// One of whose output nothing is shown.
    pub fn new(op: OpId, found: Found) -> Self {
        Self { op, found, shown: None }
    }
}

/// The end of a command that the runtime did not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It came to its end, and this is what it brought.
    Ended { outcome: Box<ToolOutcome> },
    /// Its supervisor is alive and goes on.
    Running,
    /// It was never executed.
    NotStarted,
    /// Neither its supervisor nor a record of its end is there.
    Lost,
}
