//! Commands whose runtime dies: they go on under their supervisors, their results are delivered, and nothing is
//! executed twice.

use std::path::Path;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::nothing_is_open;
use end_to_end::task::{ends, wait_until_over};
use end_to_end::{Ended, Holon, count, payloads, signal, strays, wait_for};
use serde_json::{Value, json};

/// One command, then a report.
fn one(cmd: &str, window: u64) -> Value {
    let arguments = json!({ "cmd": cmd, "login": false, "yield_time_ms": window });
    json!([{ "calls": [{ "tool": "ExecCommand", "arguments": arguments }] }, { "text": "Done." }])
}

/// Starts a run, and kills it as soon as `file` is there.
fn killed_when_there_is(holon: &Holon, file: &str) {
    let mut child = holon.spawn(&["run", "--json", "--agent", "main", "--create-agent", "work"]);
    wait_for("command", || holon.work().join(file).exists());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// What is on record when a runtime has gone on with everything.
fn in_the_end(daemon: &Daemon) -> Vec<Value> {
    daemon.start();
    wait_until_over(daemon, &["main"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    nothing_is_open(&records);
    // The one that waited for a next command leaves by itself.
    wait_for("the last supervisor", || strays::supervisors(&daemon.0.home()).is_empty());
    assert!(left(&daemon.0.home().join("run/commands")).is_empty(), "traces are left");
    records
}

/// The receipts of the commands of the first run: of those that have a result, and of those that failed.
fn of_first_run(records: &[Value]) -> (Vec<Value>, Vec<Value>) {
    let of_first = |kind: &str| -> Vec<Value> {
        let first = payloads(records, kind).into_iter().filter(|fact| fact["run_id"] == "run_1");
        first.map(|fact| fact["receipt"].clone()).collect()
    };
    (of_first("tool_executed"), of_first("tool_execution_failed"))
}

#[test]
fn a_command_that_outlives_its_runtime_goes_on_as_a_task() {
    let cmd = "echo x >> log; [ -e begun ] && exit; echo written early; touch begun; sleep 2; echo finished; exit 4";
    let daemon = Daemon::scripted(&one(cmd, 20_000));
    killed_when_there_is(&daemon.0, "begun");
    let records = in_the_end(&daemon);
    let (executed, failed) = of_first_run(&records);
    assert!(failed.is_empty() && executed.len() == 1, "{executed:?} {failed:?}");
    let content = executed[0]["content"].to_string();
    assert!(content.contains("promoted_to_task") && content.contains("task_1"), "{content}");
    assert!(content.contains("written early"), "its call is shown what it has written: {content}");
    assert_eq!(payloads(&records, "task_created")[0]["cause"], "promoted_at_recovery");
    assert_eq!(ends(&records, "main")["task_1"], ("failed".to_owned(), Some(4)));
    assert!(payloads(&records, "task_status_updated")[0]["result"].to_string().contains("finished"));
    assert_eq!(count(&records, "task_result_queued"), 1);
    let log = std::fs::read_to_string(daemon.0.work().join("log")).unwrap();
    assert_eq!(log.lines().count(), 2, "once for each message");
}

#[test]
fn a_command_that_ended_before_the_next_start_brings_its_result() {
    let cmd = "[ -e ended ] && exit; touch begun; sleep 0.5; touch ended; seq 1 5000";
    let daemon = Daemon::scripted(&one(cmd, 20_000));
    killed_when_there_is(&daemon.0, "begun");
    wait_for("end of the supervisor", || strays::supervisors(&daemon.0.home()).is_empty());
    let records = in_the_end(&daemon);
    let (executed, failed) = of_first_run(&records);
    assert!(failed.is_empty() && executed.len() == 1, "{failed:?}");
    assert_eq!(executed[0]["facts"]["exit_status"], 0);
    assert_eq!(count(&records, "task_created"), 0, "it is no task any more");
}

#[test]
fn a_batch_whose_runtime_vanished_ends_with_its_window() {
    let cmd = "[ -e begun ] && exit; touch begun; echo so far; sleep 58";
    let items = json!([{ "cmd": cmd, "login": false, "yield_time_ms": 1_000 }]);
    let batch = json!({ "calls": [{ "tool": "ExecCommandBatch", "arguments": { "items": items } }] });
    let daemon = Daemon::scripted(&json!([batch, { "text": "Done." }]));
    killed_when_there_is(&daemon.0, "begun");
    let records = in_the_end(&daemon);
    let (executed, failed) = of_first_run(&records);
    assert!(failed.is_empty() && executed.len() == 1, "{failed:?}");
    // Found before or after that, it was told so where somebody still waits for it.
    let told =
        [executed[0].to_string(), json!(payloads(&records, "task_status_updated")).to_string()].concat();
    assert!(told.contains("command_timed_out"), "{told}");
    assert!(strays::inside(&daemon.0.work()).is_empty());
}

#[test]
fn without_supervisor_and_record_the_call_was_interrupted() {
    let cmd = "[ -e begun ] && exit; echo $PPID > pid; touch begun; sleep 59";
    let daemon = Daemon::scripted(&one(cmd, 60_000));
    killed_when_there_is(&daemon.0, "begun");
    let supervisor = std::fs::read_to_string(daemon.0.work().join("pid")).unwrap();
    strays::kill(supervisor.trim().parse().unwrap());
    let (executed, failed) = of_first_run(&in_the_end(&daemon));
    assert!(executed.is_empty(), "{executed:?}");
    assert_eq!(failed[0]["error"]["kind"], "interrupted");
    assert!(failed[0]["error"]["hint"].as_str().unwrap().contains("may have had effects"));
    wait_for("end of the command", || strays::inside(&daemon.0.work()).is_empty());
}

/// The runtime is killed again and again around the moment at which a command begins.
#[test]
fn whenever_the_runtime_dies_a_command_is_executed_once_or_not_at_all() {
    let holon = Holon::new();
    let arguments = json!({
        // The one of the round before may still run.
        "cmd": "echo $$ >> log; sleep 0.05", "login": false, "duplicate_policy": "start_new",
    });
    let rounds =
        json!([{ "calls": [{ "tool": "ExecCommand", "arguments": arguments }] }, { "text": "Done." }]);
    let model = holon.scenario(&rounds);
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
    wait_for("command", || holon.work().join("begun").exists());
    signal(&child, "INT");
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    wait_for("end of the command", || strays::inside(&holon.work()).is_empty());
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
fn a_command_that_the_time_of_its_batch_ends_is_told_so() {
    let items = json!([
        { "cmd": "sleep 1.5", "login": false, "yield_time_ms": 2_000 },
        { "cmd": "echo so far; sleep 57", "login": false, "yield_time_ms": 2_000 },
    ]);
    let batch = json!({ "calls": [{ "tool": "ExecCommandBatch", "arguments": { "items": items } }] });
    let daemon = Daemon::scripted(&json!([batch, { "text": "Done." }]));
    std::fs::create_dir_all(daemon.0.home()).expect("a home");
    std::fs::write(daemon.0.home().join("config.toml"), "[runtime]\ntool_timeout_ms = 3000\n")
        .expect("a file");
    daemon.start();
    daemon.ok(&["prompt", "--wait", "go"]);
    let told = daemon.ok(&["debug", "prompt", "--agent", "main"]).stdout;
    assert!(told.contains("the time of the whole batch was over 1") && told.contains("so far"), "{told}");
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

fn left(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path().display().to_string()).collect()
}

#[test]
fn an_interrupted_run_ends_after_its_command() {
    let holon = Holon::new();
    std::fs::create_dir_all(holon.home()).unwrap();
    std::fs::write(holon.home().join("config.toml"), "[runtime]\ncommand_grace_ms = 700\n").unwrap();
    let model = holon.scenario(&one("trap '' TERM INT; echo $$ > pid; while :; do sleep 0.1; done", 60_000));
    let run = holon.spawn(&["run", "--json", "--model", &model, "work"]);
    let file = holon.work().join("pid");
    wait_for("command", || std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
    let pid = std::fs::read_to_string(&file).unwrap();
    signal(&run, "INT");
    let ended = Ended::from(run.wait_with_output().expect("it ends"));
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the command outlived the run: {ended:?}");
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.json()["verdict"], "aborted");
}

/// Nobody would ever ask for them again.
#[test]
fn a_temporary_run_takes_its_commands_along_however_it_ends() {
    let holon = Holon::new();
    let model = holon.scenario(&one("touch begun; sleep 600", 300));
    let mut child = holon.spawn(&["run", "--json", "--model", &model, "work"]);
    wait_for("the command", || holon.work().join("begun").exists());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    wait_for("its end", || strays::inside(&holon.work()).is_empty());
}

/// One that ends by itself does not leave them either.
#[test]
fn a_temporary_run_ends_its_tasks() {
    let holon = Holon::new();
    let model = holon.scenario(&one("touch begun; sleep 600", 300));
    let ended = holon.run(&["run", "--json", "--model", &model, "--no-wait-for-tasks", "work"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(strays::inside(&holon.work()).is_empty(), "{:?}", strays::inside(&holon.work()));
}
