//! The runtime as a server of the Model Context Protocol: driven by the client of another home, which is not ours, and by
//! messages as they go over the wire.

use std::io::{BufRead, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::http::ask;
use end_to_end::lines::Lines;
use end_to_end::provider::{Provider, Reply, calls, says};
use end_to_end::{Ended, Holon, binary, signal};
use serde_json::{Value, json};

/// Another home, whose client of the protocol speaks to the runtime.
struct Other(Holon);

impl Other {
    fn of(daemon: &Daemon, more: &[&str]) -> Self {
        let holon = Holon::new();
        let home = daemon.0.home().display().to_string();
        let program = binary().display().to_string();
        let words = ["mcp", "add", "runtime", "--", &program, "--home", &home, "mcp", "serve", "--no-start"];
        let added = holon.run(&[&words[..], more].concat());
        assert_eq!(added.code, Some(0), "{added:?}");
        Self(holon)
    }

    fn over_http(daemon: &Daemon) -> Self {
        let holon = Holon::new();
        let metadata = daemon.metadata().expect("it is ready");
        let url = format!("http://{}/mcp", metadata["http_addr"].as_str().expect("an address"));
        let added = holon.run(&["mcp", "add", "runtime", "--url", &url]);
        assert_eq!(added.code, Some(0), "{added:?}");
        Self(holon)
    }

    fn speaking(self, revision: &str) -> Self {
        assert_eq!(self.0.run(&["config", "set", "mcp.servers.runtime.protocol", revision]).code, Some(0));
        self
    }

    fn call(&self, tool: &str, arguments: &Value) -> Ended {
        self.0.run(&["mcp", "call", "runtime", tool, &arguments.to_string(), "--json"])
    }

    fn told(&self, tool: &str, arguments: &Value) -> Value {
        let ended = self.call(tool, arguments);
        assert_eq!(ended.code, Some(0), "{tool} {arguments}: {ended:?}");
        ended.json()["structured"].clone()
    }
}

/// A client that says what goes over the wire.
struct Client {
    lines: Lines,
    last: u64,
}

impl Client {
    fn of(daemon: &Daemon, more: &[&str]) -> Self {
        let mut client = Self {
            lines: Lines::start(daemon.0.command(&[&["mcp", "serve", "--no-start"], more].concat())),
            last: 0,
        };
        let about = json!({ "protocolVersion": "2025-11-25", "clientInfo": { "name": "test", "version": "1" }, "capabilities": {} });
        let agreed = client.ask("initialize", &about);
        assert_eq!(agreed["result"]["protocolVersion"], "2025-11-25", "{agreed}");
        client.lines.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        self.lines.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }));
        self.last
    }

    fn answer(&mut self, id: u64) -> Value {
        self.lines.until("answer", |line| line["id"] == id)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))["result"].take()
    }
}

