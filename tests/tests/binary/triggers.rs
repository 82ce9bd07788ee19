//! An agent that other systems wake at its address, which nothing that lasts ever tells.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use end_to_end::daemon::Daemon;
use end_to_end::http::ask;
use end_to_end::wait_for;
use serde_json::{Value, json};

/// What its commands print of the address, and that it then waits for something to come there.
fn told_to_wait() -> Daemon {
    let print = json!({ "cmd": "echo at $HOLON_EXTERNAL_TRIGGER_URL; env > seen" });
    let wait = json!({ "reason": "whatever comes", "wake": "external" });
    let call = |tool: &str, arguments: &Value| json!({ "calls": [{ "tool": tool, "arguments": arguments }] });
    let rounds = json!([call("ExecCommand", &print), call("WaitFor", &wait), { "text": "it came" }]);
    let daemon = Daemon::scripted(&rounds);
    fs::create_dir_all(daemon.0.home()).expect("a home");
    fs::write(daemon.0.home().join("config.toml"), "[run]\nidle_limit_ms = 1000\n").expect("a configuration");
    daemon.start();
    daemon
}

fn address(daemon: &Daemon) -> String {
    let shown = daemon.ok(&["trigger", "show", "--json"]).json();
    shown["triggers"][0]["trigger_url"].as_str().expect("an address").to_owned()
}

/// The status of the answer to a POST there.
fn post(url: &str, body: &str) -> u16 {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    let mut stream = TcpStream::connect(host).expect("a runtime");
    let length = body.len();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[test]
fn other_systems_wake_an_agent_at_an_address_that_nothing_tells() {
    let daemon = told_to_wait();
    let prompted = daemon.0.run(&["prompt", "--wait=settled", "tell the forge where to reach you"]);
    assert_eq!(prompted.code, Some(7), "{prompted:?}");
    let url = address(&daemon);
    let home = daemon.0.home();
    let seen = fs::read_to_string(home.join("agents/main/seen")).expect("what the command saw");
    assert!(seen.contains(&format!("HOLON_EXTERNAL_TRIGGER_URL={url}\n")), "{seen}");
    daemon.kill();
    daemon.start();
    let again = address(&daemon);
    let token = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
    assert_eq!(token(&again), token(&url), "it is the same after a crash");
    assert_eq!(post(&again, "the issue has moved"), 200);
    wait_for("the turn of the delivery", || daemon.events_of("wait_resolved") == 1);
    wait_for("the next wait", || daemon.events_of("wait_registered") == 2);
    daemon.ok(&["prompt", &format!("use {again}")]);
    wait_for("the turn of the prompt", || daemon.events_of("turn_terminal") == 3);
    let transcript = daemon.ok(&["transcript", "--json"]).stdout;
    assert!(transcript.contains("[redacted:HOLON_EXTERNAL_TRIGGER_URL]"), "{transcript}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
    let signature = token(&again).rsplit('.').next().unwrap_or_default().to_owned();
    let exported = daemon.ok(&["ledger", "export", "--recorder"]).stdout;
    assert!(exported.contains("the issue has moved") && !exported.contains(&signature));
    for file in ["ledger.sqlite3", "run/daemon.log"] {
        let bytes = fs::read(home.join(file)).expect("a file of the home");
        let found = bytes.windows(signature.len()).any(|part| part == signature.as_bytes());
        assert!(!found, "{file} tells the address");
    }
}

#[test]
fn an_address_that_was_changed_wakes_nobody() {
    let daemon = Daemon::hello();
    daemon.start();
    let first = address(&daemon);
    let rotated = daemon.ok(&["trigger", "rotate"]).stdout;
    assert!(rotated.contains("generation 2") && rotated.contains("/callbacks/wake/main.2."), "{rotated}");
    assert_eq!((post(&first, ""), post(&address(&daemon), "")), (404, 200));
    let second = address(&daemon);
    daemon.ok(&["agent", "stop", "main"]);
    assert_eq!(post(&second, "too late"), 409);
    let revoked = daemon.ok(&["trigger", "revoke"]).stdout;
    assert!(revoked.contains("revoked since") && !revoked.contains("address"), "{revoked}");
    assert_eq!(post(&second, ""), 404);
    daemon.0.run(&["trigger", "show", "--agent", "nobody"]).refused(3, &["there is no agent nobody"]);
    daemon.ok(&["daemon", "stop"]);
    let key = daemon.0.home().join("trigger.key");
    fs::write(&key, "not a key").expect("a file of ours");
    daemon.0.run(&["daemon", "start"]).refused(2, &["holds no key of trigger addresses", "backup"]);
    let doctor = daemon.0.run(&["config", "doctor"]);
    assert!(doctor.stdout.contains("holds no key of trigger addresses"), "{doctor:?}");
    fs::remove_file(&key).expect("a file of ours");
    daemon.start();
    daemon.ok(&["trigger", "rotate"]);
    assert_eq!(post(&address(&daemon), "again"), 409, "it is stopped");
}

#[test]
fn webhooks_that_have_to_be_signed_need_a_key_that_is_there() {
    let daemon = Daemon::hello();
    daemon.ok(&["config", "set", "server.webhook_credential", "forge"]);
    daemon.0.run(&["daemon", "start"]).refused(2, &["names forge", "holon config credentials set forge"]);
    let key = b"canary-of-the-forge";
    let set = daemon.0.run_with_input(&["config", "credentials", "set", "forge", "-"], key);
    assert_eq!(set.code, Some(0), "{set:?}");
    daemon.start();
    let socket = daemon.run_file("holon.sock");
    let signed = |signature: &str| {
        let headers = [("X-Hub-Signature-256", signature)];
        let body = json!({ "ref": "main" });
        let sent = ask(&socket, "POST", "/webhooks/generic/main", &headers, Some(&body));
        sent.expect("an answer").status
    };
    // Of `{"ref":"main"}` under that key.
    let right = "sha256=042d2c09bfa8127cf0f04767cf6a79951f01ff5f498eea00a07678a7714383b3";
    assert_eq!((signed(right), signed(&right.replace('0', "1"))), (200, 401));
    wait_for("the turn of the webhook", || daemon.events_of("turn_terminal") == 1);
}
