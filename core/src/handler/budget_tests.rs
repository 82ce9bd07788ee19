//! Budgets of turns, agents, days and the runtime: what exhausts them, what waits for them, and what ends that.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::budget::{Bounds, BudgetKind, Budgets};
use holon_facts::config::Config;
use holon_facts::decision::DecisionKind;
use holon_facts::event::scheduling::{HoldCause, HoldEnd};
use holon_facts::event::{Event, SchedulingFact, TurnFact};
use holon_facts::model::{FailureKind, TransportDiagnostics};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::Outcome;
use holon_facts::price::{Amount, Cost, ModelPrice, Price, Prices};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Millis;
use holon_facts::usage::TokenUsage;

use crate::grants::{Grant, Loan};
use crate::input::{ControlRequest, Input};
use crate::testing::{World, agent, answers, calls, config, context, fails, prompt, tool_answers};
use crate::view::RunVerdict;

/// What is reserved for any request: the question, and the longest answer.
fn one_request() -> u64 {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.agent("main").account.reserved().tokens
}

fn tokens(tokens: u64) -> Bounds {
    Bounds { tokens: Some(tokens), cost_micros: None }
}

fn with(budgets: Budgets) -> Config {
    let price = Price { input: Cost(1_000_000), cached_input: Cost(0), output: Cost(10_000_000) };
    let models = ["local/one", "local/two"].map(|name| ModelRef::new(name).unwrap());
    let prices = Prices(models.map(|model| ModelPrice { model, price }).into());
    Config { budgets, prices, ..config() }
}

/// A turn that calls a tool after its first round, and so asks for a second one.
fn a_turn(world: &mut World, name: &str) {
    world.admit(name, prompt("go"));
    world.complete(name, context());
    works(world, name);
}

fn works(world: &mut World, name: &str) {
    let usage = TokenUsage { total_tokens: ROUND, ..TokenUsage::default() };
    world.complete(name, taking(calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]), usage));
    world.complete(name, tool_answers("a file"));
}

/// The tokens of its first round …
const ROUND: u64 = 5_000;

/// … after which there is not enough for another one.
fn one_round() -> u64 {
    one_request() + ROUND - 1_000
}

fn taking(outcome: Outcome, usage: TokenUsage) -> Outcome {
    let Outcome::Answer { mut answer } = outcome else { panic!("no answer: {outcome:?}") };
    answer.usage = usage;
    Outcome::Answer { answer }
}

fn last_turn(world: &World) -> (TurnKind, Option<TurnReason>) {
    let last = world.agent("main").history.last_turn.as_ref().unwrap();
    (last.kind, last.reason)
}

fn ends_of_holds(world: &World) -> Vec<HoldEnd> {
    let ended = world.log.iter().filter_map(|record| {
        let Event::Scheduling(SchedulingFact::HoldEnded(fact)) = &record.event else { return None };
        Some(fact.reason)
    });
    ended.collect()
}

fn described(world: &World) -> String {
    world.briefs().pop().unwrap()
}

#[test]
fn what_a_request_takes_is_reserved_and_settled_as_its_provider_says() {
    let mut world = World::with_config("main", with(Budgets::default()));
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let reserved = world.agent("main").account.reserved();
    assert!(reserved.tokens > 16_384 && reserved.cost_micros > Cost(163_840), "{reserved:?}");
    world.complete("main", answers("done"));
    let account = world.agent("main").account;
    let spent = Amount { tokens: 15, cost_micros: Cost(10 + 50) };
    assert_eq!((account.total, account.of_day, account.reserved), (spent, spent, None));
    assert_eq!(world.agent("main").history.usage.total_tokens, 15);
}

#[test]
fn where_nobody_says_what_a_request_took_it_is_estimated() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let sent = world.agent("main").account.reserved.unwrap().sent.tokens;
    world.complete("main", taking(answers("twelve bytes"), TokenUsage::default()));
    assert_eq!(world.agent("main").account.total.tokens, sent + 3);
    // What may have been heard counts, what was refused does not.
    for (ends, counts) in [(FailureKind::Timeout, true), (FailureKind::RateLimited, false)] {
        let before = world.agent("main").account.total.tokens;
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", fails(ends));
        let after = world.agent("main").account.total.tokens;
        assert_eq!(after > before, counts, "{ends}");
        world.control("main", ControlRequest::Abort { run_id: None, stop_after_abort: false });
    }
    let before = world.agent("main").account.total.tokens;
    world.admit("main", prompt("go"));
    world.complete("main", context());
    world.crash();
    assert!(world.agent("main").account.total.tokens > before, "a crash tells nothing");
}

