//! What requests under idempotency keys make, other than messages.

use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{TaskId, TimerId, WorkItemId};

/// What a request has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    WorkItem(WorkItemId),
    /// The number that its command has: it has become a task once that was executed.
    Task(TaskId),
    Timer(TimerId),
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkItem(id) => id.fmt(f),
            Self::Task(id) => id.fmt(f),
            Self::Timer(id) => id.fmt(f),
        }
    }
}
