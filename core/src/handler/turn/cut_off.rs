//! Rounds without tool calls that are no real end (contract: decisions.md 32): an answer that was cut off is continued
//! in further rounds, a bounded number in a row; anything else fails the turn, with a reason of its own.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::event::turn::{FailureArtifact, FailureCategory, ReminderInjected, ReminderKind};
use holon_facts::model::RoundEnd;
use holon_facts::terminal::TurnReason;

use crate::agent::turn::{Note, Round, Run};
use crate::handler::turn::end::{End, end as end_run};
use crate::handler::turn::model_round;
use crate::prompt;
use crate::tx::Tx;

/// Bytes of what the model said that the failure repeats.
const EXCERPT: usize = 160;

/// The last rounds, as far as the next answer continues them: cut off, and without a word of an operator since.
pub(super) fn continued(run: &Run) -> &[Round] {
    let speaks = |notes: &[Note]| {
        notes.iter().any(|note| match note {
            Note::Interjection { .. } => true,
            Note::Reminder { .. } | Note::Hints { .. } | Note::Continuation | Note::Changed { .. } => false,
        })
    };
    let (mut from, mut after) = (run.conversation.rounds.len(), &run.conversation.notes);
    for (at, round) in run.conversation.rounds.iter().enumerate().rev() {
        if !round.end.is_some_and(RoundEnd::continues) || speaks(after) {
            break;
        }
        (from, after) = (at, &round.notes);
    }
    run.conversation.rounds.get(from..).unwrap_or_default()
}

/// The texts that the next answer continues.
pub(super) fn texts(run: &Run) -> Vec<Text> {
    continued(run).iter().flat_map(Round::texts).cloned().collect()
}

/// Whether the answer was continued as often as it may be.
pub(super) fn is_enough(tx: &Tx<'_>, run: &Run) -> bool {
    continued(run).len() > tx.env.config.turn.continuations as usize
}

/// Asks the model to continue an answer that was cut off.
pub(super) fn remind(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let Some(round) = continued(run).last() else { return };
    let (text, kind) = (prompt::reminders::continuation(round), ReminderKind::Continuation);
    let (run_id, round) = (run.id, run.conversation.next_round());
    tx.record(ReminderInjected { run_id, round, kind, text });
}

/// Ends the turn after a round without calls: well exactly if the answer came to a real end.
pub(super) fn end(tx: &mut Tx<'_>) {
    let Some(run) = &tx.agent().run else { return };
    let last = run.conversation.rounds.last().and_then(|round| round.end);
    // Earlier builds recorded no end.
    let Some((end, reason)) = last.and_then(|end| Some((end, reason(end)?))) else {
        return end_run(tx, End::Completed);
    };
    let failure = artifact(run, end);
    end_run(tx, End::Failed { reason, failure });
}

/// Why a turn fails that ends with such a round.
fn reason(end: RoundEnd) -> Option<TurnReason> {
    match end {
        RoundEnd::Finished => None,
        RoundEnd::OutputLimit => Some(TurnReason::OutputLimit),
        RoundEnd::Pause => Some(TurnReason::Pause),
        RoundEnd::ContentFilter => Some(TurnReason::ContentFilter),
        RoundEnd::Refusal => Some(TurnReason::Refusal),
        RoundEnd::EmptyAnswer => Some(TurnReason::EmptyAnswer),
        RoundEnd::MissingToolCall => Some(TurnReason::MissingToolCall),
        RoundEnd::UnknownStopReason => Some(TurnReason::UnknownStopReason),
    }
}

fn artifact(run: &Run, end: RoundEnd) -> FailureArtifact {
    let rounds = continued(run).len();
    let what = match end {
        RoundEnd::Finished => String::new(),
        RoundEnd::OutputLimit => format!(
            "the answer reached the output limit {rounds} times in a row (runtime.max_output_tokens, \
             limits.continuations)"
        ),
        RoundEnd::Pause => {
            format!("the model paused its answer {rounds} times in a row (limits.continuations)")
        }
        RoundEnd::ContentFilter => "a content filter of the provider stopped the answer".to_string(),
        RoundEnd::Refusal => "the model refused to answer".to_string(),
        RoundEnd::EmptyAnswer => "the answer has neither text nor a tool call".to_string(),
        RoundEnd::MissingToolCall => "the model stopped for a tool call, and the answer has none".to_string(),
        RoundEnd::UnknownStopReason => {
            "the provider ended the answer with a stop reason that says nothing of a real end".to_string()
        }
    };
    let words =
        run.conversation.rounds.last().and_then(Round::text).map(|text| clip(text.preview(), EXCERPT));
    let summary = match words.filter(|words| !words.trim().is_empty()) {
        Some(words) => format!("{what}: {words}"),
        None => what,
    };
    let mut artifact = model_round::artifact(FailureCategory::Protocol, end.name(), Text::short(summary));
    artifact.model_ref = run.chain.models.get(run.chain.candidate as usize).cloned();
    artifact.provider = artifact.model_ref.as_ref().map(|model| model.provider().to_string());
    artifact
}

#[cfg(test)]
#[path = "cut_off_tests.rs"]
mod tests;
