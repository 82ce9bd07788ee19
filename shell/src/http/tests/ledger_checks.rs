//! Checks of the whole ledger on demand.

use axum::http::Method;
use holon_api::{LedgerCheckState, LedgerChecks};
use serde_json::json;

use super::{Scene, request};

const CHECKS: &str = "/control/ledger/checks";

#[tokio::test]
async fn the_ledger_is_checked_while_agents_go_on() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "hello").await.ok();
    for check in ["verify", "replay"] {
        let begun = scene.post(CHECKS, json!({ "check": check })).await;
        assert_eq!(
            (begun.status.as_u16(), &begun.json["check"]["state"]),
            (202, &json!("running")),
            "{}",
            begun.text
        );
        scene.prompt("main", "go on").await.ok();
        let waited = scene.get(&format!("{CHECKS}?wait_ms=30000")).await.ok().json.clone();
        let LedgerChecks { checks, .. } = serde_json::from_value(waited).unwrap();
        assert_eq!(checks[0].state, LedgerCheckState::Passed, "{checks:?}");
        assert!(checks[0].ended_at.unwrap() >= checks[0].started_at);
    }
    let newest = scene.get(CHECKS).await.ok().json.clone();
    assert_eq!(
        (&newest["checks"][0]["check"], newest["checks"].as_array().unwrap().len()),
        (&json!("replay"), 2)
    );
}

#[tokio::test]
async fn what_is_no_check_is_refused() {
    let scene = Scene::start().await;
    assert_eq!(scene.get(CHECKS).await.ok().json["checks"], json!([]));
    scene.post(CHECKS, json!({ "check": "recover" })).await.fails(400, "invalid_body");
    scene.post(CHECKS, json!({ "check": "verify", "path": "/etc" })).await.fails(400, "invalid_body");
    scene.get(&format!("{CHECKS}?wait_ms=30001")).await.fails(400, "invalid_query");
    let strange =
        request(Method::POST, CHECKS, &[("origin", "https://elsewhere.example")], r#"{"check":"verify"}"#);
    scene.send_tcp(strange).await.fails(403, "forbidden_origin");
}
