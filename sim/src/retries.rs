//! Retry checks (T10): how often a provider is asked again, and how long an outage is waited out, follow exactly from
//! the configuration.

use std::collections::BTreeMap;

use holon_core::agent::Agent;
use holon_core::agent::turn::Run;
use holon_facts::event::inbox::RequeueCause;
use holon_facts::event::scheduling::{HoldCause, HoldSet};
use holon_facts::event::{InboxFact, LifecycleFact, SchedulingFact, TurnFact};
use holon_facts::model::{AttemptOutcome, AttemptRecord, FailureKind};
use holon_facts::{AgentId, Config, Event, MessageId, Millis, Record, Wall};

use crate::failure::{Failure, ensure};

/// Temporary failures.
const PASSING: [FailureKind; 5] = [
    FailureKind::Timeout,
    FailureKind::Connect,
    FailureKind::RateLimited,
    FailureKind::Server,
    FailureKind::StreamCut,
];

/// Since when messages wait for providers, by the records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held(BTreeMap<(AgentId, MessageId), Wall>);

impl Held {
    /// Checks what an agent has recorded about a wait; `after` is the agent with the record folded in.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(crate) fn check(&mut self, record: &Record, after: &Agent) -> Result<(), Failure> {
        if let Event::Lifecycle(LifecycleFact::ClockStepped(fact)) = &record.event {
            let own = self.0.iter_mut().filter(|((agent, _), _)| *agent == record.agent);
            own.for_each(|(_, since)| {
                since.0 =
                    since.0.saturating_add(fact.to.0.saturating_sub(fact.expected.unwrap_or(fact.from).0))
            });
        }
        let Event::Inbox(fact) = &record.event else { return Ok(()) };
        let name = |message: MessageId| (record.agent.clone(), message);
        match fact {
            InboxFact::MessageRequeued(fact) => {
                let name = name(fact.message_id);
                if fact.cause == RequeueCause::Hold {
                    self.0.entry(name.clone()).or_insert(record.at);
                }
                let entry = after.inbox.queued().find(|entry| entry.message.id == fact.message_id);
                let (since, right) = (entry.and_then(|entry| entry.held_since), self.0.get(&name).copied());
                ensure!(
                    since == right,
                    "T10",
                    "{} waits since {since:?}, right is {right:?}",
                    fact.message_id
                );
            }
            InboxFact::MessageProcessed(fact) => drop(self.0.remove(&name(fact.message_id))),
            InboxFact::MessageAborted(fact) => drop(self.0.remove(&name(fact.message_id))),
            InboxFact::MessageDropped(fact) => drop(self.0.remove(&name(fact.message_id))),
            _ => {}
        }
        Ok(())
    }
}

/// During a long turn on a fallback, the first model is probed again after this time.
const LOOKS_AFTER: Millis = Millis::minutes(5);

