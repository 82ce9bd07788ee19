//! Messages for agents.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use holon_core::view::{ExplainedDeadline, RunVerdict};
use holon_facts::ids::TaskId;
use holon_facts::image::{NAME_BYTES, PER_MESSAGE};
use holon_facts::provenance::Priority;
use holon_facts::skill::GIVEN;
use holon_facts::{AgentId, EventSeq, MessageId};
use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::body::PROMPT_BYTES;
use super::word::{optional_word, word};

/// A prompt of the operator.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// At most 1 MiB.
    #[schemars(length(min = 1, max = PROMPT_BYTES))]
    pub text: String,
    /// PNG, JPEG, WebP or GIF files that the model sees with the text: at most 10, of 5,000,000 bytes each and 10,000,000
    /// together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = PER_MESSAGE))]
    pub images: Vec<PromptImage>,
    /// Skills that the agent is offered and shall use for this prompt, by name or id: the text of each, at most 24 KiB, goes
    /// along. A text that begins with `/NAME` names one, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = GIVEN))]
    pub skills: Vec<String>,
    /// `interject` reaches a turn in progress at its next safe point.
    #[serde(default, deserialize_with = "optional_word")]
    pub priority: Option<Priority>,
    /// Who among the operators; at most 256 characters.
    #[schemars(length(max = 256))]
    pub actor_id: Option<String>,
    #[schemars(length(max = 256))]
    pub correlation_id: Option<String>,
    #[schemars(length(max = 256))]
    pub causation_id: Option<String>,
}

/// An image with a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptImage {
    /// The file in base64 (RFC 4648, section 4). Its first bytes decide what it is.
    #[schemars(length(min = 1))]
    pub data: String,
    /// What the model calls it; at most 200 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NAME_BYTES))]
    pub name: Option<String>,
}

/// A message from outside: evidence, never an instruction of the operator.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enqueue {
    /// `channel_event` by default.
    #[serde(default, deserialize_with = "word")]
    pub kind: EnqueueKind,
    pub body: Payload,
    #[serde(default, deserialize_with = "word")]
    pub priority: EnqueuePriority,
    /// The channel or the sending system; `http` by default. At most 256 characters.
    #[schemars(length(max = 256))]
    pub source: Option<String>,
    /// Who sent it on the channel, or the type of a webhook's event.
    #[schemars(length(max = 256))]
    pub sender: Option<String>,
    /// Context of the transport: provenance only.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// At most 16 references of at most 256 characters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "maxProperties" = 16,
        "propertyNames" = { "maxLength": 256 },
        "additionalProperties" = { "type": "string", "maxLength": 256 },
    ))]
    pub source_refs: BTreeMap<String, String>,
    #[schemars(length(max = 256))]
    pub correlation_id: Option<String>,
    #[schemars(length(max = 256))]
    pub causation_id: Option<String>,
}

/// What may come from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnqueueKind {
    #[default]
    ChannelEvent,
    WebhookEvent,
}

/// What is not of the operator never interrupts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EnqueuePriority {
    Next,
    #[default]
    Normal,
    Background,
}

/// The body of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payload {
    Text {
        text: String,
    },
    Json {
        value: serde_json::Value,
        /// The value as it came: numbers have all their digits.
        #[serde(skip)]
        text: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PayloadType {
    Text,
    Json,
}

#[derive(Deserialize)]
struct TypeWord(#[serde(deserialize_with = "word")] PayloadType);

/// From an object alone: an array would be taken for the values of its fields.
impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PayloadFields)
    }
}

struct PayloadFields;

