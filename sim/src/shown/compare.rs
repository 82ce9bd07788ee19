//! Compares a request with what the records require it to show.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_facts::frame::{Part, PromptBlock};
use holon_facts::message::Origin;
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::terminal::TurnKind;
use holon_facts::{AgentId, MessageId, Text};

use super::talk::{Delivered, Expected, Hinted, Past, Piece, Round, Spoken};
use super::{digests, fences, images, skills, standing};
use crate::failure::{Failure, ensure, safety};

type Items<'a> = std::slice::Iter<'a, Item>;

/// Compares the whole conversation, and what the frame shows of earlier episodes.
pub(super) fn request(
    request: &ModelRequest,
    expected: &Expected,
    checked: &mut BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    let agent = &request.agent;
    let mut items = request.conversation.iter();
    for past in &expected.past {
        turn(agent, &mut items, &past.messages, &past.spoken, checked)?;
        ended(agent, &mut items, past)?;
    }
    turn(agent, &mut items, &expected.messages, &expected.spoken, checked)?;
    let left = items.next();
    ensure!(left.is_none(), "M4", "a request of {agent} shows {left:?}, which nothing on record says");
    if let Some(summary) = &expected.summary {
        *checked.entry("M6").or_default() += 1;
        let stands = digests::stands(request, summary);
        ensure!(stands, "M6", "a request of {agent} does not show what an episode came to: {summary:?}");
    }
    *checked.entry("M6").or_default() += digests::shown(request, &expected.digests)?;
    *checked.entry("M4").or_default() += 1 + standing::check(request, expected)?;
    *checked.entry("M13").or_default() += images::check(request)?;
    let along = expected.messages.iter().map(|delivered| delivered.message.skills.len() as u64);
    *checked.entry("M16").or_default() += along.sum::<u64>();
    *checked.entry("M10").or_default() += fences::check(request, expected)?;
    Ok(())
}

/// The messages of a turn, and its conversation.
fn turn(
    agent: &AgentId,
    items: &mut Items<'_>,
    messages: &[Delivered],
    spoken: &Spoken,
    checked: &mut BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    let Some(Item::User { parts }) = items.next() else {
        return Err(safety("M1", format!("a turn of {agent} begins with no message")));
    };
    input(agent, parts, messages)?;
    *checked.entry("M1").or_default() += messages.len() as u64;
    let reported = |delivered: &Delivered| (delivered.tasks.len() + delivered.hints.len()) as u64;
    *checked.entry("M9").or_default() += messages.iter().map(reported).sum::<u64>();
    conversation(agent, items, spoken, checked)
}

/// M4: the end of a turn that did not complete is shown.
fn ended(agent: &AgentId, items: &mut Items<'_>, past: &Past) -> Result<(), Failure> {
    if past.end == TurnKind::Completed {
        return Ok(());
    }
    let shown = items.next();
    let end = past.end.name();
    let shows_end = matches!(shown, Some(Item::User { parts }) if rendered(&outside(parts)).contains(end));
    ensure!(shows_end, "M4", "a turn of {agent} ended {end}, shown is {shown:?}");
    Ok(())
}

/// Headings of changes in work and environment.
const CHANGES: [&str; 8] = [
    "[your summary of an earlier part",
    "[your work items and waits now]",
    "[your execution environment now",
    "[instruction file as it is now",
    "[your memory file as it is now",
    "[files that no longer hold]",
    "[skills that are new, or are as follows now]",
    "[skills that are no longer there]",
];

/// M4: counts the parts that show changes, each under its heading and in a fence.
fn changes(parts: &[Part]) -> usize {
    let heads = |part: &Part| matches!(part, Part::Rendered(text) if CHANGES.iter().any(|head| text.starts_with(head)));
    let pairs = parts.chunks(2).take_while(|pair| matches!(pair, [head, Part::Quoted { .. }] if heads(head)));
    2 * pairs.count()
}

