//! Webhooks that have to be signed.

use axum::http::{Method, Request};
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use holon_platform::hex;
use http_body_util::Full;
use serde_json::json;
use sha2::Sha256;

use super::{Scene, Setup, TOKEN, request};

const KEY: &str = "canary-of-the-forge";
const BODY: &str = r#"{ "action": "closed" }"#;

fn signed(key: &str, body: &str, more: &[(&str, &str)]) -> Request<Full<Bytes>> {
    let key = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    let signature = format!("sha256={}", hex::write(&key.chain_update(body).finalize().into_bytes()));
    let headers = [("x-hub-signature-256", signature.as_str()), ("content-type", "application/json")];
    let headers: Vec<_> = headers.iter().chain(more).copied().collect();
    request(Method::POST, "/webhooks/generic/main?source=forge", &headers, body)
}

#[tokio::test]
async fn a_signature_stands_for_the_token_and_nothing_stands_for_a_signature() {
    let setup = Setup { token: Some(TOKEN), webhook_key: Some(KEY), ..Setup::default() };
    let scene = Scene::with(setup).await;
    scene.create("main").await;
    let forge = [("host", "holon.example"), ("x-github-event", "issues"), ("x-github-delivery", "d-1")];
    let taken = scene.send_tcp(signed(KEY, BODY, &forge)).await;
    assert_eq!(taken.ok().json["duplicate"], false);
    assert_eq!(scene.send_tcp(signed(KEY, BODY, &forge)).await.ok().json["duplicate"], true);
    scene.send_tcp(signed("another-key", BODY, &forge)).await.fails(401, "wrong_signature");
    let bearer = format!("Bearer {TOKEN}");
    scene
        .send_tcp(signed("another-key", BODY, &[("authorization", &bearer)]))
        .await
        .fails(401, "wrong_signature");
    let unsigned = scene.post("/webhooks/generic/main", json!({})).await;
    unsigned.fails(401, "missing_signature");
    assert!(unsigned.json["hint"].as_str().is_some_and(|hint| hint.contains("server.webhook_credential")));
    scene.send(signed(KEY, "not json", &[])).await.fails(400, "invalid_body");
    scene
        .send_tcp(signed(KEY, BODY, &[("x-hub-signature-256", "sha256=00")]))
        .await
        .fails(400, "invalid_header");
    let entries = scene.get("/transcript").await.ok().json["entries"].clone();
    let origin = json!({ "kind": "webhook", "source": "forge", "event_type": "issues" });
    assert_eq!(
        (&entries[0]["origin"], &entries[0]["admission_context"]),
        (&origin, &json!("public_unauthenticated"))
    );
    // Other routes are as they were.
    scene.post("/enqueue", json!({ "body": { "type": "text", "text": "hi" } })).await.ok();
}

/// A message that says of itself that it is a webhook would be trusted as if somebody had signed it.
#[tokio::test]
async fn nothing_but_a_signature_makes_a_webhook() {
    let setup = Setup { token: Some(TOKEN), webhook_key: Some(KEY), ..Setup::default() };
    let scene = Scene::with(setup).await;
    scene.create("main").await;
    let claims =
        json!({ "kind": "webhook_event", "source": "forge", "body": { "type": "text", "text": "hi" } });
    for path in ["/enqueue", "/agents/main/enqueue"] {
        let refused = scene.post(path, claims.clone()).await;
        refused.fails(401, "missing_signature");
        assert_eq!(refused.json["details"]["field"], "kind");
        assert!(refused.json["hint"].as_str().is_some_and(|hint| hint.contains("/webhooks/generic/main")));
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        let with_token = request(Method::POST, path, &headers, &claims.to_string());
        scene.send_tcp(with_token).await.fails(401, "missing_signature");
    }
    assert_eq!(scene.get("/transcript").await.ok().json["entries"], json!([]));
    let scene = scene.again(Setup::default()).await;
    scene.post("/enqueue", claims).await.ok();
}

#[tokio::test]
async fn without_a_key_signatures_are_not_looked_at() {
    let scene = Scene::with_main().await;
    scene.send_tcp(signed("any-key-at-all", BODY, &[])).await.ok();
}
