//! What a model makes of an episode that closes in the middle of a turn. It is asked in the same conversation, whose beginning
//! its provider has in a cache, and nothing waits for it: what comes in time is shown from then on with the digest.

use alloc::boxed::Box;
use alloc::vec::Vec;

use holon_facts::Config;
use holon_facts::config::SummaryBy;
use holon_facts::content::Text;
use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::episode::EpisodeSummarized;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::ids::OpId;
use holon_facts::model::{
    AnswerBlock, AttemptFailure, AttemptOutcome, AttemptRecord, FailureKind, Item, ModelAnswer, ModelRequest,
    StopReason, Timing,
};
use holon_facts::time::Millis;

use crate::agent::Agent;
use crate::agent::episode::Summarizing;
use crate::agent::turn::window::Window;
use crate::effect::Work;
use crate::handler::budget;
use crate::handler::turn::request;
use crate::prompt::{self, conversation};
use crate::tx::{Opening, Tx};

/// A summary that takes longer comes too late.
const TIMEOUT: Millis = Millis::seconds(30);
/// How much longer than the shell the core waits for it.
const PATIENCE: Millis = Millis::seconds(5);
/// Tokens that the answer may take, thoughts included.
const OUTPUT: u64 = 4_000;
/// Tokens of what is left out below which its digest says enough: so many, or one in so many of what fits the model.
const WORTH: (u64, u64) = (4_000, 4);

/// An episode is about to close, and the first `through` rounds of the turn are not shown any more: where a model is to sum
/// that up, and a budget covers it together with the turn's own next request, it is asked.
pub(super) fn begin(tx: &mut Tx<'_>, boundary: EpisodeBoundary, through: usize) {
    let agent = tx.agent();
    let asked = match boundary {
        EpisodeBoundary::Size | EpisodeBoundary::Refused => tx.env.config.context.summary,
        EpisodeBoundary::Focus
        | EpisodeBoundary::Rest
        | EpisodeBoundary::Surface
        | EpisodeBoundary::Cap
        | EpisodeBoundary::Images
        | EpisodeBoundary::Operator => SummaryBy::Facts,
    };
    if asked == SummaryBy::Facts || agent.episodes.summarizing.is_some() {
        return;
    }
    let Some(run_id) = agent.run.as_ref().map(|run| run.id) else { return };
    let Some(request) = of(agent, tx.env.config, through) else { return };
    let est_tokens = prompt::est_tokens(&request);
    let own = Window::of(tx.env.config, &request.model);
    let worth = WORTH.0.min(own.input / WORTH.1);
    if request.conversation.iter().map(Item::est_tokens).sum::<u64>() < worth {
        return;
    }
    let record = request::on_record(agent, tx.env.config, (est_tokens, &request));
    let tokens = record.size.tokens();
    let (wanted, sent) = budget::estimate(tx, &request.model, tokens, request.max_output_tokens);
    let (beside, _) = budget::estimate(tx, &request.model, own.input, own.output);
    if !record.size.fits() || !budget::covers(tx, wanted.plus(beside)) {
        return;
    }
    let opening = Opening {
        request: Some(Box::new(record)),
        ..Opening::new(OpKind::Summarize, Millis(TIMEOUT.0.saturating_add(PATIENCE.0)))
    };
    let op = tx.open(opening, Work::Summarize { request });
    budget::reserve(tx, run_id, op, (wanted, sent));
}

/// The request for a summary: what is not shown any more, and what is asked of it.
pub(crate) fn of(agent: &Agent, config: &Config, through: usize) -> Option<ModelRequest> {
    let mut request = request::of(agent, config)?;
    let run = agent.run.as_ref()?;
    let recap = request::shown_for(agent, config)?.recap();
    request.conversation = conversation::to_sum_up(agent.episodes.turns(), run, recap, through);
    request.rounds = u32::try_from(through).unwrap_or(u32::MAX);
    request.max_output_tokens = request.max_output_tokens.min(OUTPUT);
    request.timeout = TIMEOUT;
    request.continues = Vec::new();
    request.goes_on_from = None;
    request.sums_up = true;
    Some(request)
}

/// The model has answered.
pub(crate) fn answered(tx: &mut Tx<'_>, op: OpId, answer: ModelAnswer) {
    budget::answered(tx, op, &answer);
    let Some(asked) = tx.agent().episodes.summarizing.clone() else { return tx.settle(op, Settlement::Done) };
    tx.settle(op, Settlement::Done);
    let summary = answer_text(&answer);
    let mut attempt = attempt(&asked, answer.timing);
    attempt.token_usage = Some(answer.usage);
    attempt.delivery.clone_from(&answer.delivery);
    if summary.is_none() {
        attempt.outcome = AttemptOutcome::FailFastAborted;
        attempt.failure_kind = Some(FailureKind::InvalidResponse);
        attempt.message = Some(Text::short("the answer has no text that could stand for the conversation"));
    }
    ended(tx, op, asked, attempt, summary);
}

/// What the model has written; calls count for nothing.
fn answer_text(answer: &ModelAnswer) -> Option<Text> {
    let refused = match answer.stop {
        StopReason::Refusal | StopReason::ContentFilter | StopReason::Other => true,
        StopReason::EndTurn | StopReason::ToolUse | StopReason::MaxOutput | StopReason::Pause => false,
    };
    let texts = answer.blocks.iter().filter_map(|block| match block {
        AnswerBlock::Text { text: Text::Inline(text) } if text.trim().is_empty() => None,
        AnswerBlock::Text { text } => Some(text),
        AnswerBlock::Reasoning { .. } | AnswerBlock::ToolCall(_) => None,
    });
    texts.rev().find(|_| !refused).cloned()
}

/// The attempt has failed: the digest stands alone.
pub(crate) fn failed(tx: &mut Tx<'_>, op: OpId, failure: &AttemptFailure) {
    budget::failed(tx, op, failure);
    not_made(tx, op, Settlement::Failed, failure);
}

/// Nothing came of it.
pub(crate) fn given_up(tx: &mut Tx<'_>, op: OpId, settlement: Settlement, message: Text) {
    let failure = AttemptFailure::unanswered(message, tx.now());
    not_made(tx, op, settlement, &failure);
}

fn not_made(tx: &mut Tx<'_>, op: OpId, settlement: Settlement, failure: &AttemptFailure) {
    let asked = tx.agent().episodes.summarizing.clone();
    tx.settle(op, settlement);
    let Some(asked) = asked else { return };
    let mut attempt = attempt(&asked, failure.timing);
    attempt.failed(failure, AttemptOutcome::FailFastAborted);
    ended(tx, op, asked, attempt, None);
}

/// The agent does nothing any more: what is on its way is not wanted.
pub(crate) fn cancel(tx: &mut Tx<'_>) -> Option<OpId> {
    let op = tx.agent().episodes.summarizing.as_ref()?.op;
    tx.cancel(op, Settlement::Cancelled);
    Some(op)
}

fn ended(tx: &mut Tx<'_>, op: OpId, asked: Summarizing, attempt: AttemptRecord, summary: Option<Text>) {
    let Summarizing { episode_id, run_id, .. } = asked;
    tx.record(EpisodeSummarized { episode_id, op, run_id, attempt, summary });
}

/// The only one.
fn attempt(asked: &Summarizing, timing: Timing) -> AttemptRecord {
    AttemptRecord::new(asked.model.clone(), (1, 1), timing)
}
