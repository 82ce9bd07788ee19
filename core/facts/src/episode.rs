//! Stretches of an agent's conversation that requests show verbatim, and what stands for those that are over
//! (contract: context.md, Conversation and episodes).

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{ContentId, Text};
use crate::ids::{EpisodeId, EventSeq, MessageId, TurnIndex, WorkItemId};
use crate::image::{Image, ImageFormat};
use crate::provenance::MessageKind;
use crate::receipt::ToolErrorKind;
use crate::terminal::TurnKind;
use crate::time::Wall;
use crate::work::{PlanStatus, WorkState};

names! {
    /// Why an episode closed.
    EpisodeBoundary {
        /// Another work item is in focus, or the one in focus is completed.
        Focus "focus",
        /// The agent had rested.
        Rest "rest",
        /// The next request would have taken too much of the model's window.
        Size "size",
        /// A provider refused a request as too long.
        Refused "refused",
        /// Another model is asked, or other tools are offered: no provider has the beginning in its cache.
        Surface "surface",
        /// The next request would have shown more images than one may have.
        Images "images",
        /// It had as many turns or rounds as an episode may have.
        Cap "cap",
        /// An operator wanted it.
        Operator "operator",
    }
}

/// What becomes of an operator's wish that an episode closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Compaction {
    /// It has closed.
    Closed { episode_id: EpisodeId },
    /// A turn is in progress: the episode closes before its next request, or with its end.
    Requested { episode_id: EpisodeId },
    /// Requests show no conversation that a digest could stand for.
    Nothing,
}

/// The turns that ended in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnSpan {
    pub first: TurnIndex,
    pub last: TurnIndex,
}

/// The records of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventSpan {
    pub first: EventSeq,
    pub last: EventSeq,
}

/// What stands for an episode after its end: facts, which the prompt words.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Digest {
    pub turns: u32,
    pub rounds: u32,
    /// Messages of operators and supervisors, the newest last; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// Earlier ones.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub more_requests: u32,
    /// How many other messages of each kind there were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<KindCount>,
    pub focus: Option<Focus>,
    /// Files that were changed, in order; at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub more_files: u32,
    /// Images that were shown; at most the newest 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<SeenImage>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub more_images: u32,
    /// Calls that had effects, in order; at most the newest 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Done>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub more_done: u32,
    /// How the last turn ended; none where none has.
    pub end: Option<TurnKind>,
    /// The agent's last text.
    pub last_text: Option<Text>,
}

/// What somebody asked for whose word defines the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    pub message_id: MessageId,
    pub at: Wall,
    pub text: Text,
}

/// An image that is shown no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenImage {
    /// Where it was read, or what its sender called it.
    pub name: String,
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// Of the file.
    pub sha256: ContentId,
}

impl From<&Image> for SeenImage {
    fn from(image: &Image) -> Self {
        let Image { name, format, width, height, sha256, .. } = image;
        Self { name: name.clone(), format: *format, width: *width, height: *height, sha256: *sha256 }
    }
}

/// Messages of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    pub kind: MessageKind,
    pub count: u32,
}

/// The work item that was in focus, as the episode left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Focus {
    pub work_item_id: WorkItemId,
    /// At most 512 bytes of it.
    pub objective: String,
    pub plan_status: PlanStatus,
    pub state: WorkState,
    /// Steps that were open; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
}

/// A call that had an effect, and what came of it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub tool_name: String,
    pub arguments: Text,
    /// How often it was made with the same outcome.
    pub times: u32,
    pub exit_status: Option<i32>,
    /// What it failed by; none where it was carried out.
    pub failed: Option<ToolErrorKind>,
}

impl Done {
    /// Whether another one is the same call with the same outcome, however often each was made.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.exit_status, self.failed) == (other.exit_status, other.failed)
            && self.arguments == other.arguments
            && self.tool_name == other.tool_name
    }
}

impl Digest {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        self.requests.iter().for_each(|request| visit(&request.text));
        self.done.iter().for_each(|done| visit(&done.arguments));
        self.last_text.iter().for_each(visit);
    }
}
