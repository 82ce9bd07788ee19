//! What clients write to the binary, near to what they may write: it is answered or refused, and nothing of it ends a process
//! that others use. Readers within a crate are tried in their own tests.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use holon_fuzz::Corpus;
use serde_json::Value;

/// An answer takes so long at most.
const PATIENCE: Duration = Duration::from_secs(30);

fn asked(socket: &Path, line: &str, body: &[u8]) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    // A body that is too long is refused before all of it was sent.
    let gone = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
    };
    let mut answer = Vec::new();
    let sent = stream.write_all(body);
    let read = stream.read_to_end(&mut answer).map(drop);
    match [sent, read].into_iter().find_map(Result::err).filter(|error| !gone(error)) {
        Some(error) => Err(error),
        None => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// Whether it is a request that ends: streams have no end, and a runtime that was asked to leave does.
fn is_tried(line: &str) -> bool {
    let path = line.strip_prefix("POST /").or_else(|| line.strip_prefix("GET /"));
    path.is_some_and(|path| path.bytes().all(|byte| byte.is_ascii_graphic()))
        && !["shutdown", "stream", "wait"].iter().any(|word| line.contains(word))
}

#[test]
fn bodies_near_to_those_of_requests_are_taken_or_refused() {
    let daemon = Daemon::hello();
    daemon.start();
    let socket = daemon.run_file("holon.sock");
    Corpus::of("bodies", &[]).each(150, |input| {
        let (line, body) =
            input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len()));
        let line = String::from_utf8_lossy(line);
        let body = body.strip_prefix(b"\n").unwrap_or(body);
        if !is_tried(&line) {
            return Ok(());
        }
        let answer = asked(&socket, &line, body).map_err(|error| format!("no answer: {error}"))?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        match status {
            Some(200..500 | 503) => Ok(()),
            Some(_) | None => Err(format!("answered with {answer:?}")),
        }
    });
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

/// A client that speaks over standard input and output, and whose lines are a little off.
fn speaks(subject: &str, arguments: &[&str]) {
    let daemon = Daemon::hello();
    daemon.start();
    Corpus::of(subject, &[]).each(24, |input| {
        let ended = daemon.0.run_with_input(arguments, input);
        if !matches!(ended.code, Some(0..=2)) || ended.stderr.contains("panicked") {
            return Err(format!("{ended:?}"));
        }
        let message = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|it| it["jsonrpc"] == "2.0");
        match ended.stdout.lines().find(|line| !message(line)) {
            Some(line) => Err(format!("{line:?} is no message")),
            None => Ok(()),
        }
    });
    daemon.ok(&["status"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}

#[test]
fn lines_near_to_those_of_mcp_clients_are_answered_or_refused() {
    speaks("mcp", &["mcp", "serve", "--no-start"]);
}

#[test]
fn lines_near_to_those_of_editors_are_answered_or_refused() {
    speaks("acp", &["acp", "--no-start"]);
}

/// The archive of another, as it is and with bytes of what is compressed changed.
#[test]
fn bundles_near_to_good_ones_are_read_or_refused() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "hello"]);
    daemon.ok(&["daemon", "stop"]);
    let bundle = daemon.0.work().join("bundle");
    let path = bundle.display().to_string();
    daemon.ok(&["agent", "bundle", "main", "-o", &path]);
    let packed = std::fs::read(&bundle).expect("a bundle");
    let plain = zstd::decode_all(&packed[..]).expect("compressed");
    let tried = |bytes: &[u8]| {
        std::fs::write(&bundle, bytes).map_err(|error| error.to_string())?;
        for command in ["inspect", "verify", "replay"] {
            let ended = daemon.0.run(&["bundle", command, &path]);
            if !matches!(ended.code, Some(0..=2)) || ended.stderr.contains("panicked") {
                return Err(format!("{command}: {ended:?}"));
            }
        }
        Ok(())
    };
    Corpus::with("bundles", vec![plain])
        .each(40, |input| tried(&zstd::encode_all(input, 1).map_err(|error| error.to_string())?));
    Corpus::with("archives", vec![packed]).each(20, tried);
}
