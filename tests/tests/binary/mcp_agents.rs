//! Tools of other programs as agents have them: offered, on record, called once, whatever their server does.

use std::fs;
use std::process::{Command, Stdio};

use end_to_end::daemon::Daemon;
use end_to_end::http::metrics;
use end_to_end::obedient::{asks, input, obedient, round, told};
use end_to_end::provider::{Call, Provider, Reply, calls, raw_calls, says};
use end_to_end::tool_server::{Marks, add, lives, program};
use end_to_end::{Holon, count, payloads, wait_for};
use serde_json::{Value, json};

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

/// A runtime whose agents have the server `test`.
fn daemon(provider: &Provider, words: &[&str]) -> (Daemon, Marks) {
    let daemon = Daemon::new(provider);
    let marks = add(&daemon.0, "test", words);
    daemon.start();
    (daemon, marks)
}

fn run(holon: &Holon, calls: &[(&str, Value)]) -> String {
    let prompt = if calls.is_empty() { "nothing".to_owned() } else { told(calls) };
    let ended = holon.run(&["run", "--agent", "main", "--create-agent", &prompt]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

fn records(holon: &Holon) -> Vec<Value> {
    holon.records(&holon.home().join("ledger.sqlite3"))
}

/// The names of the tools of a request.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name")).collect()
}

fn of_servers(request: &Value) -> Vec<&str> {
    offered(request).into_iter().filter(|name| name.contains("__")).collect()
}

#[test]
fn an_agent_is_offered_tools_behind_its_own_and_calls_them() {
    let provider = Provider::answering(obedient);
    let holon = with(&provider);
    let marks = add(&holon, "test", &[]);
    let said = run(
        &holon,
        &[
            ("test__echo", json!({"text": "hi there"})),
            ("test__add", json!({"a": 1, "b": 2})),
            ("test__image", json!({})),
            ("test__variable", json!({"name": "HOLON_MODEL"})),
        ],
    );
    assert!(
        said.contains("hi there") && said.contains(r#"{\"total\":3}"#) && said.contains("none"),
        "{said}"
    );
    let path = said.split("bytes: ").nth(1).and_then(|rest| rest.split(']').next()).expect("a path");
    assert!(fs::read(path).expect("a file").starts_with(b"\x89PNG"), "{path}");
    let requests = provider.requests();
    let all = offered(&requests[0]);
    let first = all.iter().position(|name| name.contains("__")).expect("tools of the server");
    let (own, others) = all.split_at(first);
    assert!(own.contains(&"ExecCommand") && others.is_sorted() && others.len() == 16, "{all:?}");
    let echo = requests[0]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .find(|tool| tool["function"]["name"] == "test__echo");
    let echo = &echo.expect("the tool")["function"];
    assert_eq!(echo["description"], "Returns its text");
    assert_eq!(echo["parameters"]["properties"], json!({"text": {"type": "string"}}));
    let all = records(&holon);
    let [catalogued] = payloads(&all, "tools_catalogued")[..] else { panic!("one record") };
    assert_eq!(catalogued["catalogue"]["tools"].as_array().map(Vec::len), Some(16));
    assert_eq!(catalogued["tools_offered"].as_array().map(Vec::len), Some(offered(&requests[0]).len()));
    assert_eq!((count(&all, "tool_executed"), count(&all, "operation_settled") > 5), (4, true));
    assert_eq!((marks.count("start"), marks.count("call ")), (1, 4));
    // What is known is nothing to record again, and starts nothing.
    run(&holon, &[]);
    assert_eq!(count(&records(&holon), "tools_catalogued"), 1);
    assert_eq!(
        (marks.count("start"), of_servers(provider.requests().last().expect("a request")).len()),
        (1, 16)
    );
    holon.check_ledger(&holon.home().join("ledger.sqlite3"));
    wait_for("the end of the server", || marks.processes().into_iter().all(|process| !lives(process)));
}

#[test]
fn whatever_a_server_does_the_model_reads_what_became_of_its_call() {
    let provider = Provider::answering(obedient);
    let (daemon, marks) = daemon(&provider, &[]);
    daemon.ok(&["config", "set", "mcp.servers.test.call_timeout_ms", "1500"]);
    daemon.ok(&["daemon", "restart"]);
    for (tool, arguments, says) in [
        ("test__echo", json!({"text": 7}), "invalid_tool_input"),
        ("test__fail", json!({}), "the disk of the server is full"),
        ("test__refuse", json!({}), "the server refuses the call"),
        ("test__hang", json!({}), "no answer within 1500 ms"),
        ("test__late", json!({"ms": 300}), "late"),
        ("test__twice", json!({}), "once"),
        ("test__long", json!({"lines": 20_000}), "characters left out"),
        ("test__die", json!({}), "the program has ended with status 3"),
        ("test__flood", json!({}), "a message of more than 8 MiB"),
        ("test__nothing", json!({}), "unknown_tool"),
    ] {
        let said = asks(&daemon, "main", &[(tool, arguments)]);
        assert!(said.contains(says), "{tool}: {said}");
    }
    // It has ended twice, and is there again.
    wait_for("the server", || {
        // No word of a refusal.
        asks(&daemon, "main", &[("test__echo", json!({"text": "7431"}))]).contains("7431")
    });
    for tool in ["hang", "die", "flood", "fail"] {
        assert_eq!(marks.count(&format!("call {tool}")), 1, "{tool} is sent once");
    }
    assert_eq!((marks.count("call echo"), marks.count("cancelled")), (1, 1));
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    let server = &status["tool_servers"][0];
    assert_eq!((&server["name"], &server["state"]), (&json!("test"), &json!("ready")), "{server}");
    assert!(server["calls"].as_u64() >= Some(10) && server["failed_calls"].as_u64() >= Some(6), "{server}");
    let metrics = metrics(&daemon.run_file("holon.sock"));
    assert!(metrics.contains("holon_tool_servers_ready{server=\"test\"} 1"), "{metrics}");
    assert!(metrics.contains("holon_tool_server_calls{server=\"test\",outcome=\"error\"}"), "{metrics}");
}

#[test]
fn tools_that_change_are_offered_from_the_next_turn_on() {
    let provider = Provider::answering(obedient);
    let (daemon, _) = daemon(&provider, &[]);
    asks(&daemon, "main", &[("test__change", json!({"name": "brand_new"}))]);
    let last = || provider.requests().last().cloned().expect("a request");
    // The turn that learns of it goes on with what its episode offers.
    daemon.ok(&["prompt", "--wait", "--agent", "main", "nothing"]);
    assert!(!of_servers(&last()).contains(&"test__brand_new"));
    let said = asks(&daemon, "main", &[("test__brand_new", json!({}))]);
    assert!(of_servers(&last()).contains(&"test__brand_new") && said.contains("brand_new"), "{said}");
    assert_eq!(daemon.events_of("tools_catalogued"), 2);
    assert_eq!(daemon.events_of("episode_closed"), 1, "what is offered is the same for a whole episode");
}

#[test]
fn a_call_in_flight_at_a_crash_is_interrupted_and_never_sent_again() {
    let provider = Provider::answering(obedient);
    let (daemon, marks) = daemon(&provider, &[]);
    let mut waiting =
        daemon.0.command(&["prompt", "--wait", "--agent", "main", &told(&[("test__hang", json!({}))])]);
    let mut waiting = waiting.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_for("the call", || marks.count("call hang") == 1);
    waiting.kill().expect("it ends");
    waiting.wait().expect("it has ended");
    daemon.kill();
    wait_for("the end of the server", || marks.processes().into_iter().all(|process| !lives(process)));
    daemon.start();
    let failed = || {
        let all = daemon.0.records(&daemon.ledger());
        payloads(&all, "tool_execution_failed")
            .iter()
            .map(|fact| fact["receipt"]["error"]["kind"].clone())
            .collect::<Vec<_>>()
    };
    wait_for("the result", || !failed().is_empty());
    assert_eq!(failed(), [json!("interrupted")]);
    let said = asks(&daemon, "main", &[("test__echo", json!({"text": "back"}))]);
    assert!(said.contains("back"), "{said}");
    assert_eq!(marks.count("call hang"), 1);
}

#[test]
fn a_turn_that_is_aborted_cancels_its_call() {
    let provider = Provider::answering(obedient);
    let (daemon, marks) = daemon(&provider, &[]);
    daemon.ok(&["prompt", "--agent", "main", &told(&[("test__hang", json!({}))])]);
    wait_for("the call", || marks.count("call hang") == 1);
    daemon.ok(&["agent", "abort", "main"]);
    wait_for("the notice", || marks.count("cancelled") == 1);
}

#[test]
fn agents_have_the_servers_that_are_named_for_them() {
    let provider = Provider::answering(obedient);
    let holon = with(&provider);
    add(&holon, "test", &[]);
    let other = add(&holon, "other", &["--extra", "of_the_other"]);
    assert_eq!(holon.run(&["config", "set", "mcp.agents.main", "other"]).code, Some(0));
    run(&holon, &[]);
    let of_main = of_servers(&provider.requests()[0]).join(" ");
    assert!(of_main.contains("other__of_the_other") && !of_main.contains("test__"), "{of_main}");
    assert_eq!(holon.run(&["config", "set", "mcp.agents.main", "[]"]).code, Some(0));
    run(&holon, &[]);
    // The turn that learns of it is in an episode that offers them; the next one is not.
    run(&holon, &[]);
    assert_eq!(of_servers(provider.requests().last().expect("a request")), Vec::<&str>::new());
    assert_eq!(other.count("start"), 1);
    // A run without an agent has all.
    let ended = holon.run(&["run", &told(&[("test__echo", json!({"text": "hi"}))])]);
    assert!(ended.code == Some(0) && ended.stdout.contains("hi"), "{ended:?}");
}

#[test]
fn a_server_that_does_not_start_stops_no_turn_and_is_named() {
    let provider = Provider::answering(obedient);
    let holon = with(&provider);
    add(&holon, "test", &[]);
    let gone = holon.run(&["mcp", "add", "gone", "--", "/no/such/program"]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    run(&holon, &[("test__echo", json!({"text": "hi"}))]);
    let all = records(&holon);
    assert_eq!(payloads(&all, "tools_catalogued")[0]["catalogue"]["unavailable"], json!(["gone"]));
    assert_eq!(of_servers(&provider.requests()[0]).len(), 16);
}

#[test]
fn of_many_tools_requests_have_what_finds_and_calls_them() {
    let provider = Provider::answering(obedient);
    let holon = with(&provider);
    let marks = add(&holon, "test", &["--many", "184"]);
    let said = run(
        &holon,
        &[
            ("ToolSearch", json!({"query": "tool 123", "limit": 3})),
            ("ToolCall", json!({"tool": "test__tool_123", "arguments": "{}"})),
            ("ToolCall", json!({"tool": "test__echo", "arguments": {"text": "hi there"}})),
            ("ToolCall", json!({"tool": "test__echo", "arguments": {"text": 7}})),
            ("ToolCall", json!({"tool": "test__tool_999", "arguments": {}})),
            ("ToolSearch", json!({"query": "paint"})),
        ],
    );
    for part in ["test__tool_123", "hi there", "invalid_tool_input", "unknown_tool", r#"{\"test\":200}"#] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!((marks.count("call tool_123"), marks.count("call echo"), marks.count("call ")), (1, 1, 2));
    let requests = provider.requests();
    let (first, last) = (&requests[0], requests.last().expect("a request"));
    assert_eq!((of_servers(first), first["tools"] == last["tools"]), (Vec::new(), true));
    assert!(first.to_string().contains("test: 200 tools"), "{first}");
    let all = records(&holon);
    let catalogue = payloads(&all, "tools_catalogued")[0]["catalogue"]["tools"].clone();
    let tokens = |tool: &Value| tool["est_tokens"].as_u64().expect("a number");
    let direct: u64 = catalogue.as_array().expect("tools").iter().map(tokens).sum();
    println!("200 tools take {direct} tokens by their names, and about 260 where they are found");
    assert!(direct > 3_000, "{direct}");
    holon.check_ledger(&holon.home().join("ledger.sqlite3"));
}

#[test]
fn a_server_may_be_one_for_each_agent() {
    let provider = Provider::answering(obedient);
    let (daemon, marks) = daemon(&provider, &[]);
    daemon.ok(&["config", "set", "mcp.servers.test.per_agent", "true"]);
    daemon.ok(&["daemon", "restart"]);
    daemon.ok(&["agent", "create", "other"]);
    let before = marks.count("start ");
    for agent in ["main", "other", "main"] {
        let said = asks(&daemon, agent, &[("test__echo", json!({"text": "hi there"}))]);
        assert!(said.contains("hi there"), "{said}");
    }
    // One lists the tools, where nobody has before.
    assert!((2..=3).contains(&(marks.count("start ") - before)), "{}", marks.count("start "));
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    let server = &status["tool_servers"][0];
    assert_eq!((&server["state"], &server["calls"]), (&json!("ready"), &json!(3)), "{server}");
    daemon.ok(&["daemon", "stop"]);
    wait_for("the end of all of them", || marks.processes().into_iter().all(|process| !lives(process)));
}

#[test]
fn a_tool_without_arguments_is_called_without_any() {
    let provider = Provider::start([raw_calls([Call::new("test__link", "")]), says("Called.")]);
    let holon = with(&provider);
    let marks = add(&holon, "test", &[]);
    let ended = holon.run(&["run", "--agent", "main", "--create-agent", "call it"]);
    assert_eq!((ended.code, marks.count("call link")), (Some(0), 1), "{ended:?}");
    assert!(provider.requests()[1].to_string().contains("file:///a"), "{:?}", provider.requests()[1]);
}

/// Calls with more text than a pipe holds where it is asked to, and what it is told otherwise.
fn long_winded(request: &Value) -> Reply {
    if input(request).contains("at length") && round(request) == 0 {
        return calls(&[("test__echo", json!({"text": "x".repeat(150_000)}))]);
    }
    obedient(request)
}

#[test]
fn a_server_that_reads_nothing_any_more_is_ended_and_started_again() {
    let provider = Provider::answering(long_winded);
    let daemon = Daemon::new(&provider);
    let marks = add(&daemon.0, "test", &["--deaf"]);
    daemon.ok(&["config", "set", "mcp.servers.test.call_timeout_ms", "1500"]);
    daemon.start();
    let said = daemon.ok(&["prompt", "--wait", "--agent", "main", "at length"]).stdout;
    assert!(said.contains("no answer within 1500 ms"), "{said}");
    assert_eq!((marks.count("deaf"), marks.count("call echo")), (1, 0));
    wait_for("another server", || {
        asks(&daemon, "main", &[("test__echo", json!({"text": "7431"}))]).contains("7431")
    });
    let first = marks.processes()[0];
    wait_for("the end of the first one", || !lives(first));
    assert_eq!(marks.count("start "), 2);
}

#[test]
fn a_session_that_its_server_forgets_is_begun_again_and_a_closed_port_takes_nothing() {
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    let (marks, port) = (Marks::of(&daemon.0, "http"), daemon.0.folder().join("port"));
    let mut command = Command::new("python3");
    command.arg(program()).arg("--sessions").arg("--marks").arg(marks.path()).arg("--http").arg(&port);
    let mut server = command.spawn().expect("python3 is there");
    wait_for("the server", || port.exists());
    let url = format!("http://127.0.0.1:{}/mcp", fs::read_to_string(&port).expect("a port"));
    daemon.ok(&["mcp", "add", "test", "--url", &url]);
    daemon.start();
    let echo = |text: &str| asks(&daemon, "main", &[("test__echo", json!({"text": text}))]);
    assert!(echo("7430").contains("7430"));
    fs::write(daemon.0.folder().join("port.forget"), "").expect("a file");
    let said = echo("7431");
    assert!(said.contains("7431"), "{said}");
    assert_eq!((marks.count("unknown session"), marks.count("call echo")), (1, 2));
    server.kill().expect("it ends");
    server.wait().expect("it has ended");
    let said = echo("7432");
    assert!(said.contains("tool_server_unavailable") && said.contains("connection refused"), "{said}");
}

/// Prompts until an agent is offered a tool; `test__echo` is always offered.
fn wait_for_tool(daemon: &Daemon, provider: &Provider, tool: &str) {
    wait_for(tool, || {
        daemon.ok(&["prompt", "--wait", "--agent", "main", "nothing"]);
        let last = provider.requests().last().cloned().expect("a request");
        let offered = of_servers(&last);
        assert!(offered.contains(&"test__echo"), "{offered:?}");
        offered.contains(&tool)
    });
}

#[test]
fn a_change_that_can_t_be_listed_at_once_takes_no_tool_away_and_is_not_forgotten() {
    let provider = Provider::answering(obedient);
    let (daemon, marks) = daemon(&provider, &["--fails-to-list"]);
    asks(&daemon, "main", &[("test__change", json!({"name": "brand_new"}))]);
    wait_for_tool(&daemon, &provider, "test__brand_new");
    assert_eq!(marks.count("failed to list"), 1);
}

#[test]
fn a_change_of_an_agent_s_own_server_is_offered() {
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    add(&daemon.0, "test", &[]);
    daemon.ok(&["config", "set", "mcp.servers.test.per_agent", "true"]);
    daemon.start();
    asks(&daemon, "main", &[("test__change", json!({"name": "brand_new"}))]);
    wait_for_tool(&daemon, &provider, "test__brand_new");
    let said = asks(&daemon, "main", &[("test__brand_new", json!({}))]);
    assert!(said.contains("brand_new"), "{said}");
}
