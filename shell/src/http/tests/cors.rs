//! Pages of browsers, and streams that they open with a token in the address.

use axum::http::{Method, Request};
use bytes::Bytes;
use holon_api::AuthMode;
use http_body_util::Full;

use super::{Reply, Scene, Setup, TOKEN, answer, request};

const PAGE: &str = "https://console.example";

async fn scene() -> Scene {
    let scene = Scene::with(Setup {
        mode: AuthMode::Auto,
        token: Some(TOKEN),
        allowed_origins: &[PAGE],
        ..Setup::default()
    })
    .await;
    scene.create("main").await;
    scene
}

fn asks(path: &str, origin: &str) -> Request<Full<Bytes>> {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type,idempotency-key"),
    ];
    request(Method::OPTIONS, path, &headers, "")
}

fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_browser_is_told_what_an_allowed_page_may_do_and_nothing_about_others() {
    let scene = scene().await;
    for origin in [PAGE, "http://localhost:5173"] {
        let reply = scene.send_tcp(asks("/control/agents/main/prompt", origin)).await;
        assert_eq!(reply.status.as_u16(), 204, "{}", reply.text);
        assert_eq!(header(&reply, "access-control-allow-origin"), Some(origin));
        assert_eq!(header(&reply, "vary"), Some("Origin"));
        let allowed = header(&reply, "access-control-allow-headers").unwrap().to_ascii_lowercase();
        for needed in ["authorization", "content-type", "idempotency-key", "last-event-id"] {
            assert!(allowed.contains(needed), "{allowed}");
        }
        assert_eq!(header(&reply, "access-control-allow-methods"), Some("GET, POST, DELETE"));
        assert_eq!(header(&reply, "access-control-allow-credentials"), None, "there are no cookies");
    }
    for origin in ["https://evil.example", "null", "https://console.example.evil"] {
        let reply = scene.send_tcp(asks("/control/agents/main/prompt", origin)).await;
        reply.fails(405, "method_not_allowed");
        let names: Vec<_> = reply.headers.keys().map(|name| name.as_str()).collect();
        assert!(!names.iter().any(|name| name.starts_with("access-control-")), "{names:?}");
        assert_eq!(header(&reply, "vary"), Some("Origin"), "a cache keeps them apart");
    }
}

#[tokio::test]
async fn an_allowed_page_reads_replies_and_errors_and_still_needs_the_token() {
    let scene = scene().await;
    let right = format!("Bearer {TOKEN}");
    let get = |path: &str, headers: &[(&str, &str)]| request(Method::GET, path, headers, "");
    let reply = scene.send_tcp(get("/status", &[("origin", PAGE), ("authorization", &right)])).await;
    assert_eq!(header(reply.ok(), "access-control-allow-origin"), Some(PAGE));
    let missing = scene.send_tcp(get("/status", &[("origin", PAGE)])).await;
    missing.fails(401, "missing_token");
    assert_eq!(header(&missing, "access-control-allow-origin"), Some(PAGE), "the page can show why");
    let nowhere = scene.send_tcp(get("/nowhere", &[("origin", PAGE)])).await;
    assert_eq!(header(nowhere.fails(404, "unknown_route"), "access-control-allow-origin"), Some(PAGE));
    let other = [("origin", "https://evil.example"), ("authorization", &*right)];
    let other = scene.send_tcp(get("/status", &other)).await;
    assert_eq!(header(other.ok(), "access-control-allow-origin"), None);
    let plain = scene.send_tcp(get("/status", &[("authorization", &right)])).await;
    assert_eq!((header(plain.ok(), "vary"), header(&plain, "access-control-allow-origin")), (None, None));

    // Without a token, to be allowed to read is not to be allowed to ask.
    let open = Scene::with(Setup { allowed_origins: &[PAGE], ..Setup::default() }).await;
    open.create("main").await;
    for origin in [PAGE, "http://localhost:5173"] {
        let refused = open.send_tcp(get("/status", &[("origin", origin)])).await;
        assert_eq!(
            header(refused.fails(403, "forbidden_origin"), "access-control-allow-origin"),
            Some(origin)
        );
    }
}

#[tokio::test]
async fn a_stream_token_opens_streams_and_nothing_else() {
    let scene = scene().await;
    let json = ("content-type", "application/json");
    let right = format!("Bearer {TOKEN}");
    let ask = |headers: &[(&str, &str)]| request(Method::POST, "/control/stream-token", headers, "{}");
    scene.send_tcp(ask(&[json])).await.fails(401, "missing_token");
    let made = scene.send_tcp(ask(&[json, ("authorization", &right)])).await;
    assert_eq!(made.status.as_u16(), 201, "{}", made.text);
    let token = made.json["token"].as_str().unwrap();
    assert!(made.json["expires_at"].is_string() && token.len() == 64, "{}", made.text);

    let get = |path: &str| request(Method::GET, path, &[("origin", PAGE)], "");
    for path in ["/events/stream?after=0", "/agents/main/events/stream?after_seq=0"] {
        scene.send_tcp(get(path)).await.fails(401, "missing_token");
        let path = format!("{path}&token={token}");
        // As often as a browser connects again.
        for _ in 0..2 {
            let stream = answer(scene.tcp().await, get(&path)).await;
            assert_eq!(stream.status().as_u16(), 200, "{path}");
            assert_eq!(stream.headers()["access-control-allow-origin"], PAGE);
        }
    }
    let output = scene.send_tcp(get(&format!("/agents/main/tasks/task_1/output/stream?token={token}"))).await;
    output.fails(404, "unknown_task");

    for path in ["/status", "/events", "/agents/main/events", "/agents/list", "/control/runtime/status"] {
        let reply = scene.send_tcp(get(&format!("{path}?token={token}"))).await;
        reply.fails(401, "missing_token");
        assert!(!reply.text.contains(token), "{}", reply.text);
        let known = [("authorization", &*right)];
        let reply = scene.send_tcp(request(Method::GET, &format!("{path}?token={token}"), &known, "")).await;
        assert!(!reply.text.contains(token), "{}", reply.text);
        if path != "/status" && path != "/control/runtime/status" {
            reply.fails(400, "invalid_query");
        }
    }
    let bearer = format!("Bearer {token}");
    scene
        .send_tcp(request(Method::GET, "/events/stream", &[("authorization", &bearer)], ""))
        .await
        .fails(401, "wrong_token");
    for wrong in [TOKEN, "", "x", &"0".repeat(64)] {
        let path = format!("/events/stream?token={wrong}");
        let reply = scene.send_tcp(get(&path)).await;
        reply.fails(401, "wrong_token");
        assert!(reply.json["hint"].as_str().unwrap().contains("/control/stream-token"), "{}", reply.text);
        // At the socket, too: a token that is sent is checked.
        scene.send(get(&path)).await.fails(401, "wrong_token");
    }
}