/// M1, M9: each message of the turn is shown once, under its heading, with what it reports.
fn input(agent: &AgentId, parts: &[Part], messages: &[Delivered]) -> Result<(), Failure> {
    let parts = &parts[changes(parts)..];
    let shown: Vec<(usize, MessageId)> =
        parts.iter().enumerate().filter_map(|(at, part)| Some((at, heading(part, "[message ")?))).collect();
    let wanted: Vec<MessageId> = messages.iter().map(|delivered| delivered.message.id).collect();
    let ids: Vec<MessageId> = shown.iter().map(|(_, id)| *id).collect();
    ensure!(ids == wanted, "M1", "a turn of {agent} is for {wanted:?}, its request shows {ids:?}");
    for (number, (delivered, (at, _))) in messages.iter().zip(&shown).enumerate() {
        let end = shown.get(number + 1).map_or(parts.len(), |(next, _)| *next);
        let parts = parts.get(*at..end).unwrap_or_default();
        message(agent, parts, delivered)?;
    }
    Ok(())
}

fn message(agent: &AgentId, parts: &[Part], delivered: &Delivered) -> Result<(), Failure> {
    let Delivered { message, tasks, hints } = delivered;
    let words = rendered(&outside(parts));
    let head = words.lines().next().unwrap_or_default();
    for name in [message.kind.name(), message.authority_class.name()] {
        ensure!(
            has_word(head, name),
            "M1",
            "{} of {agent} is shown as {head:?}, it is {message:?}",
            message.id
        );
    }
    let from = senders(&message.origin);
    let named = from.iter().any(|name| has_word(head, name));
    ensure!(named, "M1", "{} of {agent} is shown as {head:?}, it is from {from:?}", message.id);
    let all = leaves(parts);
    let text = &message.body.text;
    let bodies = all.iter().filter(|part| given(part) == Some(text)).count();
    ensure!(bodies > 0, "M1", "{} of {agent} is shown without its text", message.id);
    images::with(agent, message, parts)?;
    skills::with(agent, message, parts)?;
    for task in tasks {
        let named = words.contains(&format!("[task {task} ")) || words.contains(&format!("[task {task}]"));
        ensure!(named, "M9", "{} of {agent} tells of {task}, its request does not", message.id);
    }
    hints.iter().try_for_each(|hint| hinted(agent, &all, hint))
}

/// The senders that a heading may name.
fn senders(origin: &Origin) -> Vec<&str> {
    if let Origin::System { .. } = origin {
        return vec!["system", "supervisor", "yourself"];
    }
    vec![origin.name()]
}

/// M9: a hint is shown with its source.
fn hinted(agent: &AgentId, all: &[&Part], hinted: &Hinted) -> Result<(), Failure> {
    let Hinted { hint, body, .. } = hinted;
    let words = rendered(all);
    let named = words.contains(&hint.source) && words.contains(&hint.reason);
    ensure!(named, "M9", "a hint {hint:?} of {agent} is not shown in {words:?}");
    let is_shown = |text: &Text| all.iter().any(|part| given(part) == Some(text));
    let shown = body.as_ref().is_none_or(is_shown);
    ensure!(shown, "M9", "what {} said to {agent} is not shown: {body:?}", hint.source);
    Ok(())
}

fn conversation(
    agent: &AgentId,
    items: &mut Items<'_>,
    spoken: &Spoken,
    checked: &mut BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    let recapped = spoken.recapped;
    let mut short: Vec<&Piece> = Vec::new();
    let mut rest = spoken.pieces.iter();
    let mut rounds = 0;
    while rounds < recapped {
        let Some(piece) = rest.next() else { break };
        rounds += usize::from(matches!(piece, Piece::Round(_)));
        short.push(piece);
    }
    ensure!(rounds == recapped, "M3", "{agent} tells {recapped} rounds in short, {rounds} are on record");
    if recapped > 0 {
        recap(agent, items, &short)?;
        *checked.entry("M3").or_default() += 1;
        for piece in short {
            changed(items);
            if matches!(piece, Piece::Interjection(_)) {
                self::piece(agent, items, piece)?;
            }
        }
    }
    for piece in rest {
        changed(items);
        self::piece(agent, items, piece)?;
        let law = match piece {
            Piece::Round(_) => "M3",
            Piece::Interjection(_) => "M2",
            Piece::Hints(_) => "M9",
            Piece::Reminder(_) | Piece::Continuation => "M4",
        };
        *checked.entry(law).or_default() += 1;
    }
    changed(items);
    Ok(())
}

