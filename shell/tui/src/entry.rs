//! Entries of lists, and what they stand for.

use holon_facts::AgentId;
use holon_facts::ids::{BriefId, TaskId, TimerId};
use holon_facts::workspace::WorkspaceId;

/// What an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Agent(AgentId),
    Ask(AgentId, BriefId),
    Task { task: TaskId, runs: bool },
    Timer(TimerId),
    Trigger,
    Workspace(WorkspaceId),
    Model(String),
    Command(&'static str),
}

impl Target {
    /// Whether it is the same thing, whatever has become of it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Task { task, .. }, Self::Task { task: other, .. }) => task == other,
            (_, _) => self == other,
        }
    }
}

/// One line, or what belongs to the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) target: Option<Target>,
}

impl Entry {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { text: text.into(), target: None }
    }

    pub(crate) fn of(text: impl Into<String>, target: Target) -> Self {
        Self { text: text.into(), target: Some(target) }
    }
}
