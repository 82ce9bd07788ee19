//! Work items: an agent that makes, picks and completes them, and an operator beside it.

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, fails, says};
use end_to_end::wait_for;
use serde_json::{Value, json};

fn items(daemon: &Daemon, filter: &str) -> Vec<Value> {
    let list = daemon.ok(&["work", "list", "--filter", filter, "--json"]).json();
    list["work_items"].as_array().expect("a list").clone()
}

#[test]
fn an_agent_keeps_its_work_and_delivers_it() {
    let call = |tool: &str, arguments: Value| json!({ "tool": tool, "arguments": arguments });
    let create = json!({ "objective": "repair the build", "plan": "# Look first\n",
                         "todo_list": [{ "text": "look", "state": "pending" }] });
    let item = json!({ "work_item_id": "work_1" });
    let daemon = Daemon::scripted(&json!([
        { "calls": [call("CreateWorkItem", create)] },
        { "expect": { "last_result_contains": "plan_artifact" }, "calls": [call("PickWorkItem", item.clone())] },
        { "expect": { "last_result_contains": "\"in_focus\":true" },
          "text": "the build is green again", "calls": [call("CompleteWorkItem", item)] },
        { "text": "bye" },
    ]));
    daemon.start();
    assert_eq!(daemon.ok(&["work", "list"]).stdout, "main has no work items\n");
    assert_eq!(daemon.ok(&["work", "list", "--filter", "completed"]).stdout, "main has no such work items\n");
    let told = daemon.ok(&["prompt", "--wait=settled", "--json", "go"]).json();
    assert_eq!(told["final_text"], "the build is green again", "{told}");
    let done = items(&daemon, "completed");
    assert_eq!((done.len(), &done[0]["completion_report"]), (1, &json!("the build is green again")));
    assert_eq!(done[0]["plan_artifact"]["preview"], "# Look first\n");
    let plan = done[0]["plan_artifact"]["path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(plan).unwrap(), "# Look first\n");
    let briefs = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    assert!(briefs.contains(r#""visibility":"work_done""#), "{briefs}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

#[test]
fn what_an_operator_adds_survives_a_kill_and_is_completed_once() {
    let daemon = Daemon::hello();
    daemon.start();
    let made =
        daemon.ok(&["work", "add", "rotate the keys", "--step", "list them", "--plan-status", "ready"]);
    assert_eq!(made.stdout, "work_1\n");
    daemon.kill();
    daemon.start();
    let open = items(&daemon, "open");
    assert_eq!(
        (&open[0]["scheduling_state"], &open[0]["in_focus"]),
        (&json!("runnable"), &json!(false)),
        "{open:?}"
    );
    let shown = daemon.ok(&["work", "show", "work_1"]).stdout;
    assert!(shown.contains("rotate the keys") && shown.contains("pending: list them"), "{shown}");
    assert_eq!(daemon.ok(&["work", "complete", "work_1"]).stdout, "work_1 is completed\n");
    assert_eq!(daemon.ok(&["work", "complete", "work_1"]).stdout, "work_1 is completed already\n");
    assert!(items(&daemon, "open").is_empty());
    daemon.0.run(&["work", "show", "work_9"]).refused(3, &["no work item work_9", "holon work list"]);
    daemon.0.run(&["work", "add", ""]).refused(2, &["objective", "1 to 4096"]);
    daemon.0.run(&["work", "add", "x", "--step", &"y".repeat(513)]).refused(2, &["513 bytes", "512"]);
    for blank in ["", "  "] {
        daemon
            .0
            .run(&["work", "add", "x", "--step", "y", "--step", blank])
            .refused(2, &["an entry", "1 to 512"]);
    }
    daemon.ok(&["agent", "stop", "main"]);
    daemon.0.run(&["work", "add", "more"]).refused(4, &["is stopped"]);
}

fn turns(daemon: &Daemon) -> usize {
    daemon.events_of("turn_terminal")
}

/// One prompt, three turns: nobody asks twice.
#[test]
fn work_goes_on_by_itself_until_it_is_done() {
    let item = json!({ "work_item_id": "work_1" });
    let step = json!({ "work_item_id": "work_1", "todo_list": [{ "text": "look", "state": "completed" }] });
    let provider = Provider::start([
        calls(&[
            ("CreateWorkItem", json!({ "objective": "repair the build" })),
            ("PickWorkItem", item.clone()),
        ]),
        says("I begin."),
        calls(&[("UpdateWorkItem", step)]),
        says("One step is done."),
        calls(&[("CompleteWorkItem", item)]),
        says("All is done."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let told = daemon.ok(&["prompt", "--wait=settled", "--json", "go"]).json();
    assert_eq!(told["final_text"], "All is done.", "{told}");
    wait_for("its own turns", || turns(&daemon) == 3);
    let said = daemon.ok(&["transcript"]).stdout;
    assert_eq!(said.matches("work_1 is in focus and can be worked on").count(), 2, "{said}");
    assert_eq!(items(&daemon, "completed").len(), 1);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

/// A command that was made before is no progress, what it writes into the plan is.
#[test]
fn an_edited_plan_is_seen_by_whatever_it_was_edited() {
    let item = json!({ "work_item_id": "work_1" });
    let write = json!({ "cmd": "echo more >> \"$HOLON_AGENT_HOME/work-items/work_1/plan.md\"" });
    let provider = Provider::start([
        calls(&[
            ("CreateWorkItem", json!({ "objective": "repair the build", "plan": "# Look first\n" })),
            ("PickWorkItem", item.clone()),
            ("ExecCommand", write.clone()),
        ]),
        says("I begin."),
        calls(&[("ExecCommand", write.clone())]),
        says("I have thought about it."),
        calls(&[("ExecCommand", write)]),
        says("And again."),
        calls(&[("CompleteWorkItem", item)]),
        says("All is done."),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "go"]);
    wait_for("the end of it", || items(&daemon, "completed").len() == 1);
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    let seen: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"))
        .filter(|event| event["type"] == "work_plan_seen")
        .map(|event| event["payload"]["edited"].clone())
        .collect();
    assert_eq!(seen, [json!(false), json!(true)], "what came with the item, then what was written: {events}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

#[test]
fn what_an_operator_plans_is_there_from_the_beginning() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["agent", "stop", "main"]);
    daemon.0.run(&["work", "add", " "]).refused(4, &["is stopped"]);
    daemon.ok(&["agent", "start", "main"]);
    daemon.0.run(&["work", "add", " "]).refused(2, &["objective", "1 to 4096"]);
    daemon.ok(&["work", "add", "rotate the keys", "--plan", "first list them"]);
    let item = daemon.ok(&["work", "show", "work_1", "--json"]).json()["work_item"].clone();
    assert_eq!(item["plan_artifact"]["preview"], "first list them", "{item}");
    assert_eq!((&item["state"], &item["workspace_id"]), (&json!("open"), &json!("agent_home")), "{item}");
}

/// What an operator adds is told at once; an item that is left where it is waits, over a kill, and is told again.
#[test]
fn what_is_left_where_it_is_waits_and_is_told_again_after_a_kill() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["work", "add", "rotate the keys"]);
    wait_for("a first mention", || turns(&daemon) == 1);
    let shown = daemon.ok(&["work", "show", "work_1"]).stdout;
    assert!(shown.contains("next turn at"), "{shown}");
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(
        (&why["due"]["reason"], &why["verdict"]),
        (&json!("work"), &json!("waiting_for_timer")),
        "{why}"
    );
    daemon.kill();
    daemon.start();
    wait_for("a second mention", || turns(&daemon) == 2);
    assert_eq!(items(&daemon, "runnable").len(), 1);
    daemon.ok(&["work", "complete", "work_1"]);
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(why.get("due"), None, "{why}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

/// A turn that an operator aborts is not made again before somebody looks at its item.
#[test]
fn an_aborted_turn_stalls_its_item() {
    use end_to_end::provider::Reply;
    let item = json!({ "work_item_id": "work_1" });
    let late = || Reply::Late(std::time::Duration::from_secs(60), Box::new(says("never")));
    let provider = Provider::start([
        calls(&[("CreateWorkItem", json!({ "objective": "repair the build" })), ("PickWorkItem", item)]),
        says("I begin."),
        late(),
        says("I see."),
        late(),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "go"]);
    wait_for("its own turn", || provider.requests().len() == 3);
    daemon.ok(&["agent", "abort", "main"]);
    assert_eq!(items(&daemon, "waiting_for_operator")[0]["stall_reason"], "aborted");
    let why = daemon.ok(&["why"]).stdout;
    assert!(why.contains("work_1"), "{why}");
    daemon.ok(&["prompt", "what is the matter?"]);
    wait_for("its own turn again", || provider.requests().len() == 5);
    assert_eq!(items(&daemon, "runnable").len(), 1);
}

/// The same turn again would be as long: nothing asks for it before somebody turns to the item.
#[test]
fn a_turn_that_is_too_long_blocks_its_item() {
    use end_to_end::provider::Reply;
    let item = json!({ "work_item_id": "work_1" });
    let refused = || {
        let text = r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 10"}}"#;
        fails(400, text)
    };
    let provider = Provider::start([
        calls(&[("CreateWorkItem", json!({ "objective": "repair the build" })), ("PickWorkItem", item)]),
        says("I begin."),
        refused(),
        refused(),
        says("I see."),
        Reply::Late(std::time::Duration::from_secs(60), Box::new(says("never"))),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "go"]);
    wait_for("its own turn to end", || !items(&daemon, "waiting_for_operator").is_empty());
    let blocked = items(&daemon, "blocked");
    let said = (&blocked[0]["scheduling_state"], &blocked[0]["stall_reason"], &blocked[0]["recheck_at"]);
    assert_eq!(said, (&json!("blocked"), &json!("context_length_exceeded"), &Value::Null), "{blocked:?}");
    let events = daemon.ok(&["tail", "--events", "512", "--json"]).stdout;
    assert!(events.contains("work_1 (context_length_exceeded)"), "{events}");
    assert_eq!(provider.requests().len(), 4, "once more in short, and never again by itself");
    daemon.ok(&["prompt", "take half of it"]);
    wait_for("its own turn again", || provider.requests().len() == 6);
    assert_eq!(items(&daemon, "runnable").len(), 1);
}