/// Skips changes that a continued run shows.
fn changed(items: &mut Items<'_>) {
    let only = |item: &Item| matches!(item, Item::User { parts } if !parts.is_empty() && changes(parts) == parts.len());
    while items.as_slice().first().is_some_and(only) {
        items.next();
    }
}

/// Checks the next piece of a conversation.
fn piece(agent: &AgentId, items: &mut Items<'_>, piece: &Piece) -> Result<(), Failure> {
    match piece {
        Piece::Round(expected) => round(agent, items, expected),
        Piece::Interjection(message) => {
            let shown = items.next();
            let Some(Item::User { parts }) = shown else {
                return Err(safety("M2", format!("{} of {agent} is due, shown is {shown:?}", message.id)));
            };
            let headings: Vec<MessageId> =
                parts.iter().filter_map(|part| heading(part, "[message ")).collect();
            ensure!(headings == [message.id], "M2", "{} of {agent} is due, shown is {parts:?}", message.id);
            let (text, all) = (&message.body.text, leaves(parts));
            let times = all.iter().filter(|part| given(part) == Some(text)).count();
            let words = rendered(&outside(parts));
            let class = has_word(words.lines().next().unwrap_or_default(), message.authority_class.name());
            ensure!(times == 1 && class, "M2", "{} of {agent} is shown as {parts:?}", message.id);
            skills::with(agent, message, parts)?;
            images::with(agent, message, parts)
        }
        Piece::Reminder(text) => {
            let shown = items.next();
            let is_text = |part: &&Part| matches!(part, Part::Rendered(shown) if **shown == **text);
            let same = matches!(shown, Some(Item::User { parts }) if leaves(parts).iter().any(is_text));
            ensure!(same, "M4", "{agent} is to be reminded: {text:?}, shown is {shown:?}");
            Ok(())
        }
        Piece::Continuation => {
            let shown = items.next();
            let announced = matches!(shown, Some(Item::User { parts }) if parts.iter().all(|part| matches!(part, Part::Rendered(_))));
            ensure!(announced, "M4", "{agent} goes on after an interruption, shown is {shown:?}");
            Ok(())
        }
        Piece::Hints(hints) => {
            let shown = items.next();
            let Some(Item::User { parts }) = shown else {
                return Err(safety("M9", format!("hints of {agent} are due, shown is {shown:?}")));
            };
            let all = leaves(parts);
            hints.iter().try_for_each(|hint| hinted(agent, &all, hint))
        }
    }
}

/// M3: the model's blocks, then the result of each of its calls, in order.
fn round(agent: &AgentId, items: &mut Items<'_>, expected: &Round) -> Result<(), Failure> {
    let shown = items.next();
    let same = matches!(shown, Some(Item::Assistant { blocks }) if *blocks == expected.blocks);
    ensure!(same, "M3", "{agent} said {:?}, shown is {shown:?}", expected.blocks);
    let calls: Vec<&str> = expected.calls().map(|(id, _, _)| id).collect();
    if calls.is_empty() {
        return Ok(());
    }
    let shown = items.next();
    let Some(Item::ToolResults { results }) = shown else {
        return Err(safety("M3", format!("results of {calls:?} of {agent} are due, shown is {shown:?}")));
    };
    let ids: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
    ensure!(ids == calls, "M3", "{agent} made the calls {calls:?}, shown are results of {ids:?}");
    for result in results {
        let own = expected.result(&result.call_id);
        let same = own.is_some_and(|own| **own == *result.receipt);
        ensure!(same, "M3", "{} of {agent} came to {own:?}, shown is {:?}", result.call_id, result.receipt);
    }
    Ok(())
}

