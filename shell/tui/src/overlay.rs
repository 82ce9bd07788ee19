//! What lies over the conversation: one list at a time on top of those below it.

use holon_facts::ids::TaskId;

use crate::command::{self, Command};
use crate::entry::{Entry, Target};
use crate::output::Output;
use crate::text::wrapped;

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
    Triggers,
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
            Self::Triggers => "triggers",
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
            Self::Tasks => "Enter output · Ctrl-T input · Ctrl-X stop · Ctrl-K kill · Esc closes",
            Self::Output(_) => "Ctrl-T input · Ctrl-X stop · Ctrl-K kill · Esc closes",
            Self::Children => "Enter switches · Esc closes",
            Self::Timers => "Ctrl-X cancels · Esc closes",
            Self::Triggers => "Ctrl-R a new address · Ctrl-X revokes · Esc closes",
            Self::Workspaces => "Enter uses it · Ctrl-X detaches · Esc closes",
            Self::Models => "Enter chooses · Esc closes",
            Self::Actions => "type to filter · Enter takes the command · Esc closes",
            Self::Why | Self::Work | Self::Transcript | Self::Events | Self::Prompt(_) | Self::Help => {
                "Up and Down scroll · Esc closes"
            }
        }
    }

    /// Whether it lists how things stand now, which an event may change.
    pub(crate) fn is_current(&self) -> bool {
        match self {
            Self::Agents
            | Self::Inbox
            | Self::Why
            | Self::Tasks
            | Self::Work
            | Self::Children
            | Self::Timers
            | Self::Triggers
            | Self::Workspaces => true,
            Self::Output(_)
            | Self::Transcript
            | Self::Events
            | Self::Prompt(_)
            | Self::Models
            | Self::Actions
            | Self::Help => false,
        }
    }

    /// Whether the end is what matters first.
    pub(crate) fn begins_at_end(&self) -> bool {
        matches!(self, Self::Output(_) | Self::Transcript | Self::Events)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Overlay {
    pub(crate) kind: Kind,
    /// None until they have arrived.
    pub(crate) entries: Option<Vec<Entry>>,
    pub(crate) selected: usize,
    /// Lines of the selected entry above the screen, where it is taller than that; beyond its end is its end.
    pub(crate) offset: usize,
    /// What a followed task has written.
    pub(crate) output: Option<Output>,
    /// What is typed to find an action.
    pub(crate) filter: String,
}

impl Overlay {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, entries: None, selected: 0, offset: 0, output: None, filter: String::new() }
    }

    /// The list of actions that fit what is typed, the best one selected.
    pub(crate) fn actions(filter: String) -> Self {
        let entries = command::matching(&filter).into_iter().map(Command::entry).collect();
        Self { entries: Some(entries), filter, ..Self::new(Kind::Actions) }
    }

    /// Takes what it lists; what was selected before is selected again where it is still there.
    pub(crate) fn fill(&mut self, entries: Vec<Entry>) {
        let last = entries.len().saturating_sub(1);
        let first = self.entries.is_none();
        let same = self.target().and_then(|target| {
            entries.iter().position(|entry| entry.target.as_ref().is_some_and(|other| other.is_same(target)))
        });
        let stays = same.unwrap_or(self.selected.min(last));
        if same.is_none() && stays != self.selected {
            self.offset = 0;
        }
        self.selected = stays;
        if first && self.kind.begins_at_end() {
            (self.selected, self.offset) = (last, usize::MAX);
        }
        self.entries = Some(entries);
    }

    /// Takes more of what a followed task has written; whoever looks at its end stays there.
    pub(crate) fn write(&mut self, change: impl FnOnce(&mut Output, &mut Vec<Entry>) -> usize) {
        let Some(output) = &mut self.output else { return };
        let entries = self.entries.get_or_insert_default();
        let at_end = self.selected + 1 >= entries.len();
        let dropped = change(output, entries);
        let last = entries.len().saturating_sub(1);
        if at_end {
            (self.selected, self.offset) = (last, usize::MAX);
        } else if let Some(selected) = self.selected.checked_sub(dropped) {
            self.selected = selected;
        } else {
            (self.selected, self.offset) = (0, 0);
        }
    }

    /// Goes so many lines down, or up where the number is negative: first through what the screen, of so many columns and
    /// lines, does not show of the selected entry, then to the next ones. It passes no line that was not shown.
    pub(crate) fn scroll(&mut self, by: isize, (columns, height): (usize, usize)) {
        let Some(entries) = self.entries.as_deref() else { return };
        let height = height.max(1);
        let lines = |at: usize| entries.get(at).map_or(0, |entry| wrapped(&entry.text, columns).len());
        let hidden = |at: usize| lines(at).saturating_sub(height);
        let (down, mut left, mut moved) = (by > 0, by.unsigned_abs(), false);
        self.offset = self.offset.min(hidden(self.selected));
        while left > 0 {
            let rest = if down { hidden(self.selected).saturating_sub(self.offset) } else { self.offset };
            let step = rest.min(left);
            let next = if down { self.selected + 1 } else { self.selected.wrapping_sub(1) };
            let cost = lines(if down { next } else { self.selected }).clamp(1, height);
            if step > 0 {
                self.offset = if down { self.offset + step } else { self.offset - step };
                left -= step;
            } else if next >= entries.len() || (moved && cost > left) {
                break;
            } else {
                self.offset = if down { 0 } else { hidden(next) };
                self.selected = next;
                left = left.saturating_sub(cost);
            }
            moved = true;
        }
    }

    /// The task that it is about: the selected one, or the one whose output it shows.
    pub(crate) fn task(&self) -> Option<TaskId> {
        match (&self.kind, self.target()) {
            (Kind::Output(task), _) | (_, Some(Target::Task { task, .. })) => Some(*task),
            (_, _) => None,
        }
    }

    /// Whether that task takes input, as far as is known here.
    pub(crate) fn runs(&self) -> bool {
        match self.target() {
            Some(Target::Task { runs, .. }) => *runs,
            Some(_) | None => self.output.as_ref().is_some_and(|output| !output.ended),
        }
    }

    pub(crate) fn target(&self) -> Option<&Target> {
        self.entries.as_ref()?.get(self.selected)?.target.as_ref()
    }
}
