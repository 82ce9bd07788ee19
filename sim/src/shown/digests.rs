//! M6: the digest of a closed episode names the requests and the effects of the episode, as recorded; a request shows
//! that digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_facts::episode::{Digest, Done};
use holon_facts::frame::Part;
use holon_facts::ids::EpisodeId;
use holon_facts::message::{Message, Origin};
use holon_facts::model::{Item, ModelRequest};
use holon_facts::provenance::MessageKind;
use holon_facts::receipt::{SelfCall, TaskCall, ToolErrorKind, Verdict, WorkCall};
use holon_facts::subsystem::SUPERVISOR;
use holon_facts::{AgentId, MessageId, Text, Wall};

use super::compare::{given, leaves, outside, rendered};
use super::talk::{Past, Piece, Round};
use crate::failure::{Failure, ensure};

/// An episode that is over.
#[derive(Debug, Clone)]
pub(super) struct Over {
    pub(super) id: EpisodeId,
    pub(super) digest: Digest,
    pub(super) summary: Option<Text>,
    /// Its summary had come before the open episode began.
    pub(super) in_head: bool,
}

/// So many requests and calls are never left out.
const KEPT: usize = 16;

/// Compares a recorded digest with the turns that ended in its episode.
pub(super) fn recorded(agent: &AgentId, digest: &Digest, turns: &[Arc<Past>]) -> Result<u64, Failure> {
    let asked: Vec<(MessageId, Wall, &Text)> = turns.iter().flat_map(|turn| asked(turn)).collect();
    let newest = &asked[asked.len().saturating_sub(KEPT)..];
    let shown: Vec<(MessageId, Wall, &Text)> =
        digest.requests.iter().map(|request| (request.message_id, request.at, &request.text)).collect();
    ensure!(shown == newest, "M6", "{agent} was asked {newest:?}, a digest says {shown:?}");
    let mut done: Vec<(&str, &Text)> = Vec::new();
    let mut made: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, arguments) in turns.iter().flat_map(|turn| &turn.spoken.pieces).flat_map(effects) {
        *made.entry(name).or_default() += 1;
        if !done.contains(&(name, arguments)) {
            done.push((name, arguments));
        }
    }
    if digest.more_done == 0 {
        let named = |(name, arguments): &&(&str, &Text)| {
            digest.done.iter().any(|done| done.tool_name == *name && done.arguments == **arguments)
        };
        let left = done.iter().find(|done| !named(done));
        ensure!(left.is_none(), "M6", "{agent} made the call {left:?}, a digest does not name it");
        for (name, times) in made {
            let shown = digest.done.iter().filter(|done| done.tool_name == name);
            let shown: u32 = shown.map(|done| done.times).sum();
            ensure!(shown == times, "M6", "{agent} called {name} {times} times, a digest says {shown}");
        }
    }
    let end = turns.last().map(|turn| turn.end);
    ensure!(digest.end == end, "M6", "the last turn of {agent} ended {end:?}, a digest says {digest:?}");
    Ok(turns.len() as u64)
}

/// Messages of operators and supervisors in a turn.
fn asked(turn: &Past) -> Vec<(MessageId, Wall, &Text)> {
    let first = turn.messages.iter().map(|shown| &shown.message).filter(|message| defines(message));
    let later = turn.spoken.pieces.iter().filter_map(|piece| match piece {
        Piece::Interjection(message) => Some(message),
        Piece::Round(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Hints(_) => None,
    });
    first.chain(later).map(|message| (message.id, message.created_at, &message.body.text)).collect()
}

fn defines(message: &Message) -> bool {
    let supervisor = matches!(&message.origin, Origin::System { subsystem } if subsystem == SUPERVISOR);
    message.kind == MessageKind::OperatorPrompt || supervisor
}

/// Calls of a round that have a result, and change something.
fn effects(piece: &Piece) -> Vec<(&str, &Text)> {
    let Piece::Round(round) = piece else { return Vec::new() };
    let called = round.calls().zip(round.verdicts.iter());
    let called = called.filter(|((id, _, _), verdict)| round.result(id).is_some() && changes(verdict));
    called.map(|((_, name, arguments), _)| (name, arguments)).collect()
}

fn changes(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Refused(_) => false,
        Verdict::Accepted(tool) => {
            !["ViewImage", "MemorySearch", "MemoryGet", "ToolSearch"].contains(&tool.as_str())
        }
        Verdict::OnTask(call) => match call {
            TaskCall::List | TaskCall::Status { .. } | TaskCall::Output { .. } => false,
            TaskCall::Input { .. } | TaskCall::Stop { .. } => true,
        },
        Verdict::OnWork(call) => match call {
            WorkCall::Get { .. } | WorkCall::List { .. } => false,
            WorkCall::Create { .. }
            | WorkCall::Pick { .. }
            | WorkCall::Update { .. }
            | WorkCall::Complete { .. } => true,
        },
        Verdict::OnSelf(call) => match call {
            SelfCall::Get { .. } => false,
            SelfCall::Enqueue { .. }
            | SelfCall::Notify { .. }
            | SelfCall::Sleep { .. }
            | SelfCall::Wait(_)
            | SelfCall::Spawn(_)
            | SelfCall::Workspace(_) => true,
        },
    }
}