/// Checks a record by its agent before it, and the configuration in force.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
pub(crate) fn check(agent: &Agent, record: &Record, config: &Config) -> Result<(), Failure> {
    let Some(run) = &agent.run else { return Ok(()) };
    match &record.event {
        Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) => {
            attempt(run, &fact.attempt, record.at, config)
        }
        Event::Turn(TurnFact::AssistantRoundRecorded(fact)) => {
            let long_ago = run.chain.first_left_at.is_some_and(|left| record.at.since(left) >= LOOKS_AFTER);
            let due = long_ago && fact.candidate > 0 && fact.end.is_none();
            ensure!(fact.probes == due, "T10", "{} looks for the first model: {}", agent.id, fact.probes);
            Ok(())
        }
        // Only provider failures have attempts in their report.
        Event::Turn(TurnFact::RuntimeError(fact)) if fact.failure.metadata.contains_key("attempts") => {
            let too_long = run.chain.attempts.last().and_then(|last| last.failure_kind);
            let waits = too_long != Some(FailureKind::ContextLength) && waits(agent, run, record.at, config);
            ensure!(!waits, "T10", "{} gives up, and the providers are worth waiting for", agent.id);
            let again = too_long != Some(FailureKind::ContextLength) && goes_again(run, record.at, config);
            ensure!(!again, "T10", "{} gives up, and the chain is to be gone through again", agent.id);
            Ok(())
        }
        Event::Turn(TurnFact::ProvidersAwaited(fact)) => {
            let again = goes_again(run, record.at, config);
            ensure!(again, "T10", "{} goes through the chain again, which is not worth it", agent.id);
            let least = 1_000_u64.checked_shl(fact.passes.saturating_sub(1)).unwrap_or(u64::MAX).min(30_000);
            let left = config.retry.patience.0.saturating_sub(record.at.since(fact.since).0);
            let longest = (least + least / 4).max(config.retry.retry_after_max.0);
            let bounded = (least.min(left)..=longest.min(left)).contains(&fact.pause_ms.0);
            ensure!(bounded, "T10", "a pause of {} is none of {least} to {longest} ms", fact.pause_ms);
            Ok(())
        }
        Event::Scheduling(SchedulingFact::HoldSet(fact)) if fact.cause == HoldCause::Budget => {
            until_there_is_more(agent, fact, record.at)
        }
        Event::Scheduling(SchedulingFact::HoldSet(fact)) => {
            let waits = waits(agent, run, record.at, config);
            ensure!(waits, "T10", "{} waits for providers that are not worth it", agent.id);
            let (cause, step, since, until) = hold(agent, run, record.at, config);
            let right = (cause, step, since, Some(until));
            let same = (fact.cause, fact.step, fact.since, fact.until) == right;
            ensure!(same, "T10", "{} is held by {fact:?}, right is {right:?}", agent.id);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Checks the end of a budget hold: for a daily budget shortly after midnight; for a total budget none, until somebody
/// raises it.
fn until_there_is_more(agent: &Agent, fact: &HoldSet, at: Wall) -> Result<(), Failure> {
    const DAY: i64 = 86_400_000_000;
    let midnight = at.0.div_euclid(DAY).saturating_add(1).saturating_mul(DAY);
    let soon = |until: Wall| (midnight..midnight.saturating_add(60_000_000)).contains(&until.0);
    let end = midnight >= i64::MAX - 60_000_000;
    let named = fact.budget.map(|budget| budget.budget.name().contains("_day_"));
    let right = match (named, fact.until) {
        (Some(true), Some(until)) => end || soon(until),
        (Some(false), None) => true,
        (Some(true), None) => at == Wall(i64::MAX),
        (_, _) => false,
    };
    let same = (fact.step, fact.since) == step_of(agent, at, HoldCause::Budget);
    ensure!(right && same, "T10", "{} is held by {fact:?} at {at}", agent.id);
    Ok(())
}

/// The step of a hold, and when the current series of its kind began.
fn step_of(agent: &Agent, at: Wall, cause: HoldCause) -> (u32, Wall) {
    let kind = |cause| match cause {
        HoldCause::Budget => 0,
        HoldCause::Credentials => 1,
        HoldCause::Outage | HoldCause::Quota => 2,
    };
    let before = agent.hold.as_ref().filter(|hold| kind(hold.cause) == kind(cause));
    before.map_or((0, at), |hold| (hold.step + 1, hold.since))
}

fn attempt(run: &Run, attempt: &AttemptRecord, at: Wall, config: &Config) -> Result<(), Failure> {
    let looks = run.chain.probes && run.chain.models.first() == Some(&attempt.model_ref);
    let most = if looks { 1 } else { config.retry.retries + 1 };
    // Nobody waits that long for one provider.
    let passing = attempt.failure_kind.is_some_and(|kind| PASSING.contains(&kind));
    let named = attempt.resets_at.filter(|_| passing);
    // There is no later moment than the last that a clock can say.
    let far =
        named.is_some_and(|until| until > at.after(config.retry.retry_after_max) || until == Wall(i64::MAX));
    ensure!(named.is_none() || far, "T10", "{named:?} is waited for at {at}: {attempt:?}");
    let right = match attempt.outcome {
        AttemptOutcome::Retrying => attempt.attempt < most && named.is_none(),
        AttemptOutcome::RetriesExhausted => attempt.attempt == most || far,
        AttemptOutcome::FailFastAborted | AttemptOutcome::Succeeded => true,
    };
    ensure!(right, "T10", "of {most} attempts there was {attempt:?}");
    let Some(wait) = attempt.backoff_ms else { return Ok(()) };
    // Waits are spread by a quarter, so that agents do not retry at one moment; or they follow the provider's request.
    let least = config.retry.backoff.0.saturating_mul(u64::from(attempt.attempt));
    let longest = least.saturating_add((least / 4).max(1)).max(config.retry.retry_after_max.0);
    let bounded = (least..=longest).contains(&wait.0);
    ensure!(bounded, "T10", "a wait of {wait} is none of {least} to {longest} ms");
    Ok(())
}

/// Cause, step, beginning and end of the hold after an outage: the next wait of the ladder, or, if every candidate that
/// is worth waiting for names a time, until the first of these that is plausible.
fn hold(agent: &Agent, run: &Run, at: Wall, config: &Config) -> (HoldCause, u32, Wall, Wall) {
    if refuses_keys(run) {
        let (step, since) = step_of(agent, at, HoldCause::Credentials);
        let longest = config.hold.steps.last().copied().unwrap_or(Millis::hours(1));
        return (HoldCause::Credentials, step, since, at.after(longest));
    }
    let (step, since) = step_of(agent, at, HoldCause::Outage);
    let ladder = config.hold.steps.get(step as usize).or(config.hold.steps.last());
    let ladder = at.after(ladder.copied().unwrap_or(Millis::hours(1)));
    let given_up = || pass(run).iter().filter(|attempt| attempt.backoff_ms.is_none());
    let mut passing =
        given_up().filter(|attempt| attempt.failure_kind.is_some_and(|kind| PASSING.contains(&kind)));
    let outage = passing.clone().next().is_some();
    let any_moment = passing.any(|attempt| attempt.resets_at.is_none());
    let worth = |kind| PASSING.contains(&kind) || kind == FailureKind::Quota;
    let named = given_up().filter(|attempt| attempt.failure_kind.is_some_and(worth));
    let full = named.filter_map(|attempt| attempt.resets_at).min().filter(|_| !any_moment);
    let meant = |full: &Wall| *full > at.after(Millis::seconds(1)) && *full <= at.after(config.hold.give_up);
    let cause = if outage { HoldCause::Outage } else { HoldCause::Quota };
    (cause, step, since, full.filter(meant).unwrap_or(ladder))
}

/// Whether an attempt waits longer than its minimum, as spread waits do.
pub(crate) fn spread(record: &Record, config: &Config) -> bool {
    let Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) = &record.event else { return false };
    let least = config.retry.backoff.0.saturating_mul(u64::from(fact.attempt.attempt));
    let (some, most) = (least.saturating_add(least / 8), least.saturating_add(least / 4));
    // Much longer waits are the provider's request; a few milliseconds can't be spread.
    least >= 100 && fact.attempt.backoff_ms.is_some_and(|wait| (some..=most).contains(&wait.0))
}

/// Whether a candidate of the round may recover, and its message has not waited for too long.
fn waits(agent: &Agent, run: &Run, at: Wall, config: &Config) -> bool {
    let mut given_up = pass(run).iter().filter(|attempt| attempt.backoff_ms.is_none());
    let worth = given_up.any(|attempt| match attempt.failure_kind {
        Some(FailureKind::Quota) => attempt.resets_at.is_some(),
        Some(kind) => PASSING.contains(&kind),
        None => false,
    });
    let worth = worth || refuses_keys(run);
    let since = agent.inbox.claimed(run.message).and_then(|entry| entry.held_since);
    let waited = since.map_or(0, |since| at.0.saturating_sub(since.0).max(0) / 1_000);
    let in_time = since.is_none() || u64::try_from(waited).unwrap_or(0) < config.hold.give_up.0;
    config.hold.on_outage && worth && in_time
}

/// Whether every candidate was given up because of its key.
fn refuses_keys(run: &Run) -> bool {
    let mut given_up = pass(run).iter().filter(|attempt| attempt.backoff_ms.is_none());
    given_up.all(|attempt| attempt.failure_kind == Some(FailureKind::Auth))
}

/// The attempts since the current pass over the chain began.
fn pass(run: &Run) -> &[AttemptRecord] {
    &run.chain.attempts[run.chain.awaits.map_or(0, |awaits| awaits.attempts as usize)..]
}

/// Whether a run without a hold goes through the chain again: a candidate may recover, and the run has not waited for
/// too long.
fn goes_again(run: &Run, at: Wall, config: &Config) -> bool {
    let comes_back = |attempt: &AttemptRecord| {
        attempt.backoff_ms.is_none() && attempt.failure_kind.is_some_and(|kind| PASSING.contains(&kind))
    };
    let waited = run.chain.awaits.map_or(0, |awaits| at.since(awaits.since).0);
    !config.hold.on_outage && waited < config.retry.patience.0 && pass(run).iter().any(comes_back)
}
