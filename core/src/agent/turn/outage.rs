//! All candidates of a round have failed: waiting for them, or giving up (contract: scheduler.md, Hold).

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::end::{End, end};
use super::{Run, model_round};
use crate::agent::hold::step_length;
use crate::content::Text;
use crate::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use crate::event::scheduling::{HoldCause, HoldEnd, HoldEnded, HoldSet};
use crate::event::turn::{FailureArtifact, FailureCategory};
use crate::host::tx::Tx;
use crate::model::{AttemptFailure, FailureKind};
use crate::retry;
use crate::terminal::TurnReason;
use crate::time::{Millis, Wall};

/// Every candidate failed: an outage or a quota holds the agent, anything else fails the turn.
pub(crate) fn providers_failed(tx: &mut Tx<'_>, last: &AttemptFailure) {
    let Some(run) = &tx.agent().run else { return };
    if last.kind == FailureKind::ContextLength {
        let failure = artifact(run, last);
        end(tx, End::ContextLength { reason: TurnReason::ProviderFailure, failure });
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
    let failure = artifact(run, last);
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

fn artifact(run: &Run, last: &AttemptFailure) -> FailureArtifact {
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

/// The agent waits: the next step of the ladder, or until the quota is full again.
pub(super) fn set_hold(tx: &mut Tx<'_>, cause: HoldCause, resets_at: Option<Wall>) {
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

/// A turn has succeeded.
pub(super) fn end_hold(tx: &mut Tx<'_>) {
    let Some(hold) = &tx.agent().hold else { return };
    let since = hold.since;
    let text = format!("The providers answer again after {}.", tx.now().since(since));
    tx.record(HoldEnded { since, reason: HoldEnd::TurnSucceeded });
    let id = tx.agent().next.brief;
    tx.record(BriefCreated {
        work_item_id: None,
        id,
        kind: BriefKind::Ack,
        visibility: BriefVisibility::TurnResult,
        text: Text::short(text),
        run_id: None,
        related_message_id: None,
        interjected_message_ids: Vec::new(),
    });
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
