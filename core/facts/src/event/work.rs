//! The life of work items.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::{ContentId, Text};
use crate::ids::{MessageId, RunId, WorkItemId};
use crate::time::{Millis, Wall};
use crate::work::{PlanStatus, Todo};

family! {
    /// What agents and operators do to work items.
    WorkFact {
        WorkItemWritten "work_item_written" v 1,
        WorkItemPicked "work_item_picked" v 1,
        DeliverySummaryRecorded "delivery_summary_recorded" v 1,
        WorkTickQueued "work_tick_queued" v 1,
        WorkDeferred "work_deferred" v 1,
        WorkOwed "work_owed" v 1,
        WorkItemStalled "work_item_stalled" v 1,
        WorkPlanSeen "work_plan_seen" v 1,
    }
}

names! { WorkAuthor { Agent "agent", Operator "operator" } }

/// A work item is new, changed or completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemWritten {
    pub work_item_id: WorkItemId,
    /// From 1; one more with every change.
    pub revision: u64,
    pub by: WorkAuthor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(flatten)]
    pub change: WorkChange,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum WorkChange {
    Created {
        objective: String,
        plan_status: PlanStatus,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        todo_list: Vec<Todo>,
        /// Whether a plan is written with it.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        plan: bool,
    },
    /// Only what is another than before.
    Updated {
        objective: Option<String>,
        plan_status: Option<PlanStatus>,
        todo_list: Option<Vec<Todo>>,
        /// What stands in the way; an empty text for nothing any more.
        blocked_by: Option<String>,
        /// Until the blocker is looked at again.
        recheck_after_ms: Option<Millis>,
    },
    Completed {
        /// What the agent reports of it.
        result_summary: Option<Text>,
    },
}

impl WorkChange {
    /// Whether it says that the item needs input.
    pub fn needs_input(&self) -> bool {
        match self {
            Self::Created { plan_status, .. } => *plan_status == PlanStatus::NeedsInput,
            Self::Updated { plan_status, .. } => *plan_status == Some(PlanStatus::NeedsInput),
            Self::Completed { .. } => false,
        }
    }
}

/// The focus moves.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemPicked {
    pub work_item_id: WorkItemId,
    /// The item that had it.
    pub previous: Option<WorkItemId>,
    pub reason: Option<String>,
    /// Whether its blocker is gone by that.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub unblocked: bool,
    pub run_id: RunId,
}

/// The plan of an item was looked at, and is another than the last time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkPlanSeen {
    pub work_item_id: WorkItemId,
    /// None where there is no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentId>,
    /// Whether somebody has edited it: what came with its item is noted for the first time.
    pub edited: bool,
}

/// What the agent delivers with an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliverySummaryRecorded {
    pub work_item_id: WorkItemId,
    pub run_id: RunId,
    pub related_message_id: MessageId,
    pub text: Text,
}

/// The one message about obligations: a turn for the item in focus, or a mention for others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkTickQueued {
    pub tick: WorkTick,
    pub message_id: MessageId,
    /// In order; at least one.
    pub work_item_ids: Vec<WorkItemId>,
}

names! { WorkTick { ContinueActive "continue_active", QueuedAvailable "queued_available" } }

/// A turn that an item had an obligation for brought no progress, or one that mentioned it left it where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkDeferred {
    pub work_item_id: WorkItemId,
    pub run_id: RunId,
    /// How many of them there were in a row, this one included.
    pub turns: u32,
    /// The next obligation is due from then on.
    pub until: Wall,
}

/// The obligations of an item are due at once, and counted anew: a turn bound to it made progress, or was an operator's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkOwed {
    pub work_item_id: WorkItemId,
    pub run_id: RunId,
}

/// Nothing more is done for an item before somebody looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemStalled {
    pub work_item_id: WorkItemId,
    pub run_id: RunId,
    pub reason: StallReason,
}

names! {
    StallReason {
        /// As many turns without progress as there may be.
        NoProgress "no_progress",
        /// An operator aborted a turn that was bound to it.
        Aborted "aborted",
        /// The message that delivered it was dropped: its runs crashed.
        Dropped "dropped",
        /// A turn about it was longer than the model's window, also in short.
        ContextLength "context_length_exceeded",
    }
}

impl WorkFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::WorkItemWritten(fact) => {
                if let WorkChange::Completed { result_summary: Some(text) } = &fact.change {
                    visit(text);
                }
            }
            Self::WorkItemPicked(_)
            | Self::WorkTickQueued(_)
            | Self::WorkDeferred(_)
            | Self::WorkOwed(_)
            | Self::WorkItemStalled(_)
            | Self::WorkPlanSeen(_) => {}
            Self::DeliverySummaryRecorded(fact) => visit(&fact.text),
        }
    }
}
