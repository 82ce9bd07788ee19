//! An agent that says what it waits for: what it waits for ends the wait, and nothing else does, whoever dies meanwhile.

use end_to_end::daemon::Daemon;
use end_to_end::http::ask;
use end_to_end::wait_for;
use serde_json::{Value, json};

/// A model that waits in its first round, and says something where the turn goes on.
fn waiter(arguments: &Value) -> Daemon {
    let rounds =
        json!([{ "calls": [{ "tool": "WaitFor", "arguments": arguments }] }, { "text": "it is over" }]);
    let daemon = Daemon::scripted(&rounds);
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    std::fs::write(daemon.0.home().join("config.toml"), "[run]\nidle_limit_ms = 1000\n")
        .expect("a configuration");
    daemon.start();
    daemon
}

#[test]
fn an_event_ends_the_wait_for_it_also_after_a_crash() {
    let daemon = waiter(&json!({ "reason": "the build", "wake": "external", "resource": "ci" }));
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "tell me when it is green"]);
    assert_eq!(prompted.code, Some(7), "{prompted:?}");
    let why = daemon.ok(&["why"]).stdout;
    assert!(why.contains("wait_1 (external ci)") && why.contains(": the build"), "{why}");
    assert!(why.contains("wait_for_external_change") && why.contains("waiting_for_external"), "{why}");
    assert!(daemon.ok(&["agent", "status"]).stdout.contains("wait_1 (external ci)"));
    daemon.kill();
    daemon.start();
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(why["waits"][0]["wait_id"], "wait_1", "{why}");
    assert_eq!(why["due"]["reason"], "recheck", "an hour later it is looked at again: {why}");
    for source in ["mail", "ci"] {
        let path = format!("/webhooks/generic/main?source={source}");
        let passed = json!({ "status": "passed" });
        let answer = ask(&daemon.run_file("holon.sock"), "POST", &path, &[], Some(&passed));
        assert_eq!(answer.expect("an answer").status, 200);
    }
    wait_for("the turn of the event", || daemon.events_of("wait_resolved") == 1);
    wait_for("the next wait", || daemon.events_of("wait_registered") == 3);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

#[test]
fn an_operator_is_asked_and_his_answer_ends_the_wait() {
    let daemon = waiter(&json!({ "reason": "red or blue?", "wake": "operator_input" }));
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "paint it"]);
    assert_eq!(prompted.code, Some(6), "{prompted:?}");
    assert_eq!(daemon.events_of("wait_resolved"), 0);
    daemon.0.run(&["prompt", "--wait=settled", "blue"]);
    assert_eq!(daemon.events_of("wait_resolved"), 1);
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    assert!(events.contains("The agent waits for you: red or blue?"), "{events}");
}

#[test]
fn a_client_goes_on_while_a_task_is_waited_for() {
    let daemon = waiter(&json!({ "reason": "the tests", "wake": "task_result", "resource": "task_1" }));
    daemon.ok(&["task", "run", "--", "sleep", "2"]);
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "how do they end?"]);
    assert_eq!(prompted.code, Some(0), "{prompted:?}");
    assert_eq!((daemon.events_of("wait_registered"), daemon.events_of("wait_resolved")), (1, 1));
    assert_eq!(daemon.events_of("turn_terminal"), 2);
}

#[test]
fn a_hint_wakes_who_waits_for_it_and_survives_a_crash() {
    let daemon = waiter(&json!({ "reason": "the build", "wake": "external", "resource": "ci" }));
    daemon.0.run(&["prompt", "--wait=settled", "tell me when it is green"]);
    let hinted = daemon.ok(&["wake", "it moved", "--source", "mail"]).stdout;
    assert_eq!(hinted, "the hint for main is triggered\n");
    wait_for("the hint to be told", || daemon.events_of("wake_tick_queued") == 1);
    assert_eq!((daemon.events_of("turn_terminal"), daemon.events_of("wait_resolved")), (1, 0));
    daemon.ok(&["wake", "the build has ended", "--source", "ci", "--body", "passed"]);
    daemon.kill();
    daemon.start();
    wait_for("the wait to end", || daemon.events_of("wait_resolved") == 1);
    wait_for("the next wait", || daemon.events_of("wait_registered") == 2);
    daemon.ok(&["agent", "stop", "main"]);
    daemon.0.run(&["wake", "too late"]).refused(4, &["stopped", "a wake does not override a stop"]);
    daemon.ok(&["agent", "start", "main"]);
    daemon.0.run(&["wake", "no source", "--source", ""]).refused(2, &["source"]);
    daemon.0.run(&["wake", ""]).refused(2, &["the length of the reason is 0"]);
    daemon.0.run(&["wake", "no such wait", "--wait", "soon"]).refused(2, &["wait_"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}