/// An error in a stream, and a proxy that gave up waiting, come after the request was heard; a plain refusal does not.
#[test]
fn a_request_that_was_begun_counts() {
    let at =
        |stage: &str, status| Some(TransportDiagnostics { stage: stage.into(), status, ..<_>::default() });
    for (kind, diagnostics, counts) in [
        (FailureKind::Server, at("stream", Some(200)), true),
        (FailureKind::RateLimited, at("stream", Some(200)), true),
        (FailureKind::Server, at("response", Some(504)), true),
        (FailureKind::Server, at("response", Some(524)), true),
        (FailureKind::Server, at("response", Some(500)), false),
        (FailureKind::Server, at("response", Some(503)), false),
        (FailureKind::RateLimited, at("response", Some(429)), false),
        (FailureKind::Quota, at("stream", Some(200)), false),
        (FailureKind::Auth, at("response", Some(401)), false),
    ] {
        let mut world = World::with_config("main", with(Budgets::default()));
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let sent = world.agent("main").account.reserved.unwrap().sent;
        let Outcome::AttemptFailed { mut failure } = fails(kind) else { panic!() };
        failure.diagnostics.clone_from(&diagnostics);
        let counted =
            TokenUsage { input_tokens: 1_000, output_tokens: 100, total_tokens: 21_100, ..<_>::default() };
        world.complete("main", Outcome::AttemptFailed { failure: failure.clone() });
        let total = world.agent("main").account.total;
        assert_eq!(total, if counts { sent } else { Amount::default() }, "{kind} {diagnostics:?}");
        // What its provider reports counts in any case.
        let mut world = World::with_config("main", with(Budgets::default()));
        world.admit("main", prompt("go"));
        world.complete("main", context());
        failure.usage = Some(counted);
        world.complete("main", Outcome::AttemptFailed { failure });
        let reported = Amount { tokens: 21_100, cost_micros: Cost(1_000 + 201_000) };
        assert_eq!(world.agent("main").account.total, reported, "{kind} {diagnostics:?}");
    }
}

#[test]
fn a_budget_below_one_request_names_what_helps() {
    for (budgets, key) in [
        (Budgets { turn: tokens(1_000), ..Budgets::default() }, "turn_tokens"),
        (Budgets { agent_day: tokens(1_000), ..Budgets::default() }, "agent_day_tokens"),
        (Budgets { agent: tokens(1_000), ..Budgets::default() }, "agent_tokens"),
    ] {
        let mut world = World::with_config("main", with(budgets));
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let helps =
            format!("no such request fits in it: raise budget.{key}, or lower runtime.max_output_tokens");
        assert!(described(&world).contains(&helps), "{}", described(&world));
        assert!(!described(&world).contains("next day of UTC"), "{}", described(&world));
    }
}

#[test]
fn a_turn_that_has_spent_its_own_ends_and_the_next_one_has_its_own() {
    let budgets = Budgets { turn: tokens(one_round()), ..Budgets::default() };
    let mut world = World::with_config("main", with(budgets));
    for _ in 0..2 {
        a_turn(&mut world, "main");
        assert_eq!(last_turn(&world), (TurnKind::BudgetExhausted, Some(TurnReason::TurnTokens)));
        assert!(described(&world).contains("raise budget.turn_tokens"), "{}", described(&world));
        assert!(world.agent("main").hold.is_none() && world.agent("main").inbox.totals().0 == 0);
    }
}

#[test]
fn money_counts_as_tokens_do() {
    let turn = Bounds { tokens: None, cost_micros: Some(Cost(300_000)) };
    let mut world = World::with_config("main", with(Budgets { turn, ..Budgets::default() }));
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let dear = TokenUsage { input_tokens: 1_000, output_tokens: 14_000, ..TokenUsage::default() };
    world.complete("main", taking(calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]), dear));
    world.complete("main", tool_answers("a file"));
    assert_eq!(last_turn(&world), (TurnKind::BudgetExhausted, Some(TurnReason::TurnCost)));
    assert!(
        described(&world).contains("the budget turn_cost ($0.30) is exhausted: $0.141000 used"),
        "{}",
        described(&world)
    );
}

