//! Requests over the socket of a home, as a client writes them that is no part of Holon: it keeps its idempotency
//! key, and asks again until it is told that it was heard.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Whoever gets no answer for so long has found a runtime that is stuck.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answered {
    pub status: u16,
    pub body: Value,
}

/// One request on a connection of its own. An answer that ends too early is an error.
pub fn ask(
    socket: &Path,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> io::Result<Answered> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    parse(&answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

pub fn get(socket: &Path, path: &str) -> io::Result<Answered> {
    ask(socket, "GET", path, &[], None)
}

/// What a runtime exports for Prometheus.
///
/// # Panics
/// When it does not.
pub fn metrics(socket: &Path) -> String {
    let mut stream = UnixStream::connect(socket).expect("a runtime");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("it is asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, text) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 ") && text.ends_with("# EOF\n"), "{answer}");
    text.to_owned()
}

/// Posts one intention until it is acknowledged, whatever becomes of the runtime meanwhile.
///
/// # Panics
/// On an answer that says more than "not now", and when there is none for too long.
pub fn post_until_acknowledged(socket: &Path, path: &str, key: &str, body: &Value) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask(socket, "POST", path, &[("Idempotency-Key", key)], Some(body)) {
            Ok(Answered { status: 200..=202, body }) => return body,
            // The queue is full, or the runtime leaves or has no room.
            Ok(Answered { status: 429 | 503, .. }) | Err(_) => {}
            Ok(refused) => panic!("{path} with the key {key}: {refused:?}"),
        }
        assert!(Instant::now() < deadline, "{path} with the key {key} was not acknowledged");
        std::thread::sleep(PAUSE);
    }
}

fn parse(answer: &[u8]) -> Option<Answered> {
    let answer = std::str::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let mut lengths = headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = lengths.next()?.1.parse().ok()?;
    let body = serde_json::from_str(body.get(..length)?).ok()?;
    Some(Answered { status, body })
}
