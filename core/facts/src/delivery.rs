//! How a request went over the wire: on record with its attempt where its transport did more than send all of it and read
//! the answer. What the model is shown is the same however it is sent.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ContentId;
use crate::time::Wall;

/// Of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// What of the request was sent, to a provider that keeps its responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<Incremental>,
    /// What the provider left out of the request by itself, as it reports that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<AppliedEdit>,
    /// The provider refused what the model had thought, and the request was repeated without that. Later requests of the
    /// episode are without it, too. Earlier builds did not record it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub thoughts_refused: bool,
    /// Thoughts of the conversation that were not sent: another model's, or such as the provider refused. Earlier builds
    /// did not count them.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub thoughts_left_out: u32,
    /// Images that the provider has refused were named only, in this request or in an earlier one. Earlier builds did
    /// not record it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub images_refused: bool,
    /// How much of a login's quotas is used, as the provider reports it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaUse>,
}

/// What is used of a quota that is full again after some time.
#[omit_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaUse {
    pub window: QuotaWindow,
    /// Of 100, rounded up.
    pub used_percent: u8,
    /// How long the window is.
    pub window_minutes: Option<u32>,
    pub resets_at: Option<Wall>,
}

names! { QuotaWindow { Primary "primary", Secondary "secondary" } }

/// A part of a request that its provider left out before the model read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AppliedEdit {
    pub kind: EditKind,
    /// Calls, or turns with thoughts.
    pub cleared: u64,
    pub cleared_input_tokens: u64,
}

names! {
    /// What providers can leave out, by the name that it has there.
    EditKind {
        /// Results of old calls.
        ClearToolUses "clear_tool_uses_20250919",
        /// What the model thought in old turns.
        ClearThinking "clear_thinking_20251015",
    }
}

impl Delivery {
    /// Tokens of the request that the model was not shown.
    pub fn cleared_tokens(&self) -> u64 {
        self.edits.iter().map(|edit| edit.cleared_input_tokens).fold(0, u64::saturating_add)
    }
}

/// What of a request was sent to a provider that keeps its responses.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Incremental {
    /// The response that it went on from; none where all of it was sent.
    pub response_id: Option<String>,
    /// Why all of it was sent.
    pub whole: Option<WholeReason>,
    /// Elements of its input.
    pub items: u32,
    /// Those that were sent.
    pub items_sent: u32,
}

names! {
    /// Why all of a request was sent.
    WholeReason {
        /// No response is known that it could go on from: there was none, or the attempt before failed.
        NoResponse "no_response",
        /// Model, instructions, tools or settings are others than before that response.
        Settings "settings",
        /// What was sent before that response is not its beginning any more.
        Conversation "conversation",
        /// The provider did not go on from that response: the request was repeated, whole.
        Refused "refused",
    }
}

/// A response that its provider keeps: a request that begins with all of the one that it answers can go on from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredResponse {
    pub id: String,
    /// Elements of the input of the request that it answers.
    pub items: u32,
    /// Stands for these elements as they were sent.
    pub input: ContentId,
    /// Stands for the rest of that request: model, instructions, tools, settings.
    pub settings: ContentId,
}

/// Where a request may go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoesOnFrom {
    pub response: StoredResponse,
    /// Elements of the conversation up to what that response said.
    pub items: u32,
}
