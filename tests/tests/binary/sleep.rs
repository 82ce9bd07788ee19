//! An agent that chooses to rest: it is woken in time, also by a runtime that was away meanwhile, and by whatever comes.

use end_to_end::daemon::Daemon;
use end_to_end::wait_for;
use serde_json::json;

/// A model that sleeps in each turn.
fn sleeper(arguments: &serde_json::Value) -> Daemon {
    let daemon = Daemon::scripted(&json!([{ "calls": [{ "tool": "Sleep", "arguments": arguments }] }]));
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    std::fs::write(daemon.0.home().join("config.toml"), "[run]\nidle_limit_ms = 1000\n")
        .expect("a configuration");
    daemon.start();
    daemon
}

#[test]
fn who_sleeps_is_woken_also_by_a_runtime_that_was_away() {
    let daemon = sleeper(&json!({ "reason": "the build is slow", "duration_ms": 3_000 }));
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "watch the build"]);
    assert_eq!(prompted.code, Some(7), "{prompted:?}");
    assert_eq!(daemon.events_of("turn_terminal"), 1);
    let why = daemon.ok(&["why"]).stdout;
    assert!(why.contains("sleeps") && why.contains(": the build is slow"), "{why}");
    assert!(why.contains("waiting_for_timer"), "{why}");
    daemon.kill();
    std::thread::sleep(std::time::Duration::from_secs(3));
    daemon.start();
    wait_for("the turn after the sleep", || daemon.events_of("turn_terminal") >= 2);
    assert!(daemon.events_of("sleep_elapsed") >= 1);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

#[test]
fn whatever_comes_wakes_it() {
    let daemon = sleeper(&json!({ "duration_ms": 3_600_000 }));
    daemon.0.run(&["prompt", "--wait=settled", "watch the build"]);
    let told = daemon.ok(&["why", "--json"]).json();
    assert_eq!(told["due"]["reason"], "sleep", "{told}");
    daemon.0.run(&["prompt", "--wait=settled", "is it green?"]);
    assert_eq!(daemon.events_of("turn_terminal"), 2);
    daemon.ok(&["agent", "start", "main"]);
    let told = daemon.ok(&["why", "--json"]).json();
    assert!(told.get("sleep").is_none() && told.get("due").is_none(), "{told}");
}
