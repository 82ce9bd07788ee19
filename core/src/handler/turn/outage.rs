//! All candidates of a round have failed, or a budget is exhausted: waiting, or giving up (contract: scheduler.md,
//! Hold).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::budget::Period;
use holon_facts::content::Text;
use holon_facts::event::brief::{BriefCreated, BriefKind, BriefVisibility};
use holon_facts::event::scheduling::{HoldCause, HoldEnd, HoldEnded, HoldSet};
use holon_facts::event::turn::{FailureArtifact, FailureCategory, ProvidersAwaited};
use holon_facts::model::{AttemptFailure, FailureKind};
use holon_facts::terminal::TurnReason;
use holon_facts::time::{Millis, Wall};

use crate::agent::hold::{Hold, step_length};
use crate::agent::turn::Run;
use crate::handler::budget::Exhausted;
use crate::handler::turn::end::{End, end};
use crate::handler::turn::model_round;
use crate::handler::unattended::tomorrow;
use crate::retry;
use crate::tx::{Alarm, Tx};

/// Every candidate failed: an outage or a quota holds the agent, anything else fails the turn.
pub(crate) fn providers_failed(tx: &mut Tx<'_>, last: &AttemptFailure) {
    let Some(run) = &tx.agent().run else { return };
    if last.kind == FailureKind::ContextLength {
        let failure = artifact(run, last);
        end(tx, End::ContextLength { reason: TurnReason::ProviderFailure, failure });
        return;
    }
    if let Some(away) = worth_waiting(run)
        && tx.env.config.hold.on_outage
        && is_patient(tx, run)
    {
        end(tx, End::Held { away });
        return;
    }
    if await_providers(tx, last) {
        return;
    }
    let Some(run) = &tx.agent().run else { return };
    let failure = artifact(run, last);
    end(tx, End::Failed { reason: TurnReason::ProviderFailure, failure });
}

/// Where the agent is not held for an outage, its round goes through the chain again, after growing pauses
/// (contract: decisions.md 37). False when that is no use, or was done for long enough.
fn await_providers(tx: &mut Tx<'_>, last: &AttemptFailure) -> bool {
    let Some(run) = &tx.agent().run else { return false };
    let models = run.chain.worth_asking_again();
    if models.is_empty() || tx.env.config.hold.on_outage {
        return false;
    }
    let (now, patience) = (tx.now(), tx.env.config.retry.patience);
    let (since, passes) = run.chain.awaits.map_or((now, 0), |awaits| (awaits.since, awaits.passes));
    let jitter = retry::jitter(tx.env.seed.0, tx.agent().id.as_str(), run.id.0, passes);
    let asked = last.retry_after_ms.filter(|_| retry::retryable(last.kind));
    let Some(pause) = retry::pause(&tx.env.config.retry, (passes, now.since(since)), asked, jitter) else {
        return false;
    };
    let (run_id, round, passes) = (run.id, run.conversation.next_round(), passes.saturating_add(1));
    let until = since.after(patience);
    tx.record(ProvidersAwaited { run_id, round, models, since, passes, pause_ms: pause, until });
    tx.arm(Alarm::Backoff, pause);
    true
}

/// The next request is not covered. What the turn alone may spend is none of the next one's business; anything else
/// holds the agent.
pub(crate) fn budget_exhausted(tx: &mut Tx<'_>, exhausted: Exhausted) {
    let Some(run) = &tx.agent().run else { return };
    let agent_held = tx.env.config.hold.on_outage && exhausted.budget.budget.period() != Period::Turn;
    let held = agent_held && is_patient(tx, run);
    end(tx, End::BudgetExhausted { exhausted, agent_held, held });
}

/// Whether the message has not waited for too long already.
fn is_patient(tx: &Tx<'_>, run: &Run) -> bool {
    let held_since = tx.agent().inbox.claimed(run.message).and_then(|entry| entry.held_since);
    held_since.is_none_or(|since| tx.now().since(since) < tx.env.config.hold.give_up)
}