/// The effects of rounds that a recap does not list: each call that changed something, merged where it is the same.
pub(super) fn hidden<'a>(rounds: &[&'a Round]) -> Vec<(&'a str, &'a Text)> {
    let mut done: Vec<(&str, &Text, Option<i32>, Option<ToolErrorKind>)> = Vec::new();
    for round in rounds {
        for ((id, name, arguments), verdict) in round.calls().zip(round.verdicts.iter()) {
            let Some(receipt) = round.result(id).filter(|_| changes(verdict)) else { continue };
            let failed = receipt.error.as_ref().map(|error| error.kind);
            let made = (name, arguments, receipt.facts.exit_status, failed);
            if !done.contains(&made) {
                done.push(made);
            }
        }
    }
    done.into_iter().map(|(name, arguments, _, _)| (name, arguments)).collect()
}

/// Checks the earlier episodes in a request: each shows its own texts, in order; the newest that fit are shown.
pub(super) fn shown(request: &ModelRequest, digests: &[Over]) -> Result<u64, Failure> {
    let agent = &request.agent;
    let blocks = request.frame.context_blocks.iter().filter(|block| block.label == "earlier_episodes");
    let parts: Vec<Part> = blocks.flat_map(|block| &block.parts).cloned().collect();
    let words = rendered(&outside(&parts));
    let named: Vec<EpisodeId> =
        words.lines().filter_map(|line| line.split(" | ").nth(1)?.parse().ok()).collect();
    let texts = parts.iter().filter(|part| matches!(part, Part::Quoted { .. }));
    let mut count = 0;
    for (id, quoted) in named.iter().zip(texts) {
        let Some(Over { digest, summary, in_head, .. }) = digests.iter().find(|over| over.id == *id) else {
            return Err(crate::failure::safety(
                "M6",
                format!("{agent} is shown {id}, which is not on record"),
            ));
        };
        let quoted = std::slice::from_ref(quoted);
        let mut shown: Vec<&Text> = leaves(quoted).into_iter().filter_map(given).collect();
        let summary = summary.as_ref().filter(|_| *in_head);
        let summed_up = summary.is_none_or(|summary| shown.pop() == Some(summary));
        ensure!(summed_up, "M6", "{agent} is shown {shown:?} of {id}, and not what it came to: {summary:?}");
        let mut due = texts_of(digest);
        let own = shown.iter().all(|text| due.any(|due| due == *text));
        ensure!(own, "M6", "{agent} is shown {shown:?} of {id}, on record is {digest:?}");
        let last = digest.last_text.is_none() || shown.last().copied() == digest.last_text.as_ref();
        ensure!(last, "M6", "{agent} said last {:?} in {id}, shown is {shown:?}", digest.last_text);
        count += 1;
    }
    let newest = digests.last().map(|over| over.id);
    ensure!(named.is_sorted(), "M6", "{agent} is shown the episodes {named:?}");
    ensure!(
        named.is_empty() || named.last().copied() == newest,
        "M6",
        "{agent} is shown the episodes {named:?}, the newest is {newest:?}"
    );
    Ok(count)
}

/// Whether a request shows a text, among earlier episodes or in the conversation.
pub(super) fn stands(request: &ModelRequest, text: &Text) -> bool {
    let frame = request.frame.context_blocks.iter().flat_map(|block| &block.parts);
    let parts_of = request.conversation.iter().flat_map(|item| match item {
        Item::User { parts } => parts.as_slice(),
        Item::Assistant { .. } | Item::ToolResults { .. } => &[],
    });
    let parts: Vec<Part> = frame.chain(parts_of).cloned().collect();
    leaves(&parts).into_iter().any(|part| given(part) == Some(text))
}

fn texts_of(digest: &Digest) -> impl Iterator<Item = &Text> {
    let requests = digest.requests.iter().map(|request| &request.text);
    requests.chain(digest.done.iter().map(|Done { arguments, .. }| arguments)).chain(&digest.last_text)
}
