//! Traces of the past, made of the ledger: the same each time, also of a copy of the home, and without what was said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::provider::{Provider, calls, says};
use end_to_end::wait_for;
use serde_json::{Value, json};

fn worked() -> (Provider, Daemon) {
    let provider = Provider::start([
        calls(&[("ExecCommand", json!({ "cmd": "echo canary", "login": false })), ("NoSuchTool", json!({}))]),
        says("canary one"),
        says("canary two"),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "canary"]);
    daemon.ok(&["prompt", "--wait", "canary again"]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    (provider, daemon)
}

/// The spans of each line.
fn lines(text: &str) -> Vec<Vec<Value>> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    lines
        .map(|line| line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone())
        .collect()
}

/// Those of turns.
fn traces(text: &str) -> Vec<Vec<Value>> {
    let turn = |spans: &Vec<Value>| spans[0]["name"].as_str().expect("a name").starts_with("invoke_agent ");
    lines(text).into_iter().filter(turn).collect()
}

fn attributes(span: &Value) -> BTreeMap<String, String> {
    let all = span["attributes"].as_array().expect("attributes").iter();
    all.map(|one| {
        let first = &one["value"]["arrayValue"]["values"][0]["stringValue"];
        let value = one["value"]["stringValue"].as_str().or(one["value"]["intValue"].as_str());
        let value = value.or(first.as_str()).expect("a value");
        (one["key"].as_str().expect("a key").to_owned(), value.to_owned())
    })
    .collect()
}

fn time(span: &Value, which: &str) -> u64 {
    span[which].as_str().and_then(|time| time.parse().ok()).expect("a time")
}

#[test]
fn a_turn_is_a_trace_with_its_requests_and_calls() {
    let (_provider, daemon) = worked();
    let text = daemon.ok(&["telemetry", "export"]).stdout;
    assert!(!text.contains("canary"), "{text}");
    let traces = traces(&text);
    assert_eq!(traces.len(), 2);
    let names = |trace: &[Value]| {
        trace.iter().map(|span| span["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&traces[0]),
        [
            "invoke_agent main",
            "chat local/test",
            "execute_tool ExecCommand",
            "execute_tool NoSuchTool",
            "chat local/test"
        ]
    );
    assert_eq!(names(&traces[1]), ["invoke_agent main", "chat local/test"]);
    for trace in &traces {
        let root = &trace[0];
        assert!(root["parentSpanId"].is_null());
        for span in &trace[1..] {
            assert_eq!((&span["parentSpanId"], &span["traceId"]), (&root["spanId"], &root["traceId"]));
            assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"));
            assert!(time(span, "endTimeUnixNano") <= time(root, "endTimeUnixNano"));
        }
        assert_eq!(attributes(root)["gen_ai.agent.id"], "main");
        assert_eq!(attributes(&trace[1])["gen_ai.request.model"], "local/test");
        assert_eq!(trace[1]["kind"], 3);
    }
    let failed = &traces[0][3];
    assert_eq!((&failed["status"]["code"], attributes(failed).contains_key("error.type")), (&json!(2), true));
    assert_ne!(traces[0][0]["traceId"], traces[1][0]["traceId"]);
    assert_eq!(attributes(&traces[0][4])["gen_ai.response.finish_reasons"], "end_turn");
    // The time in the queue is a span of the agent's own long trace, with a link to the turn.
    let waits: Vec<Value> =
        lines(&text).concat().into_iter().filter(|it| it["name"] == "queue_wait").collect();
    assert_eq!(waits.len(), 2);
    assert_eq!(waits[0]["traceId"], waits[1]["traceId"]);
    for (wait, turn) in waits.iter().zip(&traces) {
        let link = &wait["links"][0];
        assert_eq!((&link["traceId"], &link["spanId"]), (&turn[0]["traceId"], &turn[0]["spanId"]));
    }
}

#[test]
fn texts_are_exported_where_somebody_wants_them_and_never_secrets() {
    let (_provider, daemon) = worked();
    daemon.ok(&["config", "set", "telemetry.include_content", "true"]);
    let traces = traces(&daemon.ok(&["telemetry", "export"]).stdout);
    let (root, chat, tool) = (&traces[0][0], &traces[0][1], &traces[0][2]);
    assert!(attributes(root)["gen_ai.input.messages"].contains(r#""content":"canary""#), "{root}");
    assert!(attributes(chat)["gen_ai.output.messages"].contains("echo canary"), "{chat}");
    assert!(attributes(tool)["gen_ai.tool.call.arguments"].contains("echo canary"), "{tool}");
    assert!(attributes(tool)["gen_ai.tool.call.result"].contains("canary"), "{tool}");
}

#[test]
fn an_export_that_is_repeated_has_the_same_ids_also_of_a_backup() {
    let (_provider, daemon) = worked();
    let first = daemon.ok(&["telemetry", "export"]).stdout;
    assert_eq!(daemon.ok(&["telemetry", "export", "--agent", "main"]).stdout, first);
    daemon.kill();
    daemon.start();
    let backup = daemon.0.folder().join("backup").display().to_string();
    daemon.ok(&["ledger", "backup", &backup]);
    let other = daemon.0.folder().join("other").display().to_string();
    daemon.ok(&["--home", &other, "ledger", "restore", &backup]);
    assert_eq!(daemon.ok(&["--home", &other, "telemetry", "export"]).stdout, first);

    // Since a time: the turns that ended then or later.
    let end = time(&traces(&first)[1][0], "endTimeUnixNano") / 1_000;
    let since = |micros: u64| {
        let at = jiff::Timestamp::from_microsecond(i64::try_from(micros).unwrap()).unwrap().to_string();
        traces(&daemon.ok(&["telemetry", "export", "--since", &at]).stdout).len()
    };
    assert_eq!((since(end), since(end + 1), since(0)), (1, 0, 2));
    daemon.0.run(&["telemetry", "export", "--since", "yesterday"]).refused(2, &["no time"]);
    daemon.0.run(&["telemetry", "export", "--agent", "nobody"]).refused(3, &["nobody"]);
}

#[test]
fn a_message_that_is_tried_again_waits_twice_and_no_two_spans_share_an_id() {
    let provider = Provider::start([says("too late").late(Duration::from_secs(60)), says("done")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "go"]);
    provider.wait_for_requests(1);
    daemon.kill();
    daemon.start();
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    let text = daemon.ok(&["telemetry", "export"]).stdout;
    let turns = traces(&text).into_iter().map(|trace| attributes(&trace[0]));
    let of_turns: Vec<String> = turns.map(|turn| turn["holon.message.id"].clone()).collect();
    let spans = lines(&text).concat();
    let waits: Vec<&Value> = spans.iter().filter(|span| span["name"] == "queue_wait").collect();
    assert!(of_turns.len() > 1 && of_turns[0] == of_turns[1], "{of_turns:?}");
    assert_eq!(waits.len(), of_turns.len());
    assert!(time(waits[1], "startTimeUnixNano") > time(waits[0], "endTimeUnixNano"), "it waits anew");
    let ids: BTreeSet<&str> = spans.iter().filter_map(|span| span["spanId"].as_str()).collect();
    assert_eq!(ids.len(), spans.len());
}
