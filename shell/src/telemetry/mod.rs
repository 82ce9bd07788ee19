//! Traces as a fold of the ledger: nothing is measured twice, and what is past can be exported again with the same ids.
//! [`Fold`] makes spans of the records of one agent, `otlp` writes them as OTLP in JSON, [`Exporter`] follows the ledger and
//! sends them to a collector, encoded in protobuf unless somebody wants JSON. [`Reporter`] sends it what `/metrics` shows.

mod attribute;
mod cursor;
mod encoding;
mod exporter;
mod measured;
mod offer;
mod otlp;
mod reporter;
mod target;
mod texts;
mod turn;
mod waits;

use std::collections::BTreeMap;

use holon_facts::event::{InboxFact, LifecycleFact, TaskFact, TurnFact};
use holon_facts::ids::{MessageId, TaskId};
use holon_facts::message::Origin;
use holon_facts::{AgentId, Event, EventSeq, Record, Wall};
use holon_text::hash;

pub use attribute::Attribute;
pub use encoding::Encoding;
pub use exporter::{Exporter, Following};
pub use otlp::{Resource, document};
pub use reporter::Reporter;
pub use target::{Signal, Target, TargetError};
pub use texts::{Contents, of_ledger};

use turn::Turn;
use waits::Waits;

/// Messages whose admission is kept until they are taken up, and tasks whose beginning is.
const WAITING: usize = 100_000;
const TASKS: usize = 10_000;

/// The kinds of records that [`Fold`] looks at.
pub const KINDS: &[&str] = &[
    "agent_created",
    "message_admitted",
    "message_requeued",
    "message_processed",
    "message_aborted",
    "message_dropped",
    "turn_started",
    "provider_attempt_recorded",
    "assistant_round_recorded",
    "tool_executed",
    "tool_execution_failed",
    "turn_terminal",
    "task_created",
    "wait_registered",
    "wait_resolved",
    "wait_cancelled",
    "hold_set",
    "hold_ended",
    "sleep_begun",
    "sleep_elapsed",
];

/// Those of them that matter to the turn in progress alone.
const PARTS: [&str; 4] =
    ["provider_attempt_recorded", "assistant_round_recorded", "tool_executed", "tool_execution_failed"];

/// Another span, wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

/// A time with a name: of a turn, a request to a model, a call of a tool, or a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub id: [u8; 8],
    /// None for what begins a trace, and for waits.
    pub parent: Option<[u8; 8]>,
    pub name: String,
    /// Whether somebody else works meanwhile: a provider.
    pub client: bool,
    pub begin: Wall,
    pub end: Wall,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub links: Vec<Link>,
    /// What went wrong, as a word.
    pub error: Option<String>,
}

/// A turn with everything in it, the turn itself first; or a wait, in the one long trace of its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub id: [u8; 16],
    pub spans: Vec<Span>,
}

impl Trace {
    /// When the turn or the wait ended.
    pub fn ended_at(&self) -> Wall {
        self.spans.first().map_or(Wall(0), |turn| turn.end)
    }
}

/// The records of one agent, in their order. Gives a trace with the end of each turn and wait; one without an end has none.
#[derive(Debug)]
pub struct Fold {
    ids: Ids,
    contents: Contents,
    /// Since when each message waits for its next turn, and by which event.
    admitted: BTreeMap<MessageId, (Wall, EventSeq)>,
    /// The turn that began each task.
    begun: BTreeMap<TaskId, Link>,
    /// Results of tasks that wait: whose turn they belong to.
    results: BTreeMap<MessageId, Link>,
    waits: Waits,
    turn: Option<Turn>,
}

/// What the ids of an agent's traces and spans follow from: its name, and when it was created. They stand for the agent
/// also in a backup or a bundle of its home.
#[derive(Debug, Clone)]
struct Ids {
    agent: AgentId,
    created_at: Wall,
}

impl Ids {
    fn trace(&self, of: &str) -> [u8; 16] {
        let mut id = [0; 16];
        let named = format!("trace {} {} {of}", self.created_at.0, self.agent);
        id.copy_from_slice(&hash(named.as_bytes()).0[..16]);
        id
    }

    /// Of the turn that this event began.
    fn turn(&self, began: EventSeq) -> Link {
        Link { trace: self.trace(&began.to_string()), span: self.span(began) }
    }

    /// Of the waits of the agent, in all its life.
    fn long(&self) -> [u8; 16] {
        self.trace("waits")
    }

