//! Agents of a runtime in the background, through the command line.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{count, payloads, wait_for};
use serde_json::{Value, json};

#[test]
fn a_prompt_goes_all_the_way_and_back() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "echo from a command" }))]),
        says("Looked around."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let ended = daemon.ok(&["prompt", "--wait=settled", "look around"]);
    assert_eq!(ended.stdout, "Looked around.\n");
    assert!(ended.stderr.contains("echo from a command"), "{ended:?}");
    let tail = daemon.ok(&["tail"]).stdout;
    for text in ["> msg_1: look around", "result: Looked around.", "echo from a command"] {
        assert!(tail.contains(text), "{text} is not in {tail}");
    }
    assert_eq!(daemon.ok(&["tail", "--level", "verbose"]).stdout, tail, "that is what it begins with");
    let info = daemon.ok(&["tail", "--level", "info"]).stdout;
    assert!(info.contains("result: Looked around.") && !info.contains("echo from a command"), "{info}");
    assert!(!tail.contains("decided: "), "{tail}");
    let debug = daemon.ok(&["tail", "--level", "5"]).stdout;
    assert!(debug.contains("decided: start_model_turn for msg_1") && !debug.contains("op_1"), "{debug}");
    daemon.0.run(&["tail", "--level", "trace"]).refused(2, &["info, verbose, debug"]);
    let transcript = daemon.ok(&["transcript"]).stdout;
    assert!(transcript.contains("look around") && transcript.contains("from a command"), "{transcript}");
    let events = daemon.ok(&["tail", "--json", "-n", "512"]).stdout;
    let seqs: Vec<u64> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_seq"].as_u64().unwrap())
        .collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
    assert_eq!(daemon.ok(&["ledger", "export", "--json"]).stdout, daemon.ok(&["ledger", "export"]).stdout);
    let status = daemon.ok(&["status", "--json"]).json();
    assert_eq!((&status["agent_id"], &status["status"]), (&json!("main"), &json!("asleep")));
    assert_eq!(status["identity"]["kind"], "default");
    assert_eq!(daemon.ok(&["why", "--json"]).json()["verdict"], "completed");
    assert!(daemon.ok(&["why"]).stdout.contains("woken by"));
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn none_is_none_and_more_than_there_may_be_is_refused() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "hello"]);
    for command in ["tail", "transcript"] {
        assert_eq!(daemon.ok(&[command, "-n", "0"]).stdout, "", "{command}");
        daemon.0.run(&[command, "nobody", "-n", "0"]).refused(3, &["nobody"]);
    }
    assert_eq!(daemon.ok(&["tail", "--json", "-n", "0"]).stdout, "");
    let none = daemon.ok(&["transcript", "--json", "-n", "0"]).json();
    assert_eq!(none, json!({ "ok": true, "entries": [], "more": true }));
    assert_eq!(
        daemon.ok(&["transcript", "--json", "-n", "1"]).json()["entries"].as_array().unwrap().len(),
        1
    );
    assert_eq!(daemon.ok(&["daemon", "logs", "--json", "-n", "0"]).json()["tail"], json!([]));
    daemon.0.run(&["transcript", "-n", "501"]).refused(2, &["0..=500"]);
    daemon.0.run(&["tail", "-n", "513"]).refused(2, &["0..=512"]);
    daemon.0.run(&["daemon", "logs", "-n", "10001"]).refused(2, &["0..=10000"]);
}

