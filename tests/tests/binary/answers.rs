//! What counts as the answer to a prompt is the same for `run` and for `prompt --wait`, whichever turn brought it.

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, Reply, calls, says};
use serde_json::{Value, json};

/// What both print after these answers of the model, each with an agent of its own.
fn answers(replies: &[Reply], answer: &str) {
    ends(replies, answer, 0);
}

/// What both print and end with.
fn ends(replies: &[Reply], answer: &str, code: i32) {
    let provider = Provider::start(replies.to_vec());
    let holon = Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    // A temporary run is offered less.
    let ran = holon.run(&["run", "-q", "--agent", "main", "--create-agent", "go"]);
    assert_eq!((ran.stdout.as_str(), ran.code), (answer, Some(code)), "{ran:?}");
    let provider = Provider::start(replies.to_vec());
    let daemon = Daemon::new(&provider);
    daemon.start();
    let prompted = daemon.0.run(&["prompt", "-q", "--wait=settled", "go"]);
    assert_eq!((prompted.stdout.as_str(), prompted.code), (answer, Some(code)), "{prompted:?}");
}

fn call(tool: &str, arguments: Value) -> Reply {
    calls(&[(tool, arguments)])
}

#[test]
fn what_a_timer_brings_that_was_waited_for() {
    let wait = json!({ "reason": "the build", "wake": "timer", "duration_ms": 1_000 });
    answers(&[call("WaitFor", wait), says("The timer came.")], "The timer came.\n");
}

#[test]
fn what_a_sleep_ends_with() {
    answers(&[call("Sleep", json!({ "duration_ms": 1_000 })), says("Woke up.")], "Woke up.\n");
}

#[test]
fn what_an_agent_asks_itself() {
    let asks = call("Enqueue", json!({ "text": "and the rest" }));
    answers(&[asks.clone(), says("So far."), says("And the rest.")], "And the rest.\n");
    // An empty answer is a failure; what was said before stays said.
    ends(&[asks, says("So far."), says("")], "So far.\n", 1);
}

#[test]
fn what_the_result_of_a_command_brings() {
    let command = call("ExecCommand", json!({ "cmd": "sleep 3", "yield_time_ms": 1_000 }));
    let wait = call("WaitFor", json!({ "reason": "its end", "wake": "task_result", "resource": "task_1" }));
    answers(&[command, wait, says("It has ended.")], "It has ended.\n");
}

/// What is delivered stands before what is said later (work.md).
#[test]
fn what_is_delivered_stays() {
    let create = call("CreateWorkItem", json!({ "objective": "repair the build" }));
    let item = json!({ "work_item_id": "work_1" });
    let mut complete = call("CompleteWorkItem", item.clone());
    if let Reply::Answer(answer) = &mut complete {
        answer.text = "The build is green.".to_owned();
    }
    let asks = call("Enqueue", json!({ "text": "tidy up" }));
    let replies = [create, call("PickWorkItem", item), complete, asks, says("Bye."), says("Tidy.")];
    answers(&replies, "The build is green.\n");
}

/// Nobody waits for it: it is about something else.
#[test]
fn a_timer_of_an_operator_adds_nothing() {
    let slow = call("ExecCommand", json!({ "cmd": "sleep 2" }));
    let provider = Provider::start([slow, says("Slept."), says("A tick.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["timer", "add", "1s", "look around"]);
    let prompted = daemon.ok(&["prompt", "-q", "--wait=settled", "go"]);
    assert_eq!(prompted.stdout, "Slept.\n");
    assert_eq!(daemon.events_of("turn_terminal"), 2);
}

#[test]
fn a_failure_is_no_answer() {
    let daemon = Daemon::new(&Provider::start([end_to_end::provider::fails(400, "no such thing")]));
    daemon.start();
    let prompted = daemon.0.run(&["prompt", "-q", "--wait=settled", "go"]);
    assert_eq!((prompted.stdout.as_str(), prompted.code), ("", Some(1)), "{prompted:?}");
    assert!(prompted.stderr.contains("holon: failed: "), "{prompted:?}");
}
