//! M4: what a request shows of earlier turns is what was said in them: the newest without a gap, each with its own text,
//! end, answer and calls.

use std::sync::Arc;

use holon_facts::event::turn::TurnTerminal;
use holon_facts::frame::Part;
use holon_facts::ids::TaskId;
use holon_facts::message::Message;
use holon_facts::model::ModelRequest;
use holon_facts::terminal::TurnKind;
use holon_facts::{MessageId, Text};

use super::compare::{given, heading, leaves, outside, rendered};
use super::talk::{Hinted, Piece, Said};
use crate::failure::{Failure, ensure};

/// Calls of a turn that did not complete: the last ones of many.
const CALLS: usize = 16;
/// Of so many things that a turn was told beside its message none is forgotten.
const HEARD: usize = 16;

/// A turn that is over.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    message: Arc<Message>,
    end: TurnKind,
    answer: Option<Text>,
    /// The last calls of a turn that did not complete.
    calls: Vec<(String, Text)>,
    /// What else was told in it.
    heard: Vec<Heard>,
}

/// Something that a turn was told beside the text of its message.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    name: String,
    text: Option<Text>,
}

impl Heard {
    pub(super) fn task(task: TaskId) -> Self {
        Self { name: task.to_string(), text: None }
    }

    pub(super) fn hint(hinted: &Hinted) -> Self {
        Self { name: hinted.hint.source.clone(), text: hinted.body.clone() }
    }

    pub(super) fn message(message: &Message) -> Self {
        Self { name: message.id.to_string(), text: Some(message.body.text.clone()) }
    }
}

impl Exchange {
    pub(super) fn of(message: Arc<Message>, fact: &TurnTerminal, said: &Said, mut heard: Vec<Heard>) -> Self {
        for piece in &said.pieces {
            match piece {
                Piece::Interjection(message) => heard.push(Heard::message(message)),
                Piece::Hints(hints) => heard.extend(hints.iter().map(Heard::hint)),
                Piece::Round(_) | Piece::Reminder(_) | Piece::Continuation => {}
            }
        }
        let mut calls: Vec<(String, Text)> = said
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Round(round) => Some(round),
                Piece::Interjection(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Hints(_) => None,
            })
            .flat_map(|round| {
                let done = round.calls().filter(|(id, _, _)| round.result(id).is_some());
                done.map(|(_, name, arguments)| (name.to_owned(), arguments.clone()))
            })
            .collect();
        if fact.kind == TurnKind::Completed {
            calls.clear();
        }
        calls.drain(..calls.len().saturating_sub(CALLS));
        Self { message, end: fact.kind, answer: fact.last_assistant_message.clone(), calls, heard }
    }
}

/// Compares the block of earlier messages, where there is one. Says how much of it was heard beside messages.
pub(super) fn judge(request: &ModelRequest, earlier: &[Arc<Exchange>]) -> Result<u64, Failure> {
    let mut heard = 0;
    let agent = &request.agent;
    let blocks = request.frame.context_blocks.iter().filter(|block| block.label == "recent_messages");
    let parts: Vec<&Part> = blocks.flat_map(|block| &block.parts).collect();
    let heads: Vec<(usize, MessageId)> = parts
        .iter()
        .enumerate()
        .filter_map(|(at, part)| Some((at, heading(part, "[earlier message ")?)))
        .collect();
    let shown: Vec<MessageId> = heads.iter().map(|(_, id)| *id).collect();
    let newest = &earlier[earlier.len().saturating_sub(shown.len())..];
    let due: Vec<MessageId> = newest.iter().map(|exchange| exchange.message.id).collect();
    ensure!(shown == due, "M4", "{agent} is shown the earlier messages {shown:?}, the newest are {due:?}");
    for (number, (exchange, (at, _))) in newest.iter().zip(&heads).enumerate() {
        let end = heads.get(number + 1).map_or(parts.len(), |(next, _)| *next);
        let parts: Vec<Part> = parts[*at..end].iter().map(|part| (*part).clone()).collect();
        told(request, &parts, exchange)?;
        heard += exchange.heard.len() as u64;
    }
    Ok(heard)
}

fn told(request: &ModelRequest, parts: &[Part], exchange: &Exchange) -> Result<(), Failure> {
    let Exchange { message, end, answer, calls, heard } = exchange;
    let (agent, id) = (&request.agent, message.id);
    let all = leaves(parts);
    let texts: Vec<&Text> = all.iter().copied().filter_map(given).collect();
    let words = rendered(&outside(parts));
    let named = words.contains(&format!("kind {}", message.kind))
        && words.contains(&format!("class {}", message.authority_class))
        && words.contains(&format!("ended: {end}]"));
    ensure!(named, "M4", "{id} of {agent} ended {end}, it is shown as {words:?}");
    ensure!(texts.first() == Some(&&message.body.text), "M4", "{id} of {agent} is shown with {texts:?}");
    let said = answer.is_none() || texts.last().copied() == answer.as_ref();
    ensure!(said, "M4", "{id} of {agent} was answered {answer:?}, shown is {texts:?}");
    let pairs = all.iter().zip(all.iter().skip(1));
    let shown: Vec<(String, Text)> = pairs.filter_map(|(name, arguments)| call(name, arguments)).collect();
    ensure!(shown == *calls, "M4", "{id} of {agent} made the calls {calls:?}, shown are {shown:?}");
    if heard.len() > HEARD {
        return Ok(());
    }
    let words = rendered(&all);
    for Heard { name, text } in heard {
        let said = text.as_ref().is_none_or(|text| texts.contains(&text));
        ensure!(words.contains(name) && said, "M9", "{agent} heard {name} with {id}, and forgets {text:?}");
    }
    Ok(())
}

/// A tool and what it was called with.
fn call(name: &Part, arguments: &Part) -> Option<(String, Text)> {
    let (Part::Rendered(name), Part::Excerpt { text, .. }) = (name, arguments) else { return None };
    let name =
        name.strip_suffix(' ').filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))?;
    Some((name.to_owned(), text.clone()))
}
