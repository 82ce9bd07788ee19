//! Durable events, and what is shown besides them.

use holon_facts::event::DecodeError;
use holon_facts::{AgentId, Event, EventSeq, OpId, Record, StepSeq, Wall};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::reply::Document;

/// Which page of an agent's events.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Only earlier events.
    pub before_seq: Option<EventSeq>,
    /// Only later events.
    pub after_seq: Option<EventSeq>,
    /// At most so many, 1 to 512; 128 by default.
    #[schemars(range(min = 1, max = 512))]
    pub limit: Option<u32>,
    pub order: Option<Order>,
    /// Adds to each event what it means to people, as `presentation`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub present: bool,
}

/// From which end a page is filled, and how it is ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The oldest first.
    #[default]
    Asc,
    /// The newest first.
    Desc,
}

/// Which page of the events of all public agents.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllEventsQuery {
    /// Only earlier positions.
    pub before: Option<LedgerSeq>,
    /// Only later positions.
    pub after: Option<LedgerSeq>,
    /// At most so many, 1 to 512; 128 by default.
    #[schemars(range(min = 1, max = 512))]
    pub limit: Option<u32>,
    pub order: Option<Order>,
    /// Adds to each event what it means to people, as `presentation`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub present: bool,
}

/// Where an event stands among those of all agents: positions rise, and do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LedgerSeq(pub u64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllEventsPage {
    pub ok: bool,
    pub events: Vec<AnyEvent>,
    /// The last position of the ledger; it may be that of a private agent's event.
    pub last_position: LedgerSeq,
    /// Whether there is more in the direction of the order, also behind a page without events.
    pub more: bool,
    /// While `more` is true, the cursor of the next page: `after` with the order `asc`, `before` with `desc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<LedgerSeq>,
}

/// An event of some agent, or what is left of one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AnyEvent {
    Event(Box<Document<Envelope>>),
    Damaged(DamagedEvent),
}

/// An event whose record is damaged; the others are shown all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedEvent {
    pub position: LedgerSeq,
    #[serde(rename = "type")]
    pub kind: DamagedKind,
    pub agent_id: String,
    pub event_seq: EventSeq,
    /// What is wrong.
    pub problem: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DamagedKind {
    EventDamaged,
}

/// From where a stream of the events of all agents goes on. The header `Last-Event-ID` stands before `after`; without
/// either there are only new events.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllStreamQuery {
    /// Only later positions; 0 begins with the first event.
    pub after: Option<LedgerSeq>,
    /// Adds to each event what it means to people, as `presentation`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub present: bool,
    /// A token of `POST /control/stream-token`, where no header can be sent.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub token: Option<String>,
}

impl<'de> Deserialize<'de> for AnyEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        match serde_json::from_str(json.get()) {
            Ok(event) => Ok(Self::Event(event)),
            Err(problem) => {
                serde_json::from_str(json.get()).map(Self::Damaged).map_err(|_| D::Error::custom(problem))
            }
        }
    }
}

impl AnyEvent {
    pub fn position(&self) -> Option<LedgerSeq> {
        match self {
            Self::Event(event) => event.position,
            Self::Damaged(event) => Some(event.position),
        }
    }
}

impl std::fmt::Display for LedgerSeq {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventsPage {
    pub ok: bool,
    pub events: Vec<Document<Envelope>>,
    /// The last event of the agent.
    pub last_event_seq: EventSeq,
    /// Whether the span has more in the direction of the order.
    pub more: bool,
    /// While `more` is true, the cursor of the next page: `after_seq` with the order `asc`, `before_seq` with `desc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<EventSeq>,
}

/// One durable event.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// Where it stands among the events of all agents, in pages and streams of those.
    pub position: Option<LedgerSeq>,
    /// Unique within its agent.
    pub id: String,
    pub event_seq: EventSeq,
    pub ts: Wall,
    pub agent_id: AgentId,
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the payload.
    pub v: u16,
    /// Where it came from: origin, trust, authority, surface, message, … as far as they are known.
    pub provenance: serde_json::Map<String, serde_json::Value>,
    pub payload: serde_json::Map<String, serde_json::Value>,
    /// What it means to people; only where `present` asks for it.
    pub presentation: Option<Presentation>,
}

/// What a durable event means to people: the same on every surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presentation {
    /// `action_required`, `work_done`, `info`, `verbose`, `debug` or `trace`: from which level on it is shown.
    pub visibility: String,
    /// The subject, for example `brief`, `message`, `tool` or `waiting`.
    pub category: String,
    /// A short label.
    pub title: String,
    /// The text, where it may have more than one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Everything in one line.
    pub summary: String,
    /// The same as `type`.
    pub source_event_kind: String,
}

impl Envelope {
    /// The record in the envelope. Which step it belongs to is not in there.
    ///
    /// # Errors
    /// An event that this build does not know.
    pub fn record(&self) -> Result<Record, DecodeError> {
        let payload = serde_json::Value::Object(self.payload.clone()).to_string();
        let event = Event::decode(&self.kind, self.v, &payload)?;
        let (agent, event_seq, at) = (self.agent_id.clone(), self.event_seq, self.ts);
        Ok(Record { step: StepSeq(0), agent, event_seq, at, event })
    }
}

/// From where a stream of events goes on. The header `Last-Event-ID` stands before `after_seq`; without
/// either there are only new events.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamQuery {
    /// Only later events; 0 begins with the first.
    pub after_seq: Option<EventSeq>,
    /// Also send `live_attempt` and `live_text`: pieces of the model's text as they arrive; and `live_output`: the last
    /// lines of a command in the foreground.
    /// They have no id, are never repeated, and a slow reader misses some.
    #[serde(default)]
    pub live: bool,
    /// Adds to each event what it means to people, as `presentation`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub present: bool,
    /// A token of `POST /control/stream-token`, where no header can be sent.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub token: Option<String>,
}

/// Data of a `live_attempt`: the model is asked (again); pieces of an earlier attempt of the round are void.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveAttempt {
    pub agent_id: AgentId,
    pub op: OpId,
}

/// Data of a `live_text`: more of the text of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveText {
    pub agent_id: AgentId,
    pub op: OpId,
    pub text: String,
}

/// Data of a `live_output`: the last lines that a command in the foreground has printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveOutput {
    pub agent_id: AgentId,
    pub op: OpId,
    /// At most 8 lines of at most 200 characters, as a terminal shows them, without secrets. They replace those before;
    /// empty once the command has ended, or goes on as a task.
    pub text: String,
}
