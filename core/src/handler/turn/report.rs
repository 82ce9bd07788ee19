//! What the end of a run tells: the engineer by an artifact, the operator by a brief.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::event::scheduling::HoldCause;
use holon_facts::event::turn::{FailureArtifact, FailureCategory, RuntimeError, TurnTerminal};
use holon_facts::ids::{BriefId, MessageId, RunId, WorkItemId};
use holon_facts::time::Wall;

use crate::agent::hold::Hold;
use crate::agent::turn::Run;
use crate::handler::turn::end::{Before, End, Limit};
use crate::handler::turn::model_round;
use crate::tx::Tx;

/// What went wrong, where something did.
pub(super) fn failure(end: &End) -> Option<FailureArtifact> {
    let runtime = |kind: &str, summary: String| {
        Some(model_round::artifact(FailureCategory::Runtime, kind, Text::short(summary)))
    };
    match end {
        End::Failed { failure, .. } | End::ContextLength { failure, .. } => Some(failure.clone()),
        End::LimitReached { limit } => runtime("limit_reached", limit_summary(*limit).to_string()),
        End::BudgetExhausted { exhausted, .. } => runtime("budget_exhausted", exhausted.describe()),
        End::Completed | End::Aborted { .. } | End::Held { .. } | End::ShutDown | End::Crashed => None,
    }
}

fn limit_summary(limit: Limit) -> &'static str {
    match limit {
        Limit::Rounds => "the turn took as many rounds as it may (limits.rounds)",
        Limit::WallTime => "the turn took as long as it may (limits.turn_wall_time_ms)",
        Limit::RepeatedToolCall => "the same tool call came back with the same result too often",
    }
}

/// Records it for the engineer.
pub(super) fn report(tx: &mut Tx<'_>, failure: FailureArtifact) {
    let Some(run) = &tx.agent().run else { return };
    let (run_id, message_id, token_usage) = (run.id, run.message, run.chain.usage);
    let attempts = run.chain.attempts.clone();
    tx.record(RuntimeError { run_id, message_id, failure, attempts, token_usage });
}

/// What the operator is shown about the end of the run, if anything.
pub(super) fn brief(
    tx: &Tx<'_>,
    end: &End,
    failure: Option<&FailureArtifact>,
    terminal: &TurnTerminal,
    before: &Before,
    dropped: bool,
) -> Option<BriefCreated> {
    let failed = |text: String| (BriefKind::Failure, BriefVisibility::TurnResult, Text::short(text));
    let (kind, visibility, text) = match end {
        End::Completed => {
            let text = terminal.last_assistant_message.clone().unwrap_or_default();
            (BriefKind::Result, BriefVisibility::TurnResult, text)
        }
        End::Failed { .. } | End::ContextLength { .. } | End::LimitReached { .. } => {
            let summary = failure.map(|failure| failure.summary.preview()).unwrap_or_default();
            failed(format!("The turn failed ({}): {}", terminal.kind, clip(summary, 180)))
        }
        End::BudgetExhausted { .. } => {
            let summary = failure.map(|failure| failure.summary.preview()).unwrap_or_default();
            let held = if terminal.held { " The message waits until then." } else { "" };
            let text = Text::short(format!("The turn ended: {summary}.{held}"));
            (BriefKind::Failure, BriefVisibility::ActionRequired, text)
        }
        End::Held { .. } if tx.agent().hold.as_ref().is_some_and(|hold| hold.step == 0) => {
            let hold = tx.agent().hold.as_ref()?;
            let (visibility, text) = waits(hold, hold.until?, tx.agent().run.as_ref());
            (BriefKind::Ack, visibility, Text::whole(text))
        }
        End::Crashed if dropped => failed(format!(
            "The message was dropped: its last {} runs crashed before they recorded anything.",
            tx.env.config.queue.crashes
        )),
        End::Aborted { .. } | End::Held { .. } | End::ShutDown | End::Crashed => return None,
    };
    Some(BriefCreated {
        id: tx.agent().next.brief,
        kind,
        visibility,
        text,
        work_item_id: before.work_item,
        run_id: Some(terminal.run_id),
        related_message_id: Some(before.message),
        interjected_message_ids: before.interjected.clone(),
    })
}

/// What the message of a held run waits for.
fn waits(hold: &Hold, until: Wall, run: Option<&Run>) -> (BriefVisibility, String) {
    match hold.cause {
        HoldCause::Outage | HoldCause::Budget => {
            let text = format!("The providers are away; the message waits. Next attempt at {until}.");
            (BriefVisibility::TurnResult, text)
        }
        HoldCause::Quota => {
            let text = format!(
                "The quota of the providers is used up; the message waits. Next attempt at {until}, when a \
                 quota is full again."
            );
            (BriefVisibility::TurnResult, text)
        }
        HoldCause::Credentials => {
            let last =
                run.and_then(|run| run.chain.attempts.last()).and_then(|attempt| attempt.message.as_ref());
            let error = last.map_or("", |message| message.preview());
            let text = format!(
                "No model accepts its key; the message waits. Correct the key and restart the runtime, or send \
                 a prompt as a trial; a new login is noticed within seconds. {error}"
            );
            (BriefVisibility::ActionRequired, text)
        }
    }
}

/// Hands the operator what the agent says in a turn for that message.
pub(crate) fn report_text(
    tx: &mut Tx<'_>,
    (run_id, message): (RunId, Option<MessageId>),
    visibility: BriefVisibility,
    text: String,
    about: Option<WorkItemId>,
) -> BriefId {
    let id = tx.agent().next.brief;
    tx.record(BriefCreated {
        id,
        kind: BriefKind::Ack,
        visibility,
        text: Text::whole(text),
        work_item_id: about,
        run_id: Some(run_id),
        related_message_id: message,
        interjected_message_ids: Vec::new(),
    });
    id
}

/// Tells the operator that something goes on only with him.
pub(crate) fn needs_operator(tx: &mut Tx<'_>, run_id: RunId, text: String, about: Option<WorkItemId>) {
    tx.record(BriefCreated {
        id: tx.agent().next.brief,
        kind: BriefKind::Failure,
        visibility: BriefVisibility::ActionRequired,
        text: Text::whole(text),
        work_item_id: about,
        run_id: Some(run_id),
        related_message_id: None,
        interjected_message_ids: Vec::new(),
    });
}
