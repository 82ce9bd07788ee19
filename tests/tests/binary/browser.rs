//! What a page in a browser does: it asks first, opens a stream with a token in its address, and reads nothing of a runtime
//! that does not allow its origin.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, ask};
use serde_json::json;

const PAGE: &str = "https://console.example";

/// One request over TCP; of a stream the beginning. Gives the head and what follows.
fn send(
    daemon: &Daemon,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    enough: &str,
) -> (String, String) {
    let address =
        daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("an address").to_owned();
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).expect("it is sent");
    let (mut answer, mut chunk) = (String::new(), [0; 4_096]);
    while enough.is_empty() || !answer.contains(enough) {
        let count = stream.read(&mut chunk).expect("an answer");
        if count == 0 {
            break;
        }
        answer.push_str(&String::from_utf8_lossy(&chunk[..count]));
    }
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn an_allowed_page_follows_everything_with_a_token_that_no_log_has() {
    let daemon = Daemon::hello_with(&[("HOLON_CONTROL_TOKEN", "a-control-token-of-a-test")]);
    daemon.ok(&["config", "set", "server.allowed_origins", PAGE]);
    daemon.start();
    let preflight = [("Origin", PAGE), ("Access-Control-Request-Method", "POST")];
    let (head, _) = send(&daemon, "OPTIONS", "/control/stream-token", &preflight, "");
    assert!(head.starts_with("http/1.1 204"), "{head}");
    assert!(head.contains(&format!("access-control-allow-origin: {PAGE}")), "{head}");
    let evil = [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST")];
    let (head, _) = send(&daemon, "OPTIONS", "/control/stream-token", &evil, "");
    assert!(head.starts_with("http/1.1 405") && !head.contains("access-control"), "{head}");

    let socket = daemon.run_file("holon.sock");
    let Answered { status, body } =
        ask(&socket, "POST", "/control/stream-token", &[], Some(&json!({}))).expect("it");
    let token = body["token"].as_str().expect("a token").to_owned();
    assert_eq!((status, token.len()), (201, 64), "{body}");
    daemon.ok(&["prompt", "--wait", "--quiet", "hi"]);
    let path = format!("/events/stream?after=0&token={token}");
    let (head, events) = send(&daemon, "GET", &path, &[("Origin", PAGE)], "event: turn_terminal");
    assert!(head.starts_with("http/1.1 200") && head.contains(&format!("allow-origin: {PAGE}")), "{head}");
    assert!(events.contains("\"position\":1,"), "{events}");
    let (head, refused) = send(&daemon, "GET", "/events/stream?token=no", &[("Origin", PAGE)], "");
    assert!(head.starts_with("http/1.1 401") && refused.contains("/control/stream-token"), "{head}{refused}");
    let (head, refused) = send(&daemon, "GET", &format!("/events?token={token}"), &[("Origin", PAGE)], "");
    assert!(head.starts_with("http/1.1 401") && !refused.contains(&token), "{head}{refused}");

    daemon.ok(&["daemon", "stop"]);
    for file in ["run/daemon.log", "ledger.sqlite3", "ledger.sqlite3-wal"] {
        let kept = std::fs::read(daemon.0.home().join(file)).unwrap_or_default();
        let found = kept.windows(token.len()).any(|bytes| bytes == token.as_bytes());
        assert!(!found, "{file} has the token");
    }
}

#[test]
fn what_is_no_origin_is_refused_where_it_is_set() {
    let daemon = Daemon::hello();
    for wrong in ["*", "console.example", "https://console.example/", "https://*.example", "null"] {
        let refused = daemon.0.run(&["config", "set", "server.allowed_origins", wrong]);
        refused.refused(2, &["https://console.example"]);
    }
    daemon.ok(&["config", "set", "server.allowed_origins", "https://a.example,http://localhost:5173"]);
    let listed = daemon.ok(&["config", "get", "server.allowed_origins"]).stdout;
    assert!(listed.contains("https://a.example"), "{listed}");
}
