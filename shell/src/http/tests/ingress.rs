//! Messages for agents, and what repetitions of them do.

use axum::http::Method;
use holon_facts::Config;
use serde_json::{Value, json};

use super::{Reply, Scene, Setup, request};

const JSON: (&str, &str) = ("content-type", "application/json");

const SLOW: fn() -> Value = || json!([{ "text": "done", "delay_ms": 60_000 }]);

async fn keyed(scene: &Scene, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    let headers: Vec<_> = headers.iter().copied().chain([("content-type", "application/json")]).collect();
    scene.send(request(Method::POST, path, &headers, &body.to_string())).await
}

#[tokio::test]
async fn a_key_stands_for_one_message() {
    let scene = Scene::with_main().await;
    let path = "/control/agents/main/prompt";
    let key = [("idempotency-key", "one")];
    let first = keyed(&scene, path, &key, &json!({ "text": "a" })).await;
    assert_eq!(first.ok().json["duplicate"], false);
    let again = keyed(&scene, path, &key, &json!({ "text": "a" })).await;
    assert_eq!(again.ok().json["duplicate"], true);
    assert_eq!(again.json["message_id"], first.json["message_id"]);
    let other = keyed(&scene, path, &key, &json!({ "text": "b" })).await;
    other.fails(409, "idempotency_conflict");
    assert_eq!(other.json["details"]["message_id"], first.json["message_id"]);
    let elsewhere = json!({ "body": { "type": "text", "text": "a" } });
    keyed(&scene, "/agents/main/enqueue", &key, &elsewhere).await.fails(409, "idempotency_conflict");
}

#[tokio::test]
async fn a_key_stands_for_one_work_item_one_task_and_one_timer() {
    let scene = Scene::with_main().await;
    let key = [("idempotency-key", "one")];
    let work = json!({ "objective": "Write the report", "plan": "First, look." });
    let path = "/control/agents/main/work-items";
    let first = keyed(&scene, path, &key, &work).await;
    assert_eq!(first.created().json["changed"], true);
    let again = keyed(&scene, path, &key, &work).await;
    assert_eq!(
        (&again.created().json["changed"], &again.json["work_item"]["work_item_id"]),
        (&json!(false), &first.json["work_item"]["work_item_id"])
    );
    let other = keyed(&scene, path, &key, &json!({ "objective": "Write another" })).await;
    other.fails(409, "idempotency_conflict");
    assert_eq!(other.json["details"]["made"], first.json["work_item"]["work_item_id"]);
    let long = "x".repeat(257);
    keyed(&scene, path, &[("idempotency-key", &long)], &work).await.fails(400, "invalid_header");
    let path = "/control/agents/main/tasks";
    keyed(&scene, path, &key, &json!({ "cmd": "true" })).await.fails(409, "idempotency_conflict");
    let key = [("idempotency-key", "two")];
    // This process is no supervisor: the command is refused, and its key stands for nothing.
    for cmd in ["true", "true", "false"] {
        let refused = keyed(&scene, path, &key, &json!({ "cmd": cmd })).await;
        assert_eq!(refused.json["code"], "command_refused", "{}", refused.text);
    }
    let tasks = scene.get("/agents/main/tasks").await.ok().json["tasks"].clone();
    assert_eq!(tasks.as_array().map(Vec::len), Some(0), "{tasks}");
    let path = "/control/agents/main/timers";
    let first = keyed(&scene, path, &key, &json!({ "duration_ms": 60_000 })).await;
    let again = keyed(&scene, path, &key, &json!({ "duration_ms": 60_000 })).await;
    assert_eq!(
        (&again.created().json["changed"], &again.json["timer"]["timer_id"]),
        (&json!(false), &first.created().json["timer"]["timer_id"])
    );
    let other = keyed(&scene, path, &key, &json!({ "duration_ms": 90_000 })).await;
    other.fails(409, "idempotency_conflict");
}

