//! The end of a run, whatever brought it about: calls get their results, operations are given up, messages
//! reach their next status, the operator is told, and the closure follows.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::agent::hold::step_length;
use crate::agent::turn::{Run, model_round, tools};
use crate::content::{Text, clip};
use crate::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use crate::event::inbox::{
    Disposition, MessageAborted, MessageDropped, MessageProcessed, MessageRequeued, RequeueCause,
};
use crate::event::lifecycle::CurrentRunAborted;
use crate::event::operation::Settlement;
use crate::event::scheduling::{ClosureDecided, HoldCause, HoldEnd, HoldEnded, HoldSet};
use crate::event::turn::{FailureArtifact, FailureCategory, RuntimeError, TurnTerminal};
use crate::host::tx::Tx;
use crate::ids::MessageId;
use crate::model::{AttemptFailure, FailureKind};
use crate::retry;
use crate::terminal::{TurnKind, TurnReason};
use crate::time::{Millis, Wall};

/// Why a run ends.
pub(crate) enum End {
    Completed,
    /// The operator stopped the agent or aborted the run.
    Aborted {
        reason: TurnReason,
    },
    Failed {
        reason: TurnReason,
        failure: FailureArtifact,
    },
    ContextLength {
        failure: FailureArtifact,
    },
    LimitReached {
        reason: TurnReason,
    },
    BudgetExhausted {
        limit: u64,
        used: u64,
        wanted: u64,
    },
    /// Providers are away: the message comes again.
    Held {
        cause: HoldCause,
        resets_at: Option<Wall>,
    },
    ShutDown,
    Crashed,
}

impl End {
    fn kind(&self) -> (TurnKind, Option<TurnReason>) {
        match self {
            Self::Completed => (TurnKind::Completed, None),
            Self::Aborted { reason } => (TurnKind::Aborted, Some(*reason)),
            Self::Failed { reason, .. } => (TurnKind::Failed, Some(*reason)),
            Self::ContextLength { .. } => {
                (TurnKind::ContextLengthExceeded, Some(TurnReason::ProviderFailure))
            }
            Self::LimitReached { reason } => (TurnKind::LimitReached, Some(*reason)),
            Self::BudgetExhausted { .. } => (TurnKind::BudgetExhausted, Some(TurnReason::TurnTokens)),
            Self::Held { cause: HoldCause::Outage, .. } => (TurnKind::Interrupted, Some(TurnReason::Outage)),
            Self::Held { cause: HoldCause::Quota, .. } => (TurnKind::Interrupted, Some(TurnReason::Quota)),
            Self::ShutDown => (TurnKind::Interrupted, Some(TurnReason::Shutdown)),
            Self::Crashed => (TurnKind::Interrupted, Some(TurnReason::Crash)),
        }
    }
}

/// Ends the run in progress.
pub(crate) fn end(tx: &mut Tx<'_>, end: End) {
    let Some(before) = tx.agent().run.as_ref().map(Before::of) else { return };
    tools::interrupt(tx);
    tx.cancel_ops(if matches!(end, End::Crashed) { Settlement::Lost } else { Settlement::Cancelled });
    tx.disarm_all();
    let (kind, reason) = end.kind();
    if let End::Held { cause, resets_at } = &end {
        set_hold(tx, *cause, *resets_at);
    }
    let failure = failure(&end);
    if let Some(failure) = &failure {
        report(tx, failure.clone());
    }
    let dropped = settle_messages(tx, &end, &before);
    let Some(run) = &tx.agent().run else { return };
    let terminal = TurnTerminal {
        run_id: run.id,
        turn_index: run.turn_index,
        message_id: run.message,
        kind,
        reason,
        last_assistant_message: run.last_text().or(before.last_text.as_ref()).cloned(),
        completed_at: tx.now(),
        duration_ms: tx.now().since(run.started_at),
        token_usage: run.usage,
        rounds: before.rounds,
    };
    let told = brief(tx, &end, failure.as_ref(), &terminal, &before, dropped);
    tx.record(terminal);
    if let Some(told) = told {
        tx.record(told);
    }
    if kind == TurnKind::Completed {
        end_hold(tx);
    }
    let closure = tx.agent().closure(tx.now());
    tx.record(ClosureDecided { closure });
}