/// How providers are away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Away {
    /// With a time where all of them have named one.
    Outage {
        resets_at: Option<Wall>,
    },
    Quota {
        resets_at: Wall,
    },
    /// They refuse their keys, or have none.
    Credentials,
}

/// What may end by itself for one of the candidates. An outage may be over any moment, so it is waited for
/// rather than a quota; of times that are named it is the first. Where nothing but keys is in the way, an operator
/// can end it.
fn worth_waiting(run: &Run) -> Option<Away> {
    let given_up = || run.chain.pass().iter().filter(|attempt| attempt.backoff_ms.is_none());
    let quotas = given_up().filter(|attempt| attempt.failure_kind == Some(FailureKind::Quota));
    let full = quotas.filter_map(|attempt| attempt.resets_at).min();
    let outages = given_up().filter(|attempt| attempt.failure_kind.is_some_and(retry::retryable));
    if let Some(resets_at) = outages.map(|attempt| attempt.resets_at).min() {
        let first = |resets_at: Wall| full.map_or(resets_at, |full| full.min(resets_at));
        return Some(Away::Outage { resets_at: resets_at.map(first) });
    }
    if let Some(resets_at) = full {
        return Some(Away::Quota { resets_at });
    }
    let refused = given_up().all(|attempt| attempt.failure_kind == Some(FailureKind::Auth));
    refused.then_some(Away::Credentials)
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
    let model_ref = run.chain.attempts.last().map(|attempt| attempt.model_ref.clone());
    let mut artifact = model_round::artifact(category, last.kind.name(), last.message.clone());
    artifact.provider = model_ref.as_ref().map(|model| model.provider().to_string());
    artifact.model_ref = model_ref;
    if let Some(diagnostics) = &last.diagnostics {
        artifact.status = diagnostics.status;
        artifact.source_chain.clone_from(&diagnostics.source_chain);
    }
    artifact.metadata.insert("attempts".into(), run.chain.attempts.len().to_string());
    artifact
}

/// The agent waits, where its run ends for that: for providers the next step of the ladder, or until the time that they
/// have named; for a budget until the day is over, or until somebody raises it.
pub(super) fn set_hold(tx: &mut Tx<'_>, end: &End) {
    let now = tx.now();
    let (cause, budget) = match end {
        End::Held { away: Away::Outage { .. } } => (HoldCause::Outage, None),
        End::Held { away: Away::Quota { .. } } => (HoldCause::Quota, None),
        End::Held { away: Away::Credentials } => (HoldCause::Credentials, None),
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
    let Some(run) = &tx.agent().run else { return };
    let (run_id, refused_by) = (run.id, refusing(run));
    let of_keys = |cause: HoldCause| cause == HoldCause::Credentials;
    let before =
        tx.agent().hold.as_ref().filter(|hold| {
            hold.budget.is_some() == budget.is_some() && of_keys(hold.cause) == of_keys(cause)
        });
    let (since, step) = before.map_or((now, 0), |hold| (hold.since, hold.step.saturating_add(1)));
    let until = match (budget, end) {
        // At the last moment that a clock can say there is no other day.
        (Some(exhausted), _) if exhausted.budget.period() == Period::Day => {
            Some(tomorrow(&tx.agent().id, now)).filter(|until| *until > now)
        }
        (Some(_), _) => None,
        (
            None,
            End::Held { away: Away::Quota { resets_at } | Away::Outage { resets_at: Some(resets_at) } },
        ) if is_plausible(tx, *resets_at) => Some(*resets_at),
        // Somebody has to do something: asking often is no use.
        (None, End::Held { away: Away::Credentials }) => {
            Some(now.after(step_length(&tx.env.config.hold.steps, u32::MAX)))
        }
        (None, _) => Some(now.after(step_length(&tx.env.config.hold.steps, step))),
    };
    let refused_by = if budget.is_some() { Vec::new() } else { refused_by };
    tx.record(HoldSet { cause, run_id, since, step, until, budget, refused_by });
}

/// The providers that refused their keys in the last pass through the chain, or have none.
fn refusing(run: &Run) -> Vec<String> {
    let refused = run.chain.pass().iter().filter(|attempt| attempt.failure_kind == Some(FailureKind::Auth));
    let mut providers: Vec<String> = Vec::new();
    for attempt in refused {
        let provider = attempt.model_ref.provider();
        if !providers.iter().any(|known| known == provider) {
            providers.push(provider.to_string());
        }
    }
    providers
}

/// A reset that is over already, or far beyond a day, is the provider's mistake: the ladder bounds it.
fn is_plausible(tx: &Tx<'_>, resets_at: Wall) -> bool {
    resets_at > tx.now().after(Millis(1_000)) && resets_at <= tx.now().after(tx.env.config.hold.give_up)
}

/// A start of the runtime reads settings and keys anew: what waited for a key is tried at once.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    if tx.agent().childhood.retired.is_none() {
        end_of_keys(tx, HoldEnd::Restarted);
    }
}

