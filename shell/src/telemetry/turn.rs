//! One turn as a trace: its requests to models and its calls of tools are parts of it.

use std::collections::BTreeMap;

use holon_facts::event::turn::{AssistantRoundRecorded, TurnTerminal};
use holon_facts::model::{AttemptRecord, Block};
use holon_facts::receipt::Receipt;
use holon_facts::{EventSeq, Millis, Record, Wall};

use super::attribute::{Attribute, text, usage};
use super::{Contents, Ids, Link, Span, Trace};

/// Requests and calls of one turn that have spans; further ones are counted.
const PARTS: usize = 4_096;

/// A turn that has not ended.
#[derive(Debug)]
pub(super) struct Turn {
    begin: Wall,
    /// The event that began it.
    pub(super) began: EventSeq,
    /// What it is about, where texts are wanted.
    message: Option<String>,
    /// The turn that began the task whose result it is about.
    result_of: Option<Link>,
    waited: Option<Millis>,
    parts: Vec<Span>,
    left_out: u64,
    /// Arguments of calls without a result, where texts are wanted.
    arguments: BTreeMap<String, String>,
}

fn millis(from: Wall, to: Wall) -> Millis {
    Millis(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0) / 1_000)
}

/// So long before a moment.
fn before(end: Wall, took: Millis) -> Wall {
    Wall(end.0.saturating_sub(i64::try_from(took.0.saturating_mul(1_000)).unwrap_or(i64::MAX)))
}

impl Turn {
    pub(super) fn begin(
        record: &Record,
        admitted: Option<Wall>,
        message: Option<String>,
        result_of: Option<Link>,
    ) -> Self {
        Self {
            begin: record.at,
            began: record.event_seq,
            message,
            result_of,
            waited: admitted.map(|since| millis(since, record.at)),
            parts: Vec::new(),
            left_out: 0,
            arguments: BTreeMap::new(),
        }
    }

    fn part(&mut self, span: Span) {
        if self.parts.len() < PARTS {
            self.parts.push(span);
        } else {
            self.left_out += 1;
        }
    }

    /// An attempt at a model.
    pub(super) fn request(&mut self, ids: &Ids, record: &Record, attempt: &AttemptRecord, round: u64) {
        let mut attributes = vec![
            ("gen_ai.operation.name", text("chat")),
            ("gen_ai.provider.name", text(&attempt.provider)),
            ("gen_ai.request.model", text(&attempt.model_ref)),
            ("gen_ai.agent.id", text(&ids.agent)),
            ("holon.round", Attribute::Number(round + 1)),
            ("holon.attempt", Attribute::Number(attempt.attempt.into())),
            ("holon.outcome", text(attempt.outcome.name())),
        ];
        attributes.extend(attempt.token_usage.into_iter().flat_map(usage));
        self.part(Span {
            id: ids.span(record.event_seq),
            parent: None,
            name: format!("chat {}", attempt.model_ref),
            client: true,
            begin: attempt.started_at,
            end: attempt.completed_at,
            attributes,
            links: Vec::new(),
            error: attempt.failure_kind.map(|kind| kind.name().to_owned()),
        });
    }

    /// What the last attempt has brought.
    pub(super) fn answered(&mut self, fact: &AssistantRoundRecorded, contents: &Contents) {
        let chat = self.parts.iter_mut().rev().find(|part| part.client);
        if let Some(chat) = chat.filter(|chat| chat.error.is_none()) {
            let reasons = Attribute::Texts(vec![fact.stop_reason.name().to_owned()]);
            chat.attributes.push(("gen_ai.response.finish_reasons", reasons));
            let said = contents.answer(&fact.blocks, fact.stop_reason);
            chat.attributes.extend(said.map(|said| ("gen_ai.output.messages", text(said))));
        }
        for block in fact.blocks.iter() {
            if let Block::ToolCall { call_id, arguments, .. } = block
                && let Some(arguments) = contents.text(arguments)
                && self.arguments.len() < PARTS
            {
                self.arguments.insert(call_id.clone(), arguments);
            }
        }
    }

    /// A call of a tool, with its result.
    pub(super) fn tool(
        &mut self,
        ids: &Ids,
        record: &Record,
        (name, call, took): (&str, &str, Millis),
        receipt: &Receipt,
        contents: &Contents,
    ) {
        let mut attributes = vec![
            ("gen_ai.operation.name", text("execute_tool")),
            ("gen_ai.tool.name", text(name)),
            ("gen_ai.tool.call.id", text(call)),
            ("gen_ai.agent.id", text(&ids.agent)),
        ];
        let arguments = self.arguments.remove(call);
        attributes.extend(arguments.map(|arguments| ("gen_ai.tool.call.arguments", text(arguments))));
        let result = receipt.content.as_ref().or(receipt.error.as_ref().map(|error| &error.message));
        let result = result.and_then(|result| contents.text(result));
        attributes.extend(result.map(|result| ("gen_ai.tool.call.result", text(result))));
        self.part(Span {
            id: ids.span(record.event_seq),
            parent: None,
            name: format!("execute_tool {name}"),
            client: false,
            begin: before(record.at, took),
            end: record.at,
            attributes,
            links: Vec::new(),
            error: receipt.error.as_ref().map(|error| error.kind.name().to_owned()),
        });
    }

    /// The turn is over.
    pub(super) fn end(self, ids: &Ids, record: &Record, fact: &TurnTerminal) -> Trace {
        let Link { trace, span } = ids.turn(self.began);
        let mut attributes = vec![
            ("gen_ai.operation.name", text("invoke_agent")),
            ("gen_ai.agent.id", text(&ids.agent)),
            ("gen_ai.agent.name", text(&ids.agent)),
            ("gen_ai.conversation.id", text(&ids.agent)),
            ("holon.run.id", text(fact.run_id)),
            ("holon.message.id", text(fact.message_id)),
            ("holon.turn.kind", text(fact.kind)),
            ("holon.turn.rounds", Attribute::Number(fact.rounds.into())),
        ];
        attributes.extend(self.waited.map(|waited| ("holon.queue_wait_ms", Attribute::Number(waited.0))));
        let left_out = Some(self.left_out).filter(|left_out| *left_out > 0);
        attributes.extend(left_out.map(|count| ("holon.spans_left_out", Attribute::Number(count))));
        attributes.extend(self.message.map(|said| ("gen_ai.input.messages", text(said))));
        attributes.extend(usage(fact.token_usage));
        let root = Span {
            id: span,
            parent: None,
            name: format!("invoke_agent {}", ids.agent),
            client: false,
            begin: self.begin,
            end: record.at,
            attributes,
            links: self.result_of.into_iter().collect(),
            error: fact.kind.failed().then(|| fact.kind.name().to_owned()),
        };
        let parts = self.parts.into_iter().map(|part| Span { parent: Some(span), ..part });
        Trace { id: trace, spans: std::iter::once(root).chain(parts).collect() }
    }
}