/// What must be known of a run before its message takes the rounds along.
struct Before {
    message: MessageId,
    interjected: Vec<MessageId>,
    last_text: Option<Text>,
    rounds: u32,
    recorded_something: bool,
}

impl Before {
    fn of(run: &Run) -> Self {
        Self {
            message: run.message,
            interjected: run.interjected.clone(),
            last_text: run.last_text().cloned(),
            rounds: run.next_round().0,
            recorded_something: run.recorded_something,
        }
    }
}

/// Every candidate failed: an outage or a quota holds the agent, anything else fails the turn.
pub(crate) fn providers_failed(tx: &mut Tx<'_>, last: &AttemptFailure) {
    let Some(run) = &tx.agent().run else { return };
    if last.kind == FailureKind::ContextLength {
        let failure = provider_artifact(run, last);
        end(tx, End::ContextLength { failure });
        return;
    }
    let held_since = tx.agent().inbox.claimed(run.message).and_then(|entry| entry.held_since);
    let patient = held_since.is_none_or(|since| tx.now().since(since) < tx.config.hold.give_up);
    if let Some((cause, resets_at)) = worth_waiting(run)
        && tx.config.hold.on_outage
        && patient
    {
        end(tx, End::Held { cause, resets_at });
        return;
    }
    let failure = provider_artifact(run, last);
    end(tx, End::Failed { reason: TurnReason::ProviderFailure, failure });
}

/// What may end by itself for one of the candidates. An outage may be over any moment, so it is waited for
/// rather than a quota, and of quotas the first that is full again.
fn worth_waiting(run: &Run) -> Option<(HoldCause, Option<Wall>)> {
    let given_up = || run.attempts.iter().filter(|attempt| attempt.backoff_ms.is_none());
    if given_up().filter_map(|attempt| attempt.failure_kind).any(retry::retryable) {
        return Some((HoldCause::Outage, None));
    }
    let quotas = given_up().filter(|attempt| attempt.failure_kind == Some(FailureKind::Quota));
    let resets_at = quotas.filter_map(|attempt| attempt.resets_at).min()?;
    Some((HoldCause::Quota, Some(resets_at)))
}

fn provider_artifact(run: &Run, last: &AttemptFailure) -> FailureArtifact {
    let category = match last.kind {
        FailureKind::Timeout
        | FailureKind::Connect
        | FailureKind::RateLimited
        | FailureKind::Quota
        | FailureKind::Server
        | FailureKind::StreamCut => FailureCategory::Transport,
        FailureKind::Auth
        | FailureKind::Client
        | FailureKind::InvalidResponse
        | FailureKind::UnsupportedTransport
        | FailureKind::ContextLength => FailureCategory::Protocol,
    };
    let model_ref = run.attempts.last().map(|attempt| attempt.model_ref.clone());
    let mut artifact = model_round::artifact(category, last.kind.name(), last.message.clone());
    artifact.provider = model_ref.as_ref().map(|model| model.provider().to_string());
    artifact.model_ref = model_ref;
    if let Some(diagnostics) = &last.diagnostics {
        artifact.status = diagnostics.status;
        artifact.source_chain.clone_from(&diagnostics.source_chain);
    }
    artifact.metadata.insert("attempts".into(), run.attempts.len().to_string());
    artifact
}

fn failure(end: &End) -> Option<FailureArtifact> {
    let runtime = |kind: &str, summary: String| {
        Some(model_round::artifact(FailureCategory::Runtime, kind, Text::short(summary)))
    };
    match end {
        End::Failed { failure, .. } | End::ContextLength { failure } => Some(failure.clone()),
        End::LimitReached { reason } => runtime("limit_reached", limit_summary(*reason).to_string()),
        End::BudgetExhausted { limit, used, wanted } => runtime(
            "budget_exhausted",
            format!("the budget turn_tokens ({limit}) is exhausted: {used} used, {wanted} wanted"),
        ),
        End::Completed | End::Aborted { .. } | End::Held { .. } | End::ShutDown | End::Crashed => None,
    }
}

