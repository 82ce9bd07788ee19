//! Turns that no operator causes: a day has so many, prompts pass, and a raised limit goes on where the lower one stopped.

use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, ask};
use end_to_end::wait_for;
use serde_json::{Value, json};

fn limited(daemon: &Daemon, turns: u32) {
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    let config = format!("[limits]\nunattended_turns_per_day = {turns}\n");
    std::fs::write(daemon.0.home().join("config.toml"), config).expect("a configuration");
}

fn webhook(daemon: &Daemon, source: &str, number: u32) -> Answered {
    let path = format!("/webhooks/generic/main?source={source}&delivery_id={number}");
    let answer = ask(&daemon.run_file("holon.sock"), "POST", &path, &[], Some(&json!({ "number": number })));
    answer.expect("an answer")
}

/// Strangers use up their own allowance, and neither that of others nor the agent's own.
#[test]
fn a_source_that_sends_too_much_is_refused_and_nobody_else() {
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    let config = "[limits]\nsource_turns_per_day = 2\nunattended_turns_per_day = 1\n";
    std::fs::write(daemon.0.home().join("config.toml"), config).expect("a configuration");
    daemon.start();
    for number in 1..=2 {
        assert_eq!(webhook(&daemon, "forge", number).status, 200);
        wait_for("a turn", || so_far(&daemon) == (number as usize, 0));
    }
    let refused = webhook(&daemon, "forge", 3);
    assert_eq!((refused.status, refused.body["code"].as_str()), (429, Some("too_many_events")));
    assert_eq!(refused.body["details"]["allowance"], "source_day", "{}", refused.body);
    assert_eq!(webhook(&daemon, "forge", 2).status, 200, "what was taken before is known");
    daemon.kill();
    daemon.start();
    assert_eq!(webhook(&daemon, "forge", 4).status, 429, "a crash brings no other day");
    assert_eq!(webhook(&daemon, "chat", 1).status, 200);
    wait_for("a turn", || so_far(&daemon) == (3, 0));
    timer(&daemon);
    wait_for("a turn of its own", || so_far(&daemon) == (4, 0));
    let said = daemon.ok(&["why"]).stdout;
    assert!(said.contains("from outside") && said.contains("2 by webhook:forge"), "{said}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

/// What the agent causes itself, as far as anybody can tell: the time of a timer comes.
fn timer(daemon: &Daemon) {
    let body = json!({ "duration_ms": 1_000 });
    let answer = ask(&daemon.run_file("holon.sock"), "POST", "/control/agents/main/timers", &[], Some(&body));
    assert_eq!(answer.expect("an answer").status, 201);
}

fn why(daemon: &Daemon) -> Value {
    daemon.ok(&["why", "--json"]).json()
}

/// Turns that have ended, and messages that wait.
fn so_far(daemon: &Daemon) -> (usize, u64) {
    (
        daemon.events_of("turn_terminal"),
        why(daemon).pointer("/queue/entries").and_then(Value::as_u64).unwrap_or_default(),
    )
}

#[test]
fn a_day_without_an_operator_comes_to_an_end() {
    let daemon = Daemon::hello();
    limited(&daemon, 2);
    daemon.start();
    for number in 1..=2 {
        timer(&daemon);
        wait_for("a turn", || so_far(&daemon) == (number as usize, 0));
    }
    timer(&daemon);
    wait_for("a message that waits", || so_far(&daemon) == (2, 1));
    let told = why(&daemon);
    assert_eq!(told["decision"]["reason"], "unattended_turns", "{told}");
    assert_eq!((told["queue"]["entries"].as_u64(), told["quiet"].as_bool()), (Some(1), Some(true)), "{told}");
    assert_eq!(told["verdict"], "waiting_for_timer", "{told}");
    let said = daemon.ok(&["why"]).stdout;
    assert!(said.contains("unattended") && said.contains("2 in one day, all of them until"), "{said}");
    let briefs = daemon.ok(&["tail", "--events", "100", "--json"]).stdout;
    assert!(briefs.contains("limits.unattended_turns_per_day"), "{briefs}");

    let prompted = daemon.0.run(&["prompt", "--wait=settled", "now"]);
    assert!(prompted.code == Some(7) && prompted.stdout.starts_with("Hello!"), "{prompted:?}");
    assert_eq!(so_far(&daemon), (3, 1), "a prompt passes, the rest waits");
    daemon.kill();
    daemon.start();
    assert_eq!(so_far(&daemon), (3, 1), "nor does a crash set it going");

    daemon.ok(&["daemon", "stop"]);
    limited(&daemon, 3);
    daemon.start();
    wait_for("the one that waited", || so_far(&daemon) == (4, 0));
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

/// A model that leaves itself a message in each turn, and has nothing else in mind.
#[test]
fn an_agent_that_only_talks_to_itself_waits_longer_and_longer() {
    let call = |tool: &str, arguments: Value| json!({ "tool": tool, "arguments": arguments });
    let again = call("Enqueue", json!({ "text": "look again" }));
    let tell = call("NotifyOperator", json!({ "message": "still red", "urgency": "action_required" }));
    let daemon = Daemon::scripted(&json!([{ "calls": [again, tell] }, { "text": "Later." }]));
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    std::fs::write(daemon.0.home().join("config.toml"), "[run]\nidle_limit_ms = 1000\n")
        .expect("a configuration");
    daemon.start();
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "watch the build"]);
    assert_eq!(prompted.code, Some(7), "{prompted:?}");
    assert_eq!(so_far(&daemon), (4, 1), "that of the prompt, and three of its own");
    let said = daemon.ok(&["why"]).stdout;
    assert!(said.contains("3 turns of its own in a row without progress, the next not before"), "{said}");
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    let told = |line: &&str| line.contains(r#""type":"brief_created""#) && line.contains("still red");
    assert_eq!(events.lines().filter(told).count(), 4, "{events}");

    daemon.kill();
    daemon.start();
    let (turns, _) = so_far(&daemon);
    assert!(turns <= 5, "a crash is nobody's word: {turns} turns");
    daemon.ok(&["agent", "start", "main"]);
    wait_for("three more turns", || so_far(&daemon) >= (turns + 3, 1));
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}
