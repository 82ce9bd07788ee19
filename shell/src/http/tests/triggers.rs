//! Triggers: what is sent to their addresses, and how those change.

use axum::http::{Method, Request};
use bytes::Bytes;
use holon_api::WEBHOOK_BYTES;
use http_body_util::Full;
use serde_json::{Value, json};

use super::{Reply, Scene, Setup, TOKEN, request};

const BASE: &str = "http://holon.example";

/// The path of the address in force.
async fn address(scene: &Scene) -> String {
    let shown = scene.get("/control/agents/main/triggers").await;
    let url = shown.ok().json["triggers"][0]["trigger_url"].as_str().unwrap().to_owned();
    url.strip_prefix(BASE).unwrap().to_owned()
}

async fn deliver(scene: &Scene, path: &str, kind: &str, body: impl Into<Bytes>) -> Reply {
    let request = Request::builder().method(Method::POST).uri(path).header("host", "holon.example");
    let request = if kind.is_empty() { request } else { request.header("content-type", kind) };
    scene.send_tcp(request.body(Full::new(body.into())).unwrap()).await
}

/// The hints that were taken in, as they are on record.
async fn hints(scene: &Scene) -> Vec<Value> {
    let events = scene.get("/agents/main/events?limit=512").await;
    let of_hints = |event: &&Value| event["type"].as_str().is_some_and(|kind| kind.starts_with("wake_hint_"));
    let events = events.json["events"].as_array().unwrap().clone();
    events.iter().filter(of_hints).filter(|event| event["payload"]["hint"].is_object()).cloned().collect()
}

