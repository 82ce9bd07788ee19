//! What lies over the conversation: one list at a time on top of those below it.

use holon_facts::AgentId;
use holon_facts::ids::{BriefId, TaskId};

/// What an overlay is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Agents,
    Inbox,
    Why,
    Tasks,
    Output(TaskId),
    Work,
    Children,
    Timers,
    Workspaces,
    Transcript,
    Events,
    Prompt(Option<String>),
    Models,
    Actions,
    Help,
}

impl Kind {
    pub(crate) fn title(&self) -> String {
        let title = match self {
            Self::Agents => "agents",
            Self::Inbox => "needs you",
            Self::Why => "why",
            Self::Tasks => "tasks",
            Self::Output(task) => return format!("output of {task}"),
            Self::Work => "work items",
            Self::Children => "children",
            Self::Timers => "timers",
            Self::Workspaces => "workspaces",
            Self::Transcript => "transcript",
            Self::Events => "events",
            Self::Prompt(_) => "the next request to the model",
            Self::Models => "models",
            Self::Actions => "actions",
            Self::Help => "help",
        };
        title.to_owned()
    }

    /// What its keys do.
    pub(crate) fn keys(&self) -> &'static str {
        match self {
            Self::Agents => "Enter switches · Esc closes",
            Self::Inbox => "Enter answers · Ctrl-D closes the ask · Esc closes",
            Self::Tasks => "Enter output · Ctrl-T input · Ctrl-X stop · Esc closes",
            Self::Models => "Enter chooses · Esc closes",
            Self::Actions => "Enter types the command · Esc closes",
            Self::Why
            | Self::Output(_)
            | Self::Work
            | Self::Children
            | Self::Timers
            | Self::Workspaces
            | Self::Transcript
            | Self::Events
            | Self::Prompt(_)
            | Self::Help => "Up and Down scroll · Esc closes",
        }
    }

    /// Whether the end is what matters first.
    pub(crate) fn begins_at_end(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Transcript | Self::Events)
    }
}

/// What an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Agent(AgentId),
    Ask(AgentId, BriefId),
    Task(TaskId),
    Model(String),
    Command(&'static str),
}

/// One line, or what belongs to the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) target: Option<Target>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    pub(crate) kind: Kind,
    /// None until they have arrived.
    pub(crate) entries: Option<Vec<Entry>>,
    pub(crate) selected: usize,
}

impl Overlay {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, entries: None, selected: 0 }
    }

    pub(crate) fn fill(&mut self, entries: Vec<Entry>) {
        let last = entries.len().saturating_sub(1);
        let first = self.entries.is_none();
        self.selected = if first && self.kind.begins_at_end() { last } else { self.selected.min(last) };
        self.entries = Some(entries);
    }

    pub(crate) fn select(&mut self, by: isize) {
        let last = self.entries.as_ref().map_or(0, Vec::len).saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn target(&self) -> Option<&Target> {
        self.entries.as_ref()?.get(self.selected)?.target.as_ref()
    }
}

impl Entry {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { text: text.into(), target: None }
    }

    pub(crate) fn of(text: impl Into<String>, target: Target) -> Self {
        Self { text: text.into(), target: Some(target) }
    }
}
