//! Traces as a fold of the ledger: nothing is measured twice, and what is past can be exported again with the same ids.
//! [`Fold`] makes spans of the records of one agent, `otlp` writes them as OTLP in JSON.

mod otlp;

use std::collections::BTreeMap;

use holon_facts::event::{InboxFact, LifecycleFact, TurnFact};
use holon_facts::ids::MessageId;
use holon_facts::model::AttemptRecord;
use holon_facts::receipt::Receipt;
use holon_facts::usage::TokenUsage;
use holon_facts::{AgentId, Event, EventSeq, Millis, Record, Wall};
use holon_text::hash;

pub use otlp::line;

/// Messages whose admission is kept until they are taken up.
const WAITING: usize = 100_000;

/// A time with a name: of a turn, a request to a model, or a call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub id: [u8; 8],
    /// None for the turn itself.
    pub parent: Option<[u8; 8]>,
    pub name: String,
    /// Whether somebody else works meanwhile: a provider.
    pub client: bool,
    pub begin: Wall,
    pub end: Wall,
    pub attributes: Vec<(&'static str, Attribute)>,
    /// What went wrong, as a word.
    pub error: Option<String>,
}

/// What is known of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    Text(String),
    Number(u64),
}

/// A turn with everything in it: the turn itself comes first.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub id: [u8; 16],
    pub spans: Vec<Span>,
}

impl Trace {
    /// When the turn ended.
    pub fn ended_at(&self) -> Wall {
        self.spans.first().map_or(Wall(0), |turn| turn.end)
    }
}

/// The records of one agent, in their order. Gives a trace with the end of each turn; one without an end has none.
#[derive(Debug)]
pub struct Fold {
    agent: AgentId,
    /// With the name of the agent it stands for the agent, also in a backup or a bundle of its home.
    created_at: Wall,
    admitted: BTreeMap<MessageId, Wall>,
    turn: Option<Turn>,
}

/// A turn that has not ended.
#[derive(Debug)]
struct Turn {
    begin: Wall,
    event: EventSeq,
    waited: Option<Millis>,
    parts: Vec<Span>,
}

fn text(value: impl ToString) -> Attribute {
    Attribute::Text(value.to_string())
}

fn millis(from: Wall, to: Wall) -> Millis {
    Millis(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0) / 1_000)
}

/// So long before a moment.
fn before(end: Wall, took: Millis) -> Wall {
    Wall(end.0.saturating_sub(i64::try_from(took.0.saturating_mul(1_000)).unwrap_or(i64::MAX)))
}

fn usage(usage: TokenUsage) -> Vec<(&'static str, Attribute)> {
    vec![
        ("gen_ai.usage.input_tokens", Attribute::Number(usage.input_tokens)),
        ("gen_ai.usage.output_tokens", Attribute::Number(usage.output_tokens)),
        ("gen_ai.usage.cache_read.input_tokens", Attribute::Number(usage.cached_input_tokens)),
    ]
}

impl Fold {
    pub fn of(agent: AgentId) -> Self {
        Self { agent, created_at: Wall(0), admitted: BTreeMap::new(), turn: None }
    }

