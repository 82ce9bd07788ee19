//! What a home may spend: exhausted by a turn in the middle of its work, over a crash, until somebody raises it.

use std::fs;

use end_to_end::daemon::Daemon;
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

/// A turn of two rounds; the first takes 30,000 tokens.
fn rounds() -> Value {
    let look = json!({ "cmd": "echo once >> done" });
    json!([
        {
            "calls": [{ "tool": "ExecCommand", "arguments": look }],
            "usage": { "input_tokens": 20_000, "output_tokens": 10_000 },
        },
        { "text": "looked", "usage": { "input_tokens": 1_000, "output_tokens": 500 } },
    ])
}

/// Models cost a dollar for a million tokens of input, and two for output.
fn poor(budgets: &str) -> Daemon {
    let daemon = Daemon::scripted(&rounds());
    configure(&daemon.0, budgets);
    daemon.start();
    daemon
}

fn configure(holon: &Holon, budgets: &str) {
    let model = holon.variable("HOLON_MODEL").expect("a model");
    let prices = format!("[model.prices]\n\"{model}\" = {{ input = 1, output = 2 }}\n");
    fs::create_dir_all(holon.home()).expect("a home");
    fs::write(holon.home().join("config.toml"), format!("{prices}[budget]\n{budgets}\n"))
        .expect("a configuration");
}

fn done(daemon: &Daemon) -> usize {
    let done = fs::read_to_string(daemon.0.home().join("agents/main/done")).unwrap_or_default();
    done.lines().count()
}

#[test]
fn what_a_budget_stops_goes_on_once_it_is_raised() {
    let daemon = poor("agent_tokens = 40000");
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "look"]);
    assert_eq!(prompted.code, Some(8), "{prompted:?}");
    let status = daemon.ok(&["status"]).stdout;
    assert!(status.contains("30000 tokens, $0.04; today 30000 tokens, $0.04"), "{status}");
    assert!(status.contains("agent_tokens: 30000 tokens of 40000 tokens"), "{status}");
    let why = daemon.ok(&["why"]).stdout;
    assert!(why.contains("until budget.agent_tokens is raised"), "{why}");
    assert!(why.contains("budget_exhausted"), "{why}");
    let shown = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!(shown["spending"]["total"]["tokens"], 30_000, "{shown}");
    daemon.kill();
    daemon.start();
    assert_eq!(daemon.ok(&["status", "--json"]).json()["spending"]["total"]["tokens"], 30_000);
    assert_eq!(daemon.events_of("hold_ended"), 0, "the same budget is exhausted still");
    daemon.ok(&["config", "set", "budget.agent_tokens", "100000"]);
    daemon.ok(&["daemon", "restart"]);
    wait_for("the rest of the turn", || daemon.events_of("turn_terminal") == 2);
    assert_eq!(done(&daemon), 1, "what was done is not done again");
    assert_eq!(daemon.events_of("hold_ended"), 1);
    let said = daemon.ok(&["transcript", "--json"]).stdout;
    assert!(said.contains("looked"), "{said}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

#[test]
fn all_agents_of_a_home_share_what_a_day_may_cost() {
    let daemon = poor("runtime_day_cost = 0.12");
    daemon.ok(&["prompt", "--wait=settled", "look"]);
    daemon.ok(&["agent", "create", "other", "--own-home"]);
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "--agent", "other", "look"]);
    assert_eq!(prompted.code, Some(8), "{prompted:?}");
    let why = daemon.ok(&["why", "--agent", "other"]).stdout;
    assert!(why.contains("runtime_day_cost ($0.12)") && why.contains(" 00:00:"), "{why}");
    let status = daemon.ok(&["daemon", "status"]).stdout;
    assert!(status.contains("runtime_day_cost: $0.0") && status.contains("of $0.12"), "{status}");
    // Who is not in memory has spent what he has spent.
    daemon.ok(&["daemon", "restart"]);
    let spent = daemon.ok(&["daemon", "status", "--json"]).json()["spending"]["today"]["cost_micros"].clone();
    assert!(spent.as_u64().is_some_and(|micros| micros > 42_000), "{spent}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

#[test]
fn a_run_without_enough_ends_and_says_so() {
    let holon = Holon::new();
    let model = holon.scenario(&rounds());
    let holon = holon.with("HOLON_MODEL", &model);
    configure(&holon, "turn_cost = 0.05");
    let ended = holon.run(&["run", "look"]);
    assert_eq!(ended.code, Some(8), "{ended:?}");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("the budget turn_cost ($0.05) is exhausted: $0.04 used"), "{said}");
}

#[test]
fn money_needs_prices() {
    let holon = Holon::new().with("HOLON_MODEL", "scripted/hello");
    fs::create_dir_all(holon.home()).expect("a home");
    fs::write(holon.home().join("config.toml"), "[budget]\nturn_cost = 1\n").expect("a configuration");
    let refused = holon.run(&["run", "hello"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("scripted/hello has no price, which budget.turn_cost needs"),
        "{refused:?}"
    );
    let doctor = holon.run(&["config", "doctor"]);
    assert!(doctor.code == Some(1) && doctor.stdout.contains("scripted/hello has no price"), "{doctor:?}");
    let price = r#"{ "scripted/hello" = { input = 0, output = 0 } }"#;
    assert_eq!(holon.run(&["config", "set", "model.prices", price]).code, Some(0));
    let free = holon.run(&["run", "--json", "hello"]);
    assert_eq!(
        (free.code, &free.json()["cost_micros"]),
        (Some(0), &0.into()),
        "a price of 0 is one: {free:?}"
    );
    let free = holon.run(&["run", "hello"]);
    assert!(free.code == Some(0) && free.stderr.contains(", $0.00"), "{free:?}");
    for (key, wrong) in
        [("model.prices", "{ x = 1 }"), ("budget.turn_cost", "-1"), ("budget.agent_tokens", "1.5")]
    {
        let refused = holon.run(&["config", "set", key, wrong]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(&format!("{key}: expected ")), "{refused:?}");
    }
    let prices = holon.run(&["config", "prices", "--json"]).json();
    let own =
        prices["prices"].as_array().expect("prices").iter().find(|one| one["model"] == "scripted/hello");
    assert_eq!(own.expect("its own")["output"], 0.0, "{prices}");
}
