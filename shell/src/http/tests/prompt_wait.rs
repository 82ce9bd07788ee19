//! A prompt whose reply waits for what comes of it.

use std::time::Duration;

use axum::http::Method;
use holon_platform::spawn;
use serde_json::json;

use super::{Reply, Scene, Setup, WAITS, answer, request};

const TURN: &str = "/control/agents/main/prompt?wait=turn";

/// A model that takes its time.
fn slow(delay_ms: u64) -> Setup {
    Setup { rounds: json!([{ "text": "done", "delay_ms": delay_ms }]), ..Setup::default() }
}

async fn keyed(scene: &Scene, path: &str, key: &str) -> Reply {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let body = json!({ "text": "go" }).to_string();
    scene.send(request(Method::POST, path, &headers, &body)).await
}

#[tokio::test]
async fn the_reply_ends_with_the_turn_and_has_what_came_of_it() {
    let scene = Scene::with_main().await;
    let reply = scene.post(TURN, json!({ "text": "go" })).await.ok().json.clone();
    assert_eq!((&reply["ended"], &reply["verdict"]), (&json!(true), &json!("completed")), "{reply}");
    assert_eq!((&reply["final_text"], &reply["exit_code"]), (&json!("done"), &json!(0)), "{reply}");
    assert_eq!((&reply["due"], &reply["active_tasks"]), (&json!([]), &json!([])), "{reply}");
    let after = reply["after_seq"].as_u64().unwrap();
    let path = format!("/agents/main/events?after_seq={after}&limit=1");
    let event = scene.get(&path).await.ok().json["events"][0].clone();
    assert_eq!(event["payload"]["message"]["id"], reply["message_id"], "{event}");
    let plain = scene.prompt("main", "go").await.ok().json.clone();
    let names: Vec<&String> = plain.as_object().unwrap().keys().collect();
    assert_eq!(names, ["agent_id", "duplicate", "message_id", "ok"], "without a wait nothing is added");
}

#[tokio::test]
async fn a_client_that_leaves_changes_nothing_and_many_have_a_limit() {
    let scene = Scene::with(slow(1_000)).await;
    scene.create("main").await;
    let body = json!({ "text": "go" }).to_string();
    let headers = [("content-type", "application/json"), ("idempotency-key", "left")];
    let asked = answer(scene.unix().await, request(Method::POST, TURN, &headers, &body));
    assert!(tokio::time::timeout(Duration::from_millis(150), asked).await.is_err(), "it waits");
    // The one that left gives its place back.
    let all = scene.app.waits.acquire_many(u32::try_from(WAITS).unwrap()).await.unwrap();
    let crowded = keyed(&scene, TURN, "left").await;
    assert_eq!((crowded.status.as_u16(), &crowded.json["ended"]), (202, &json!(false)), "{}", crowded.text);
    assert!(crowded.json["problem"].as_str().unwrap().contains("too many"), "{}", crowded.text);
    drop(all);
    let reply = keyed(&scene, TURN, "left").await.ok().json.clone();
    assert_eq!((&reply["verdict"], &reply["final_text"]), (&json!("completed"), &json!("done")), "{reply}");
    assert_eq!(scene.hub.followed(), 0, "nobody is left");
}

#[tokio::test]
async fn a_shutdown_ends_the_wait_and_not_the_prompt() {
    let scene = Scene::with(slow(5_000)).await;
    scene.create("main").await;
    let (stream, shutdown) = (scene.unix().await, scene.shutdown.clone());
    spawn::task(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        shutdown.ask();
    });
    let headers = [("content-type", "application/json")];
    let reply =
        super::reply(answer(stream, request(Method::POST, TURN, &headers, r#"{"text":"go"}"#)).await).await;
    assert_eq!((reply.status.as_u16(), &reply.json["message_id"]), (202, &json!("msg_1")), "{}", reply.text);
    assert!(reply.json["problem"].as_str().unwrap().contains("shuts down"), "{}", reply.text);
    assert!(
        reply.json["hint"].as_str().unwrap().contains("/agents/main/messages/msg_1?wait=turn"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn what_can_not_be_waited_for_is_refused_before_anything_is_admitted() {
    let scene = Scene::with_main().await;
    for (query, field) in [
        ("wait=later", "wait"),
        ("wait=turn&timeout_ms=3600001", "timeout_ms"),
        ("wait=turn&timeout_ms=-1", "timeout_ms"),
        ("wait=turn&timeout_ms=soon", "timeout_ms"),
        ("timeout_ms=5", "timeout_ms"),
        ("until=turn", "until"),
    ] {
        let path = format!("/control/agents/main/prompt?{query}");
        let reply = scene.post(&path, json!({ "text": "go" })).await;
        reply.fails(400, "invalid_query");
        assert!(reply.text.contains(field), "{query}: {}", reply.text);
    }
    assert_eq!(scene.get("/agents/main/status").await.ok().json["queue"]["entries"], 0);
    scene.post("/control/agents/main/control", json!({ "action": "stop" })).await.ok();
    scene.post(TURN, json!({ "text": "go" })).await.fails(409, "agent_stopped");
    scene
        .post("/control/agents/nobody/prompt?wait=turn", json!({ "text": "go" }))
        .await
        .fails(404, "unknown_agent");
}

#[tokio::test]
async fn what_came_of_a_message_is_known_by_its_id_without_a_key() {
    let scene = Scene::with(slow(400)).await;
    scene.create("main").await;
    let sent = scene.post(&format!("{TURN}&timeout_ms=0"), json!({ "text": "go" })).await;
    assert_eq!((sent.status.as_u16(), &sent.json["ended"]), (202, &json!(false)), "{}", sent.text);
    let path = format!("/agents/main/messages/{}", sent.json["message_id"].as_str().unwrap());
    let early = scene.get(&path).await;
    assert_eq!((early.status.as_u16(), &early.json["ended"]), (202, &json!(false)), "{}", early.text);
    let ended = scene.get(&format!("{path}?wait=turn")).await.ok().json.clone();
    assert_eq!((&ended["verdict"], &ended["final_text"]), (&json!("completed"), &json!("done")), "{ended}");
    scene.prompt("main", "another").await.ok();
    scene.at_rest("main").await;
    assert_eq!(scene.get(&path).await.ok().json, ended, "it is asked for once more, later");
    for nobody in [99, u64::MAX] {
        let path = format!("/agents/main/messages/msg_{nobody}");
        scene.get(&path).await.fails(404, "unknown_message");
    }
    scene.get("/agents/nobody/messages/msg_1").await.fails(404, "unknown_agent");
    scene.get("/agents/main/messages/brief_1").await.fails(400, "invalid_path");
    scene.get(&format!("{path}?timeout_ms=5")).await.fails(400, "invalid_query");
}