#[tokio::test]
async fn a_delivery_of_a_source_stands_for_one_message() {
    let scene = Scene::with_main().await;
    let send = async |query: &str, headers: &[(&str, &str)], body: &Value| {
        keyed(&scene, &format!("/webhooks/generic/main{query}"), headers, body).await
    };
    let delivery = [("x-delivery-id", "7"), ("x-event-type", "push")];
    let first = send("?source=forge", &delivery, &json!({ "ref": "main" })).await;
    assert_eq!(first.ok().json["duplicate"], false);
    let again = send("?source=forge&delivery_id=7&event_type=push", &[], &json!({ "ref": "main" })).await;
    assert_eq!(
        (&again.ok().json["duplicate"], &again.json["message_id"]),
        (&json!(true), &first.json["message_id"])
    );
    send("?source=forge", &delivery, &json!({ "ref": "dev" })).await.fails(409, "idempotency_conflict");
    assert_eq!(send("?source=other", &delivery, &json!([1])).await.ok().json["duplicate"], false);
    let long = "x".repeat(256);
    let path = format!("?source={long}&delivery_id={long}");
    assert_eq!(send(&path, &[], &json!(1)).await.ok().json["duplicate"], false);
    assert_eq!(send(&path, &[], &json!(1)).await.ok().json["duplicate"], true);
    send(&format!("?delivery_id={long}x"), &[], &json!(1)).await.fails(400, "invalid_query");
    let entries = scene.get("/transcript").await.ok().json["entries"].clone();
    let origin = json!({ "kind": "webhook", "source": "forge", "event_type": "push" });
    assert_eq!((&entries[0]["origin"], &entries[0]["text"]), (&origin, &json!(r#"{"ref":"main"}"#)));
    assert_eq!(entries[0]["trust"], "trusted_integration");
}

/// `a:b` with the delivery `c`, and `a` with `b:c`; and a key that somebody has chosen to look like one of them.
#[tokio::test]
async fn deliveries_of_two_sources_are_never_taken_for_each_other() {
    let scene = Scene::with_main().await;
    let send = async |query: &str, headers: &[(&str, &str)], body: &Value| {
        keyed(&scene, &format!("/webhooks/generic/main{query}"), headers, body).await
    };
    for (nth, query) in ["?source=a:b&delivery_id=c", "?source=a&delivery_id=b:c"].into_iter().enumerate() {
        assert_eq!(send(query, &[], &json!(nth)).await.ok().json["duplicate"], false, "{query}");
        assert_eq!(send(query, &[], &json!(nth)).await.ok().json["duplicate"], true, "{query}");
    }
    for key in ["webhook:forge:7", r#"webhook ["forge","7"]"#] {
        send("", &[("idempotency-key", key)], &json!({ "by": key })).await.ok();
    }
    let key = [("idempotency-key", "webhook\t[\"forge\",\"7\"]")];
    send("", &key, &json!({})).await.fails(400, "invalid_header");
    assert_eq!(send("?source=forge&delivery_id=7", &[], &json!(7)).await.ok().json["duplicate"], false);
}

/// Digits that no floating-point number has reach the agent; a repeat may have its fields in another order.
#[tokio::test]
async fn numbers_from_outside_stay_as_they_are() {
    let scene = Scene::with_main().await;
    let sent = r#"{"id": 12345678901234567890123, "ratio": 0.10000000000000000555}"#;
    let reordered = r#"{"ratio":0.10000000000000000555,"id":12345678901234567890123}"#;
    let enqueued = |value: &str| format!(r#"{{"body":{{"type":"json","value":{value}}}}}"#);
    for (path, key, first, again) in [
        ("/webhooks/generic/main", "one", sent.to_owned(), reordered.to_owned()),
        ("/agents/main/enqueue", "two", enqueued(sent), enqueued(reordered)),
    ] {
        let send = async |body: &str| {
            let headers = [JSON, ("idempotency-key", key)];
            scene.send(request(Method::POST, path, &headers, body)).await
        };
        let first = send(&first).await;
        assert_eq!(first.ok().json["duplicate"], false, "{path}");
        let again = send(&again).await;
        assert_eq!(
            (&again.ok().json["duplicate"], &again.json["message_id"]),
            (&json!(true), &first.json["message_id"])
        );
    }
    scene.at_rest("main").await;
    let entries = scene.get("/transcript").await.ok().json["entries"].clone();
    let texts: Vec<&Value> = entries.as_array().unwrap().iter().map(|entry| &entry["text"]).collect();
    assert_eq!(texts.iter().filter(|text| ***text == json!(sent)).count(), 2, "{texts:?}");
}

#[tokio::test]
async fn what_comes_from_outside_is_evidence() {
    let scene = Scene::with_main().await;
    let message = json!({
        "body": { "type": "json", "value": { "level": 3 } }, "source": "chat", "sender": "ann",
        "priority": "background", "metadata": { "room": "x" }, "source_refs": { "thread": "9" },
    });
    let sent = scene.post("/enqueue", message).await;
    assert_eq!(sent.ok().json["agent_id"], "main");
    scene.at_rest("main").await;
    let entry = scene.get("/transcript").await.ok().json["entries"][0].clone();
    assert_eq!(entry["origin"], json!({ "kind": "channel", "channel_id": "chat", "sender_id": "ann" }));
    assert_eq!(
        (&entry["authority_class"], &entry["priority"]),
        (&json!("external_evidence"), &json!("background"))
    );
    assert_eq!(
        (&entry["text"], &entry["delivery_surface"]),
        (&json!(r#"{"level":3}"#), &json!("http_public_enqueue"))
    );
    let shouting = json!({ "body": { "type": "text", "text": "!" }, "priority": "interject" });
    scene.post("/enqueue", shouting).await.fails(400, "invalid_body");
    let claims = json!({ "body": { "type": "text", "text": "!" }, "trust": "trusted_operator" });
    scene.post("/enqueue", claims).await.fails(400, "invalid_body");
    let kind = json!({ "body": { "type": "text", "text": "!" }, "kind": "operator_prompt" });
    scene.post("/enqueue", kind).await.fails(400, "invalid_body");
    let refs: serde_json::Map<String, Value> =
        (0..17).map(|number| (number.to_string(), json!("x"))).collect();
    let many = json!({ "body": { "type": "text", "text": "!" }, "source_refs": refs });
    scene.post("/enqueue", many).await.fails(400, "too_many");
    let long = json!({ "body": { "type": "text", "text": "!" }, "source": "s".repeat(257) });
    assert_eq!(
        scene.post("/enqueue", long).await.fails(400, "invalid_body").json["details"]["field"],
        "source"
    );
    let refs = json!({ "body": { "type": "text", "text": "!" }, "source_refs": { "x": "y".repeat(257) } });
    let refused = scene.post("/enqueue", refs).await;
    assert_eq!(refused.fails(400, "invalid_body").json["details"]["field"], "source_refs");
}

/// As the description says, and a JSON schema counts: a character has up to four bytes.
#[tokio::test]
async fn names_are_as_long_as_the_description_says() {
    let scene = Scene::with_main().await;
    let name = |length: usize| "\u{1f600}".repeat(length);
    let of = |length: usize| {
        json!({
            "body": { "type": "text", "text": "!" }, "source": name(length), "sender": name(length),
            "correlation_id": name(length), "source_refs": { name(length): name(length) },
        })
    };
    scene.post("/enqueue", of(256)).await.ok();
    scene.post("/enqueue", of(257)).await.fails(400, "invalid_body");
    let described = super::openapi::document();
    let refs = &described["components"]["schemas"]["Enqueue"]["properties"]["source_refs"];
    assert_eq!(
        (&refs["propertyNames"]["maxLength"], &refs["additionalProperties"]["maxLength"]),
        (&json!(256), &json!(256))
    );
}

/// A source that has used up its day is refused with the time at which it has another one; others are taken.
#[tokio::test]
async fn a_source_that_sends_too_much_is_told_when_to_come_back() {
    let change = |config: &mut Config| config.unattended.source_turns_per_day = 2;
    let scene = Scene::with(Setup { change, ..Setup::default() }).await;
    scene.create("main").await;
    let sent = |source: &str| json!({ "source": source, "body": { "type": "text", "text": "x" } });
    for _ in 0..2 {
        scene.post("/enqueue", sent("chat")).await.ok();
    }
    let refused = scene.post("/enqueue", sent("chat")).await;
    refused.fails(429, "too_many_events");
    let details = &refused.json["details"];
    assert_eq!(
        (&details["source"], &details["allowance"], &details["setting"], &details["limit"]),
        (&json!("channel:chat"), &json!("source_day"), &json!("limits.source_turns_per_day"), &json!(2))
    );
    assert!(details["retry_at"].is_string() && details["retry_after_ms"].is_u64(), "{}", refused.text);
    let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=86_460).contains(&seconds), "{seconds}");
    assert!(refused.json["hint"].as_str().is_some_and(|hint| hint.contains("limits.source_turns_per_day")));
    scene.post("/enqueue", sent("mail")).await.ok();
    scene.prompt("main", "an operator is counted by nobody").await.ok();
}

#[tokio::test]
async fn a_full_queue_says_when_to_come_back() {
    let change = |config: &mut Config| {
        (config.queue.entries, config.queue.reserved_entries) = (3, 1);
    };
    let scene = Scene::with(Setup { rounds: SLOW(), change, ..Setup::default() }).await;
    scene.create("main").await;
    let message = json!({ "body": { "type": "text", "text": "x" } });
    let mut replies = Vec::new();
    for _ in 0..4 {
        replies.push(scene.post("/enqueue", message.clone()).await);
    }
    let full = replies.pop().unwrap();
    full.fails(429, "queue_full");
    assert_eq!(full.headers["retry-after"], "5");
    assert_eq!(full.json["details"]["agent_id"], "main");
    assert!(full.json["hint"].as_str().is_some_and(|hint| hint.contains("holon why main")), "{}", full.text);
    replies[0].ok();
    // The operator still gets through.
    scene.prompt("main", "stop that").await.ok();
}

#[tokio::test]
async fn a_stopped_agent_takes_nothing_and_says_what_to_do() {
    let scene = Scene::with_main().await;
    scene.post("/control/agents/main/control", json!({ "action": "stop" })).await.ok();
    let refused = scene.prompt("main", "hello").await;
    refused.fails(409, "agent_stopped");
    assert!(refused.json["hint"].as_str().is_some_and(|hint| hint.contains("holon agent start main")));
    scene.post("/webhooks/generic/main", json!({})).await.fails(409, "agent_stopped");
    let message = json!({ "body": { "type": "text", "text": "x" } });
    scene.post("/enqueue", message).await.fails(409, "agent_stopped");
    assert_eq!(scene.get("/transcript").await.ok().json["entries"], json!([]), "nothing is stored");
    scene.post("/control/agents/main/control", json!({ "action": "start" })).await.ok();
    scene.prompt("main", "hello").await.ok();
}
