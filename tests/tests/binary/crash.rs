//! `kill -9` in the middle of a run: what was acknowledged is there, and work goes on where it was recorded.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use end_to_end::{Holon, count, payloads};
use serde_json::{Value, json};

/// Three commands that leave a line each, slowly enough to be killed anywhere.
fn scenario() -> Value {
    let step = |name: &str| {
        let cmd = format!("echo {name} >> log; sleep 0.15");
        json!({ "calls": [{ "tool": "ExecCommand", "arguments": { "cmd": cmd, "login": false } }] })
    };
    json!([step("one"), step("two"), step("three"), { "text": "All three are done." }])
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_killed_run_goes_on_from_what_was_recorded() {
    let holon = Holon::new();
    let model = holon.scenario(&scenario());
    let run = ["run", "--json", "--model", &model, "--agent", "main", "--create-agent", "work"];
    let log = holon.work().join("log");
    let mut child = holon.spawn(&run);
    while lines(&log).len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let ended = holon.run(&["run", "--json", "--model", &model, "--agent", "main", "once more"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ledger = holon.home().join("ledger.sqlite3");
    holon.check_ledger(&ledger);
    let records = holon.records(&ledger);
    assert_eq!(count(&records, "runtime_recovered"), 1);
    let admitted = payloads(&records, "message_admitted");
    let prompts = admitted.iter().filter(|fact| fact["message"]["kind"] == "operator_prompt").count();
    assert_eq!(prompts, 2);
    let processed = payloads(&records, "message_processed");
    let ids: BTreeSet<_> = processed.iter().map(|fact| fact["message_id"].as_str().unwrap()).collect();
    assert!(ids.len() == processed.len() && ids.contains("msg_1") && ids.contains("msg_2"), "{ids:?}");
    // The command in progress went on under its supervisor: nothing runs again. As a task it has a message of its own.
    let one = lines(&log).iter().filter(|line| *line == "one").count();
    assert_eq!(one, processed.len(), "once for each message");
    assert_eq!(count(&records, "tool_execution_failed"), 0);
    assert_eq!(count(&records, "tool_executed"), lines(&log).len(), "each command has one result");
}

#[test]
fn killed_at_any_moment_nothing_is_lost_or_done_twice() {
    let holon = Holon::new();
    let model = holon.scenario(&scenario());
    let ledger = holon.home().join("ledger.sqlite3");
    for round in 0..12 {
        let prompt = format!("work {round}");
        let mut child =
            holon.spawn(&["run", "--json", "--model", &model, "--agent", "main", "--create-agent", &prompt]);
        std::thread::sleep(Duration::from_millis(40 + 67 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ended =
        holon.run(&["run", "--json", "--model", &model, "--agent", "main", "--create-agent", "the last"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    holon.check_ledger(&ledger);
    let records = holon.records(&ledger);
    let mut settled: Vec<_> = payloads(&records, "message_processed")
        .iter()
        .map(|fact| fact["message_id"].as_str().unwrap().to_owned())
        .collect();
    let admitted = count(&records, "message_admitted");
    assert_eq!(settled.len(), admitted, "every admitted message is processed");
    settled.sort();
    settled.dedup();
    assert_eq!(settled.len(), admitted, "and once");
    assert_eq!(count(&records, "turn_started"), count(&records, "turn_terminal"));
}