#[test]
fn what_an_agent_may_spend_in_all_holds_it_until_that_is_raised() {
    let limit = one_round();
    let mut world = World::with_config("main", with(Budgets { agent: tokens(limit), ..Budgets::default() }));
    a_turn(&mut world, "main");
    assert_eq!(last_turn(&world), (TurnKind::BudgetExhausted, Some(TurnReason::AgentTokens)));
    let main = agent("main");
    let explained = world.host.view().explain(&main).unwrap();
    assert_eq!(explained.decision.kind, DecisionKind::WaitForOperator);
    assert_eq!(explained.verdict, Some(RunVerdict::BudgetExhausted));
    assert!(explained.due.is_none() && world.host.view().settled(&main, Millis::hours(1)));
    let hold = world.agent("main").hold.clone().unwrap();
    assert_eq!((hold.cause, hold.until), (HoldCause::Budget, None));
    // A prompt is told at once, and waits too; nothing else happens, however long that takes.
    world.admit("main", prompt("and now?"));
    world.complete("main", context());
    assert_eq!(world.agent("main").inbox.queued_entries(), 2);
    assert_eq!(world.briefs().len(), 2);
    let recorded = world.log.len();
    world.pass(Millis::hours(1_000));
    world.crash();
    assert_eq!(world.kinds(recorded), Vec::<&str>::new(), "the same budget is no news");
    // Raised by as much as the rest takes: it goes on where it was.
    world.restart(with(Budgets { agent: tokens(limit * 10), ..Budgets::default() }));
    assert_eq!(ends_of_holds(&world), [HoldEnd::BudgetRaised]);
    world.complete("main", context());
    let run = world.agent("main").run.as_ref().unwrap();
    assert_eq!(
        (run.conversation.carried_rounds, run.conversation.rounds.len()),
        (1, 1),
        "what was done is not done again"
    );
    world.complete("main", answers("done"));
    world.complete("main", context());
    world.complete("main", answers("that too"));
    assert_eq!(world.agent("main").inbox.totals().0, 0);
}

#[test]
fn what_a_day_may_take_is_there_again_on_the_next() {
    let limit = one_round();
    let mut world =
        World::with_config("main", with(Budgets { agent_day: tokens(limit), ..Budgets::default() }));
    a_turn(&mut world, "main");
    let (hold, midnight) = (world.agent("main").hold.clone().unwrap(), world.now.wall.next_day());
    let until = hold.until.unwrap();
    assert!(until >= midnight && until < midnight.after(Millis::seconds(60)), "{until}");
    assert_eq!(world.agent("main").inbox.queued_entries(), 1);
    assert!(world.pass_to_deadline());
    world.complete("main", context());
    world.complete("main", answers("done"));
    assert_eq!(ends_of_holds(&world), [HoldEnd::TurnSucceeded]);
    let account = world.agent("main").account;
    assert_eq!((account.total.tokens, account.of_day.tokens), (ROUND + 15, 15));
}

#[test]
fn a_request_counts_for_the_day_on_which_it_was_sent() {
    let mut world = World::with_agent("main");
    world.now.wall = world.now.wall.next_day().after(Millis(0));
    world.now.wall.0 -= 1_000_000;
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let day = world.now.wall.day();
    world.pass(Millis::seconds(2));
    assert_eq!(world.now.wall.day(), day + 1);
    world.complete("main", answers("done"));
    let account = world.agent("main").account;
    assert_eq!((account.on(day).tokens, account.on(day + 1).tokens), (15, 0));
}

#[test]
fn a_message_that_no_day_has_enough_for_fails_after_a_day() {
    let mut world = World::with_config("main", with(Budgets { agent_day: tokens(1), ..Budgets::default() }));
    world.admit("main", prompt("go"));
    world.complete("main", context());
    for _ in 0..2 {
        assert!(world.pass_to_deadline());
        if world.agent("main").run.is_some() {
            world.complete("main", context());
        }
    }
    assert_eq!(world.agent("main").inbox.totals().0, 0);
    assert!(world.agent("main").hold.is_some(), "the day is exhausted all the same");
}

#[test]
fn a_run_that_waits_for_nobody_ends_at_once() {
    let mut config = with(Budgets { agent: tokens(1), ..Budgets::default() });
    config.hold.on_outage = false;
    let mut world = World::with_config("main", config);
    world.admit("main", prompt("go"));
    world.complete("main", context());
    assert!(world.agent("main").hold.is_none() && world.agent("main").inbox.totals().0 == 0);
    assert_eq!(world.host.view().verdict(&agent("main")), Some(RunVerdict::BudgetExhausted));
}

