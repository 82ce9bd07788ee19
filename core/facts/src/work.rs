//! Work items by their words.

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ContentId;

/// Longest objective, in bytes.
pub const OBJECTIVE_BYTES: usize = 4 << 10;

/// Owners that one tick tells of; the others have the next one.
pub const IN_A_TICK: usize = 10;

/// Longest entry of a todo list, reason or blocker, in bytes.
pub const LINE_BYTES: usize = 512;

/// Most entries of a todo list.
pub const TODOS: usize = 100;

names! {
    /// Why a completion has no report.
    NoReport { NoText "no_report_text", Several "several_completions" }
}

impl NoReport {
    pub fn label(self) -> &'static str {
        match self {
            Self::NoText => "no report was made: there was no text beside the call",
            Self::Several => "no report was made: several items were completed in one round",
        }
    }
}

names! { PlanStatus { Draft "draft", Ready "ready", NeedsInput "needs_input" } }

names! { TodoState { Pending "pending", InProgress "in_progress", Completed "completed" } }

names! {
    /// How the scheduler sees an item, first match wins.
    WorkState {
        Completed "completed", WaitingOperator "waiting_operator", WaitingTask "waiting_task",
        WaitingTimer "waiting_timer", WaitingExternal "waiting_external", Blocked "blocked", Stalled "stalled",
        Runnable "runnable",
    }
}

/// One entry of a todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// At most 512 bytes.
    pub text: String,
    pub state: TodoState,
}

/// The plan of an item when it was looked at last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "plan", rename_all = "snake_case")]
pub enum PlanSeen {
    /// There was none.
    #[default]
    Absent,
    /// One came with the item, and was not looked at yet.
    Unseen,
    Seen {
        hash: ContentId,
    },
}

impl PlanSeen {
    pub fn of(hash: Option<ContentId>) -> Self {
        hash.map_or(Self::Absent, |hash| Self::Seen { hash })
    }

    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

/// What an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWorkItem {
    pub objective: String,
    pub plan_status: PlanStatus,
    #[serde(default, skip_serializing_if = "alloc::vec::Vec::is_empty")]
    pub todo_list: alloc::vec::Vec<Todo>,
    /// Whether whoever asks writes a plan for it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub plan: bool,
}
