//! A disk that is full for a while: what is refused, what waits, and what can be read meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use super::{Reply, Scene, Setup, request};
use holon_ledger::Load;

const PROMPT: &str = "/control/agents/main/prompt";

/// A server with the agents `main` and `helper`, and whether its disk is full.
async fn scene() -> (Scene, Arc<AtomicBool>) {
    let full = Arc::new(AtomicBool::new(false));
    let scene = Scene::with(Setup { full: Some(full.clone()), ..Setup::default() }).await;
    scene.create("main").await;
    scene.create("helper").await;
    for agent in ["main", "helper"] {
        scene.at_rest(agent).await;
    }
    (scene, full)
}

async fn keyed(scene: &Scene, key: &str, text: &str) -> Reply {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    scene.send(request(Method::POST, PROMPT, &headers, &json!({ "text": text }).to_string())).await
}

/// Waits until the runtime takes new work again.
async fn ready(scene: &Scene) {
    for _ in 0..5_000 {
        if scene.get("/control/runtime/readiness").await.json["ready"] == true {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("there is no room again");
}

#[tokio::test]
async fn a_refusal_is_told_apart_from_what_waits() {
    let (scene, full) = scene().await;
    full.store(true, Ordering::Relaxed);
    let first = keyed(&scene, "first", "hello").await;
    first.fails(503, "not_stored_yet");
    assert_eq!(first.json["details"], json!({ "idempotency_key": "first" }), "{}", first.text);
    assert!(first.json["hint"].as_str().unwrap().contains("same key"), "{}", first.text);
    assert_eq!(first.headers["retry-after"], "5");
    keyed(&scene, "first", "hello").await.fails(503, "not_stored_yet");
    // Another intention under that key, another key, and none: these were not taken in.
    keyed(&scene, "first", "something else").await.fails(503, "disk_full");
    keyed(&scene, "other", "hello").await.fails(503, "disk_full");
    scene.prompt("main", "hello").await.fails(503, "disk_full");
    full.store(false, Ordering::Relaxed);
    ready(&scene).await;
    assert_eq!(keyed(&scene, "first", "hello").await.ok().json["duplicate"], true);
    assert_eq!(keyed(&scene, "other", "hello").await.ok().json["duplicate"], false);
    scene.at_rest("main").await;
    let admitted = scene.get("/agents/main/events?limit=512").await;
    let admitted = admitted.ok().json["events"].as_array().unwrap().clone();
    assert_eq!(admitted.iter().filter(|event| event["type"] == "message_admitted").count(), 2);
}

/// An agent that is not in memory can't come in, but the disk knows its keys.
#[tokio::test]
async fn a_known_key_of_an_agent_at_rest_is_answered() {
    let (scene, full) = scene().await;
    let first = keyed(&scene, "first", "hello").await.ok().json["message_id"].clone();
    scene.at_rest("main").await;
    let scene = scene.again(Setup { full: Some(full.clone()), ..Setup::default() }).await;
    full.store(true, Ordering::Relaxed);
    // Whoever comes first finds out that it is full, if what the start wrote has not.
    let told = scene.post("/control/agents/third/create", json!({})).await;
    let code = told.json["code"].as_str().unwrap();
    assert!(["not_stored_yet", "disk_full"].contains(&code), "{}", told.text);
    let again = keyed(&scene, "first", "hello").await.ok().json.clone();
    assert_eq!((&again["message_id"], &again["duplicate"]), (&first, &json!(true)));
    keyed(&scene, "other", "hello").await.fails(503, "disk_full");
    full.store(false, Ordering::Relaxed);
    ready(&scene).await;
}

#[tokio::test]
async fn what_waits_without_a_key_says_what_a_repetition_would_do() {
    let (scene, full) = scene().await;
    full.store(true, Ordering::Relaxed);
    let waits = scene.post("/control/agents/third/create", json!({})).await;
    waits.fails(503, "not_stored_yet");
    assert!(waits.json["hint"].as_str().unwrap().contains("twice"), "{}", waits.text);
    // It may still be lost: nobody is notified that it exists.
    scene.post("/control/agents/third/create", json!({})).await.fails(503, "not_stored_yet");
    full.store(false, Ordering::Relaxed);
    ready(&scene).await;
    scene.post("/control/agents/third/create", json!({})).await.fails(409, "agent_exists");
}

#[tokio::test]
async fn the_last_durable_state_can_be_read_on_a_full_disk() {
    let (scene, full) = scene().await;
    let before = scene.get("/agents/main/status").await.ok().json.clone();
    assert_eq!(before.get("ledger_waits"), None);
    full.store(true, Ordering::Relaxed);
    scene.prompt("main", "hello").await.fails(503, "not_stored_yet");
    let says = |waits: &Value| {
        let waits = waits.as_str().unwrap_or_else(|| panic!("nothing is said of the disk"));
        assert!(waits.contains("last durable state") && waits.contains("full"), "{waits}");
    };
    for agent in ["main", "helper"] {
        let status = scene.get(&format!("/agents/{agent}/status")).await.ok().json.clone();
        says(&status["ledger_waits"]);
        let why = scene.get(&format!("/agents/{agent}/why")).await.ok().json.clone();
        says(&why["ledger_waits"]);
        let state = scene.get(&format!("/agents/{agent}/state")).await.ok().json.clone();
        says(&state["agent"]["ledger_waits"]);
        says(&state["why"]["ledger_waits"]);
        assert_eq!((&state["agent"], &state["why"]), (&status, &why));
    }
    let mut status = scene.get("/status").await.ok().json.clone();
    status.as_object_mut().unwrap().remove("ledger_waits");
    assert_eq!(status, before, "what is not durable is not told");
    scene.get("/agents/nobody/status").await.fails(404, "unknown_agent");
    let list = scene.get("/agents/list").await.ok().json["agents"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2);
    list.as_array().unwrap().iter().for_each(|entry| says(&entry["ledger_waits"]));
    full.store(false, Ordering::Relaxed);
    ready(&scene).await;
    scene.at_rest("main").await;
    let after = scene.get("/agents/main/status").await.ok().json.clone();
    assert_eq!((after.get("ledger_waits"), &after["last_turn"]["kind"]), (None, &json!("completed")));
    assert_eq!(scene.get("/agents/list").await.ok().json["agents"][0].get("ledger_waits"), None);
}

#[tokio::test]
async fn nobody_waits_in_line_before_a_full_disk() {
    let (scene, full) = scene().await;
    full.store(true, Ordering::Relaxed);
    scene.prompt("main", "hello").await.fails(503, "not_stored_yet");
    // Aborts are let through as long as there is any room on the way.
    let abort = "/control/agents/main/current-run/abort";
    let (mut waiting, mut refused) = (0, 0);
    while refused < 3 {
        let reply = scene.post(abort, json!({})).await;
        match reply.json["code"].as_str() {
            Some("not_stored_yet") => waiting += 1,
            Some("disk_full") => refused += 1,
            other => panic!("{other:?}: {}", reply.text),
        }
        assert!(waiting <= 2 * Load::GROUP.calls, "what is on its way to the disk has a bound");
    }
    assert!(waiting > Load::GROUP.calls, "{waiting} were let through");
    scene.get("/healthz").await.ok();
    scene.get("/control/runtime/status").await.ok();
    scene.get("/agents/main/why").await.ok();
    scene.prompt("main", "hello").await.fails(503, "disk_full");
    scene.post("/control/agents/main/fork", json!({ "agent_id": "copy" })).await.fails(503, "disk_full");
    full.store(false, Ordering::Relaxed);
    ready(&scene).await;
    scene.at_rest("main").await;
}

#[tokio::test]
async fn a_ledger_that_can_not_be_read_is_named_with_its_reason() {
    let scene = Scene::with_main().await;
    assert_eq!(scene.get("/control/runtime/status").await.ok().json.get("problem"), None);
    let file = scene.home.ledger_file();
    rusqlite::Connection::open(&file).unwrap().execute_batch("ALTER TABLE agents RENAME TO gone").unwrap();
    let status = scene.get("/control/runtime/status").await.ok().json.clone();
    let problem = status["problem"].as_str().unwrap_or_else(|| panic!("{status}"));
    assert!(problem.contains(&file.display().to_string()) && problem.contains("no such table"), "{problem}");
}