/// The agent asks another model now, which may accept its key.
pub(crate) fn model_changed(tx: &mut Tx<'_>) {
    end_of_keys(tx, HoldEnd::ModelChanged);
}

/// The login of a provider is another one now: whoever waits for it asks again.
pub(crate) fn login_changed(tx: &mut Tx<'_>, provider: &str) {
    let Some(hold) = tx.agent().hold.as_ref().filter(|hold| waits_for(hold, provider)) else { return };
    tx.record(HoldEnded { since: hold.since, reason: HoldEnd::LoginChanged });
}

/// Whether another login of the provider may end a hold.
pub(crate) fn waits_for(hold: &Hold, provider: &str) -> bool {
    hold.refused_by.iter().any(|refused| refused == provider)
}

fn end_of_keys(tx: &mut Tx<'_>, reason: HoldEnd) {
    let Some(hold) = &tx.agent().hold else { return };
    if hold.cause == HoldCause::Credentials {
        let since = hold.since;
        tx.record(HoldEnded { since, reason });
    }
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
    use alloc::vec::Vec;

    use crate::testing::{World, context, fails, prompt};
    use holon_facts::event::scheduling::HoldCause;
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::model::FailureKind;
    use holon_facts::outcome::Outcome;
    use holon_facts::time::Millis;

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

    fn busy(world: &mut World, minutes: u64) {
        let Outcome::AttemptFailed { mut failure } = fails(FailureKind::RateLimited) else { panic!() };
        failure.retry_after_ms = Some(Millis::minutes(minutes));
        world.complete("main", Outcome::AttemptFailed { failure });
    }

    #[test]
    fn whoever_wants_to_be_asked_much_later_is_not_waited_for_in_its_round() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        busy(&mut world, 5);
        assert_eq!(world.requests.last().unwrap().model.as_str(), "local/two");
        let until = |minutes: u64| Some((HoldCause::Outage, minutes * 60));
        let both = |other: &dyn Fn(&mut World)| {
            held(|world| {
                busy(world, 5);
                other(world)
            })
        };
        assert_eq!(both(&|world| busy(world, 3)), until(3), "of both the first");
        assert_eq!(both(&away), Some((HoldCause::Outage, 30)), "it may be back any moment");
        assert_eq!(both(&|world| world.complete("main", fails(FailureKind::Auth))), until(5));
        let full = |world: &mut World| {
            let outcome = quota(world, Some(Millis::minutes(2)));
            world.complete("main", outcome);
        };
        assert_eq!(both(&full), until(2), "its quota is full again before that");
        assert_eq!(both(&|world| busy(world, 60 * 24 * 365)), until(5));
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
            Some((HoldCause::Credentials, 3_600)),
            "only an operator can help"
        );
        assert_eq!(
            held(|world| {
                refused(world);
                world.complete("main", fails(FailureKind::Client))
            }),
            None
        );
    }

    /// Nobody accepts the key of a prompt.
    fn refused() -> World {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", fails(FailureKind::Auth));
        world.complete("main", fails(FailureKind::Auth));
        world
    }

    #[test]
    fn a_prompt_whose_key_is_wrong_stays_and_goes_on_when_the_key_is_right() {
        let mut world = refused();
        let briefs = world.briefs();
        assert!(briefs.len() == 1 && briefs[0].starts_with("ack: No model accepts its key"), "{briefs:?}");
        assert_eq!(world.agent("main").inbox.queued_entries(), 1);
        world.restart(crate::testing::config());
        assert!(world.agent("main").hold.is_none(), "a start reads the keys anew");
        world.complete("main", context());
        world.complete("main", crate::testing::answers("done"));
        assert_eq!(world.briefs().last().map(|brief| brief.as_str()), Some("result: done"));
    }

    #[test]
    fn another_login_is_noticed_by_whoever_waits_for_it() {
        let changed = |world: &mut World, provider: &str| {
            world.step(crate::input::Input::LoginChanged { provider: provider.into() });
        };
        let mut world = refused();
        assert_eq!(world.agent("main").hold.as_ref().unwrap().refused_by, ["local"], "each once");
        changed(&mut world, "openai-codex");
        assert!(world.agent("main").hold.is_some(), "it waits for another one");
        changed(&mut world, "local");
        assert!(world.kinds(0).contains(&"hold_ended"), "{:?}", world.kinds(0));
        world.complete("main", context());
        world.complete("main", fails(FailureKind::Auth));
        world.complete("main", fails(FailureKind::Auth));
        let hold = world.agent("main").hold.clone().unwrap();
        assert_eq!((hold.step, hold.cause), (0, HoldCause::Credentials), "no better than the one before");
        changed(&mut world, "local");
        world.complete("main", context());
        world.complete("main", crate::testing::answers("done"));
        assert_eq!(world.briefs().last().map(|brief| brief.as_str()), Some("result: done"));
        changed(&mut world, "local");
        assert!(world.agent("main").run.is_none(), "nobody waits");
    }

    /// Where another model is away as well, a login ends the wait for that, too.
    #[test]
    fn a_login_that_was_refused_beside_an_outage_is_tried_when_it_changes() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", fails(FailureKind::Auth));
        let full = quota(&world, Some(Millis::hours(5)));
        world.complete("main", full);
        let hold = world.agent("main").hold.clone().unwrap();
        assert_eq!((hold.cause, hold.refused_by.len()), (HoldCause::Quota, 1));
        world.step(crate::input::Input::LoginChanged { provider: "local".into() });
        assert!(world.agent("main").hold.is_none() && world.agent("main").run.is_some());
    }

    #[test]
    fn another_prompt_or_another_model_is_a_trial() {
        let mut world = refused();
        world.admit("main", prompt("and now?"));
        world.complete("main", context());
        world.complete("main", crate::testing::answers("now it works"));
        assert!(
            world.agent("main").hold.is_none() && world.agent("main").run.is_some(),
            "the first one goes on"
        );
        let mut world = refused();
        let model = Some("local/three".parse().unwrap());
        let main = crate::testing::agent("main");
        world.ask(|reply| crate::input::Input::SetModel { agent: main, model, reply });
        assert!(world.agent("main").hold.is_none() && world.agent("main").run.is_some());
    }

    #[test]
    fn after_a_trial_that_failed_the_next_prompt_is_one() {
        let mut world = refused();
        world.admit("main", prompt("one"));
        world.admit("main", prompt("two"));
        world.complete("main", context());
        world.complete("main", fails(FailureKind::Client));
        world.complete("main", fails(FailureKind::Client));
        assert!(world.agent("main").hold.is_some(), "nothing has succeeded");
        let run = world.agent("main").run.as_ref().expect("the first that waits is the next trial");
        assert_eq!(run.about.incoming.body.text.preview(), "go");
        world.complete("main", context());
        world.complete("main", crate::testing::answers("now it works"));
        assert!(world.agent("main").hold.is_none());
    }

    #[test]
    fn after_a_trial_that_is_aborted_the_next_prompt_that_comes_is_one() {
        let mut world = refused();
        world.admit("main", prompt("one"));
        world.admit("main", prompt("two"));
        world.control("main", crate::input::ControlRequest::Abort { run_id: None, stop_after_abort: false });
        assert!(world.agent("main").run.is_none(), "what waits goes on waiting");
        assert!(world.agent("main").hold.is_some() && world.agent("main").inbox.queued_entries() == 2);
        world.admit("main", prompt("three"));
        let run = world.agent("main").run.as_ref().expect("another trial");
        assert_eq!(run.about.incoming.body.text.preview(), "three");
    }

    /// A run that nobody holds: of two models, with so much patience in seconds.
    fn impatient(patience: u64) -> World {
        let mut config = crate::testing::config();
        (config.hold.on_outage, config.retry.retries) = (false, 0);
        config.retry.patience = Millis::seconds(patience);
        let mut world = World::new(config);
        world.create("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world
    }

    fn asked(world: &World) -> Vec<&str> {
        world.requests.iter().map(|request| request.model.model()).collect()
    }

    fn pauses(world: &World) -> Vec<u64> {
        let pause = |record: &holon_facts::Record| {
            let Event::Turn(TurnFact::ProvidersAwaited(fact)) = &record.event else { return None };
            Some(fact.pause_ms.0)
        };
        world.log.iter().filter_map(pause).collect()
    }

    #[test]
    fn a_chain_that_is_away_is_asked_again_until_patience_is_over() {
        let mut world = impatient(5);
        for _ in 0..20 {
            if world.agent("main").run.is_none() {
                break;
            }
            if world.open.is_empty() {
                world.pass_to_deadline();
            } else {
                world.complete("main", fails(FailureKind::Server));
            }
        }
        let pauses = pauses(&world);
        assert!((1_000..1_250).contains(&pauses[0]) && (2_000..2_500).contains(&pauses[1]), "{pauses:?}");
        assert_eq!(pauses.len(), 3, "{pauses:?}");
        assert!(
            (4_990..=5_000).contains(&pauses.iter().sum::<u64>()),
            "the last one ends with the rest: {pauses:?}"
        );
        assert_eq!(asked(&world), ["one", "two"].repeat(4));
        assert!(world.briefs()[0].starts_with("failure: The turn failed"), "{:?}", world.briefs());
    }

    #[test]
    fn whoever_comes_back_answers_and_whom_waiting_can_t_help_is_left_out() {
        let mut world = impatient(120);
        world.complete("main", fails(FailureKind::Auth));
        world.complete("main", fails(FailureKind::Connect));
        world.pass_to_deadline();
        assert_eq!(asked(&world), ["one", "two", "two"]);
        world.complete("main", crate::testing::answers("here I am"));
        assert_eq!(world.briefs(), ["result: here I am"]);
        // What fails for good in the second pass ends the round.
        let mut world = impatient(120);
        world.complete("main", fails(FailureKind::Connect));
        world.complete("main", fails(FailureKind::Auth));
        world.pass_to_deadline();
        world.complete("main", fails(FailureKind::Auth));
        assert_eq!(asked(&world), ["one", "two", "one"]);
        assert!(world.agent("main").run.is_none());
    }

    /// A request that was too long has been made shorter since: its refusal says nothing about the next pass.
    #[test]
    fn whom_a_request_was_too_long_for_is_asked_again_after_an_outage() {
        let mut world = impatient(120);
        for turn in ["one", "two"] {
            world.complete("main", crate::testing::answers(turn));
            world.admit("main", prompt("and now?"));
            world.complete("main", context());
        }
        world.complete("main", fails(FailureKind::ContextLength));
        let before = world.requests.len();
        world.complete("main", fails(FailureKind::Connect));
        world.complete("main", fails(FailureKind::Connect));
        world.pass_to_deadline();
        assert_eq!(asked(&world)[before - 1..], ["one", "two", "one"]);
        world.complete("main", crate::testing::answers("here I am"));
        assert!(world.agent("main").run.is_none());
    }

    #[test]
    fn without_patience_a_turn_fails_at_once() {
        let mut world = impatient(0);
        world.complete("main", fails(FailureKind::Server));
        world.complete("main", fails(FailureKind::Server));
        assert!(world.agent("main").run.is_none() && pauses(&world).is_empty());
    }
}
