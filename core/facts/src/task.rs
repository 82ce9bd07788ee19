//! What a task consists of: a command, or the life of a child agent.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::hash::Fnv;
use crate::ids::AgentId;
use crate::outcome::CommandSpec;
use crate::price::Amount;
use crate::workspace::WorktreePlan;

pub use crate::workspace::WorkspaceMode;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    Command(CommandSpec),
    Child(ChildSpec),
}

/// The child that a task supervises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildSpec {
    pub child_agent_id: AgentId,
    pub workspace_mode: WorkspaceMode,
    /// Its own one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreePlan>,
    /// What it was begun for: to begin the same again is no progress.
    #[schemars(skip)]
    pub purpose: Fingerprint,
}

impl Job {
    pub fn kind(&self) -> TaskKind {
        match self {
            Self::Command(_) => TaskKind::CommandTask,
            Self::Child(_) => TaskKind::ChildAgentTask,
        }
    }

    pub fn command(&self) -> Option<&CommandSpec> {
        match self {
            Self::Command(command) => Some(command),
            Self::Child(_) => None,
        }
    }

    pub fn child(&self) -> Option<&ChildSpec> {
        match self {
            Self::Child(child) => Some(child),
            Self::Command(_) => None,
        }
    }

    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Command(command) => Fingerprint::of(command),
            Self::Child(child) => child.purpose,
        }
    }

    pub fn text(&self) -> Option<&Text> {
        self.command().map(|command| &command.cmd)
    }
}

names! { TaskKind { CommandTask "command_task", ChildAgentTask "child_agent_task" } }

names! {
    /// The phase of a task (contract: tasks.md, the graph of its phases).
    TaskStatus {
        Queued "queued", Running "running", Cancelling "cancelling",
        Completed "completed", Failed "failed", Cancelled "cancelled", Interrupted "interrupted",
    }
}

names! {
    /// Whether the caller waits until the task has ended.
    WaitPolicy { Background "background" }
}

impl TaskStatus {
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Cancelling => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted => true,
        }
    }
}

/// What a child said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildEnd {
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Text>,
    /// By it and all whom it supervised.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub spent: Amount,
}

/// What becomes of a task that is said to have a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskTransition {
    Changes,
    /// It has that status already.
    Unchanged,
    /// It is past that, or has another end.
    Ignored,
}

impl TaskTransition {
    pub fn of(from: TaskStatus, to: TaskStatus) -> Self {
        use TaskStatus::{Cancelling, Queued, Running};
        if from == to {
            return Self::Unchanged;
        }
        let changes = match (from, to) {
            (Queued, Running) | (Running, Cancelling) => true,
            (Queued | Running | Cancelling, end) => end.is_terminal(),
            (
                TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted,
                _,
            ) => false,
        };
        if changes { Self::Changes } else { Self::Ignored }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The graph of the contract, edge by edge.
    #[test]
    fn every_pair() {
        use TaskStatus::{Cancelled, Cancelling, Completed, Failed, Interrupted, Queued, Running};
        let ends = [Completed, Failed, Cancelled, Interrupted];
        let edges = |from: TaskStatus| -> &[TaskStatus] {
            match from {
                Queued => &[Running, Completed, Failed, Cancelled, Interrupted],
                Running => &[Cancelling, Completed, Failed, Cancelled, Interrupted],
                Cancelling => &ends,
                Completed | Failed | Cancelled | Interrupted => &[],
            }
        };
        for &from in TaskStatus::ALL {
            for &to in TaskStatus::ALL {
                let expected = if from == to {
                    TaskTransition::Unchanged
                } else if edges(from).contains(&to) {
                    TaskTransition::Changes
                } else {
                    TaskTransition::Ignored
                };
                assert_eq!(TaskTransition::of(from, to), expected, "{from} to {to}");
            }
        }
    }
}

names! {
    /// Why a child can't go on by itself.
    NeedKind { Operator "waiting_for_operator", Stalled "stalled", Held "held" }
}

/// What a child needs its parent for. The same need is delivered once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    pub kind: NeedKind,
    /// The wait or the work item that it is about, or since when it is held.
    pub subject: String,
    /// In the child's words where it has any.
    pub about: String,
}

/// A command by its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of what a child is begun for.
    pub fn of_purpose(message: &Text) -> Self {
        Self(Fnv::START.text(message).0)
    }

    pub fn of(command: &CommandSpec) -> Self {
        let CommandSpec { cmd_digest, workdir, shell, login, tty, .. } = command;
        let place = Fnv::START.piece(&cmd_digest.0).piece(workdir.as_bytes()).piece(shell.as_bytes());
        Self(place.bytes(&[u8::from(*login), u8::from(*tty)]).0)
    }
}
