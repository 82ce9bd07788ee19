//! What a turn is told of the turns before it: messages, what else was told with them, and what the agent answered.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;
use holon_facts::ids::MessageId;

use super::fence::line;
use super::incoming::{NAME_BYTES, names, sender};
use super::sections::{PromptFacts, shortened};
use crate::agent::history::{Done, Exchange, Heard};

/// Characters of an earlier message, or of the answer to it, that a prompt shows.
const TEXT_CHARS: u32 = 8_000;
/// Characters of all else that was told with it.
const HEARD_CHARS: u32 = 4_000;
/// Characters of a call's arguments.
const CALL_CHARS: u32 = 300;

/// The newest earlier messages that fit, the oldest of them first.
pub(crate) fn recent_messages(facts: &PromptFacts<'_>, tokens: u64) -> Vec<Vec<Part>> {
    let PromptFacts { agent, limits, fence, .. } = *facts;
    let mut left = tokens;
    let mut shown = Vec::new();
    let Some(newest) = agent.history.exchanges.back().map(|newest| newest.message_id) else {
        return Vec::new();
    };
    for exchange in agent.history.exchanges.iter().rev().take(limits.recent_messages as usize) {
        let parts = recent(exchange, newest, fence);
        let size = parts.iter().map(Part::est_tokens).sum();
        let Some(rest) = left.checked_sub(size) else { break };
        left = rest;
        shown.push(parts);
    }
    let parts: Vec<Part> = shown.into_iter().rev().flatten().collect();
    if parts.is_empty() { Vec::new() } else { alloc::vec![parts] }
}

fn recent(exchange: &Exchange, newest: MessageId, fence: Fence) -> Vec<Part> {
    let place = Place::Earlier(newest);
    let from =
        exchange.from.as_ref().map_or_else(String::new, |from| format!("from {} | ", sender(&from.origin)));
    let heading = format!(
        "[earlier message {} | kind {} | {from}class {} | received {}]\n",
        exchange.message_id, exchange.kind, exchange.authority_class, exchange.at
    );
    let ended = Part::Rendered(format!("[your turn ended: {}]\n", exchange.end));
    let mut parts = alloc::vec![Part::Rendered(heading), fence.quoted(place, said(exchange)), ended];
    let mut answer = Vec::new();
    if !exchange.calls.is_empty() {
        parts.push(Part::Rendered("[its last calls, whose results you did not report:]\n".into()));
    }
    for Done { tool_name, arguments, failed } in &exchange.calls {
        answer.push(Part::Rendered(format!("{} ", line(tool_name, NAME_BYTES))));
        answer.push(Part::Excerpt { text: arguments.clone(), chars: CALL_CHARS });
        let outcome = failed.map_or_else(|| " (done)\n".into(), |kind| format!(" (failed: {kind})\n"));
        answer.push(Part::Rendered(outcome));
    }
    answer.extend(exchange.answer.as_ref().map(|text| shortened(text, TEXT_CHARS)));
    parts.extend((!answer.is_empty()).then(|| fence.quoted(place, answer)));
    parts
}

/// The message with its names, and what else was told.
fn said(exchange: &Exchange) -> Vec<Part> {
    let names = exchange.from.as_ref().map_or_else(String::new, |from| {
        names(&from.origin, &from.source_refs, from.correlation_id.as_deref())
    });
    let mut parts = Vec::new();
    if !names.is_empty() {
        parts.push(Part::Rendered(names + "\n"));
    }
    parts.push(shortened(&exchange.text, TEXT_CHARS));
    let each = HEARD_CHARS / u32::try_from(exchange.heard.len().max(1)).unwrap_or(u32::MAX);
    for heard in &exchange.heard {
        parts.push(Part::Rendered(format!("\n{}", about(heard))));
        parts.extend(heard.text().map(|text| shortened(text, each)));
    }
    parts
}

fn about(heard: &Heard) -> String {
    let name = |text: &str| line(text, NAME_BYTES);
    match heard {
        Heard::Hint { source, reason, resource, .. } => {
            let about = resource.as_ref().map_or_else(String::new, |it| format!(", about {}", name(it)));
            format!("hint of {}{about}: {}\n", name(source), name(reason))
        }
        Heard::Task { task_id, status, summary, .. } => format!("{task_id} {status}: {}\n", name(summary)),
        Heard::Message { message_id, kind, .. } => format!("with it {message_id}, a {kind}:\n"),
        Heard::Interjection { message_id, .. } => format!("then {message_id}, the operator interjected:\n"),
    }
}
