//! When an episode closes (contract: context.md, Conversation and episodes): before a turn that begins something else,
//! and in the middle of one whose request would take too much, or was refused as too long.

#[cfg(test)]
mod long_turn_tests;
pub(crate) mod summary;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;

use holon_facts::Config;
use holon_facts::call::ToolName;
use holon_facts::content::Text;
use holon_facts::episode::{Compaction, EpisodeBoundary, EventSpan, TurnSpan};
use holon_facts::event::EpisodeClosed;
use holon_facts::event::episode::{CompactionRequested, Size};
use holon_facts::event::turn::{FailureArtifact, FailureCategory};
use holon_facts::ids::ReplyId;
use holon_facts::model::{Block, Item, ModelRequest};
use holon_facts::model_ref::ModelRef;

use crate::agent::Agent;
use crate::agent::episode::{Beginning, Episode, digest};
use crate::agent::turn::window::{TAIL, Window};
use crate::agent::turn::{About, Round, Run};
use crate::effect::Answer;
use crate::handler::turn::{model_round, request};
use crate::prompt::{conversation, notes};
use crate::tx::Tx;

/// A request that fits is not shortened by less than this part of what the window leaves to the conversation.
const WORTH: u64 = 3;

/// A turn is about to begin: whether it goes on with the conversation.
pub(crate) fn before_turn(tx: &mut Tx<'_>, models: &[ModelRef], tools: &Arc<[ToolName]>, fresh: bool) {
    let agent = tx.agent();
    let beginning = Beginning::new(agent, (tx.env.config, tx.now()), models, tools, fresh);
    if let Some(boundary) = agent.episodes.boundary(&beginning) {
        close(tx, boundary, None, 0);
    }
}

/// An operator wants requests to show a digest instead of the conversation so far.
pub(crate) fn compact(tx: &mut Tx<'_>, reply: ReplyId) {
    let agent = tx.agent();
    let open = agent.episodes.open.as_ref().map(|open| (open.id, open.turns.is_empty()));
    let compaction = match (open, &agent.run) {
        (Some((episode_id, false)), None) => {
            close(tx, EpisodeBoundary::Operator, None, 0);
            Compaction::Closed { episode_id }
        }
        (Some((episode_id, none_ended)), Some(run)) if !none_ended || hideable(run).1 > hideable(run).0 => {
            if !open_is_to_close(agent) {
                tx.record(CompactionRequested { episode_id });
            }
            Compaction::Requested { episode_id }
        }
        (_, _) => Compaction::Nothing,
    };
    tx.reply(reply, Answer::Compaction { compaction });
}

/// Whether an operator wants the open episode to close.
pub(crate) fn open_is_to_close(agent: &Agent) -> bool {
    agent.episodes.open.as_ref().is_some_and(|open| open.compact)
}

/// Rounds of a run that are hidden, and as many as may be.
fn hideable(run: &Run) -> (usize, usize) {
    let rounds = run.conversation.rounds.len();
    let hidden = (run.conversation.recap.rounds as usize).min(rounds);
    (hidden, rounds.saturating_sub(TAIL).max(hidden))
}

/// Records the end of the open episode.
fn close(tx: &mut Tx<'_>, boundary: EpisodeBoundary, size: Option<Size>, hidden_rounds: u32) {
    // A step back of the clock is a record of the episode, too.
    tx.follow_clock();
    let agent = tx.agent();
    let Some(open) = &agent.episodes.open else { return };
    let last = open.turns.last().map(|last| last.index);
    let turns = open.first.zip(last).map(|(first, last)| TurnSpan { first, last });
    tx.record(EpisodeClosed {
        episode_id: open.id,
        boundary,
        turns,
        events: EventSpan { first: open.since, last: agent.event_seq },
        run_id: agent.run.as_ref().map(|run| run.id),
        hidden_rounds,
        size,
        digest: digest(agent, open),
    });
}