/// M3: a recap shows each call of the shortened rounds with its own arguments and result, in the model's order. The
/// oldest rounds may only be counted.
fn recap(agent: &AgentId, items: &mut Items<'_>, short: &[&Piece]) -> Result<(), Failure> {
    let shown = items.next();
    let Some(Item::User { parts }) = shown else {
        return Err(safety("M3", format!("a recap of {agent} is due, shown is {shown:?}")));
    };
    let rounds: Vec<&Round> = short
        .iter()
        .filter_map(|piece| match piece {
            Piece::Round(round) => Some(round),
            Piece::Interjection(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Hints(_) => None,
        })
        .collect();
    let all = leaves(parts);
    let listed = all.iter().find_map(|part| {
        let Part::Rendered(text) = part else { return None };
        text.strip_prefix("round ")?.split_once(':')?.0.parse::<usize>().ok()
    });
    let first = listed.map_or(rounds.len(), |first| first.saturating_sub(1));
    let (counted, listed) = rounds.split_at(first.min(rounds.len()));
    let effects = digests::hidden(counted);
    let done = effects.iter().map(|(_, arguments)| (*arguments).clone());
    let due: Vec<Text> = done.chain(listed.iter().flat_map(|round| texts(round))).collect();
    let recapped: Vec<&Text> = all.iter().copied().filter_map(given).collect();
    let same = recapped.iter().copied().eq(&due);
    ensure!(same, "M3", "a recap of {agent} tells {recapped:?}, on record is {due:?}");
    let words = rendered(&all);
    let named = effects.iter().find(|(name, _)| !words.contains(&format!("- {name} ")));
    ensure!(named.is_none(), "M6", "{agent} made the call {named:?} in a round that is hidden: {words:?}");
    Ok(())
}

/// Every text of a round, in its order.
fn texts(round: &Round) -> Vec<Text> {
    let mut texts = Vec::new();
    for block in round.blocks.iter() {
        match block {
            Block::Text { text } => texts.push(text.clone()),
            Block::Reasoning { .. } => {}
            Block::ToolCall { call_id, arguments, .. } => {
                texts.push(arguments.clone());
                let Some(receipt) = round.result(call_id) else { continue };
                let error = receipt.error.as_ref().map(|error| error.message.clone());
                texts.push(error.or_else(|| receipt.content.clone()).unwrap_or_default());
            }
        }
    }
    texts
}

/// The message that a heading of the runtime names, never one in a fence.
pub(super) fn heading(part: &Part, prefix: &str) -> Option<MessageId> {
    let Part::Rendered(text) = part else { return None };
    let number = text.lines().find_map(|line| line.strip_prefix(prefix)?.strip_prefix("msg_"))?;
    number.split([' ', ']']).next()?.parse().ok().map(MessageId)
}

/// Every part, in fences or not.
pub(super) fn leaves(parts: &[Part]) -> Vec<&Part> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Rendered(_) | Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => all.push(part),
            Part::Quoted { parts, .. } => all.extend(leaves(parts)),
        }
    }
    all
}

/// The parts outside of fences.
pub(super) fn outside(parts: &[Part]) -> Vec<&Part> {
    parts.iter().filter(|part| !matches!(part, Part::Quoted { .. })).collect()
}

/// Words that the core has written, and names that it quotes.
pub(super) fn rendered(parts: &[&Part]) -> String {
    let words = parts.iter().filter_map(|part| match part {
        Part::Rendered(text) => Some(text.as_str()),
        Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } | Part::Quoted { .. } => None,
    });
    words.collect()
}

/// A text from elsewhere, whole or in part.
pub(super) fn given(part: &Part) -> Option<&Text> {
    match part {
        Part::Rendered(_) | Part::Image(_) | Part::Quoted { .. } => None,
        Part::Given(text) | Part::Excerpt { text, .. } => Some(text),
    }
}

pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.split([' ', ']', '|']).any(|other| other == word)
}