#[tokio::test]
async fn whoever_has_the_address_wakes_the_agent_and_needs_no_other_token() {
    let scene = Scene::with(Setup { token: Some(TOKEN), ..Setup::default() }).await;
    scene.create("main").await;
    let path = address(&scene).await;
    let about = format!("{path}?source=ci&resource=pr-7&reason=it%20passed&correlation_id=c-1");
    let delivered = deliver(&scene, &about, "application/json", r#"{"status":"passed"}"#).await;
    let expected = json!({
        "ok": true,
        "external_trigger_id": "trigger_1",
        "disposition": "triggered",
        "delivery_mode": "wake_hint",
    });
    assert_eq!(delivered.ok().json, expected);
    let hints = hints(&scene).await;
    let hint = &hints[0]["payload"]["hint"];
    assert_eq!(
        (&hint["source"], &hint["resource"], &hint["reason"]),
        (&json!("ci"), &json!("pr-7"), &json!("it passed"))
    );
    assert_eq!(hint["content_type"], "application/json");
    let provenance = &hints[0]["provenance"];
    assert_eq!(
        provenance["origin"],
        json!({"kind": "callback", "descriptor_id": "trigger_1", "source": "ci"})
    );
    assert_eq!(provenance["admission_context"], "external_trigger_capability");
    assert_eq!(
        (&provenance["delivery_surface"], &provenance["trust"], &provenance["correlation_id"]),
        (&json!("http_callback_wake"), &json!("trusted_integration"), &json!("c-1"))
    );
}

#[tokio::test]
async fn text_bytes_and_nothing_are_taken_as_they_come() {
    let scene = Scene::with_main().await;
    let path = address(&scene).await;
    for (kind, body) in [
        ("text/plain", Bytes::from_static(b"it moved")),
        ("", Bytes::from_static(b"plainly")),
        ("application/x-www-form-urlencoded", Bytes::from_static(b"a=b")),
        ("image/png", Bytes::from_static(b"\x89PNG\xff")),
        ("", Bytes::from_static(b"\xff\xfe")),
        ("text/plain", Bytes::new()),
    ] {
        deliver(&scene, &path, kind, body).await.ok();
    }
    let hints = hints(&scene).await;
    let said: Vec<_> = hints
        .iter()
        .map(|hint| {
            let hint = &hint["payload"]["hint"];
            (hint["content_type"].as_str(), hint["body"].as_str())
        })
        .collect();
    assert_eq!(
        said,
        [
            (Some("text/plain"), Some("it moved")),
            (None, Some("plainly")),
            (Some("application/x-www-form-urlencoded"), Some("a=b")),
            (Some("image/png;base64"), Some("iVBOR/8=")),
            (Some("application/octet-stream;base64"), Some("//4=")),
            (None, None),
        ]
    );
}

#[tokio::test]
async fn what_is_too_large_or_no_json_is_refused_and_what_just_fits_is_taken() {
    let scene = Scene::with_main().await;
    let path = address(&scene).await;
    for fits in [vec![b'x'; WEBHOOK_BYTES], vec![0xff; WEBHOOK_BYTES]] {
        deliver(&scene, &path, "", fits).await.ok();
    }
    deliver(&scene, &path, "", vec![b'x'; WEBHOOK_BYTES + 1]).await.fails(413, "too_large");
    deliver(&scene, &path, "application/json", r#"{"status":"#).await.fails(400, "invalid_body");
    deliver(&scene, &path, "application/json", "[".repeat(1_000)).await.fails(400, "invalid_body");
    deliver(&scene, &format!("{path}?sauce=ci"), "", "").await.fails(400, "invalid_query");
    deliver(&scene, &format!("{path}?source="), "", "").await.fails(400, "out_of_range");
    deliver(&scene, &format!("{path}?source={}", "x".repeat(257)), "", "").await.fails(400, "invalid_query");
    assert_eq!(hints(&scene).await.len(), 2, "nothing of what was refused is on record");
}

#[tokio::test]
async fn the_old_mode_is_a_hint_and_says_so() {
    let scene = Scene::with_main().await;
    let path = address(&scene).await.replace("/callbacks/wake/", "/callbacks/enqueue/");
    let delivered = deliver(&scene, &path, "", "passed").await;
    assert_eq!(
        (&delivered.ok().json["delivery_mode"], &delivered.json["deprecated"]),
        (&json!("wake_hint"), &json!(true))
    );
    let events = scene.get("/agents/main/events?limit=512").await;
    let events = events.json["events"].as_array().unwrap();
    let event = events.iter().find(|event| event["type"] == "external_trigger_delivered").unwrap();
    assert_eq!(event["payload"]["delivery_mode"], "enqueue_message");
    assert_eq!(event["provenance"]["delivery_surface"], "http_callback_enqueue");
}

#[tokio::test]
async fn an_address_that_is_not_in_force_tells_nothing() {
    let scene = Scene::with_main().await;
    let first = address(&scene).await;
    let rotated = scene.post("/control/agents/main/triggers/rotate", json!({})).await;
    assert_eq!(
        (&rotated.ok().json["changed"], &rotated.json["trigger"]["generation"]),
        (&json!(true), &json!(2))
    );
    let second = address(&scene).await;
    deliver(&scene, &second, "", "").await.ok();
    let foreign = second.replace("/main.2.", "/nobody.2.");
    let unknown = deliver(&scene, &foreign, "", "").await;
    let no_json = deliver(&scene, "/callbacks/wake/main", "application/json", "{").await;
    assert_eq!(no_json.json, unknown.json, "nothing that a stranger sends is looked at");
    for path in [first.as_str(), "/callbacks/wake/main", "/callbacks/wake/main.2.hwt__hwt"] {
        let refused = deliver(&scene, path, "application/json", "").await;
        assert_eq!(refused.fails(404, "unknown_trigger").json, unknown.json);
    }
    let revoked = scene.post("/control/agents/main/triggers/revoke", json!({})).await;
    assert_eq!(
        (&revoked.ok().json["trigger"]["status"], revoked.json["trigger"].get("trigger_url")),
        (&json!("revoked"), None)
    );
    assert_eq!(deliver(&scene, &second, "", "").await.fails(404, "unknown_trigger").json, unknown.json);
    for query in ["?nothing=known", "?source=%00"] {
        let refused = deliver(&scene, &format!("{second}{query}"), "", "").await;
        assert_eq!(refused.fails(404, "unknown_trigger").json, unknown.json, "{query}");
    }
    let large = deliver(&scene, &second, "", "x".repeat(2 << 20)).await;
    assert_eq!(large.fails(404, "unknown_trigger").json, unknown.json);
    let no_text = deliver(&scene, "/callbacks/wake/%ff%fe", "", "").await;
    assert_eq!(no_text.fails(404, "unknown_trigger").json, unknown.json);
    let again = scene.post("/control/agents/main/triggers/revoke", json!({})).await;
    assert_eq!(again.ok().json["changed"], false);
    scene.post("/control/agents/nobody/triggers/rotate", json!({})).await.fails(404, "unknown_agent");
}

#[tokio::test]
async fn a_stopped_agent_is_not_woken_and_keeps_its_address_over_a_restart() {
    let scene = Scene::with_main().await;
    let path = address(&scene).await;
    scene.post("/control/agents/main/control", json!({ "action": "stop" })).await.ok();
    deliver(&scene, &path, "", "passed").await.fails(409, "agent_stopped");
    let scene = scene.again(Setup::default()).await;
    assert_eq!(address(&scene).await, path);
    scene.post("/control/agents/main/control", json!({ "action": "start" })).await.ok();
    deliver(&scene, &path, "", "passed").await.ok();
    let status = scene.get("/agents/main/status").await;
    let trigger = &status.json["external_trigger"];
    assert_eq!((&trigger["delivery_count"], &trigger["status"]), (&json!(1), &json!("active")));
    assert!(!status.text.contains("hwt_"), "the address is told where it is asked for, and nowhere else");
    let get = request(Method::GET, "/control/agents/main/triggers", &[("origin", "http://evil.example")], "");
    scene.send_tcp(get).await.fails(403, "forbidden_origin");
}