/// (A key that is refused would be no end: the prompt waits for the right one.)
#[test]
fn the_end_of_a_wait_is_the_verdict() {
    let provider = Provider::start([end_to_end::provider::fails(400, "bad request")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let ended = daemon.0.run(&["prompt", "--wait=settled", "--json", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    assert_eq!((&report["verdict"], &report["exit_code"]), (&json!("failed"), &json!(1)));
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!(status["last_failure"]["phase"], "runtime_turn", "{status}");
    assert_eq!(status["last_failure"]["agent_id"], "main");
    let people = daemon.ok(&["daemon", "status"]).stdout;
    assert!(people.contains("runtime_turn of main at"), "{people}");
    assert!(people.contains("holon transcript main"), "{people}");
}

#[test]
fn the_lifecycle_of_an_agent() {
    let daemon = Daemon::hello();
    daemon.start();
    let folder = daemon.0.work();
    let created = daemon.ok(&["agent", "create", "helper", "--workspace-root", folder.to_str().unwrap()]);
    assert!(created.stdout.contains("created helper"), "{created:?}");
    daemon.0.run(&["agent", "create", "helper"]).refused(4, &["exists already", "holon agent list"]);
    daemon.0.run(&["agent", "create", "No Name"]).refused(2, &[]);
    let list = daemon.ok(&["agent", "list", "--json"]).json();
    let names: Vec<&str> =
        list["agents"].as_array().unwrap().iter().map(|agent| agent["agent_id"].as_str().unwrap()).collect();
    assert_eq!(names, ["helper", "main"]);
    assert!(daemon.ok(&["agent", "stop", "helper"]).stdout.contains("helper is stopped"));
    for old in [&["agent", "pause", "helper"][..], &["pause", "helper", "--json"]] {
        let told = daemon.ok(old);
        assert_eq!(told.stderr, "holon: `pause` is an old name of `holon agent stop`; use that instead\n");
        assert!(told.stdout.contains(if old.contains(&"--json") { "deprecated" } else { "stopped already" }));
    }
    assert_eq!(daemon.ok(&["agent", "stop", "helper"]).stderr, "");
    daemon.0.run(&["prompt", "--agent", "helper", "x"]).refused(4, &["holon agent start helper"]);
    let told = daemon.ok(&["agent", "resume", "helper"]);
    assert_eq!(told.stderr, "holon: `resume` is an old name of `holon agent start`; use that instead\n");
    daemon.ok(&["prompt", "--agent", "helper", "--wait", "x"]);
    daemon.0.run(&["prompt", "--agent", "nobody", "x"]).refused(3, &["holon agent create nobody"]);
    daemon.0.run(&["status", "nobody"]).refused(3, &["nobody"]);
    daemon.0.run(&["agent", "abort", "helper"]).refused(4, &["no run is in progress", "holon why helper"]);
    daemon.0.run(&["prompt", "  "]).refused(2, &["empty"]);
}

#[test]
fn a_run_is_aborted_and_the_agent_goes_on() {
    let provider = Provider::start([says("never").late(Duration::from_secs(60)), says("The second one.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "-q", "first"]);
    provider.wait_for_requests(1);
    daemon.0.run(&["agent", "abort", "--run", "run_99"]).refused(4, &["run_99", "holon why main"]);
    assert!(daemon.ok(&["agent", "abort"]).stdout.contains("was aborted"));
    assert_eq!(daemon.ok(&["prompt", "--wait=settled", "second"]).stdout, "The second one.\n");
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let provider = Provider::start([says("late").late(Duration::from_secs(60)), says("Now.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "-q", "do it"]);
    provider.wait_for_requests(1);
    daemon.kill();
    daemon.start();
    wait_for("end of the turn", || daemon.ok(&["why", "--json"]).json()["quiet"] == true);
    assert!(daemon.ok(&["tail"]).stdout.contains("result: Now."));
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!((count(&records, "message_admitted"), count(&records, "message_processed")), (1, 1));
    assert_eq!(payloads(&records, "brief_created").len(), 1);
}

#[test]
fn whoever_follows_misses_nothing_across_a_restart() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "one"]);
    let mut following = daemon
        .0
        .command(&["tail", "--follow", "--json", "-n", "512"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    daemon.ok(&["prompt", "--wait=settled", "two"]);
    daemon.ok(&["daemon", "restart"]);
    daemon.ok(&["prompt", "--wait=settled", "three"]);
    let last = daemon.ok(&["status", "--json"]).json()["event_seq"].as_u64().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    end_to_end::signal(&following, "INT");
    let mut followed = String::new();
    following.stdout.take().unwrap().read_to_string(&mut followed).unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(0));
    let seqs: Vec<u64> = followed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_seq"].as_u64().unwrap())
        .collect();
    assert!(seqs.iter().copied().eq(1..=last), "1 to {last}: {seqs:?}");
}

#[test]
fn without_a_runtime_every_command_says_how_to_start_it() {
    let daemon = Daemon::hello();
    for command in [
        &["prompt", "--no-start", "x"][..],
        &["tail", "--follow"],
        &["agent", "create", "a"],
        &["agent", "start", "a"],
        &["agent", "stop", "a"],
        &["agent", "abort", "a"],
    ] {
        daemon.0.run(command).refused(5, &["holon daemon start"]);
    }
    // There is nothing to read yet.
    for command in ["status", "why", "tail", "transcript"] {
        daemon.0.run(&[command]).refused(3, &["has no agents yet"]);
    }
    assert!(daemon.ok(&["completions", "bash"]).stdout.contains("_holon"));
    let man = daemon.ok(&["man"]).stdout;
    assert!(man.starts_with(".ie") && man.contains("holon\\-daemon(1)"), "{man}");
    let start = daemon.ok(&["man", "daemon", "start"]).stdout;
    assert!(start.contains(".TH holon-daemon-start 1") && start.contains("wait"), "{start}");
    let document = daemon.ok(&["man", "--json", "daemon", "start"]).json();
    assert_eq!(document, json!({ "command": "holon daemon start", "page": start }));
    let script = daemon.ok(&["completions", "bash"]).stdout;
    let document = daemon.ok(&["completions", "bash", "--json"]).json();
    assert_eq!(document, json!({ "shell": "bash", "completions": script }));
    daemon.0.run(&["man", "daemon", "strat"]).refused(2, &["did you mean start"]);
}

#[test]
fn a_run_with_an_agent_goes_to_the_runtime() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "echo hello > made" }))]),
        says("Made it."),
        says("late").late(Duration::from_secs(60)),
        says("After that."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.0.run(&["run", "--agent", "worker", "x"]).refused(3, &["--create-agent"]);
    daemon.start();
    daemon.0.run(&["run", "--agent", "worker", "x"]).refused(3, &["--create-agent"]);
    let ended = daemon.ok(&["run", "--json", "--agent", "worker", "--create-agent", "make it"]);
    let report = ended.json();
    assert_eq!((&report["verdict"], &report["final_text"]), (&json!("completed"), &json!("Made it.")));
    assert_eq!((&report["rounds"], &report["turns"]), (&json!(2), &json!(1)), "{report}");
    assert!(daemon.0.work().join("made").exists(), "it works where it was made for");
    daemon.0.run(&["run", "--agent", "worker", "--model", "local/other", "x"]).refused(2, &["--model"]);
    daemon.0.run(&["run", "--agent", "worker", "--cwd", "/", "x"]).refused(2, &[]);
    let interrupted = daemon.0.spawn(&["run", "--json", "--agent", "worker", "wait for it"]);
    provider.wait_for_requests(3);
    end_to_end::signal(&interrupted, "INT");
    let ended = end_to_end::Ended::from(interrupted.wait_with_output().unwrap());
    assert_eq!((ended.code, &ended.json()["verdict"]), (Some(130), &json!("aborted")), "{ended:?}");
    let stream = daemon.ok(&["run", "--output-format", "stream-json", "--agent", "worker", "go on"]).stdout;
    let last: Value = serde_json::from_str(stream.lines().last().unwrap()).unwrap();
    assert_eq!(last["payload"]["final_text"], "After that.");
    daemon.ok(&["daemon", "status"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}
