//! `holon debug prompt`: past requests as they were sent, what parts two of them, and the next one.

use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::http::ask;
use end_to_end::provider::{Provider, calls, command, fails, says};
use serde_json::{Value, json};

fn shown(daemon: &Daemon, arguments: &[&str]) -> Value {
    let ended = daemon.0.run(&[&["debug", "prompt", "--json"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended.json()
}

fn wire(daemon: &Daemon, arguments: &[&str]) -> Value {
    daemon.ok(&[&["debug", "prompt", "--format", "wire"], arguments].concat()).json()
}

/// Ids of all requests to models, in order.
fn requests(daemon: &Daemon) -> Vec<String> {
    let records = daemon.0.records(&daemon.ledger());
    let opened = records.iter().filter(|record| record["type"] == "operation_opened");
    let asked = opened.filter(|record| record["payload"]["kind"] == "call_model");
    asked.map(|record| record["payload"]["op"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_past_request_is_what_its_provider_was_sent() {
    let provider = Provider::start([
        calls(&[command("echo one")]).saying("I look first."),
        fails(503, "overloaded"),
        says("done").counting(json!(900), json!(12)),
        calls(&[command("false"), command("echo two")]),
        says("done again"),
    ]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "the first prompt"]);
    let instructions = daemon.0.home().join("agents/main/AGENTS.md");
    std::fs::write(&instructions, "Be brief.\n").expect("instructions");
    daemon.ok(&["prompt", "--wait", "the second prompt"]);
    let sent = provider.requests();
    assert_eq!(sent.len(), 5);
    let ids = requests(&daemon);
    let check = || {
        for (id, sent) in ids.iter().zip(&sent) {
            assert_eq!(wire(&daemon, &["--request", id]), *sent, "{id}");
        }
        // Of a round the last attempt, of a turn the last round.
        assert_eq!(wire(&daemon, &["--turn", "1", "--round", "1"]), sent[0]);
        assert_eq!(wire(&daemon, &["--turn", "1", "--round", "2"]), sent[2]);
        assert_eq!(wire(&daemon, &["--turn", "1"]), sent[2]);
        assert_eq!(wire(&daemon, &["--turn", "2"]), sent[4]);
    };
    check();
    let second = shown(&daemon, &["--turn", "1", "--round", "2"]);
    let request = &second["request"];
    assert_eq!((&request["outcome"], &request["attempt"]), (&json!("answered"), &json!(2)), "{request}");
    assert_eq!(request["as_recorded"], json!(true), "{request}");
    assert_eq!((&request["token_usage"]["input_tokens"], &request["round"]), (&json!(900), &json!(1)));
    assert_eq!((&second["model"], &second["warnings"]), (&json!("local/test"), &Value::Null), "{second}");
    let failed = shown(&daemon, &["--request", &ids[1]]);
    assert_eq!(
        (&failed["request"]["outcome"], &failed["request"]["failure_kind"]),
        (&json!("failed"), &json!("server"))
    );
    let labels: Vec<&str> = second["sections"]
        .as_array()
        .expect("sections")
        .iter()
        .filter_map(|it| it["label"].as_str())
        .collect();
    assert!(labels.ends_with(&["current_input", "this_turn", "this_turn"]), "{labels:?}");
    // The file as it was read then, whatever it is now.
    std::fs::write(&instructions, "Be long.\n").expect("instructions");
    let later = shown(&daemon, &["--turn", "2"]).to_string();
    assert!(later.contains("Be brief.") && !later.contains("Be long."), "{later}");
    let people = daemon.ok(&["debug", "prompt", "--turn", "2"]).stdout;
    for text in ["of turn 2, round 2, attempt 1", "── current_input", "the second prompt", "AGENTS.md"] {
        assert!(people.contains(text), "{text}: {people}");
    }
    daemon.ok(&["daemon", "stop"]);
    check();
}

#[test]
fn two_requests_are_compared() {
    let provider = Provider::start([calls(&[command("echo one")]), says("done"), says("and on")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    daemon.ok(&["prompt", "--wait", "two"]);
    for turn in [&["--turn", "1"][..], &["--turn", "2"]] {
        let compared = shown(&daemon, &[turn, &["--diff"]].concat());
        let diff = &compared["diff"];
        assert_eq!((&diff["broke"], &diff["before_bytes"]), (&Value::Null, &diff["shared_bytes"]), "{diff}");
        let changes = diff["changes"].as_array().expect("changes");
        assert!(!changes.is_empty() && changes.iter().all(|it| it["change"] == "added"), "{diff}");
    }
    let people = daemon.ok(&["debug", "prompt", "--turn", "2", "--diff"]).stdout;
    assert!(people.contains("it goes on with that request") && !people.contains("── policy"), "{people}");
    let first = shown(&daemon, &["--turn", "1", "--round", "1", "--diff"]);
    assert!(first["diff"].is_null() && first["warnings"][0].as_str().is_some_and(|it| it.contains("first")));
    // Another model has nothing of the prefix: its episode is another one.
    daemon.ok(&["agent", "model", "--set", "local/other"]);
    let next = shown(&daemon, &["three", "--diff"]);
    assert_eq!((&next["closes_episode"], &next["model"]), (&json!("surface"), &json!("local/other")));
    assert!(next["diff"]["broke"]["label"].is_string(), "{}", next["diff"]);
    let people = daemon.ok(&["debug", "prompt", "three", "--diff"]).stdout;
    assert!(people.contains("they part in ") && people.contains("episode"), "{people}");
}

#[test]
fn the_next_request_and_other_windows_are_shown_without_a_trace() {
    let provider = Provider::answering(|request| {
        let round = end_to_end::obedient::round(request);
        let file = format!("head -c 6000 /dev/zero | tr '\\0' {round}");
        if round < 12 { calls(&[command(&file)]) } else { says("done") }
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    let before = std::fs::read(daemon.ledger()).expect("a ledger");
    let asked = provider.requests().len();
    let next = shown(&daemon, &["a prompt of mine"]);
    let sections = next["sections"].as_array().expect("sections");
    let last = sections.last().expect("the input");
    assert!(last["text"].as_str().is_some_and(|text| text.contains("a prompt of mine")), "{last}");
    assert_eq!(last["bytes"].as_u64(), last["text"].as_str().map(|text| text.len() as u64));
    assert!(next["request"].is_null() && next["room"]["est_tokens"].as_u64() > Some(1_000), "{next}");
    assert!(shown(&daemon, &["--next"])["sections"].to_string().contains("(the next prompt)"));
    let small = shown(&daemon, &["--turn", "1", "--window", "20000"]);
    assert_eq!((&small["closes_episode"], &small["room"]["window"]), (&json!("size"), &json!(20_000)));
    assert!(small["omitted"].to_string().contains("rounds of this turn"), "{}", small["omitted"]);
    let whole = shown(&daemon, &["--turn", "1"]);
    assert!(small["room"]["est_tokens"].as_u64() < whole["room"]["est_tokens"].as_u64());
    let people = daemon.ok(&["debug", "prompt", "--turn", "1", "--window", "20000", "--sizes"]).stdout;
    assert!(people.contains("left out") && !people.contains("── "), "{people}");
    daemon
        .0
        .run(&["debug", "prompt", "--turn", "1", "--window", "2000"])
        .refused(2, &["window", "the turn would end"]);
    assert_eq!(
        (provider.requests().len(), std::fs::read(daemon.ledger()).expect("a ledger")),
        (asked, before)
    );
    daemon.ok(&["daemon", "stop"]);
    let stopped = shown(&daemon, &["a prompt of mine"]);
    assert!(stopped["sections"].to_string().contains("a prompt of mine"));
    assert!(
        stopped["warnings"][0].as_str().is_some_and(|it| it.contains("the last durable state")),
        "{stopped}"
    );
    assert!(Path::new(&daemon.ledger()).is_file());
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let daemon = Daemon::hello();
    daemon.start();
    let asks = |arguments: &[&str]| daemon.0.run(&[&["debug", "prompt"], arguments].concat());
    asks(&["--turn", "1"]).refused(3, &["main has no turn 1", "it has had no turn yet"]);
    daemon.ok(&["prompt", "--wait", "hello"]);
    asks(&["--turn", "7"]).refused(3, &["main has no turn 7", "its newest is turn 1"]);
    let hint = "holon debug latency main --turn 1";
    asks(&["--turn", "1", "--round", "4"])
        .refused(3, &["turn 1 of main has no round 4: its last one is round 1", hint]);
    asks(&["--request", "op_1"]).refused(3, &["op_1 of main is no request to a model, it is a load_context"]);
    asks(&["--request", "op_99"]).refused(3, &["main has no operation op_99", "--turn N"]);
    asks(&["--request", "99"]).refused(2, &["invalid value '99'"]);
    asks(&["--turn", "1", "hello"]).refused(2, &["cannot be used with"]);
    asks(&["--round", "1"]).refused(2, &["--turn"]);
    asks(&["--window", "10"]).refused(2, &["10 is not in 1000..=100000000"]);
    asks(&["--format", "wire", "--turn", "1"]).refused(1, &["nothing goes over a wire", "scripted"]);
    asks(&["--agent", "nobody", "--turn", "1"]).refused(3, &["nobody"]);
    asks(&["--agent", "nobody"]).refused(3, &["nobody"]);
    let bodies = [
        (json!({ "turn": 1, "text": "x" }), "text"),
        (json!({ "turn": 1, "request": "op_2" }), "request"),
        (json!({ "round": 0 }), "round"),
        (json!({ "window": 5 }), "window"),
    ];
    let socket = daemon.run_file("holon.sock");
    for (body, field) in bodies {
        let path = "/control/agents/main/debug-prompt";
        let refused = ask(&socket, "POST", path, &[], Some(&body)).expect("an answer");
        assert_eq!((refused.status, &refused.body["details"]["field"]), (400, &json!(field)), "{refused:?}");
    }
}

/// An export has all that its requests follow from, but for long texts.
#[test]
fn a_past_request_is_rendered_from_an_export() {
    let provider = Provider::start([calls(&[command("echo one")]), says("done"), says("done again")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "the first prompt"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "the second prompt"]);
    daemon.ok(&["daemon", "stop"]);
    let exported = daemon.ok(&["ledger", "export", "--recorder"]).stdout;
    let file = daemon.0.file("ledger.jsonl", &exported).display().to_string();
    let elsewhere = end_to_end::Holon::new();
    for request in requests(&daemon) {
        let here = shown(&daemon, &["--request", &request]);
        let arguments = ["debug", "prompt", "--json", "--request", &request, "--from", &file];
        let there = elsewhere.run(&arguments);
        assert_eq!(there.code, Some(0), "{there:?}");
        let there = there.json();
        assert_eq!(there["request"]["as_recorded"], json!(true), "{}", there["request"]);
        for part in ["model", "room", "tools", "prompt_cache_key", "omitted"] {
            assert_eq!(there[part], here[part], "{part}");
        }
        let labels = |reply: &Value| -> Vec<Value> {
            let parts = reply["sections"].as_array().expect("sections").iter();
            parts.map(|part| part["label"].clone()).collect()
        };
        assert_eq!(labels(&there), labels(&here));
        assert!(there.to_string().contains("the first prompt"));
    }
    let diff = elsewhere.run(&["debug", "prompt", "--turn", "2", "--diff", "--json", "--from", &file]);
    assert!(diff.code == Some(0) && diff.json()["diff"].is_object(), "{diff:?}");
    let records = daemon.ok(&["ledger", "export"]).stdout;
    let plain = daemon.0.file("records.jsonl", &records).display().to_string();
    for (arguments, told) in [
        (vec!["--turn", "1", "--from", &plain], "export with --recorder"),
        (vec!["--turn", "1", "--from", "/nowhere.jsonl"], "can't be read as an export"),
        (vec!["--turn", "9", "--from", &file], "turn 9"),
        (vec!["--from", &file], "--turn"),
    ] {
        let refused = elsewhere.run(&[&["debug", "prompt"][..], &arguments].concat());
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains(told), "{told}: {refused:?}");
    }
    assert!(!elsewhere.home().join("ledger.sqlite3").exists());
}
