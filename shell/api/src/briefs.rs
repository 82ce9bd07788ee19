//! What an agent told its operator.

use holon_facts::event::brief::{BriefKind, BriefVisibility};
use holon_facts::ids::{BriefId, MessageId, RunId, WorkItemId};
use holon_facts::{EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub id: BriefId,
    pub kind: BriefKind,
    pub visibility: BriefVisibility,
    /// The whole text.
    pub text: String,
    pub run_id: Option<RunId>,
    /// The work item that the turn was about.
    pub work_item_id: Option<WorkItemId>,
    pub related_message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected_message_ids: Vec<MessageId>,
    pub created_at: Wall,
    pub event_seq: EventSeq,
}

/// One page, the oldest of it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Briefs {
    pub ok: bool,
    pub briefs: Vec<Brief>,
    /// Whether there are more in the direction that was asked for.
    pub more: bool,
    /// Ask for the next page with this as `before` or `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<EventSeq>,
}