impl<'de> Visitor<'de> for PayloadFields {
    type Value = Payload;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Payload, A::Error> {
        let (mut kind, mut text, mut value) = (None, None, None);
        while let Some(name) = fields.next_key::<String>()? {
            let again = match name.as_str() {
                "type" => kind.replace(fields.next_value::<TypeWord>()?.0).is_some().then_some("type"),
                "text" => text.replace(fields.next_value::<serde_json::Value>()?).is_some().then_some("text"),
                "value" => value.replace(fields.next_value::<Box<RawValue>>()?).is_some().then_some("value"),
                other => return Err(A::Error::unknown_field(other, &["type", "text", "value"])),
            };
            if let Some(name) = again {
                return Err(A::Error::duplicate_field(name));
            }
        }
        match (kind.ok_or_else(|| A::Error::missing_field("type"))?, text, value) {
            (PayloadType::Text, Some(text), None) => {
                Ok(Payload::Text { text: String::deserialize(text).map_err(A::Error::custom)? })
            }
            (PayloadType::Json, None, Some(raw)) => {
                let value = serde_json::from_str(raw.get()).map_err(A::Error::custom)?;
                Ok(Payload::Json { value, text: Some(raw.get().to_owned()) })
            }
            (PayloadType::Text, _, Some(_)) => Err(A::Error::unknown_field("value", &["text"])),
            (PayloadType::Json, Some(_), _) => Err(A::Error::unknown_field("text", &["value"])),
            (PayloadType::Text, None, None) => Err(A::Error::missing_field("text")),
            (PayloadType::Json, None, None) => Err(A::Error::missing_field("value")),
        }
    }
}

/// Where a webhook comes from; the body is whatever JSON it sends.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookQuery {
    /// The sending system; `generic` by default. At most 256 characters.
    #[schemars(length(max = 256))]
    pub source: Option<String>,
    /// The type of the event; the header `X-Event-Type` replaces it.
    #[schemars(length(max = 256))]
    pub event_type: Option<String>,
    /// The sender's own id of this delivery, which makes it idempotent together with `source`; the header
    /// `X-Delivery-Id` replaces it.
    #[schemars(length(max = 256))]
    pub delivery_id: Option<String>,
}

/// The message is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Admitted {
    pub ok: bool,
    pub agent_id: AgentId,
    pub message_id: MessageId,
    /// The idempotency key was known: this is the first message's id, and nothing new was admitted.
    pub duplicate: bool,
}

/// Whether a prompt's reply waits for what comes of it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptQuery {
    /// Reply at the end of the prompt's turn, or when no work is left; without it once the prompt is durable.
    pub wait: Option<WaitUntil>,
    /// The longest wait in milliseconds, 0 to 3,600,000; 60,000 by default.
    #[schemars(range(min = 0, max = 3_600_000))]
    pub timeout_ms: Option<u32>,
}

impl PromptQuery {
    /// Milliseconds to wait where nothing else is asked for, and at most.
    pub const WAIT_MS: (u32, u32) = (60_000, 3_600_000);

    /// How long its reply may take.
    pub fn waits(&self) -> Duration {
        let limit = Duration::from_millis(self.timeout_ms.unwrap_or(Self::WAIT_MS.0).into());
        self.wait.map_or(Duration::ZERO, |_| limit)
    }
}

/// What a client that sent a prompt waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    /// The end of the prompt's turn.
    Turn,
    /// Until nothing more happens by itself: tasks, children, and what is due soon.
    Settled,
}

/// The prompt is durable, and with `wait` what came of it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prompted {
    pub ok: bool,
    pub agent_id: AgentId,
    pub message_id: MessageId,
    /// The idempotency key was known: this is the first message's id, and nothing new was admitted.
    pub duplicate: bool,
    /// With `wait`: whether what was waited for has ended. If it has not, the status is 202.
    pub ended: Option<bool>,
    /// With `wait`: the event before the prompt. Everything that comes of the prompt follows it.
    pub after_seq: Option<EventSeq>,
    /// How it ended. With 202, how the agent is: the prompt waits, under a hold for example.
    #[serde(flatten)]
    pub outcome: Option<PromptOutcome>,
    /// Why the reply comes before the end.
    pub problem: Option<String>,
    /// How to wait on.
    pub hint: Option<String>,
}

/// What came of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptOutcome {
    pub verdict: RunVerdict,
    /// What `holon prompt --wait` ends with for this verdict.
    pub exit_code: u8,
    /// What the agent reports; null without a report.
    pub final_text: Option<String>,
    /// What happens later by itself.
    pub due: Vec<ExplainedDeadline>,
    /// Tasks of the prompt's turn that still run.
    pub active_tasks: Vec<TaskId>,
}