fn limit_summary(reason: TurnReason) -> &'static str {
    match reason {
        TurnReason::Rounds => "the turn took as many rounds as it may (limits.rounds)",
        TurnReason::WallTime => "the turn took as long as it may (limits.turn_wall_time_ms)",
        TurnReason::RepeatedToolCall => {
            "the same tool call came back with the same result too often (limits.repeats_end)"
        }
        TurnReason::TurnTokens
        | TurnReason::ProviderFailure
        | TurnReason::ContextLoad
        | TurnReason::Stopped
        | TurnReason::OperatorAbort
        | TurnReason::Shutdown
        | TurnReason::Crash
        | TurnReason::Outage
        | TurnReason::Quota => "the turn reached a limit",
    }
}

fn report(tx: &mut Tx<'_>, failure: FailureArtifact) {
    let Some(run) = &tx.agent().run else { return };
    let (run_id, message_id, token_usage) = (run.id, run.message, run.usage);
    let attempts = run.attempts.clone();
    tx.record(RuntimeError { run_id, message_id, failure, attempts, token_usage });
}

/// The message of the run and the prompts taken into it reach their next status; says whether the message
/// was dropped.
fn settle_messages(tx: &mut Tx<'_>, end: &End, before: &Before) -> bool {
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return false };
    let message_id = before.message;
    let requeue = match end {
        End::Held { .. } => Some(RequeueCause::Hold),
        End::ShutDown => Some(RequeueCause::Shutdown),
        End::Crashed => Some(RequeueCause::Crash),
        End::Completed
        | End::Aborted { .. }
        | End::Failed { .. }
        | End::ContextLength { .. }
        | End::LimitReached { .. }
        | End::BudgetExhausted { .. } => None,
    };
    let Some(cause) = requeue else {
        for &message_id in &before.interjected {
            let disposition = Disposition::Interjected;
            tx.record(MessageProcessed { message_id, run_id: Some(run_id), disposition });
        }
        if let End::Aborted { reason } = end {
            tx.record(CurrentRunAborted { run_id, message_id, reason: *reason });
            tx.record(MessageAborted { message_id, run_id });
        } else {
            let disposition = Disposition::Processed;
            tx.record(MessageProcessed { message_id, run_id: Some(run_id), disposition });
        }
        return false;
    };
    for &message_id in &before.interjected {
        let crashes = tx.agent().inbox.claimed(message_id).map_or(0, |entry| entry.crashes);
        tx.record(MessageRequeued { message_id, run_id, cause, crashes });
    }
    let earlier = tx.agent().inbox.claimed(message_id).map_or(0, |entry| entry.crashes);
    let crashed = u32::from(cause == RequeueCause::Crash);
    let crashes = if before.recorded_something { 0 } else { earlier.saturating_add(crashed) };
    if cause == RequeueCause::Crash && crashes >= tx.config.queue.crashes {
        tx.record(MessageDropped { message_id, crashes });
        return true;
    }
    tx.record(MessageRequeued { message_id, run_id, cause, crashes });
    false
}

fn set_hold(tx: &mut Tx<'_>, cause: HoldCause, resets_at: Option<Wall>) {
    let now = tx.now();
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    let (since, step) = match &tx.agent().hold {
        Some(hold) => (hold.since, hold.step.saturating_add(1)),
        None => (now, 0),
    };
    let ladder = step_length(&tx.config.hold.steps, step);
    // A reset that is over already, or far beyond a day, is the provider's mistake: the ladder bounds it.
    let at_least = now.after(Millis(1_000));
    let until = match resets_at {
        Some(at) if at > at_least && at <= now.after(tx.config.hold.give_up) => at,
        Some(_) | None => now.after(ladder),
    };
    tx.record(HoldSet { cause, run_id, since, step, until });
}