/// The last request of an agent, which the next one continues.
#[derive(Debug, Clone)]
pub(super) struct Before {
    messages: Vec<MessageId>,
    /// The messages of the turns before it, in the same episode.
    past: Vec<Vec<MessageId>>,
    /// How often an episode had closed.
    closes: u64,
    /// Number of its items that belong to earlier turns.
    over: usize,
    /// Its turn has rounds or interjected prompts.
    has_content: bool,
    /// The process has restarted since.
    restarted: bool,
    request: Arc<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    conversation: holon_facts::shared::Shared<Item>,
    system: String,
    blocks: Vec<PromptBlock>,
}

fn ids(messages: &[Delivered]) -> Vec<MessageId> {
    messages.iter().map(|delivered| delivered.message.id).collect()
}

impl Before {
    pub(super) fn of(request: &ModelRequest, expected: &Expected) -> Self {
        let frame = &request.frame;
        let blocks = frame.system_blocks.iter().chain(&frame.context_blocks).cloned().collect();
        let conversation = request.conversation.clone();
        let kept = Kept { conversation, system: frame.system_prompt.clone(), blocks };
        let first = expected.messages.first().map(|delivered| delivered.message.id);
        let begins = |item: &Item| matches!(item, Item::User { parts } if parts.iter().any(|part| heading(part, "[message ") == first));
        Self {
            messages: ids(&expected.messages),
            past: expected.past.iter().map(|past| ids(&past.messages)).collect(),
            closes: expected.closes,
            over: kept.conversation.iter().position(begins).unwrap_or_default(),
            has_content: !expected.spoken.pieces.is_empty(),
            restarted: false,
            request: Arc::new(kept),
        }
    }

    /// M3: a request for a summary shows what this request has shown, if no episode has closed since.
    pub(super) fn sums_up(
        &self,
        request: &ModelRequest,
        closes: u64,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        if self.closes != closes {
            return Ok(());
        }
        *checked.entry("M3").or_default() += 1;
        let Some((asks, shown)) = request.conversation.split_last() else {
            return Err(safety("M3", format!("{} is asked for a summary of nothing", request.agent)));
        };
        let asks = matches!(asks, Item::User { .. });
        let before = &self.request.conversation;
        let other = shown.iter().zip(before).find(|(now, before)| now != before);
        ensure!(
            asks && other.is_none(),
            "M3",
            "{} is asked to sum up another conversation: {other:?}",
            request.agent
        );
        Ok(())
    }

    pub(super) fn restarted(&mut self) {
        self.restarted = true;
    }

    /// M5, M8: the next request of the same episode begins with all of this one, in whichever turn, run and life. An
    /// interrupted turn may be laid aside: then the next request begins with the turns before it.
    pub(super) fn goes_on(
        &self,
        now: &Self,
        agent: &AgentId,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        let (before, after) = (&self.request, &now.request);
        ensure!(before.system == after.system, "M8", "{agent} has another policy than before");
        let goes_on = now.has_content && self.messages.first() == now.messages.first();
        let further = now.messages.iter().find(|id| !self.messages.contains(id));
        ensure!(
            !goes_on || further.is_none(),
            "M8",
            "a turn of {agent} goes on, and is now for {further:?}, too"
        );
        if self.closes != now.closes {
            return Ok(());
        }
        let law = if self.restarted { "M8" } else { "M5" };
        *checked.entry(law).or_default() += 1;
        if before.blocks != after.blocks {
            let (before, after) = (&before.blocks, &after.blocks);
            return Err(safety(
                law,
                format!("an episode of {agent} began with {before:?}, now with {after:?}"),
            ));
        }
        // This turn is in progress, over, or laid aside behind another one. A turn without content may have taken other
        // messages.
        let next = now.past.get(self.past.len()).unwrap_or(&now.messages);
        let whole = if *next == self.messages { before.conversation.len() } else { self.over };
        let shown = before.conversation.iter().zip(&after.conversation).position(|(one, other)| one != other);
        let shown = shown.unwrap_or_else(|| before.conversation.len().min(after.conversation.len()));
        if shown < whole {
            let (was, is) = (before.conversation.get(shown), after.conversation.get(shown));
            return Err(safety(law, format!("{agent} was shown {was:?}, and now {is:?} stands there")));
        }
        Ok(())
    }
}