#[test]
fn another_client_drives_agents_in_every_revision_and_over_http() {
    let provider = Provider::answering(|_| says("Done."));
    let daemon = Daemon::new(&provider);
    daemon.start();
    for (other, revision) in [
        (Other::of(&daemon, &[]), "2026-07-28"),
        (Other::of(&daemon, &[]).speaking("2025-11-25"), "2025-11-25"),
        (Other::of(&daemon, &[]).speaking("2025-06-18"), "2025-06-18"),
        (Other::over_http(&daemon), "2026-07-28"),
        (Other::over_http(&daemon).speaking("2025-11-25"), "2025-11-25"),
    ] {
        let checked = other.0.run(&["mcp", "check", "--json"]);
        let about = &checked.json()["servers"][0];
        assert_eq!((&about["revision"], &about["tools"]), (&json!(revision), &json!(15)), "{checked:?}");
        let told = other.told("prompt_agent", &json!({ "text": "do it" }));
        assert_eq!((&told["verdict"], &told["final_text"]), (&json!("completed"), &json!("Done.")), "{told}");
        let again = other.told("prompt_result", &json!({ "message_id": told["message_id"] }));
        assert_eq!(again["final_text"], "Done.", "{again}");
        assert_eq!(other.told("list_agents", &json!({}))["agents"][0]["agent_id"], "main");
    }
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn every_tool_does_what_it_says() {
    let wait = json!({ "reason": "May I?", "wake": "operator_input" });
    let provider = Provider::start([calls(&[("WaitFor", wait)]), says("I did.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let work = daemon.0.work().display().to_string();
    let mut client = Client::of(&daemon, &[]);
    let created = client
        .call("create_agent", &json!({ "agent": "helper", "workspace_root": work, "description": "helps" }));
    assert_eq!(created["structuredContent"]["agent_id"], "helper", "{created}");
    let twice = client.call("create_agent", &json!({ "agent": "helper" }));
    assert_eq!(
        (&twice["isError"], &twice["structuredContent"]["code"]),
        (&json!(true), &json!("agent_exists")),
        "{twice}"
    );
    let none = client.call("answer_question", &json!({ "agent": "helper", "text": "yes" }));
    assert_eq!(none["structuredContent"]["code"], "unknown_ask", "{none}");
    let asked = client.call("prompt_agent", &json!({ "agent": "helper", "text": "clean up" }));
    assert_eq!(asked["structuredContent"]["verdict"], "waiting_for_operator", "{asked}");
    let why = client.call("why", &json!({ "agent": "helper" }));
    assert!(why["content"][0]["text"].as_str().expect("a text").contains("operator"), "{why}");
    let answered = client.call("answer_question", &json!({ "agent": "helper", "text": "yes, you may" }));
    assert_eq!(answered["structuredContent"]["final_text"], "I did.", "{answered}");
    assert!(provider.requests()[1].to_string().contains("yes, you may"));
    let transcript = client.call("read_transcript", &json!({ "agent": "helper", "limit": 50 }));
    assert!(
        transcript.to_string().contains("yes, you may") && transcript.to_string().contains("I did."),
        "{transcript}"
    );
    let task = client.call("run_task", &json!({ "agent": "helper", "cmd": "echo from a task" }));
    let task = &task["structuredContent"]["task"];
    let output = client
        .call("task_output", &json!({ "agent": "helper", "task_id": task["task_id"], "wait_ms": 20_000 }));
    assert!(output.to_string().contains("from a task"), "{task} {output}");
    let stopped = client.call("stop_agent", &json!({ "agent": "helper" }));
    assert_eq!(stopped["isError"], false, "{stopped}");
    let refused = client.call("prompt_agent", &json!({ "agent": "helper", "text": "go" }));
    assert_eq!(refused["structuredContent"]["code"], "agent_stopped", "{refused}");
    let report = json!({ "agent": "main", "objective": "Write the report", "key": "report" });
    let added = client.call("add_work", &report);
    assert_eq!(added["isError"], false, "{added}");
    let again = client.call("add_work", &report);
    let ids = [added, again].map(|it| it["structuredContent"]["work_item"]["work_item_id"].clone());
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    let touch = json!({ "agent": "main", "cmd": "echo once >> counted; pwd", "key": "count" });
    let ran = [client.call("run_task", &touch), client.call("run_task", &touch)];
    let ids = ran.map(|ran| ran["structuredContent"]["task"]["task_id"].clone());
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    let listed = client.call("list_work", &json!({ "agent": "main" }));
    assert!(listed.to_string().contains("Write the report"), "{listed}");
    let found = client.call("search_memory", &json!({ "agent": "helper", "query": "clean up" }));
    assert_eq!(found["isError"], false, "{found}");
    let status = client.call("agent_status", &json!({ "agent": "helper" }));
    assert_eq!(status["structuredContent"]["status"], "stopped", "{status}");
    assert_eq!(client.call("start_agent", &json!({ "agent": "helper" }))["isError"], false);
    assert_eq!(client.lines.end(), Some(0));
}

#[test]
fn a_turn_that_takes_longer_than_its_client_waits_is_asked_for_again() {
    let slow = Reply::Late(Duration::from_secs(3), Box::new(says("After a while.")));
    let provider = Provider::start([slow]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    let begun = client.call("prompt_agent", &json!({ "text": "take your time", "wait_ms": 200 }));
    let told = &begun["structuredContent"];
    assert_eq!((&told["ended"], &begun["isError"]), (&json!(false), &json!(false)), "{begun}");
    assert!(told["hint"].as_str().expect("a hint").contains("prompt_result"), "{told}");
    let ended = client.call("prompt_result", &json!({ "message_id": told["message_id"], "wait_ms": 30_000 }));
    assert_eq!(ended["structuredContent"]["final_text"], "After a while.", "{ended}");
    // Who gives up waiting is not answered, and the turn goes on.
    assert_eq!(client.lines.end(), Some(0));
}

#[test]
fn a_prompt_counts_once_although_the_runtime_is_killed() {
    let provider = Provider::start([Reply::Hang, says("After all.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    let arguments = json!({ "text": "survive this", "key": "job-1" });
    let id = client.send("tools/call", &json!({ "name": "prompt_agent", "arguments": arguments }));
    provider.wait_for_requests(1);
    daemon.kill();
    let lost = client.answer(id)["result"].take();
    assert_eq!(lost["structuredContent"]["code"], "runtime_unreachable", "{lost}");
    assert!(lost["structuredContent"]["hint"].as_str().expect("a hint").contains("job-1"), "{lost}");
    daemon.start();
    let again = client.call("prompt_agent", &arguments);
    let told = &again["structuredContent"];
    assert_eq!((&told["duplicate"], &told["final_text"]), (&json!(true), &json!("After all.")), "{again}");
    assert_eq!(daemon.events_of("message_admitted"), 1);
    assert_eq!(client.lines.end(), Some(0));
}

#[test]
fn each_prompt_counts_whatever_the_id_of_its_request() {
    let daemon = Daemon::new(&Provider::answering(|_| says("Done.")));
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    let params = json!({ "name": "prompt_agent", "arguments": { "text": "go" } });
    for id in [json!("70"), json!(70), json!("ü"), json!("x".repeat(2_000))] {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        client.lines.send(&request);
        let told = client.lines.until("answer", |line| line["id"] == id)["result"].take();
        assert_eq!(told["structuredContent"]["duplicate"], false, "{told}");
    }
    assert_eq!(daemon.events_of("message_admitted"), 4);
    assert_eq!(client.lines.end(), Some(0));
}

#[test]
fn progress_is_shown_and_a_wait_is_cancelled() {
    let slow = Reply::Late(Duration::from_secs(2), Box::new(says("Looked.")));
    let provider =
        Provider::start([calls(&[("ExecCommand", json!({ "cmd": "echo hi" }))]), slow, Reply::Hang]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    let call = json!({
        "name": "prompt_agent", "arguments": { "text": "look" }, "_meta": { "progressToken": "t1" },
    });
    let id = client.send("tools/call", &call);
    let is_progress = |line: &Value| line["method"] == "notifications/progress";
    let first = client.lines.until("progress", is_progress);
    assert_eq!(
        (&first["params"]["progressToken"], &first["params"]["progress"]),
        (&json!("t1"), &json!(1)),
        "{first}"
    );
    assert!(first["params"]["message"].is_string(), "{first}");
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["final_text"], "Looked.", "{answer}");
    let steps: Vec<u64> = client
        .lines
        .seen
        .iter()
        .filter(|line| is_progress(line))
        .map(|line| line["params"]["progress"].as_u64().expect("a number"))
        .collect();
    assert!(steps.len() > 1 && steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");

    let id = client.send("tools/call", &json!({ "name": "prompt_agent", "arguments": { "text": "hang" } }));
    provider.wait_for_requests(3);
    client.lines.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    assert!(
        client.lines.rest(Duration::from_millis(500)).iter().all(|line| line["id"] != id),
        "{:#?}",
        client.lines.seen
    );
    let status = daemon.ok(&["status", "--json"]).json();
    assert_eq!(status["status"], "awake_running", "the turn goes on: {status}");
}

#[test]
fn progress_over_http_is_a_stream_that_ends_with_the_answer() {
    let daemon = Daemon::new(&Provider::start([says("Looked.")]));
    daemon.start();
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "prompt_agent", "arguments": { "text": "look" }, "_meta": { "progressToken": 7 } },
    });
    let mut stream = UnixStream::connect(daemon.run_file("holon.sock")).expect("a connection");
    let body = call.to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("it is sent");
    let mut answered = String::new();
    stream.read_to_string(&mut answered).expect("an answer");
    assert!(answered.contains("content-type: text/event-stream"), "{answered}");
    let told: Vec<Value> =
        answered.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    let (last, before) = told.split_last().expect("messages");
    assert_eq!(last["result"]["structuredContent"]["final_text"], "Looked.", "{told:#?}");
    let is_progress = |line: &Value| line["params"]["progressToken"] == 7;
    assert!(before.len() > 1 && before.iter().all(is_progress), "{told:#?}");
}

#[test]
fn resources_are_followed_over_http_as_a_stream() {
    let daemon = Daemon::new(&Provider::start([says("One."), says("Two.")]));
    daemon.start();
    daemon.ok(&["prompt", "--wait", "-q", "first"]);
    let ask = |accept: &str| {
        let uris = ["holon://agents/main/briefs", "holon://nothing", "holon://agents/main/briefs"];
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let params = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen", "params": params });
        let mut stream = UnixStream::connect(daemon.run_file("holon.sock")).expect("a connection");
        let body = call.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: {accept}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it is sent");
        stream
    };
    let mut refused = String::new();
    ask("application/json").read_to_string(&mut refused).expect("an answer");
    assert!(refused.contains("accept text/event-stream"), "{refused}");

    let stream = ask("application/json, text/event-stream");
    let mut lines = std::io::BufReader::new(stream).lines();
    let mut next = |method: &str| loop {
        let line = lines.next().expect("more").expect("a line");
        let Some(told) = line.strip_prefix("data: ") else { continue };
        let told: Value = serde_json::from_str(told).expect("JSON");
        if told["method"] == method {
            return told;
        }
    };
    let accepted = next("notifications/subscriptions/acknowledged");
    let followed = json!(["holon://agents/main/briefs"]);
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], followed, "{accepted}");
    daemon.ok(&["prompt", "--wait", "-q", "second"]);
    let updated = next("notifications/resources/updated");
    let subscription = &updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!((&updated["params"]["uri"], subscription), (&followed[0], &json!(5)), "{updated}");
}

#[test]
fn resources_are_listed_read_and_followed() {
    let daemon = Daemon::new(&Provider::start([says("One."), says("Two.")]));
    daemon.start();
    daemon.ok(&["prompt", "--wait", "-q", "first"]);
    let mut client = Client::of(&daemon, &[]);
    let listed = client.ask("resources/list", &json!({}))["result"]["resources"].take();
    assert_eq!(listed[1]["uri"], "holon://agents/main/transcript", "{listed}");
    let templates = client.ask("resources/templates/list", &json!({}))["result"]["resourceTemplates"].take();
    assert_eq!(templates.as_array().expect("a list").len(), 3, "{templates}");
    for (part, says) in [("state", "\"agent_id\":\"main\""), ("transcript", "first"), ("briefs", "One.")] {
        let uri = format!("holon://agents/main/{part}");
        let read = client.ask("resources/read", &json!({ "uri": uri }))["result"]["contents"][0].take();
        assert!(read["text"].as_str().expect("a text").contains(says), "{part}: {read}");
    }
    let missing = client.ask("resources/read", &json!({ "uri": "holon://agents/nobody/state" }));
    assert_eq!(missing["error"]["code"], -32_002, "{missing}");
    let uri = "holon://agents/main/briefs";
    assert_eq!(client.ask("resources/subscribe", &json!({ "uri": uri }))["result"], json!({}));
    // It begins with what is new.
    std::thread::sleep(Duration::from_millis(500));
    daemon.ok(&["prompt", "--wait", "-q", "second"]);
    let updated = client.lines.until("an update", |line| line["method"] == "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], uri, "{updated}");
    assert_eq!(client.ask("resources/unsubscribe", &json!({ "uri": uri }))["result"], json!({}));
    assert_eq!(client.lines.end(), Some(0));
}

#[test]
fn what_is_no_call_is_an_error_and_what_can_not_be_meant_a_result_that_says_so() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut client = Client::of(&daemon, &["--read-only"]);
    let listed = client.ask("tools/list", &json!({}))["result"]["tools"].take();
    let tools = listed.as_array().expect("a list");
    assert!(
        tools.len() == 8 && tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true),
        "{listed}"
    );
    let hidden = client.ask("tools/call", &json!({ "name": "prompt_agent", "arguments": { "text": "go" } }));
    assert_eq!(hidden["error"]["code"], -32_602, "{hidden}");
    assert_eq!(client.ask("tools/fetch", &json!({}))["error"]["code"], -32_601);
    for (tool, arguments, code, says) in [
        ("agent_status", json!({ "agnet": "main" }), "invalid_tool_input", "unknown field `agnet`"),
        ("agent_status", json!({ "agent": "nobody" }), "unknown_agent", "there is no agent nobody"),
        (
            "prompt_result",
            json!({ "message_id": "msg_1", "wait_ms": 60_000 }),
            "invalid_tool_input",
            "limit of 50000",
        ),
        ("prompt_result", json!({ "message_id": "msg_99", "wait_ms": 0 }), "unknown_message", "msg_99"),
    ] {
        let told = client.call(tool, &arguments);
        assert_eq!(
            (&told["isError"], &told["structuredContent"]["code"]),
            (&json!(true), &json!(code)),
            "{told}"
        );
        assert!(told["structuredContent"]["error"].as_str().expect("a text").contains(says), "{told}");
    }
    client.lines.raw("no json");
    let refused = client.lines.until("refusal", |line| line["error"]["code"] == -32_700);
    assert_eq!(refused["id"], Value::Null);
    client.lines.raw(&"x".repeat(17 << 20));
    let long = client.lines.until("refusal of a long line", |line| line["error"]["code"] == -32_700);
    assert!(long["error"]["message"].as_str().expect("a text").contains("the limit is 16777216"), "{long}");
    signal(&client.lines.child, "TERM");
    assert_eq!(client.lines.end(), Some(0), "agents live on: there is nothing to interrupt");
    let stopped = Daemon::hello();
    stopped.0.run(&["mcp", "serve", "--no-start", "extra"]).refused(2, &["extra"]);
}

#[test]
fn over_http_the_token_is_asked_for_as_everywhere() {
    let daemon = Daemon::hello_with(&[("HOLON_CONTROL_TOKEN", "canary-of-the-token")]);
    daemon.start();
    let metadata = daemon.metadata().expect("it is ready");
    let address = metadata["http_addr"].as_str().expect("an address").to_owned();
    let url = format!("http://{address}/mcp");
    let other = Holon::new();
    let added = other.run(&["mcp", "add", "runtime", "--url", &url]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let checked = other.run(&["mcp", "check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let key = other.run_with_input(&["config", "credentials", "set", "hub", "-"], b"canary-of-the-token\n");
    assert_eq!(key.code, Some(0), "{key:?}");
    other.run(&["mcp", "add", "runtime", "--url", &url, "--credential", "hub"]);
    let listed = other.run(&["mcp", "call", "runtime", "list_agents", "{}", "--json"]);
    assert_eq!(listed.json()["structured"]["agents"][0]["agent_id"], "main", "{listed:?}");
    // The socket needs none.
    let bad = json!({ "id": 1 });
    let bad = ask(&daemon.run_file("holon.sock"), "POST", "/mcp", &[], Some(&bad)).expect("an answer");
    assert_eq!((bad.status, &bad.body["error"]["code"]), (400, &json!(-32_600)));
}

#[test]
fn an_answer_counts_once_under_its_key_whatever_is_open_by_then() {
    let wait = || calls(&[("WaitFor", json!({ "reason": "May I?", "wake": "operator_input" }))]);
    let provider = Provider::start([wait(), says("I did."), wait()]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    let asks = |client: &mut Client| {
        let asked = client.call("prompt_agent", &json!({ "agent": "main", "text": "clean up" }));
        assert_eq!(asked["structuredContent"]["verdict"], "waiting_for_operator", "{asked}");
    };
    asks(&mut client);
    let brief = daemon.ok(&["inbox", "--json"]).json()["asks"][0]["brief_id"].clone();
    let answer = json!({ "text": "yes", "key": "answer-1" });
    let exact = json!({ "text": "yes", "key": "answer-1", "brief_id": brief });
    let first = client.call("answer_question", &answer)["structuredContent"].take();
    assert_eq!((&first["duplicate"], &first["final_text"]), (&json!(false), &json!("I did.")), "{first}");
    let again = |client: &mut Client| {
        for arguments in [&answer, &exact] {
            let again = client.call("answer_question", arguments)["structuredContent"].take();
            assert_eq!(
                (&again["duplicate"], &again["message_id"]),
                (&json!(true), &first["message_id"]),
                "{again}"
            );
        }
    };
    again(&mut client);
    drop(client);
    daemon.kill();
    daemon.start();
    let mut client = Client::of(&daemon, &[]);
    again(&mut client);
    asks(&mut client);
    again(&mut client);
    for (arguments, code) in [
        (json!({ "text": "no", "key": "answer-1" }), "idempotency_conflict"),
        (json!({ "text": "yes", "key": "answer-2", "brief_id": brief }), "unknown_ask"),
        (json!({ "text": "yes", "wait_ms": "5" }), "invalid_tool_input"),
    ] {
        let refused = client.call("answer_question", &arguments)["structuredContent"].take();
        assert_eq!(refused["code"], code, "{arguments}: {refused}");
        let error = refused["error"].as_str().expect("a text");
        assert!(code != "invalid_tool_input" || error.starts_with("wait_ms: "), "{error}");
    }
    assert_eq!(provider.requests().len(), 3);
}
