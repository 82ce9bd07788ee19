//! Bodies without end, connections that say nothing, and clients that do not read.

use std::time::Duration;

use axum::http::Method;
use holon_api::{OTHER_BYTES, PROMPT_BYTES, WEBHOOK_BYTES};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Scene, request};
use crate::http::Listener;
use crate::http::body::ARRIVAL;

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn bodies_are_as_long_as_their_route_allows() {
    let scene = Scene::with_main().await;
    let fits = "x".repeat(PROMPT_BYTES);
    scene.prompt("main", &fits).await.ok();
    let more = scene.prompt("main", &format!("{fits}x")).await;
    assert_eq!(more.fails(413, "too_large").json["details"]["limit"], PROMPT_BYTES);
    assert_eq!(more.json["details"]["field"], "text");
    scene.at_rest("main").await;
    let webhook = |bytes: usize| json!("x".repeat(bytes - 2));
    scene.post("/webhooks/generic/main", webhook(WEBHOOK_BYTES)).await.ok();
    let more = scene.post("/webhooks/generic/main", webhook(WEBHOOK_BYTES + 1)).await;
    assert_eq!(more.fails(413, "too_large").json["details"]["limit"], WEBHOOK_BYTES);
    let control = json!({ "action": "stop", "x": "x".repeat(OTHER_BYTES) });
    scene.post("/control/agents/main/control", control).await.fails(413, "too_large");
}

/// In JSON a character may take six times the bytes that it is counted with.
#[tokio::test]
async fn a_prompt_is_as_long_as_its_text() {
    let scene = Scene::with_main().await;
    for escaped in ["\u{1}", "\n"] {
        scene.prompt("main", &escaped.repeat(PROMPT_BYTES)).await.ok();
        scene.at_rest("main").await;
    }
    let more = scene.prompt("main", &"\u{1}".repeat(PROMPT_BYTES + 1)).await;
    let details = &more.fails(413, "too_large").json["details"];
    assert_eq!((&details["field"], &details["limit"]), (&json!("text"), &json!(PROMPT_BYTES)));
}

/// What can be a prompt can be looked at, and nothing else.
#[tokio::test]
async fn a_prompt_that_is_shown_is_as_long_as_one_that_is_sent() {
    let scene = Scene::with_main().await;
    let show = |text: String| scene.post("/control/agents/main/debug-prompt", json!({ "text": text }));
    show("\u{1}".repeat(PROMPT_BYTES)).await.ok();
    let more = show("x".repeat(PROMPT_BYTES + 1)).await;
    let details = &more.fails(413, "too_large").json["details"];
    assert_eq!((&details["field"], &details["limit"]), (&json!("text"), &json!(PROMPT_BYTES)));
    let none = show(String::new()).await;
    assert_eq!(none.fails(400, "invalid_body").json["details"]["field"], "text");
}

#[tokio::test]
async fn a_body_without_end_is_refused_when_it_is_too_long() {
    let scene = Scene::with_main().await;
    let mut stream = scene.tcp().await;
    let head = "POST /webhooks/generic/main HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 8_192, "x".repeat(8_192));
    let (mut read, mut write) = stream.into_split();
    let endless =
        holon_platform::spawn::task(async move { while write.write_all(chunk.as_bytes()).await.is_ok() {} });
    let mut answer = [0; 1_024];
    let count = tokio::time::timeout(Duration::from_secs(10), read.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]);
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("too_large"), "{answer}");
    // Nobody reads what still comes.
    tokio::time::timeout(Duration::from_secs(10), endless).await.unwrap().unwrap();
    scene.get("/healthz").await.ok();
}

#[tokio::test]
async fn a_declared_length_is_believed_before_anything_is_read() {
    let scene = Scene::with_main().await;
    let mut stream = scene.tcp().await;
    let head = "POST /webhooks/generic/main HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\ncontent-length: 99999999999\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// Time runs by itself where nothing happens; threads of the ledger are waited for in real time.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::sleep(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let scene = Scene::with_main().await;
    let mut stream = scene.tcp().await;
    let head = "POST /webhooks/generic/main HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    pass(ARRIVAL).await;
    let mut answer = [0; 12];
    tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn heads_that_do_not_come_are_not_waited_for() {
    let scene = Scene::with_main().await;
    for begun in ["", "GET /status HTTP/1.1\r\nhost: local"] {
        let mut stream = scene.tcp().await;
        stream.write_all(begun.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        pass(Duration::from_secs(11)).await;
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await;
        drop(ended.unwrap_or_else(|_| panic!("{begun:?} is waited for")));
        assert!(!rest.starts_with(b"HTTP/1.1 200"));
    }
    scene.get("/healthz").await.ok();
}

#[tokio::test]
async fn what_is_no_http_ends_its_connection_alone() {
    let scene = Scene::with_main().await;
    let nul = [0_u8; 64];
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        &nul,
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
    ] {
        let mut stream = scene.unix().await;
        stream.write_all(nonsense).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.unwrap();
        drop(read);
        assert!(!rest.starts_with(b"HTTP/1.1 2"));
    }
    scene.send(request(Method::GET, "/healthz", &[JSON], "")).await.ok();
}

/// They are refused before any route is known, and say so like every other refusal.
#[tokio::test]
async fn heads_that_are_refused_have_words() {
    let scene = Scene::with_main().await;
    let good = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n";
    let many: String = (0..101).map(|number| format!("x-{number}: 1\r\n")).collect();
    for (head, status, code) in [
        ("nonsense\r\n\r\n".to_owned(), 400, "invalid_head"),
        (format!("{good}no colon\r\n\r\n"), 400, "invalid_head"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400, "invalid_head"),
        (format!("{good}x-long: {}\r\n\r\n", "x".repeat(500_000)), 431, "head_too_large"),
        (format!("{good}{many}\r\n"), 431, "head_too_large"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)), 414, "uri_too_long"),
    ] {
        for before in ["", &format!("{good}\r\n")] {
            let mut stream = scene.unix().await;
            let mut answers = Vec::new();
            if !before.is_empty() {
                stream.write_all(before.as_bytes()).await.unwrap();
                while !answers.ends_with(b"{\"ok\":true}") {
                    stream.read_buf(&mut answers).await.unwrap();
                }
            }
            let (mut read, mut write) = stream.into_split();
            let bytes = head.clone().into_bytes();
            // The rest of a head that is too long is not taken.
            let writing = holon_platform::spawn::task(async move { drop(write.write_all(&bytes).await) });
            answers.clear();
            let mut part = [0; 4_096];
            while let Ok(count @ 1..) = read.read(&mut part).await {
                answers.extend_from_slice(&part[..count]);
            }
            writing.await.unwrap();
            let text = String::from_utf8(answers).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            assert!(head.contains("content-type: application/json") && head.contains("connection: close"));
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!((&body["ok"], &body["code"]), (&json!(false), &json!(code)), "{head}");
            assert!(body["error"].is_string() && body["hint"].is_string(), "{body}");
        }
    }
    scene.get("/healthz").await.ok();
}

/// A heartbeat that nobody acknowledges fits into what the kernel keeps, so it is the kernel that has to notice.
#[tokio::test]
async fn a_machine_that_is_gone_is_noticed_as_soon_as_one_that_takes_nothing() {
    let mut listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (accepted, client) = tokio::join!(Listener::accept(&mut listener), TcpStream::connect(address));
    let (stream, _) = accepted.unwrap();
    assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream).unwrap(), 30_000);
    drop(client.unwrap());
}
