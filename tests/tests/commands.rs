//! Commands whose runtime dies: they end under their supervisors, their results are delivered, and nothing is
//! executed twice.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use end_to_end::{Ended, Holon, payloads};
use serde_json::{Value, json};

/// One command, then a report.
fn one(cmd: &str, window: u64) -> Value {
    let arguments = json!({ "cmd": cmd, "login": false, "yield_time_ms": window });
    json!([{ "calls": [{ "tool": "ExecCommand", "arguments": arguments }] }, { "text": "Done." }])
}

/// Starts a run, and kills it as soon as `file` is there.
fn killed_when_there_is(holon: &Holon, model: &str, file: &str) {
    let run = ["run", "--json", "--model", model, "--agent", "main", "--create-agent", "work"];
    let mut child = holon.spawn(&run);
    wait_for(|| holon.work().join(file).exists());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// The next start, whose prompt is a message of its own; the results of the commands of the first.
fn next_start(holon: &Holon, model: &str) -> (Vec<Value>, Vec<Value>) {
    let ended = holon.run(&["run", "--json", "--model", model, "--agent", "main", "again"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ledger = holon.home().join("ledger.sqlite3");
    holon.check_ledger(&ledger);
    let records = holon.records(&ledger);
    let of_first = |kind: &str| -> Vec<Value> {
        let first = payloads(&records, kind).into_iter().filter(|fact| fact["run_id"] == "run_1");
        first.map(|fact| fact["receipt"].clone()).collect()
    };
    assert!(left(&holon.home().join("run/commands")).is_empty(), "traces are left");
    (of_first("tool_executed"), of_first("tool_execution_failed"))
}

#[test]
fn a_command_that_outlives_its_runtime_brings_its_result() {
    let holon = Holon::new();
    let cmd = "echo x >> log; [ -e begun ] && exit; touch begun; sleep 1; echo finished";
    let model = holon.scenario(&one(cmd, 20_000));
    killed_when_there_is(&holon, &model, "begun");
    let (executed, failed) = next_start(&holon, &model);
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(executed.len(), 1);
    let content = executed[0]["content"].as_str().unwrap();
    assert!(content.contains("finished") && content.contains(r#""exit_status":0"#), "{content}");
    let log = std::fs::read_to_string(holon.work().join("log")).unwrap();
    assert_eq!(log.lines().count(), 2, "once for each message");
}

#[test]
fn a_command_that_ended_before_the_next_start_brings_its_result() {
    let holon = Holon::new();
    let cmd = "[ -e ended ] && exit; touch begun; sleep 0.5; touch ended; seq 1 5000";
    let model = holon.scenario(&one(cmd, 20_000));
    killed_when_there_is(&holon, &model, "begun");
    wait_for(|| holon.work().join("ended").exists());
    std::thread::sleep(Duration::from_millis(300));
    let (executed, failed) = next_start(&holon, &model);
    assert!(failed.is_empty() && executed.len() == 1, "{failed:?}");
    assert_eq!(executed[0]["facts"]["exit_status"], 0);
}

#[test]
fn a_command_whose_runtime_vanished_ends_with_its_window() {
    let holon = Holon::new();
    let cmd = "[ -e begun ] && exit; touch begun; echo so far; sleep 58";
    let items = json!([{ "cmd": cmd, "login": false, "yield_time_ms": 1_000 }]);
    let batch = json!({ "calls": [{ "tool": "ExecCommandBatch", "arguments": { "items": items } }] });
    let model = holon.scenario(&json!([batch, { "text": "Done." }]));
    killed_when_there_is(&holon, &model, "begun");
    let (executed, failed) = next_start(&holon, &model);
    assert!(failed.is_empty(), "{failed:?}");
    assert!(executed[0]["content"].to_string().contains("command_timed_out"), "{executed:?}");
    assert!(strays(&holon).is_empty(), "{:?}", strays(&holon));
}

#[test]
fn without_supervisor_and_record_the_call_was_interrupted() {
    let holon = Holon::new();
    let model = holon.scenario(&one("[ -e begun ] && exit; echo $PPID > pid; touch begun; sleep 59", 60_000));
    killed_when_there_is(&holon, &model, "begun");
    let supervisor = std::fs::read_to_string(holon.work().join("pid")).unwrap();
    signal("-KILL", supervisor.trim());
    let (executed, failed) = next_start(&holon, &model);
    assert!(executed.is_empty(), "{executed:?}");
    assert_eq!(failed[0]["error"]["kind"], "interrupted");
    assert!(failed[0]["error"]["hint"].as_str().unwrap().contains("may have had effects"));
    wait_for(|| strays(&holon).is_empty());
}

/// The runtime is killed again and again around the moment at which a command begins.
#[test]
fn whenever_the_runtime_dies_a_command_is_executed_once_or_not_at_all() {
    let holon = Holon::new();
    let model = holon.scenario(&one("echo $$ >> log; sleep 0.05", 10_000));
    for round in 0..15 {
        let prompt = format!("work {round}");
        let run = ["run", "--json", "--model", &model, "--agent", "main", "--create-agent", &prompt];
        let mut child = holon.spawn(&run);
        std::thread::sleep(Duration::from_millis(30 + 9 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ended = holon.run(&["run", "--json", "--model", &model, "--agent", "main", "--create-agent", "last"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ledger = holon.home().join("ledger.sqlite3");
    holon.check_ledger(&ledger);
    let records = holon.records(&ledger);
    let log = std::fs::read_to_string(holon.work().join("log")).unwrap_or_default();
    let executed = payloads(&records, "tool_executed").len();
    let interrupted = payloads(&records, "tool_execution_failed");
    let unsure = interrupted
        .iter()
        .filter(|fact| fact["receipt"]["error"]["message"] == "the call was interrupted")
        .count();
    let ran = log.lines().count();
    assert_eq!(unsure, 0, "with a supervisor that lives it is known what happened: {interrupted:?}");
    assert_eq!(ran, executed, "{ran} commands ran, {executed} have a result");
}

#[test]
fn an_interrupt_ends_the_command_wherever_it_moved() {
    let holon = Holon::new();
    let model = holon.scenario(&one("setsid sleep 57 & touch begun; sleep 57", 60_000));
    let child = holon.spawn(&["run", "--json", "--model", &model, "go"]);
    wait_for(|| holon.work().join("begun").exists());
    signal("-INT", &child.id().to_string());
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    wait_for(|| strays(&holon).is_empty());
}

#[test]
fn a_batch_and_a_terminal_through_the_whole_runtime() {
    let holon = Holon::new().with("OTHER_API_KEY", "canary-4f1c77aa");
    let batch =
        json!({ "items": [{ "cmd": "echo one", "login": false }, { "cmd": "exit 3", "login": false }] });
    let environ = "tr '\\0' '\\n' < /proc/$PPID/environ; env; stty size";
    let rounds = json!([
        { "calls": [{ "tool": "ExecCommandBatch", "arguments": batch },
            { "tool": "ExecCommand", "arguments": { "cmd": environ, "tty": true, "login": false } },
            { "tool": "ExecCommand", "arguments": { "cmd": "true", "accepts_input": true } }] },
        { "text": "Done." }]);
    let model = holon.scenario(&rounds);
    let ended = holon.run(&["run", "--json", "--model", &model, "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ledger = std::path::PathBuf::from(ended.json()["ledger"].as_str().unwrap());
    let records = holon.records(&ledger);
    let executed = payloads(&records, "tool_executed");
    assert_eq!(executed[0]["receipt"]["facts"]["exit_status"], 3);
    assert_eq!(executed[1]["receipt"]["facts"]["exit_status"], 0);
    assert_eq!(executed[2]["receipt"]["facts"]["exit_status"], 0);
    assert!(!std::fs::read(&ledger).unwrap().windows(15).any(|bytes| bytes == b"canary-4f1c77aa"));
    holon.check_ledger(&ledger);
}

#[test]
fn configured_budgets_bound_what_is_shown() {
    let holon = Holon::new().with("HOLON_DEFAULT_TOOL_OUTPUT_TOKENS", "100");
    let model = holon.scenario(&one("seq 1 5000", 10_000));
    let report = holon.run(&["run", "--json", "--model", &model, "go"]).json();
    let records = holon.records(report["ledger"].as_str().unwrap().as_ref());
    let receipt = &payloads(&records, "tool_executed")[0]["receipt"];
    assert_eq!(receipt["facts"]["truncated"], true);
    assert!(receipt["content"]["bytes"].as_u64().unwrap() < 1_000, "{receipt}");
    let wrong = holon.with("HOLON_MAX_TOOL_OUTPUT_TOKENS", "70000");
    wrong.run(&["run", "--model", &model, "go"]).refused(2, &["HOLON_MAX_TOOL_OUTPUT_TOKENS", "64000"]);
}

fn signal(signal: &str, pid: &str) {
    let status = Command::new("kill").args([signal, pid]).status().expect("kill runs");
    assert!(status.success());
}

/// Processes that still run in the folder of this test.
fn strays(holon: &Holon) -> Vec<String> {
    let work = holon.work();
    let here = |path: &std::path::PathBuf| std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == work);
    let processes =
        std::fs::read_dir("/proc").expect("processes").filter_map(|entry| Some(entry.ok()?.path()));
    processes.filter(here).map(|path| path.display().to_string()).collect()
}

fn left(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect()
}

fn wait_for(mut condition: impl FnMut() -> bool) {
    for _ in 0..600 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not happen within 12 s");
}

#[test]
fn an_interrupted_run_ends_after_its_command() {
    let holon = Holon::new();
    std::fs::create_dir_all(holon.home()).unwrap();
    std::fs::write(holon.home().join("config.toml"), "[runtime]\ncommand_grace_ms = 700\n").unwrap();
    let model = holon.scenario(&one("trap '' TERM INT; echo $$ > pid; while :; do sleep 0.1; done", 60_000));
    let run = holon.spawn(&["run", "--json", "--model", &model, "work"]);
    let file = holon.work().join("pid");
    wait_for(|| std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    let pid = std::fs::read_to_string(&file).unwrap();
    let interrupt = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    let ended = Ended::from(run.wait_with_output().expect("it ends"));
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the command outlived the run: {ended:?}");
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.json()["verdict"], "aborted");
}
