//! `holon debug scheduler-fixture`: decisions of the past as scenarios of the decision table.

use std::fs;

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use serde_json::{Value, json};

fn fixture(daemon: &Daemon, arguments: &[&str]) -> Value {
    daemon.ok(&[&["debug", "scheduler-fixture", "--json"], arguments].concat()).json()
}

/// Events that record a decision, and what they record.
fn decisions(daemon: &Daemon) -> Vec<(String, Value)> {
    let records = daemon.0.records(&daemon.ledger());
    let decided = records.iter().filter(|record| record["type"] == "scheduler_decision");
    decided.map(|record| (record["event_seq"].to_string(), record["payload"].clone())).collect()
}

#[test]
fn each_decision_of_a_home_is_a_scenario_that_decides_the_same() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    // What it waits for afterwards is another decision.
    daemon.ok(&["work", "add", "a goal of its own"]);
    daemon.0.run(&["prompt", "--wait", "again"]);
    let all = decisions(&daemon);
    assert!(all.len() >= 4, "{all:?}");
    let check = || {
        for (event, decision) in &all {
            let shown = fixture(&daemon, &["--at", event]);
            assert_eq!((&shown["recorded"], &shown["as_recorded"]), (&json!(true), &json!(true)), "{shown}");
            assert_eq!(&shown["decision"], decision, "{shown}");
            assert_eq!(shown["scenario"]["facts"]["boundary"], decision["boundary"]);
        }
    };
    check();
    daemon.ok(&["daemon", "stop"]);
    check();
    // Right after the creation, had it looked.
    let other = fixture(&daemon, &["--at", "1"]);
    let boundary = &other["decision"]["boundary"];
    assert_eq!((&other["recorded"], boundary), (&json!(false), &json!("idle_tick")));
}

#[test]
fn a_scenario_is_written_as_the_tests_of_the_table_read_it() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    let all = decisions(&daemon);
    let (event, decision) = all.iter().find(|(_, decision)| decision["row"] == 6).expect("a turn");
    let folder = daemon.0.work();
    let at = ["debug", "scheduler-fixture", "--at", event, "--output"];
    let write = |path: &str| daemon.0.run(&[&at[..], &[path]].concat());
    let place = folder.display().to_string();
    let written = write(&place);
    assert_eq!(written.code, Some(0), "{written:?}");
    let stem = format!("06-main-{event}");
    let read = |name: String| fs::read_to_string(folder.join(name)).expect("a file");
    let scenario: Value = serde_json::from_str(&read(format!("{stem}.json"))).expect("JSON");
    let keys: Vec<&String> = scenario.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["facts", "name"]);
    assert_eq!((&scenario["facts"]["queued"], &scenario["facts"]["hold"]), (&json!(1), &Value::Null));
    let snapshot = read(format!("decided/{stem}.snap"));
    let body = snapshot.splitn(3, "---\n").nth(2).expect("a head and a body");
    let decided: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!((&decided["decision"], &decided["name"]), (decision, &scenario["name"]));
    // Nothing is overwritten, and a name leads to its row.
    write(&place).refused(4, &["can't be written", "--output"]);
    write(&format!("{place}/07-mine.json")).refused(2, &["first two characters", &stem]);
    write(&format!("{place}/06-mine.txt")).refused(2, &[".json ends it"]);
    assert_eq!(write(&format!("{place}/06-mine.json")).code, Some(0));
    let people = daemon.ok(&["debug", "scheduler-fixture", "main"]).stdout;
    assert!(people.contains("\"facts\"") && people.contains("14: sleep, nothing_pending"), "{people}");
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    let asks = |arguments: &[&str]| daemon.0.run(&[&["debug", "scheduler-fixture"], arguments].concat());
    asks(&["--at", "9999"])
        .refused(3, &["main has no event 9999: its log goes from 1 to ", "holon tail main"]);
    asks(&["--at", "0"]).refused(3, &["main has no event 0"]);
    asks(&["--at", "x"]).refused(2, &["invalid value 'x'"]);
    asks(&["nobody"]).refused(3, &["nobody"]);
    Holon::new().run(&["debug", "scheduler-fixture"]).refused(3, &["has no agents yet", "holon init"]);
}
