//! Models of an agent's own, and agents that begin as a copy of another, through the real daemon.

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{payloads, wait_for};
use serde_json::json;

#[test]
fn an_agent_asks_the_model_that_was_chosen_for_it() {
    let provider = Provider::start([says("One."), says("Two."), says("Three.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "first"]);
    let chosen = daemon.ok(&["agent", "model", "--set", "local/other", "--json"]).json();
    assert_eq!(chosen["source"], "agent_override");
    assert_eq!(chosen["effective_model"], "local/other");
    daemon.ok(&["prompt", "--wait=settled", "second"]);
    // It is durable: the next process knows it, too.
    daemon.kill();
    daemon.start();
    assert_eq!(daemon.ok(&["agent", "model", "--json"]).json()["override_model"], "local/other");
    daemon.ok(&["agent", "model", "--clear"]);
    daemon.ok(&["prompt", "--wait=settled", "third"]);
    let asked: Vec<String> =
        provider.asked().iter().map(|asked| asked.body["model"].as_str().unwrap().to_owned()).collect();
    assert_eq!(asked, ["test", "other", "test"]);
    daemon.0.run(&["agent", "model", "--set", "nonsense"]).refused(2, &["model"]);
    daemon.0.run(&["agent", "model", "--set", "nowhere/x"]).refused(2, &["nowhere", "holon config doctor"]);
    daemon.0.run(&["agent", "model", "nobody", "--clear"]).refused(3, &["nobody"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!(payloads(&records, "model_override_changed").len(), 2);
}

#[test]
fn a_fork_tries_again_from_a_past_point() {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "echo one", "login": false }))]),
        says("The first way."),
        says("Another way."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    std::fs::write(daemon.0.home().join("agents/main/memory/self.md"), "learned").unwrap();
    daemon.ok(&["prompt", "--wait=settled", "find a way"]);
    let events = daemon.ok(&["tail", "--json", "-n", "512"]).stdout;
    let executed = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let executed = executed.rev().find(|event| event["type"] == "tool_executed").unwrap();
    let at = executed["event_seq"].to_string();
    let forked = daemon.ok(&["ledger", "fork", "main", "again", "--at", &at, "--json"]).json();
    assert_eq!((&forked["forked_from"], &forked["agent_id"]), (&json!("main"), &json!("again")));
    wait_for("end of the fork's turn", || daemon.ok(&["why", "again", "--json"]).json()["quiet"] == true);
    // The command had its result: it is not run again, the model goes on from there.
    let transcript = daemon.ok(&["transcript", "again"]).stdout;
    assert!(transcript.contains("Another way.") && !transcript.contains("The first way."), "{transcript}");
    assert!(daemon.ok(&["transcript"]).stdout.contains("The first way."));
    assert_eq!(provider.asked().len(), 3);
    let memory = std::fs::read_to_string(daemon.0.home().join("agents/again/memory/self.md")).unwrap();
    assert_eq!(memory, "learned");
    let status = daemon.ok(&["status", "again", "--json"]).json();
    assert_eq!(status["identity"]["kind"], "named");
    assert_eq!(status["identity"]["forked_from"]["agent_id"], "main");
    daemon.0.run(&["ledger", "fork", "main", "again"]).refused(4, &["exists already", "holon agent list"]);
    daemon
        .0
        .run(&["ledger", "fork", "main", "far", "--at", "100000"])
        .refused(3, &["its log goes from 1 to", "holon tail main"]);
    daemon.0.run(&["ledger", "fork", "nobody", "far"]).refused(3, &["nobody"]);
    daemon.0.run(&["ledger", "fork", "main", "No Name"]).refused(2, &[]);
    // The name of a child that main may begin.
    daemon.0.run(&["ledger", "fork", "main", "main--1"]).refused(2, &["main--1"]);
    daemon.kill();
    daemon.start();
    daemon.ok(&["prompt", "--agent", "again", "--json", "and on"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    daemon.0.run(&["ledger", "fork", "main", "far"]).refused(5, &["holon daemon start"]);
}
