//! `holon debug latency`: where the time of turns went, while the runtime runs and when it is stopped.

use std::time::Duration;

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, command, fails, says};
use serde_json::{Value, json};

const PARTS: [&str; 7] = [
    "queue_wait_ms",
    "context_build_ms",
    "provider_ms",
    "backoff_ms",
    "tool_ms",
    "settlement_ms",
    "other_ms",
];

fn latency(daemon: &Daemon, arguments: &[&str]) -> Value {
    let ended = daemon.0.run(&[&["debug", "latency", "--json"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.json()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn parts_add_up_and_are_the_same_when_the_runtime_is_stopped() {
    let wait = Duration::from_millis(300);
    let provider = Provider::start([
        fails(503, "overloaded"),
        calls(&[command("sleep 0.4")]).counting(json!(120), json!(7)).late(wait),
        says("done"),
        says("and again"),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    daemon.ok(&["prompt", "--wait", "two"]);
    let live = latency(&daemon, &[]);
    let turns = live["turns"].as_array().expect("turns");
    assert_eq!(turns.len(), 2, "{live}");
    for turn in turns {
        let sum: u64 = PARTS.iter().map(|part| number(&turn[part])).sum();
        assert_eq!(sum, number(&turn["total_ms"]), "{turn}");
        assert_eq!(turn["end"], "completed");
    }
    let first = &turns[0];
    assert!(number(&first["provider_ms"]) >= 300, "{first}");
    assert!(number(&first["tool_ms"]) >= 400, "{first}");
    assert!(number(&first["backoff_ms"]) > 0, "{first}");
    let round = &first["rounds"][0];
    assert_eq!((&round["attempts"], &round["answered"]), (&json!(2), &json!(true)), "{round}");
    assert_eq!((&round["input_tokens"], &round["output_tokens"]), (&json!(120), &json!(7)), "{round}");
    assert_eq!(round["model"], "local/test");
    assert_eq!(first["tools"][0]["tool"], "ExecCommand");
    let all = &live["quantiles"];
    assert_eq!((&all["turns"], &all["total_ms"]["max"]), (&json!(2), &first["total_ms"]));

    let one = latency(&daemon, &["--turn", "2"]);
    assert_eq!((one["turns"].as_array().map(Vec::len), &one["turns"][0]), (Some(1), &turns[1]));
    assert_eq!(latency(&daemon, &["--last", "1"])["turns"], one["turns"]);
    let people = daemon.ok(&["debug", "latency", "main"]).stdout;
    assert!(people.contains("p90") && people.contains("of 2 turns"), "{people}");
    let people = daemon.ok(&["debug", "latency", "--turn", "1"]).stdout;
    assert!(people.contains("round 1") && people.contains("2 attempts, backoff "), "{people}");
    daemon.ok(&["daemon", "stop"]);
    assert_eq!(latency(&daemon, &["--agent", "main"]), live);
}

#[test]
fn a_turn_in_progress_counts_up_to_its_last_record() {
    let provider = Provider::start([says("late").late(Duration::from_secs(60))]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "one"]);
    provider.wait_for_requests(1);
    let live = latency(&daemon, &[]);
    assert_eq!((&live["turns"][0]["end"], &live["quantiles"]["turns"]), (&Value::Null, &json!(0)));
    let people = daemon.ok(&["debug", "latency"]).stdout;
    assert!(people.contains("in progress") && !people.contains("p50"), "{people}");
    daemon.kill();
    assert_eq!(latency(&daemon, &[])["turns"][0]["turn_index"], 1);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let daemon = Daemon::hello();
    daemon.start();
    let none = daemon.ok(&["debug", "latency"]).stdout;
    assert!(none.contains("main has had no turn yet"), "{none}");
    daemon
        .0
        .run(&["debug", "latency", "--turn", "1"])
        .refused(3, &["main has no turn 1: it has had no turn yet"]);
    daemon.ok(&["prompt", "--wait", "hello"]);
    let hint = "holon debug latency main lists its newest turns";
    daemon.0.run(&["debug", "latency", "--turn", "9"]).refused(3, &["its newest is turn 1", hint]);
    daemon.0.run(&["debug", "latency", "--turn", "0"]).refused(3, &["main has no turn 0"]);
    daemon.0.run(&["debug", "latency", "--turn", "x"]).refused(2, &["invalid value 'x'"]);
    daemon.0.run(&["debug", "latency", "--last", "0"]).refused(2, &["0 is not in 1..=1000"]);
    daemon.0.run(&["debug", "latency", "--last", "2", "--turn", "1"]).refused(2, &["cannot be used with"]);
    daemon.0.run(&["debug", "latency", "mian"]).refused(3, &["main"]);
    Holon::new().run(&["debug", "latency"]).refused(3, &["has no agents yet", "holon init"]);
}