    /// The id of what this event is about.
    fn span(&self, event: EventSeq) -> [u8; 8] {
        let named = format!("span {} {} {event}", self.created_at.0, self.agent);
        let mut span = [0; 8];
        span.copy_from_slice(&hash(named.as_bytes()).0[..8]);
        span
    }
}

impl Fold {
    /// With the texts of turns, where somebody asked for them.
    pub fn of(agent: AgentId, contents: Contents) -> Self {
        Self {
            ids: Ids { agent, created_at: Wall(0) },
            contents,
            admitted: BTreeMap::new(),
            begun: BTreeMap::new(),
            results: BTreeMap::new(),
            waits: Waits::default(),
            turn: None,
        }
    }

    /// The next record of the agent; records of other kinds than [`KINDS`] may be missing.
    pub fn next(&mut self, record: &Record) -> Vec<Trace> {
        if let Event::Lifecycle(LifecycleFact::AgentCreated(_)) = &record.event {
            self.ids.created_at = record.at;
        }
        if let Event::Inbox(fact) = &record.event {
            self.inbox(record, fact);
        }
        if let Event::Task(TaskFact::TaskCreated(fact)) = &record.event
            && let Some(turn) = &self.turn
            && self.begun.len() < TASKS
        {
            self.begun.insert(fact.task_id, self.ids.turn(turn.began));
        }
        let current = self.turn.as_ref().map(|turn| self.ids.turn(turn.began));
        let mut ended = self.waits.next(&self.ids, record, current);
        if let Event::Turn(fact) = &record.event {
            ended.extend(self.turned(record, fact));
        }
        ended
    }

    fn inbox(&mut self, record: &Record, fact: &InboxFact) {
        if let InboxFact::MessageAdmitted(fact) = fact
            && self.admitted.len() < WAITING
        {
            self.admitted.insert(fact.message.id, (record.at, record.event_seq));
            if let Origin::Task { task_id } = &fact.message.origin
                && let Some((task, begun)) = self.begun.iter().find(|(task, _)| task.to_string() == *task_id)
            {
                self.results.insert(fact.message.id, *begun);
                let task = *task;
                self.begun.remove(&task);
            }
            self.contents.admitted(&fact.message);
        }
        // It waits anew.
        if let InboxFact::MessageRequeued(fact) = fact
            && self.admitted.len() < WAITING
        {
            self.admitted.insert(fact.message_id, (record.at, record.event_seq));
        }
        let over = match fact {
            InboxFact::MessageProcessed(fact) => fact.message_id,
            InboxFact::MessageAborted(fact) => fact.message_id,
            InboxFact::MessageDropped(fact) => fact.message_id,
            InboxFact::MessageAdmitted(_)
            | InboxFact::MessageRequeued(_)
            | InboxFact::MessageDuplicate(_)
            | InboxFact::MessageDequeued(_)
            | InboxFact::OperatorInterjectionAdmitted(_) => return,
        };
        self.admitted.remove(&over);
        self.results.remove(&over);
        self.contents.processed(over);
    }

    fn turned(&mut self, record: &Record, fact: &TurnFact) -> Vec<Trace> {
        if let TurnFact::TurnStarted(fact) = fact {
            let admitted = self.admitted.remove(&fact.message_id);
            let result_of = self.results.get(&fact.message_id).copied();
            let message = self.contents.message(fact.message_id);
            let turn = Turn::begin(record, admitted.map(|(since, _)| since), message, result_of);
            let here = self.ids.turn(turn.began);
            self.turn = Some(turn);
            let waited = admitted.map(|since| waits::queued(&self.ids, since, record.at, here));
            return waited.into_iter().collect();
        }
        let Some(turn) = &mut self.turn else { return Vec::new() };
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            turn.request(&self.ids, record, &fact.attempt, u64::from(fact.round.0));
        }
        if let TurnFact::AssistantRoundRecorded(fact) = fact {
            turn.answered(fact, &self.contents);
        }
        if let TurnFact::ToolExecuted(fact) = fact {
            let tool = (fact.tool_name.as_str(), fact.call_id.as_str(), fact.duration_ms);
            turn.tool(&self.ids, record, tool, &fact.receipt, &self.contents);
        }
        if let TurnFact::ToolExecutionFailed(fact) = fact {
            let tool = (fact.tool_name.as_str(), fact.call_id.as_str(), fact.duration_ms);
            turn.tool(&self.ids, record, tool, &fact.receipt, &self.contents);
        }
        if let TurnFact::TurnTerminal(fact) = fact
            && let Some(turn) = self.turn.take()
        {
            return vec![turn.end(&self.ids, record, fact)];
        }
        Vec::new()
    }
}