    /// The next record of the agent.
    pub fn next(&mut self, record: &Record) -> Option<Trace> {
        if let Event::Lifecycle(LifecycleFact::AgentCreated(_)) = &record.event {
            self.created_at = record.at;
        }
        if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event
            && self.admitted.len() < WAITING
        {
            self.admitted.insert(fact.message.id, record.at);
        }
        if let Event::Inbox(InboxFact::MessageProcessed(fact)) = &record.event {
            self.admitted.remove(&fact.message_id);
        }
        let Event::Turn(fact) = &record.event else { return None };
        if let TurnFact::TurnStarted(fact) = fact {
            let waited = self.admitted.get(&fact.message_id).map(|since| millis(*since, record.at));
            self.turn = Some(Turn { begin: record.at, event: record.event_seq, waited, parts: Vec::new() });
        }
        if let TurnFact::ProviderAttemptRecorded(fact) = fact {
            self.request(record, &fact.attempt, u64::from(fact.round.0));
        }
        if let TurnFact::ToolExecuted(fact) = fact {
            self.tool(record, (&fact.tool_name, &fact.call_id), &fact.receipt, fact.duration_ms);
        }
        if let TurnFact::ToolExecutionFailed(fact) = fact {
            self.tool(record, (&fact.tool_name, &fact.call_id), &fact.receipt, fact.duration_ms);
        }
        if let TurnFact::TurnTerminal(fact) = fact {
            let turn = self.turn.take()?;
            let id = self.span(turn.event);
            let mut attributes = vec![
                ("gen_ai.operation.name", text("invoke_agent")),
                ("gen_ai.agent.id", text(&self.agent)),
                ("gen_ai.agent.name", text(&self.agent)),
                ("gen_ai.conversation.id", text(&self.agent)),
                ("holon.run.id", text(fact.run_id)),
                ("holon.message.id", text(fact.message_id)),
                ("holon.turn.kind", text(fact.kind)),
                ("holon.turn.rounds", Attribute::Number(fact.rounds.into())),
            ];
            attributes.extend(turn.waited.map(|waited| ("holon.queue_wait_ms", Attribute::Number(waited.0))));
            attributes.extend(usage(fact.token_usage));
            let root = Span {
                id,
                parent: None,
                name: format!("invoke_agent {}", self.agent),
                client: false,
                begin: turn.begin,
                end: record.at,
                attributes,
                error: fact.kind.failed().then(|| fact.kind.name().to_owned()),
            };
            let named = format!("trace {} {} {}", self.created_at.0, self.agent, turn.event);
            let mut trace = [0; 16];
            trace.copy_from_slice(&hash(named.as_bytes()).0[..16]);
            let parts = turn.parts.into_iter().map(|part| Span { parent: Some(id), ..part });
            return Some(Trace { id: trace, spans: std::iter::once(root).chain(parts).collect() });
        }
        None
    }

    /// The id of what this event is about.
    fn span(&self, event: EventSeq) -> [u8; 8] {
        let named = format!("span {} {} {event}", self.created_at.0, self.agent);
        let mut span = [0; 8];
        span.copy_from_slice(&hash(named.as_bytes()).0[..8]);
        span
    }

    fn part(&mut self, span: Span) {
        if let Some(turn) = &mut self.turn {
            turn.parts.push(span);
        }
    }

    fn request(&mut self, record: &Record, attempt: &AttemptRecord, round: u64) {
        let mut attributes = vec![
            ("gen_ai.operation.name", text("chat")),
            ("gen_ai.provider.name", text(&attempt.provider)),
            ("gen_ai.request.model", text(&attempt.model_ref)),
            ("gen_ai.agent.id", text(&self.agent)),
            ("holon.round", Attribute::Number(round + 1)),
            ("holon.attempt", Attribute::Number(attempt.attempt.into())),
            ("holon.outcome", text(attempt.outcome.name())),
        ];
        attributes.extend(attempt.token_usage.into_iter().flat_map(usage));
        self.part(Span {
            id: self.span(record.event_seq),
            parent: None,
            name: format!("chat {}", attempt.model_ref),
            client: true,
            begin: attempt.started_at,
            end: attempt.completed_at,
            attributes,
            error: attempt.failure_kind.map(|kind| kind.name().to_owned()),
        });
    }

    fn tool(&mut self, record: &Record, (name, call): (&str, &str), receipt: &Receipt, took: Millis) {
        self.part(Span {
            id: self.span(record.event_seq),
            parent: None,
            name: format!("execute_tool {name}"),
            client: false,
            begin: before(record.at, took),
            end: record.at,
            attributes: vec![
                ("gen_ai.operation.name", text("execute_tool")),
                ("gen_ai.tool.name", text(name)),
                ("gen_ai.tool.call.id", text(call)),
                ("gen_ai.agent.id", text(&self.agent)),
            ],
            error: receipt.error.as_ref().map(|error| error.kind.name().to_owned()),
        });
    }
}
