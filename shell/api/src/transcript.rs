//! What was said in turns, with whole texts.

use holon_facts::episode::SeenImage;
use holon_facts::event::turn::FailureArtifact;
use holon_facts::ids::{MessageId, RoundIndex, RunId};
use holon_facts::message::Origin;
use holon_facts::model::{AttemptRecord, StopReason};
use holon_facts::provenance::{AdmissionContext, AuthorityClass, MessageKind, Priority, Surface, Trust};
use holon_facts::receipt::ToolError;
use holon_facts::usage::TokenUsage;
use holon_facts::{EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which page of a history. Without a cursor: the newest.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// Only what is older than this event; the newest of it.
    pub before: Option<EventSeq>,
    /// Only what is newer than this event; the oldest of it, also where there is a `before`.
    pub after: Option<EventSeq>,
    /// At most so many entries, 1 to 500; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

/// One page, the oldest of it first. It ends early where its texts reach 4 MiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    pub ok: bool,
    pub entries: Vec<TranscriptEntry>,
    /// Whether there is more in the direction that was asked for.
    pub more: bool,
    /// Ask for the next page with this as `before` or `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<EventSeq>,
}

/// One entry, at the position of the event that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    pub event_seq: EventSeq,
    pub at: Wall,
    #[serde(flatten)]
    pub item: Item,
}

/// A text and its author.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    IncomingMessage {
        message_id: MessageId,
        message_kind: MessageKind,
        origin: Origin,
        trust: Trust,
        authority_class: AuthorityClass,
        priority: Priority,
        delivery_surface: Surface,
        admission_context: AdmissionContext,
        text: String,
        /// Images that came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<SeenImage>,
    },
    AssistantRound {
        run_id: RunId,
        round: RoundIndex,
        blocks: Vec<Block>,
        stop_reason: StopReason,
        input_tokens: u64,
        output_tokens: u64,
        data: RoundData,
    },
    ToolResults {
        run_id: RunId,
        round: RoundIndex,
        tool_name: String,
        /// What the model read of a call that succeeded.
        text: Option<String>,
        exit_status: Option<i32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed_files: Vec<String>,
        error: Option<ToolError>,
    },
    RuntimeFailure {
        run_id: RunId,
        message_id: MessageId,
        text: String,
        failure: FailureArtifact,
        attempts: Vec<AttemptRecord>,
        token_usage: TokenUsage,
    },
    /// The runtime spoke to the model.
    ContinuationPrompt { run_id: RunId, text: String },
}

/// A piece of the model's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "TranscriptBlock")]
pub enum Block {
    Text { text: String },
    ToolCall { call_id: String, tool_name: String, arguments: String },
}

/// What came along with a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundData {
    pub token_usage: TokenUsage,
    pub attempts: Vec<AttemptRecord>,
}
