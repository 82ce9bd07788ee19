//! What a request says after its frame: the turns of the episode as they were, then the turn in progress. Whatever was
//! said once is said in the same words again, so each request begins with all of the one before.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use holon_facts::frame::Part;
use holon_facts::model::{CallResult, Item};
use holon_facts::shared::Shared;
use holon_facts::terminal::TurnKind;

use super::{changes, images, incoming, notes, policy, recap, worded_parts};
use crate::agent::episode::Turn;
use crate::agent::turn::{About, Conversation, Note, Round, Run};

/// All of it; a summary of hidden rounds takes about so many tokens.
pub(crate) fn items(turns: &[Arc<Turn>], run: &Run, recap: u64) -> Shared<Item> {
    until(turns, run, recap, usize::MAX).into()
}

/// What turns before this one said, and this one up to that round where it is told in short from there on; and what is asked
/// of a model that sums it up.
pub(crate) fn to_sum_up(turns: &[Arc<Turn>], run: &Run, recap: u64, round: usize) -> Shared<Item> {
    let shortens = round > run.conversation.recap.rounds as usize;
    let mut items = if shortens { until(turns, run, recap, round) } else { earlier(turns, recap) };
    images::bound(&mut items);
    let asks = alloc::vec![Part::Rendered(policy::SUM_UP.into())];
    items.push(Item::User { parts: worded_parts(asks) });
    items.into()
}

fn until(turns: &[Arc<Turn>], run: &Run, recap: u64, round: usize) -> Vec<Item> {
    let mut items = earlier(turns, recap);
    turn(&mut items, &run.about, &run.conversation, (recap, round));
    images::bound(&mut items);
    items
}

/// The turns that are over.
pub(crate) fn earlier(turns: &[Arc<Turn>], recap: u64) -> Vec<Item> {
    let mut items = Vec::new();
    for turn in turns {
        begin(&mut items, &turn.about, &turn.conversation, recap);
        end(&mut items, turn, 0);
    }
    items
}

/// The input, a summary of the rounds that are hidden, then rounds, each call followed by its result. Rounds from `until` on
/// are left out.
fn turn(items: &mut Vec<Item>, about: &About, conversation: &Conversation, (room, until): (u64, usize)) {
    begin(items, about, conversation, room);
    let all = conversation.rounds.len();
    rounds(items, about, conversation, 0..until.min(all));
    if until > all {
        since(items, about, conversation);
    }
}

/// What a turn is for, and in short what is not shown of it any more.
pub(super) fn begin(items: &mut Vec<Item>, about: &About, conversation: &Conversation, room: u64) {
    items.push(Item::User { parts: input(about) });
    let hidden = hidden(conversation);
    if hidden > 0 {
        items.push(Item::User { parts: recap::recap(&conversation.rounds[..hidden], room, about.fence) });
    }
}

/// A turn that is over, from this round on.
pub(super) fn end(items: &mut Vec<Item>, Turn { about, conversation, end, .. }: &Turn, from: usize) {
    rounds(items, about, conversation, from..conversation.rounds.len());
    since(items, about, conversation);
    if *end != TurnKind::Completed {
        let ended = alloc::vec![Part::Rendered(format!("[this turn of yours ended: {end}]\n"))];
        items.push(Item::User { parts: worded_parts(ended) });
    }
}

/// Some of its rounds. What an operator interjected is always whole.
pub(super) fn rounds(items: &mut Vec<Item>, about: &About, conversation: &Conversation, of: Range<usize>) {
    let (hidden, first) = (hidden(conversation), of.start);
    for (at, round) in (first..).zip(&conversation.rounds[of]) {
        if at < hidden {
            interjections(items, about, at, &round.notes, Note::lasts);
        } else {
            interjections(items, about, at, &round.notes, |_| true);
            items.push(Item::Assistant { blocks: round.blocks.clone() });
            results(items, round);
        }
    }
}

/// What came since its last round.
pub(super) fn since(items: &mut Vec<Item>, about: &About, conversation: &Conversation) {
    interjections(items, about, conversation.rounds.len(), &conversation.notes, |_| true);
}

fn hidden(conversation: &Conversation) -> usize {
    (conversation.recap.rounds as usize).min(conversation.rounds.len())
}

/// What a turn is for, and what changed before it.
pub(crate) fn input(about: &About) -> Vec<Part> {
    let mut parts = changes::parts(&about.changes, about.fence, about.incoming.id);
    for (message, notice) in core::iter::once(&about.incoming).chain(&about.also).zip(&about.notices) {
        parts.extend((!parts.is_empty()).then(|| Part::Rendered("\n".into())));
        parts.extend(incoming::current_input(message, notice, about.fence));
    }
    parts
}

/// What was said before a round, as far as it is still shown.
fn interjections(
    items: &mut Vec<Item>,
    about: &About,
    round: usize,
    notes: &[Note],
    shown: fn(&Note) -> bool,
) {
    let notes = notes.iter().enumerate().filter(|(_, note)| shown(note));
    items.extend(notes.map(|(at, note)| Item::User { parts: notes::parts(about, (round, at), note) }));
}

fn results(items: &mut Vec<Item>, round: &Round) {
    let results: Vec<CallResult> = round
        .calls()
        .zip(&round.results)
        .map(|((call_id, _, _), receipt)| CallResult::new(call_id, receipt.clone()))
        .collect();
    if !results.is_empty() {
        items.push(Item::ToolResults { results });
    }
}
