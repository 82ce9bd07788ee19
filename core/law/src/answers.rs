//! Laws about answers: which of them end a turn, and how.

use holon_facts::content::Text;
use holon_facts::event::turn::{AssistantRoundRecorded, ReminderKind, TurnTerminal};
use holon_facts::event::{Event, TurnFact};
use holon_facts::model::{Block, RoundEnd, StopReason};
use holon_facts::record::Record;
use holon_facts::terminal::{TurnKind, TurnReason};

use super::past::{Past, Run};
use super::{Checked, rule};

pub(super) fn t12(past: &Past, record: &Record) -> Checked {
    let Some(run) = &past.run else { return Ok(false) };
    match &record.event {
        Event::Turn(TurnFact::AssistantRoundRecorded(fact)) => recorded(run, fact),
        Event::Turn(TurnFact::ReminderInjected(fact)) if fact.kind == ReminderKind::Continuation => {
            // An interrupted run may have left one that was.
            rule(run.cut_off > 0 || (run.rounds == 0 && run.carried > 0), || {
                "an answer that was not cut off is to be continued".into()
            })
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) => ended(run, fact),
        _ => Ok(false),
    }
}

fn recorded(run: &Run, fact: &AssistantRoundRecorded) -> Checked {
    // Earlier builds recorded no end.
    let Some(end) = fact.end else { return Ok(false) };
    let words = fact.blocks.iter().any(|block| match block {
        Block::Text { text: Text::Inline(text) } => !text.trim().is_empty(),
        Block::Text { text: Text::Stored(_) } => true,
        Block::ToolCall { .. } | Block::Reasoning { .. } => false,
    });
    let right = match fact.stop_reason {
        StopReason::EndTurn => {
            if words {
                RoundEnd::Finished
            } else {
                RoundEnd::EmptyAnswer
            }
        }
        StopReason::ToolUse => RoundEnd::MissingToolCall,
        StopReason::MaxOutput => RoundEnd::OutputLimit,
        StopReason::ContentFilter => RoundEnd::ContentFilter,
        StopReason::Refusal => RoundEnd::Refusal,
        StopReason::Pause => RoundEnd::Pause,
        StopReason::Other => RoundEnd::UnknownStopReason,
    };
    rule(fact.verdicts.is_empty() && end == right, || {
        format!("a round with stop reason {} and {} calls ends {end}", fact.stop_reason, fact.verdicts.len())
    })?;
    // Rounds of an interrupted run may be continued, too.
    rule(fact.joined.is_none() || run.cut_off > 0 || run.rounds == 0, || {
        format!("round {} continues none", fact.round)
    })
}

fn ended(run: &Run, fact: &TurnTerminal) -> Checked {
    let Some(end) = run.end else { return Ok(false) };
    let reason = match end {
        RoundEnd::Finished => None,
        RoundEnd::OutputLimit => Some(TurnReason::OutputLimit),
        RoundEnd::Pause => Some(TurnReason::Pause),
        RoundEnd::ContentFilter => Some(TurnReason::ContentFilter),
        RoundEnd::Refusal => Some(TurnReason::Refusal),
        RoundEnd::EmptyAnswer => Some(TurnReason::EmptyAnswer),
        RoundEnd::MissingToolCall => Some(TurnReason::MissingToolCall),
        RoundEnd::UnknownStopReason => Some(TurnReason::UnknownStopReason),
    };
    let of_answer = fact.reason.is_some_and(TurnReason::is_of_answer);
    rule(fact.kind != TurnKind::Completed || end == RoundEnd::Finished, || {
        format!("{} completes with an answer that ended {end}", run.id)
    })?;
    rule(run.joined.is_none() || run.joined == fact.last_assistant_message, || {
        format!("{} leaves another text than {:?}", run.id, run.joined)
    })?;
    rule(!of_answer || (fact.kind == TurnKind::Failed && fact.reason == reason), || {
        format!("an answer ended {end}, its turn {} with {:?}", fact.kind, fact.reason)
    })
}