#[test]
fn all_agents_share_what_the_runtime_may_spend() {
    let limit = one_request() * 3 / 2;
    let mut world = World::new(with(Budgets { runtime: tokens(limit), ..Budgets::default() }));
    for name in ["main", "other"] {
        world.create(name);
        world.admit(name, prompt("go"));
        world.complete(name, context());
    }
    // What the first has reserved may come back: the second waits for it.
    assert!(world.waits_for("main").is_some() && world.waits_for("other").is_none());
    assert!(world.agent("other").run.is_some() && world.agent("other").hold.is_none());
    world.complete("main", answers("done"));
    assert!(world.pass_to_deadline());
    assert!(world.waits_for("other").is_some(), "there is room now");
    // It takes nearly all of it: nobody has enough for another request.
    let most = TokenUsage { total_tokens: limit - 100, ..TokenUsage::default() };
    world.complete("other", taking(answers("done"), most));
    world.admit("main", prompt("go"));
    world.complete("main", context());
    assert_eq!(last_turn(&world), (TurnKind::BudgetExhausted, Some(TurnReason::RuntimeTokens)));
    // Whoever leaves memory has spent what he has spent.
    assert!(world.host.view().spending().total.tokens >= limit - 100);
    world.crash();
    let spending = world.host.view().spending();
    assert_eq!(spending.total.tokens, limit - 100 + 15);
    assert_eq!(spending.budgets[0].budget.budget, BudgetKind::RuntimeTokens);
}

/// A host that shares a budget of so many tokens with others, with agents that want to ask their models.
fn sharing(budgets: Budgets, names: &[&str]) -> World {
    let mut world = World::new(Config { shares_budgets: true, ..with(budgets) });
    for name in names {
        world.create(name);
        world.admit(name, prompt("go"));
        world.complete(name, context());
    }
    world
}

fn lend(world: &mut World, Loan { budget, day, .. }: Loan, lent: u64, refused: Option<u64>) {
    world.step(Input::Granted { grant: Grant { budget, day, lent, refused } });
}

#[test]
fn a_request_waits_until_what_it_needs_is_lent() {
    let request = one_request();
    let limit = request * 10;
    let mut world = sharing(Budgets { runtime: tokens(limit), ..Budgets::default() }, &["main", "other"]);
    assert!(world.waits_for("main").is_none() && world.waits_for("other").is_none());
    // Each asks for its request and the next one.
    let loan = Loan { budget: BudgetKind::RuntimeTokens, day: 0, needed: request * 2, limit };
    assert_eq!(world.loans, [loan; 2]);
    // An answer that never comes is asked for again.
    assert!(world.pass_to_deadline());
    assert_eq!(world.loans, [loan; 4]);
    lend(&mut world, loan, request, None);
    assert!(world.waits_for("main").is_some() && world.waits_for("other").is_none());
    assert_eq!(world.loans.pop(), Some(Loan { needed: request * 3, ..loan }));
    lend(&mut world, loan, request * 5, None);
    assert!(world.waits_for("other").is_some());
    assert_eq!(world.host.view().spending().budgets[0].budget.limit, limit);
}

#[test]
fn what_is_not_to_be_had_is_exhausted() {
    let request = one_request();
    let limit = request * 10;
    let mut world = sharing(Budgets { runtime: tokens(limit), ..Budgets::default() }, &["main"]);
    let loan = world.loans[0];
    lend(&mut world, loan, request / 2, Some(request * 2));
    assert_eq!(world.loans.last(), Some(&Loan { needed: request, ..loan }), "for this one alone");
    lend(&mut world, loan, request / 2, Some(request));
    assert_eq!(last_turn(&world), (TurnKind::BudgetExhausted, Some(TurnReason::RuntimeTokens)));
    let used = format!("{} tokens used", limit - request / 2);
    assert!(described(&world).contains(&used), "the others have the rest: {}", described(&world));
}

#[test]
fn what_is_lent_for_a_day_ends_with_it() {
    let request = one_request();
    let budgets = Budgets { runtime_day: tokens(request * 10), ..Budgets::default() };
    let mut world = sharing(budgets, &["main"]);
    let loan = world.loans[0];
    lend(&mut world, loan, request * 10, None);
    world.complete("main", answers("done"));
    world.pass(Millis::seconds(24 * 60 * 60));
    world.admit("main", prompt("go"));
    world.complete("main", context());
    assert!(world.waits_for("main").is_none());
    let next = world.loans.pop().unwrap();
    assert_eq!((next.budget, next.day), (BudgetKind::RuntimeDayTokens, loan.day + 1));
}

#[test]
fn counters_of_a_provider_that_make_no_sense_bankrupt_nobody_else() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context());
    let most = u64::MAX;
    let most =
        TokenUsage { input_tokens: most, output_tokens: most, total_tokens: most, cached_input_tokens: most };
    world.complete("main", taking(answers("done"), most));
    assert_eq!(world.agent("main").account.total.tokens, 1 << 40);
    assert!(world.log.iter().any(|record| matches!(record.event, Event::Turn(TurnFact::BudgetSettled(_)))));
}