fn end_hold(tx: &mut Tx<'_>) {
    let Some(hold) = &tx.agent().hold else { return };
    let since = hold.since;
    let text = format!("The providers answer again after {}.", tx.now().since(since));
    tx.record(HoldEnded { since, reason: HoldEnd::TurnSucceeded });
    let id = tx.agent().next.brief;
    tx.record(BriefCreated {
        id,
        kind: BriefKind::Ack,
        visibility: BriefVisibility::TurnResult,
        text: Text::short(text),
        run_id: None,
        related_message_id: None,
        interjected_message_ids: Vec::new(),
    });
}

/// What the operator is told about the end of the run, if anything.
fn brief(
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
            let text = Text::short(format!("The turn ended: {summary}"));
            (BriefKind::Failure, BriefVisibility::ActionRequired, text)
        }
        End::Held { .. } if tx.agent().hold.as_ref().is_some_and(|hold| hold.step == 0) => {
            let until = tx.agent().hold.as_ref().map(|hold| hold.until)?;
            let text = format!("The providers are away; the message waits. Next attempt at {until}.");
            (BriefKind::Ack, BriefVisibility::TurnResult, Text::short(text))
        }
        End::Crashed if dropped => failed(format!(
            "The message was dropped: its last {} runs crashed before they recorded anything.",
            tx.config.queue.crashes
        )),
        End::Aborted { .. } | End::Held { .. } | End::ShutDown | End::Crashed => return None,
    };
    Some(BriefCreated {
        id: tx.agent().next.brief,
        kind,
        visibility,
        text,
        run_id: Some(terminal.run_id),
        related_message_id: Some(before.message),
        interjected_message_ids: before.interjected.clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::event::scheduling::HoldCause;
    use crate::model::FailureKind;
    use crate::outcome::Outcome;
    use crate::testing::{World, context, fails, prompt};
    use crate::time::Millis;

    fn quota(world: &World, resets_in: Option<Millis>) -> Outcome {
        let Outcome::AttemptFailed { mut failure } = fails(FailureKind::Quota) else { panic!() };
        failure.resets_at = resets_in.map(|wait| world.now.wall.after(wait));
        Outcome::AttemptFailed { failure }
    }

    /// The cause of the hold and the seconds until it ends, after both candidates failed.
    fn held(fail: impl Fn(&mut World)) -> Option<(HoldCause, u64)> {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        fail(&mut world);
        let hold = world.agent("main").hold.clone();
        hold.map(|hold| (hold.cause, world.now.wall.until(hold.until).0 / 1_000))
    }

    fn away(world: &mut World) {
        for _ in 0..3 {
            world.complete("main", fails(FailureKind::Server));
            if world.open.is_empty() && world.agent("main").run.is_some() {
                world.pass(Millis::seconds(1));
            }
        }
    }

    #[test]
    fn whichever_candidate_comes_back_first_is_waited_for() {
        let limited = |world: &mut World, minutes| {
            let outcome = quota(world, Some(Millis::minutes(minutes)));
            world.complete("main", outcome);
        };
        let refused = |world: &mut World| world.complete("main", fails(FailureKind::Auth));
        assert_eq!(
            held(|world| {
                limited(world, 5);
                refused(world)
            }),
            Some((HoldCause::Quota, 300))
        );
        assert_eq!(
            held(|world| {
                limited(world, 5);
                limited(world, 3)
            }),
            Some((HoldCause::Quota, 180))
        );
        assert_eq!(
            held(|world| {
                limited(world, 5);
                away(world)
            }),
            Some((HoldCause::Outage, 30))
        );
        assert_eq!(
            held(|world| {
                away(world);
                limited(world, 5)
            }),
            Some((HoldCause::Outage, 30))
        );
        assert_eq!(
            held(|world| {
                away(world);
                refused(world)
            }),
            Some((HoldCause::Outage, 30))
        );
        assert_eq!(
            held(|world| {
                refused(world);
                refused(world)
            }),
            None
        );
    }
}