/// Makes a request shorter that would take more than it may, or was refused: what was said in turns that are over is told
/// by a digest, and what is oldest in this one in short. False where that would not help, or frees less than `worth`.
pub(crate) fn make_room(tx: &mut Tx<'_>, size: Size, boundary: EpisodeBoundary, worth: u64) -> bool {
    let agent = tx.agent();
    let (Some(run), Some(open)) = (&agent.run, &agent.episodes.open) else { return false };
    let Some(window) = request::shown_for(agent, tx.env.config) else { return false };
    let earlier = earlier_tokens(open, window);
    let (hidden, through) = hideable(run);
    let gain = earlier.saturating_add(tokens(&run.about, &run.conversation.rounds[hidden..through]));
    let nothing = if boundary == EpisodeBoundary::Images {
        !hides_images(open, &run.conversation.rounds[hidden..through])
    } else {
        gain == 0 && !digests_shrink(agent, boundary)
    };
    if nothing || gain < worth {
        return false;
    }
    summary::begin(tx, boundary, through);
    let through = u32::try_from(through).unwrap_or(u32::MAX);
    close(tx, boundary, Some(size), through);
    true
}

/// What a model is asked to sum up where the open episode closes now.
pub(crate) fn to_sum_up(agent: &Agent, config: &Config) -> Option<ModelRequest> {
    let (_, through) = hideable(agent.run.as_ref()?);
    summary::of(agent, config, through)
}

/// After a refusal, and where requests may have less than when the episode began, digests of earlier episodes take less: that
/// alone may be enough.
fn digests_shrink(agent: &Agent, boundary: EpisodeBoundary) -> bool {
    let open = agent.episodes.open.as_ref().filter(|open| !open.head.digests.is_empty());
    open.is_some_and(|open| {
        let refused = boundary == EpisodeBoundary::Refused && !open.head.tight;
        refused || open.head.input_limit > agent.input_limit
    })
}

/// Whether fewer images are shown without the turns that are over, and without these rounds.
fn hides_images(open: &Episode, rounds: &[Round]) -> bool {
    let earlier = open.turns.iter().flat_map(|turn| turn.images());
    earlier.chain(rounds.iter().flat_map(Round::images)).next().is_some()
}

/// What a request may take, in estimated tokens.
pub(crate) struct Room {
    /// What the window has.
    pub(crate) fits: u64,
    /// What requests stay within: a part of what fits beside what each request has, and well below what a provider has
    /// refused.
    pub(crate) limit: u64,
    /// A close that frees less waits until the window is full.
    pub(crate) worth: u64,
}

/// For a request to a model that has so many tokens around its conversation.
pub(crate) fn room(tx: &Tx<'_>, run: &Run, model: &ModelRef, around: u64) -> Room {
    let ratio = tx.agent().requests.ratio(model);
    let fits = Window::of(tx.env.config, model).estimated(ratio).input;
    let fixed = request::fixed_tokens(run, around).min(fits);
    let limit = fixed.saturating_add(tx.env.config.context.compact_at.of(fits - fixed));
    let refused = run.conversation.recap.refused_at.map(|refused| refused / 4 * 3);
    match refused {
        Some(refused) => Room { fits, limit: limit.min(refused), worth: 0 },
        None => Room { fits, limit, worth: (fits - fixed) / WORTH },
    }
}

/// Why a turn ends whose request can't be made short enough.
pub(crate) fn too_long(model: &ModelRef, input: u64, limit: u64) -> FailureArtifact {
    let summary = format!(
        "the request has about {input} tokens and {limit} fit {model}; if its window is larger, say so with \
         runtime.context_window_tokens"
    );
    let mut failure =
        model_round::artifact(FailureCategory::Runtime, "context_length_exceeded", Text::short(summary));
    failure.model_ref = Some(model.clone());
    failure
}

/// What turns that are over take of a request.
fn earlier_tokens(open: &Episode, window: Window) -> u64 {
    conversation::earlier(&open.turns, window.recap()).iter().map(Item::est_tokens).sum()
}

/// Rounds as requests show them.
fn tokens(about: &About, rounds: &[Round]) -> u64 {
    rounds.iter().map(|round| round_tokens(about, round)).sum()
}

fn round_tokens(about: &About, round: &Round) -> u64 {
    let notes = round.notes.iter().flat_map(|note| notes::parts(about, (0, 0), note));
    let notes: u64 = notes.map(|part| part.est_tokens()).sum();
    let blocks: u64 = round.blocks.iter().map(Block::est_tokens).sum();
    let results: u64 = round.results.iter().flat_map(|receipt| receipt.texts()).map(Text::est_tokens).sum();
    notes.saturating_add(blocks).saturating_add(results)
}
