//! G2: how much of an agent's state its conversation may take.

use std::sync::Arc;

use holon_core::agent::episode::{Closed, Episodes, Turn};
use holon_core::agent::turn::Note;
use holon_facts::episode::Digest;

/// Bytes that the conversation of an agent may take: the texts of the open episode, and the kept digests of others.
pub(crate) fn talk(episodes: &Episodes) -> u64 {
    let Some(open) = &episodes.open else { return digests(episodes.closed.iter()) };
    let turns: u64 = open.turns.iter().map(|turn| texts(turn)).sum();
    let head = digests(open.head.digests.iter()) + OUTLINE * 3 + 512 * open.head.tasks.len() as u64;
    // Digests in a head are stored twice.
    turns + head + digests(episodes.closed.iter())
}

/// Bytes of work items and environment at one moment.
const OUTLINE: u64 = 8_192;

fn texts(Turn { about, conversation, .. }: &Turn) -> u64 {
    let notices = about.notices.iter().map(|notices| {
        notices.waits.len() + notices.tasks.len() + notices.hints.len() + notices.rechecks.len()
    });
    let notices: usize = notices.sum::<usize>() + 1 + about.also.len();
    let notes =
        conversation.rounds.iter().map(|round| round.notes.len()).sum::<usize>() + conversation.notes.len();
    let changes = conversation.rounds.iter().flat_map(|round| &round.notes).chain(&conversation.notes);
    let changes = 1 + changes.filter(|note| matches!(note, Note::Changed { .. })).count();
    let rounds: usize =
        conversation.rounds.iter().map(|round| 1 + round.blocks.len() + round.results.len()).sum();
    2_048 * notices as u64 + 1_024 * (notes + rounds) as u64 + 2 * OUTLINE * changes as u64
}

fn digests<'a>(closed: impl Iterator<Item = &'a Arc<Closed>>) -> u64 {
    let one = |closed: &Arc<Closed>| {
        let Digest { requests, done, others, changed_files, .. } = &closed.digest;
        8_192 + 512 * (requests.len() + done.len() + others.len() + changed_files.len()) as u64
    };
    closed.map(one).sum()
}
