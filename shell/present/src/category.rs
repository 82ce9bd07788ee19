//! Kinds of presentations.

use serde::Serialize;

/// What a presentation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Something went wrong, or needs a look.
    OperatorNotification,
    Brief,
    /// What came in, and what became of it.
    Message,
    /// The agent waits for something, or does no longer.
    Waiting,
    /// What the runtime does with the agent.
    Runtime,
    /// What the model says and wants, beside its report.
    AssistantProgress,
    Tool,
    /// Commands in the background.
    Task,
    /// Where the agent works.
    Workspace,
    /// States and decisions behind what is shown.
    StateSync,
    Trace,
}

impl Category {
    /// What a line begins with.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::OperatorNotification => "! ",
            Self::Message => "> ",
            Self::Brief | Self::AssistantProgress => "",
            Self::Tool | Self::Task => "  ",
            Self::Waiting | Self::Workspace | Self::Runtime | Self::StateSync | Self::Trace => "· ",
        }
    }
}
