//! All candidates of a round have failed, or a budget is exhausted: waiting, or giving up (contract: scheduler.md,
//! Hold).

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::end::{End, end};
use super::{Run, model_round};
use crate::agent::budget::{Exhausted, Period};
use crate::agent::hold::step_length;
use crate::agent::unattended::tomorrow;
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
    if let Some(away) = worth_waiting(run)
        && tx.config.hold.on_outage
        && is_patient(tx, run)
    {
        end(tx, End::Held { away });
        return;
    }
    let failure = artifact(run, last);
    end(tx, End::Failed { reason: TurnReason::ProviderFailure, failure });
}

/// The next request is not covered. What the turn alone may spend is none of the next one's business; anything else
/// holds the agent.
pub(crate) fn budget_exhausted(tx: &mut Tx<'_>, exhausted: Exhausted) {
    let Some(run) = &tx.agent().run else { return };
    let agent_held = tx.config.hold.on_outage && exhausted.budget.budget.period() != Period::Turn;
    let held = agent_held && is_patient(tx, run);
    end(tx, End::BudgetExhausted { exhausted, agent_held, held });
}

/// Whether the message has not waited for too long already.
fn is_patient(tx: &Tx<'_>, run: &Run) -> bool {
    let held_since = tx.agent().inbox.claimed(run.message).and_then(|entry| entry.held_since);
    held_since.is_none_or(|since| tx.now().since(since) < tx.config.hold.give_up)
}

/// How providers are away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Away {
    Outage,
    Quota { resets_at: Wall },
}

/// What may end by itself for one of the candidates. An outage may be over any moment, so it is waited for
/// rather than a quota, and of quotas the first that is full again.
fn worth_waiting(run: &Run) -> Option<Away> {
    let given_up = || run.attempts.iter().filter(|attempt| attempt.backoff_ms.is_none());
    if given_up().filter_map(|attempt| attempt.failure_kind).any(retry::retryable) {
        return Some(Away::Outage);
    }
    let quotas = given_up().filter(|attempt| attempt.failure_kind == Some(FailureKind::Quota));
    let resets_at = quotas.filter_map(|attempt| attempt.resets_at).min()?;
    Some(Away::Quota { resets_at })
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

/// The agent waits, where its run ends for that: for providers the next step of the ladder, or until the quota is full
/// again; for a budget until the day is over, or until somebody raises it.
pub(super) fn set_hold(tx: &mut Tx<'_>, end: &End) {
    let now = tx.now();
    let (cause, budget) = match end {
        End::Held { away: Away::Outage } => (HoldCause::Outage, None),
        End::Held { away: Away::Quota { .. } } => (HoldCause::Quota, None),
        End::BudgetExhausted { exhausted, agent_held: true, .. } => {
            (HoldCause::Budget, Some(exhausted.budget))
        }
        End::BudgetExhausted { agent_held: false, .. }
        | End::Completed
        | End::Aborted { .. }
        | End::Failed { .. }
        | End::ContextLength { .. }
        | End::LimitReached { .. }
        | End::ShutDown
        | End::Crashed => return,
    };
    let Some(run_id) = tx.agent().run.as_ref().map(|run| run.id) else { return };
    let before = tx.agent().hold.as_ref().filter(|hold| hold.budget.is_some() == budget.is_some());
    let (since, step) = before.map_or((now, 0), |hold| (hold.since, hold.step.saturating_add(1)));
    let until = match (budget, end) {
        // At the last moment that a clock can say there is no other day.
        (Some(exhausted), _) if exhausted.budget.period() == Period::Day => {
            Some(tomorrow(&tx.agent().id, now)).filter(|until| *until > now)
        }
        (Some(_), _) => None,
        (None, End::Held { away: Away::Quota { resets_at } }) if is_plausible(tx, *resets_at) => {
            Some(*resets_at)
        }
        (None, _) => Some(now.after(step_length(&tx.config.hold.steps, step))),
    };
    tx.record(HoldSet { cause, run_id, since, step, until, budget });
}

/// A reset that is over already, or far beyond a day, is the provider's mistake: the ladder bounds it.
fn is_plausible(tx: &Tx<'_>, resets_at: Wall) -> bool {
    resets_at > tx.now().after(Millis(1_000)) && resets_at <= tx.now().after(tx.config.hold.give_up)
}

/// A turn has succeeded.
pub(super) fn end_hold(tx: &mut Tx<'_>) {
    let Some(hold) = &tx.agent().hold else { return };
    let (since, of_budget) = (hold.since, hold.budget.is_some());
    tx.record(HoldEnded { since, reason: HoldEnd::TurnSucceeded });
    if of_budget {
        return;
    }
    let text = format!("The providers answer again after {}.", tx.now().since(since));
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
        hold.map(|hold| (hold.cause, world.now.wall.until(hold.until.unwrap()).0 / 1_000))
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
