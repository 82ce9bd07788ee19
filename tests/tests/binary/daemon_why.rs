//! `holon why` and `holon status` tell what an agent is at, from facts alone.

use end_to_end::daemon::Daemon;
use end_to_end::wait_for;
use serde_json::{Value, json};

/// The value of a row of a table; each row is one line.
fn told<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix("  ")?.trim_start()))
}

fn why(daemon: &Daemon) -> (String, Value) {
    (daemon.ok(&["why"]).stdout, daemon.ok(&["why", "--json"]).json())
}

#[test]
fn a_command_in_flight_a_queue_and_a_stop() {
    let call =
        json!({ "tool": "ExecCommand", "arguments": { "cmd": "sleep 300 &&\n true", "login": false } });
    let daemon = Daemon::scripted(&json!([{ "calls": [call] }, { "text": "done" }]));
    daemon.start();
    let (table, new) = why(&daemon);
    assert_eq!((told(&table, "last turn"), new.get("last_turn")), (Some("none yet"), None), "{table}");
    // Contract, agent.md, Closure: no turn is shown as completed with no turn.
    let status = daemon.ok(&["status"]);
    for (place, closure) in [(&new, &table), (&daemon.ok(&["status", "--json"]).json(), &status.stdout)] {
        assert_eq!(place["closure"]["outcome"], "completed", "{place}");
        assert_eq!(place["closure"]["evidence"], json!([{ "fact": "no_turn" }]), "{place}");
        assert_eq!(told(closure, "closure"), Some("completed with no turn"), "{closure}");
    }
    assert_eq!(
        (&new["verdict"], told(&table, "verdict")),
        (&json!("completed"), Some("completed with no turn"))
    );
    daemon.ok(&["prompt", "-q", "go"]);
    let runs = || daemon.ok(&["why", "--json"]).json()["run"]["call"]["operation"] == "run_command";
    wait_for("command", runs);
    daemon.ok(&["prompt", "-q", "second"]);
    let (table, at_work) = why(&daemon);
    let (run, call) = (&at_work["run"], &at_work["run"]["call"]);
    assert_eq!((at_work.get("verdict"), &call["tool_name"]), (None, &json!("ExecCommand")), "{at_work}");
    assert!(run["since"].as_str() > run["started_at"].as_str(), "{run}");
    assert_eq!(run["since"], call["since"]);
    // Local to the second, of what JSON has exactly.
    let since = |value: &Value| format!("{} UTC (", &value["since"].as_str().unwrap()[11..19]);
    let phase = format!("calling since {}", since(run));
    assert!(told(&table, "phase").is_some_and(|shown| shown.starts_with(&phase)), "{table}");
    let shown = format!("ExecCommand: sleep 300 && true since {}", since(call));
    assert!(told(&table, "call").is_some_and(|call| call.starts_with(&shown)), "{table}");
    assert!(told(&table, "call").is_some_and(|call| call.contains(" (1 of 1, run_command op_")), "{table}");
    assert!(
        told(&table, "queue").is_some_and(|queue| queue.starts_with("1 normal; next is msg_2")),
        "{table}"
    );
    assert_eq!(
        (told(&table, "verdict"), told(&table, "closure")),
        (Some("none yet: something is pending"), None)
    );
    let event = at_work["last_decision_event"]["event_seq"].to_string();
    assert!(told(&table, "decided last").is_some_and(|line| line.contains(&format!("event {event} at"))));
    assert!(told(&table, "would decide").is_some_and(|line| line.ends_with(", now")), "{table}");
    let status = daemon.ok(&["status"]).stdout;
    assert_eq!((told(&status, "call"), told(&status, "closure")), (told(&table, "call"), None), "{status}");
    daemon.ok(&["agent", "stop"]);
    let (table, stopped) = why(&daemon);
    assert_eq!((&stopped["verdict"], told(&table, "woken by")), (&json!("stopped"), Some("start")));
    assert!(
        told(&table, "last turn").is_some_and(|turn| turn.starts_with("aborted (stopped) at ")),
        "{table}"
    );
    // Messages are still queued, and nobody has archived it.
    let status = daemon.ok(&["status"]).stdout;
    assert_eq!((told(&table, "posture"), told(&status, "posture")), (Some("stopped"), Some("stopped")));
    let listed = daemon.ok(&["agent", "list"]).stdout;
    assert!(listed.contains("stopped") && !listed.contains("archived"), "{listed}");
}

#[test]
fn a_hold_and_a_failure_say_what_went_wrong() {
    for (kind, row, field) in [
        ("server", "held for", "/hold_error"),
        ("auth", "held for", "/hold_error"),
        ("client", "failed by", "/failure"),
    ] {
        let fail = json!({ "kind": kind, "message": "away for lunch", "times": 9 });
        let daemon = Daemon::scripted(&json!([{ "fail": fail, "text": "late" }]));
        daemon.start();
        daemon.ok(&["prompt", "-q", "go"]);
        wait_for(field, || daemon.ok(&["why", "--json"]).json().pointer(field).is_some());
        let table = daemon.ok(&["why"]).stdout;
        let said = format!("{kind}: away for lunch (msg_1, run_1, event ");
        assert!(told(&table, row).is_some_and(|error| error.starts_with(&said)), "{table}");
        assert!(told(&table, "closure").is_some(), "nothing is pending that is not waited for: {table}");
    }
}
