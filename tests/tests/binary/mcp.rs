//! Servers of tools as a user has them on the command line: added, checked, listed, called and removed.

use std::fs;
use std::time::Instant;

use end_to_end::tool_server::{Marks, add, lives, program};
use end_to_end::{Ended, Holon, wait_for};
use serde_json::{Value, json};

fn call(holon: &Holon, tool: &str, arguments: &Value) -> Ended {
    holon.run(&["mcp", "call", "test", tool, &arguments.to_string(), "--json"])
}

#[test]
fn a_server_is_added_checked_called_and_removed() {
    let holon = Holon::new();
    let none = holon.run(&["mcp", "list"]);
    assert!(none.stdout.contains("no servers are configured"), "{none:?}");
    let marks = add(&holon, "test", &[]);
    let listed = holon.run(&["mcp", "list", "--json"]).json();
    assert_eq!(
        (&listed["servers"][0]["name"], &listed["servers"][0]["kind"]),
        (&json!("test"), &json!("program"))
    );
    assert_eq!(marks.count("start"), 0, "a server that nobody needs is not started");
    let checked = holon.run(&["mcp", "check", "--json"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let about = &checked.json()["servers"][0];
    assert_eq!((&about["revision"], &about["version"]), (&json!("2025-11-25"), &json!("test-server 1.0")));
    let tools = holon.run(&["mcp", "tools"]);
    assert!(tools.stdout.contains("test__echo") && tools.stdout.contains("Returns its text"), "{tools:?}");
    assert_eq!(marks.count("start"), 1, "what it has listed is known");
    let echoed = call(&holon, "echo", &json!({"text": "hi there"}));
    assert_eq!(echoed.json()["parts"], json!([{"part": "text", "text": "hi there"}]), "{echoed:?}");
    assert_eq!(call(&holon, "add", &json!({"a": 1, "b": 2})).json()["structured"], json!({"total": 3}));
    let logs = holon.run(&["mcp", "logs", "test"]);
    assert!(logs.stdout.contains("the server has started"), "{logs:?}");
    assert_eq!(holon.run(&["mcp", "remove", "test"]).code, Some(0));
    assert!(!fs::read_to_string(holon.home().join("config.toml")).expect("a file").contains("mcp"));
    holon.run(&["mcp", "check", "test"]).refused(3, &["there is no server \"test\""]);
    wait_for("the end of every server", || marks.processes().into_iter().all(|process| !lives(process)));
}

#[test]
fn what_a_server_does_wrong_is_an_error_that_says_so() {
    let holon = Holon::new();
    let marks = add(&holon, "test", &[]);
    for (tool, arguments, code, says) in [
        ("echo", json!({"text": 1}), 2, "the arguments don't fit"),
        ("nothing", json!({}), 3, "has no tool \"nothing\"\n  try: holon mcp tools test\n"),
        ("refuse", json!({}), 1, "the server refuses the call: no method tools/call (code -32601)"),
        ("die", json!({}), 1, "the program has ended with status 3"),
        ("flood", json!({}), 1, "a message of more than 8 MiB"),
    ] {
        let begun = Instant::now();
        let ended = call(&holon, tool, &arguments);
        ended.refused(code, &[says]);
        assert!(begun.elapsed().as_secs() < 20, "{tool}: {:?}", begun.elapsed());
    }
    assert_eq!((marks.count("call echo"), marks.count("call die"), marks.count("call flood")), (0, 1, 1));
    let failed = call(&holon, "fail", &json!({}));
    assert_eq!((failed.code, &failed.json()["is_error"]), (Some(1), &json!(true)), "{failed:?}");
    let twice = call(&holon, "twice", &json!({}));
    assert_eq!(twice.json()["parts"][0]["text"], "once", "{twice:?}");
    let asked = call(&holon, "asks", &json!({}));
    assert_eq!(asked.json()["parts"][0]["text"], "asked", "{asked:?}");
    let logs = holon.run(&["mcp", "logs", "test"]);
    assert!(logs.stdout.contains("the server dies on purpose"), "{logs:?}");
}

#[test]
fn a_call_has_a_limit_and_the_server_is_notified() {
    let holon = Holon::new();
    let marks = add(&holon, "test", &[]);
    assert_eq!(holon.run(&["config", "set", "mcp.servers.test.call_timeout_ms", "500"]).code, Some(0));
    call(&holon, "hang", &json!({})).refused(1, &["no answer within 500 ms"]);
    assert_eq!(marks.count("call hang"), 1);
    wait_for("the notice", || marks.count("cancelled") == 1);
    assert_eq!(holon.run(&["config", "set", "mcp.servers.test.start_timeout_ms", "500"]).code, Some(0));
    add(&holon, "quiet", &["--silent"]);
    assert_eq!(holon.run(&["config", "set", "mcp.servers.quiet.start_timeout_ms", "500"]).code, Some(0));
    let silent = holon.run(&["mcp", "check", "quiet"]);
    assert!(silent.code == Some(1) && silent.stdout.contains("has not started within 500 ms"), "{silent:?}");
}

#[test]
fn nothing_that_a_server_has_started_is_left() {
    let holon = Holon::new();
    let marks = add(&holon, "test", &[]);
    let forked = call(&holon, "fork", &json!({}));
    let child: u32 = forked.json()["parts"][0]["text"].as_str().expect("an id").parse().expect("an id");
    wait_for("the end of what it started", || !lives(child));
    // Whoever asked is killed: nobody says good-bye.
    let program = ["mcp", "call", "test", "hang"];
    let mut asking = holon.spawn(&program);
    wait_for("the call", || marks.count("call hang") == 1);
    asking.kill().expect("it ends");
    asking.wait().expect("it has ended");
    wait_for("the end of the server", || marks.processes().into_iter().all(|process| !lives(process)));
}

#[test]
fn each_revision_is_spoken() {
    for (words, protocol, revision) in [
        (&["--modern"][..], "auto", "2026-07-28"),
        (&["--modern"], "2026-07-28", "2026-07-28"),
        (&[], "auto", "2025-11-25"),
        (&[], "2025-06-18", "2025-06-18"),
        (&["--closes-on-discover"], "auto", "2025-11-25"),
    ] {
        let holon = Holon::new();
        add(&holon, "test", words);
        assert_eq!(holon.run(&["config", "set", "mcp.servers.test.protocol", protocol]).code, Some(0));
        let checked = holon.run(&["mcp", "check", "--json"]);
        assert_eq!(checked.json()["servers"][0]["revision"], revision, "{words:?} {protocol} {checked:?}");
        let echoed = call(&holon, "echo", &json!({"text": "hi"}));
        assert_eq!(echoed.json()["parts"][0]["text"], "hi", "{words:?} {protocol} {echoed:?}");
    }
}

#[test]
fn a_server_is_reached_over_http_with_a_token_that_is_shown_nowhere() {
    let holon = Holon::new();
    let marks = Marks::of(&holon, "http");
    let port = holon.folder().join("port");
    let mut command = std::process::Command::new("python3");
    command.arg(program()).arg("--marks").arg(marks.path()).arg("--http").arg(&port);
    let mut server = command.spawn().expect("python3 is there");
    wait_for("the server", || port.exists());
    let port = fs::read_to_string(&port).expect("a port");
    let url = format!("http://127.0.0.1:{port}/mcp");
    let key = holon.run_with_input(&["config", "credentials", "set", "hub", "-"], b"canary-of-the-hub\n");
    assert_eq!(key.code, Some(0), "{key:?}");
    let added = holon.run(&["mcp", "add", "test", "--url", &url, "--credential", "hub", "--json"]);
    assert!(added.code == Some(0) && !added.stdout.contains("canary"), "{added:?}");
    let echoed = call(&holon, "echo", &json!({"text": "hi"}));
    assert_eq!(echoed.json()["parts"][0]["text"], "hi", "{echoed:?}");
    assert!(marks.count("authorization Bearer canary-of-the-hub") > 2);
    server.kill().expect("it ends");
    server.wait().expect("it has ended");
    let gone = call(&holon, "echo", &json!({"text": "hi"}));
    gone.refused(5, &[&format!("{url} can't be reached: connection refused\n")]);
    assert!(!gone.stderr.contains("::"), "types of Rust: {gone:?}");
    assert!(!gone.stderr.contains("canary"), "{gone:?}");
}

#[test]
fn what_a_server_asks_its_user_is_passed_on_where_that_is_configured() {
    let holon = Holon::new();
    add(&holon, "test", &["--elicits"]);
    let unseen = call(&holon, "asks", &json!({}));
    assert_eq!(unseen.json()["parts"], json!([{ "part": "text", "text": "asked" }]), "{unseen:?}");
    assert_eq!(holon.run(&["config", "set", "mcp.servers.test.pass_on_questions", "true"]).code, Some(0));
    let seen = call(&holon, "asks", &json!({})).json();
    let text = seen["parts"][1]["text"].as_str().expect("a question");
    assert!(text.contains("Which port? (port)") && text.contains("Ask your operator"), "{seen}");
}

#[test]
fn a_program_that_can_t_be_started_is_named_with_the_reason() {
    let holon = Holon::new();
    assert_eq!(holon.run(&["mcp", "add", "test", "--", "/nonexistent/server"]).code, Some(0));
    let checked = holon.run(&["mcp", "check", "--json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let problem = checked.json()["servers"][0]["problem"].to_string();
    assert!(problem.contains("/nonexistent/server can't be started: No such file"), "{problem}");
}

#[test]
fn half_a_character_costs_no_answer() {
    let holon = Holon::new();
    add(&holon, "test", &["--extra", "cut"]);
    let cut = call(&holon, "cut", &json!({}));
    assert_eq!(cut.json()["parts"][0]["text"], "cut \u{fffd}", "{cut:?}");
}

#[test]
fn a_schema_that_is_costly_to_check_is_left_to_its_server() {
    let holon = Holon::new();
    let marks = add(&holon, "test", &["--extra", "bomb"]);
    let called = call(&holon, "bomb", &json!({"x": {}}));
    assert_eq!(called.json()["parts"][0]["text"], "bomb", "{called:?}");
    assert_eq!(marks.count("call bomb"), 1);
}

#[test]
fn what_a_program_inherits_does_not_make_its_list_an_older_one() {
    let holon = Holon::new();
    let marks = add(&holon, "test", &[]);
    for terminal in ["xterm", "dumb"] {
        let mut listing = holon.command(&["mcp", "tools"]);
        let listed = listing.env("TERM", terminal).output().expect("it runs");
        assert!(String::from_utf8_lossy(&listed.stdout).contains("test__echo"), "{listed:?}");
    }
    assert_eq!(marks.count("start "), 1, "what it has listed is known");
}
