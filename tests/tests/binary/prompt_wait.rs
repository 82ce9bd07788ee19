//! What `holon prompt --wait` waits for, and what its exit code speaks of.

use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, ask};
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::wait_for;
use serde_json::{Value, json};

fn call(tool: &str, arguments: Value) -> Reply {
    calls(&[(tool, arguments)])
}

fn started(replies: Vec<Reply>) -> Daemon {
    let daemon = Daemon::new(&Provider::start(replies));
    daemon.start();
    daemon
}

#[test]
fn nobody_says_completed_while_a_task_of_the_turn_runs() {
    let cmd = "while [ ! -e go ]; do sleep 0.05; done; echo built";
    let build = json!({ "cmd": cmd, "login": false, "yield_time_ms": 100 });
    let daemon =
        started(vec![call("ExecCommand", build), says("It builds."), says("Not yet."), says("It is built.")]);
    let turn = daemon.0.run(&["prompt", "--wait", "--json", "build"]);
    assert_eq!(turn.code, Some(7), "{turn:?}");
    let told = turn.json();
    assert_eq!((&told["verdict"], &told["ok"]), (&json!("waiting_for_external"), &json!(false)), "{told}");
    assert_eq!((&told["final_text"], &told["due"]), (&json!("It builds."), &json!([])), "{told}");
    assert_eq!(told["active_tasks"], json!(["task_1"]), "{told}");

    let settled = daemon.0.spawn(&["prompt", "--wait=settled", "--json", "--key", "once", "and?"]);
    wait_for("the second turn", || daemon.events_of("turn_terminal") == 2);
    std::fs::write(daemon.0.home().join("agents/main/go"), "").unwrap();
    let ended = settled.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let told: Value = serde_json::from_slice(&ended.stdout).expect("a document");
    assert_eq!((&told["verdict"], &told["active_tasks"]), (&json!("completed"), &json!([])), "{told}");
    assert_eq!(daemon.events_of("task_result_queued"), 1, "it was waited for, and so was what it brought");
    let now = daemon.0.run(&["prompt", "--wait", "--key", "once", "and?"]);
    assert_eq!(now.code, Some(0), "a prompt that is over: {now:?}");
}

#[test]
fn the_code_speaks_of_the_prompt_and_not_of_what_comes_after_it() {
    let again = call("Enqueue", json!({ "text": "and the rest" }));
    let daemon = started(vec![again.clone(), says("So far."), fails(400, "no such thing")]);
    let turn = daemon.0.run(&["prompt", "-q", "--wait", "go"]);
    assert_eq!((turn.stdout.as_str(), turn.code), ("So far.\n", Some(0)), "{turn:?}");
    let daemon = started(vec![again, says("So far."), fails(400, "no such thing")]);
    let settled = daemon.0.run(&["prompt", "-q", "--wait=settled", "go"]);
    assert_eq!(settled.code, Some(1), "{settled:?}");
}

#[test]
fn a_question_of_the_turn_comes_before_what_is_due_later() {
    let item = ("CreateWorkItem", json!({ "objective": "publish the notes" }));
    let question = json!({ "reason": "May they be published?", "wake": "operator_input" });
    let turn = calls(&[item, ("WaitFor", question)]);
    let daemon = started(vec![turn]);
    let asked = daemon.0.run(&["prompt", "--wait", "--json", "publish the notes"]);
    let told = asked.json();
    assert_eq!((asked.code, &told["verdict"]), (Some(6), &json!("waiting_for_operator")), "{told}");
}

#[test]
fn work_that_the_turn_has_not_touched_is_not_the_prompts() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["work", "add", "rotate the keys"]);
    let ended = daemon.0.run(&["prompt", "--wait", "--json", "say hello"]);
    assert_eq!((ended.code, &ended.json()["verdict"]), (Some(0), &json!("completed")), "{ended:?}");
}

#[test]
fn what_is_due_later_is_told() {
    let sleep = json!({ "duration_ms": 3_600_000 });
    for how in ["--wait", "--wait=settled"] {
        let daemon = started(vec![call("Sleep", sleep.clone())]);
        let ended = daemon.0.run(&["prompt", how, "--json", "watch the build"]);
        assert_eq!(ended.code, Some(7), "{ended:?}");
        let told = ended.json();
        assert_eq!(
            (&told["verdict"], &told["due"][0]["reason"]),
            (&json!("waiting_for_timer"), &json!("sleep"))
        );
        assert!(told["due"][0]["at"].is_string(), "{told}");
    }
    let daemon = started(Vec::new());
    let wrong = daemon.0.run(&["prompt", "--wait=later", "go"]);
    wrong.refused(2, &["turn", "settled"]);
}

#[test]
fn one_answer_over_http_needs_no_event_stream() {
    let cmd = "while [ ! -e go ]; do sleep 0.02; done; echo built";
    let build = json!({ "cmd": cmd, "login": false, "yield_time_ms": 600 });
    let daemon =
        started(vec![call("ExecCommand", build), says("It builds."), says("It is built."), says("Another.")]);
    let socket = daemon.run_file("holon.sock");
    let keyed = |query: &str| -> Answered {
        let path = format!("/control/agents/main/prompt?{query}");
        let body = json!({ "text": "build" });
        ask(&socket, "POST", &path, &[("Idempotency-Key", "once")], Some(&body)).expect("an answer")
    };
    let Answered { status, body: early } = keyed("wait=settled&timeout_ms=100");
    assert_eq!((status, &early["ok"], &early["ended"]), (202, &json!(true), &json!(false)), "{early}");
    assert_eq!((&early["duplicate"], early.get("verdict")), (&json!(false), None), "{early}");
    assert!(early["problem"].as_str().is_some_and(|why| why.contains("timed out")), "{early}");
    assert!(early["hint"].as_str().is_some_and(|hint| hint.contains("Idempotency-Key")), "{early}");

    let Answered { status, body: turn } = keyed("wait=turn");
    assert_eq!((status, &turn["message_id"], &turn["duplicate"]), (200, &early["message_id"], &json!(true)));
    assert_eq!((&turn["verdict"], &turn["exit_code"]), (&json!("waiting_for_external"), &json!(7)), "{turn}");
    assert_eq!((&turn["final_text"], &turn["active_tasks"]), (&json!("It builds."), &json!(["task_1"])));

    std::fs::write(daemon.0.home().join("agents/main/go"), "").unwrap();
    let Answered { status, body: end } = keyed("wait=settled");
    assert_eq!((status, &end["verdict"], &end["exit_code"]), (200, &json!("completed"), &json!(0)), "{end}");
    assert_eq!((&end["final_text"], &end["active_tasks"]), (&json!("It is built."), &json!([])), "{end}");

    // Long over, with another behind it, and the runtime started anew: it is still about this prompt.
    daemon.ok(&["prompt", "--wait", "another"]);
    daemon.ok(&["daemon", "restart"]);
    let again = keyed("wait=turn").body;
    assert_eq!(
        (&again["message_id"], &again["final_text"]),
        (&end["message_id"], &end["final_text"]),
        "{again}"
    );
    let shown = daemon.0.run(&["prompt", "--wait", "--json", "--key", "once", "build"]).json();
    for name in ["verdict", "exit_code", "final_text", "due", "active_tasks", "message_id"] {
        assert_eq!(shown[name], again[name], "{name} of the command line");
    }
}
