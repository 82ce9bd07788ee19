//! Whatever people and machines send wrongly gets the status and the text of the contract, and the server
//! goes on.

use axum::http::Method;
use serde_json::{Value, json};

use super::openapi;
use super::{Scene, request};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn bodies_that_are_not_what_the_route_takes() {
    let scene = Scene::with_main().await;
    let prompt = |body: &str| request(Method::POST, "/control/agents/main/prompt", &[JSON], body);
    for (body, field) in [
        ("", None),
        ("{", None),
        ("{\"text\":\"a\"} x", None),
        ("{}", Some("text")),
        (r#"{"text":7}"#, Some("text")),
        (r#"{"text":""}"#, Some("text")),
        (r#"{"text":"a","txet":"b"}"#, Some("txet")),
        (r#"{"text":"a","priority":"urgent"}"#, Some("priority")),
        (r#"{"text":"a","text":"b"}"#, Some("text")),
    ] {
        let reply = scene.send(prompt(body)).await;
        let details = &reply.fails(400, "invalid_body").json["details"];
        assert_eq!(details["field"].as_str(), field, "{body}: {}", reply.text);
    }
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    scene.send(prompt(&deep)).await.fails(400, "invalid_body");
    let nested = scene.post("/agents/main/enqueue", json!({ "body": { "type": "text", "text": 1 } })).await;
    assert_eq!(nested.fails(400, "invalid_body").json["details"]["field"], "body");
    for (action, field) in [(json!("fly"), "action"), (json!(null), "action")] {
        let reply = scene.post("/control/agents/main/control", json!({ "action": action })).await;
        assert_eq!(reply.fails(400, "invalid_body").json["details"]["field"], field);
    }
    let run = scene.post("/control/agents/main/current-run/abort", json!({ "run_id": "../run" })).await;
    assert_eq!(run.fails(400, "invalid_body").json["details"]["field"], "run_id");
    assert_eq!(scene.get("/status").await.ok().json["queue"]["entries"], 0, "nothing was stored");
}

/// The description says so of every body but a webhook's, and a list of values would be taken for their fields.
#[tokio::test]
async fn a_body_is_an_object() {
    let scene = Scene::with_main().await;
    let control = "/control/agents/main";
    for (path, body) in [
        (format!("{control}/control"), r#"["stop"]"#),
        (format!("{control}/prompt"), r#"["hello"]"#),
        (format!("{control}/prompt"), r#"["hello",null,null,null,null]"#),
        (format!("{control}/model"), r#"["a/b"]"#),
        (format!("{control}/model"), r#" [ "a/b" ]"#),
        (format!("{control}/fork"), r#"["copy",null]"#),
        ("/control/agents/new/create".to_owned(), r#"["/tmp",null,null]"#),
        (format!("{control}/current-run/abort"), "[null,true]"),
        (format!("{control}/debug-prompt"), r#"["hello"]"#),
        ("/agents/main/enqueue".to_owned(), r#"["channel_event",{"type":"text","text":"x"}]"#),
    ] {
        let reply = scene.send(request(Method::POST, &path, &[JSON], body)).await;
        let said = reply.fails(400, "invalid_body").json["error"].as_str().unwrap();
        assert_eq!(said, "the body must be a JSON object, it is an array", "{path} {body}");
    }
    for (body, kind) in [("null", "null"), ("\"x\"", "a string"), ("-1.5", "a number"), ("true", "a boolean")]
    {
        let reply = scene.send(request(Method::POST, &format!("{control}/prompt"), &[JSON], body)).await;
        let said = reply.fails(400, "invalid_body").json["error"].as_str().unwrap();
        assert_eq!(said, format!("the body must be a JSON object, it is {kind}"));
    }
    let status = scene.get("/agents/main/status").await.ok().json.clone();
    assert_eq!((&status["status"], &status["queue"]["entries"]), (&json!("asleep"), &json!(0)));
    scene.get("/agents/new/status").await.fails(404, "unknown_agent");
}

/// What is said of a nested part is in words of JSON, not in names of this program's types.
#[tokio::test]
async fn the_parts_of_a_body_are_what_is_described() {
    let scene = Scene::with_main().await;
    for (body, field) in [
        (json!(["text", "x"]), "body"),
        (json!(5), "body"),
        (json!("x"), "body"),
        (json!(null), "body"),
        (json!({}), "body.type"),
        (json!({ "type": "text" }), "body.text"),
        (json!({ "type": "text", "text": 1 }), "body"),
        (json!({ "type": "text", "text": "x", "more": 1 }), "body"),
        (json!({ "type": "html" }), "body.type"),
        (json!({ "type": 5 }), "body.type"),
        (json!({ "type": { "text": null }, "text": "x" }), "body.type"),
    ] {
        let reply = scene.post("/agents/main/enqueue", json!({ "body": body })).await;
        assert_eq!(reply.fails(400, "invalid_body").json["details"]["field"], field, "{}", reply.text);
        let internal = ["struct", "enum", "Payload", "variant identifier"];
        let said = reply.json["error"].as_str().unwrap();
        assert!(internal.iter().all(|word| !said.contains(word)), "{said}");
    }
    let twice = r#"{"body":{"type":"text","text":"a","text":"b"}}"#;
    let reply = scene.send(request(Method::POST, "/agents/main/enqueue", &[JSON], twice)).await;
    assert_eq!(reply.fails(400, "invalid_body").json["details"]["field"], "body.text");
}

/// A word that a schema allows, if it allows some.
fn a_word(document: &Value, schema: &Value) -> Option<Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return a_word(document, document.pointer(&reference[1..])?);
    }
    let shapes = ["oneOf", "anyOf"].into_iter().filter_map(|any| schema[any].as_array()).flatten();
    let word =
        schema.get("enum").map(|words| &words[0]).or(schema.get("const")).filter(|word| word.is_string());
    word.cloned().or_else(|| shapes.into_iter().find_map(|shape| a_word(document, shape)))
}

/// An object with the word as its only field would be taken for it.
#[tokio::test]
async fn a_word_is_a_string() {
    let scene = Scene::with_main().await;
    let document = openapi::document();
    let mut fields = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let schema = &operations["post"]["requestBody"]["content"]["application/json"]["schema"];
        let Some(reference) = schema["$ref"].as_str() else { continue };
        let body = document.pointer(&reference[1..]).unwrap();
        for (field, schema) in body["properties"].as_object().into_iter().flatten() {
            let Some(word) = a_word(&document, schema) else { continue };
            let object = json!({ field: { word.as_str().unwrap(): null } });
            let path = path.replace("{agent_id}", "main").replace("{task_id}", "task_1");
            let reply = scene.post(&path, object).await;
            let details = &reply.fails(400, "invalid_body").json["details"];
            assert_eq!(details["field"], field.as_str(), "{path}: {}", reply.text);
            assert!(reply.json["error"].as_str().unwrap().contains("expected a string"), "{}", reply.text);
            fields.push(field.clone());
        }
    }
    for field in ["action", "duplicate_policy", "kind", "priority", "visibility"] {
        assert!(fields.iter().any(|found| found == field), "{field} is not in {fields:?}");
    }
}

#[tokio::test]
async fn other_kinds_of_bodies_are_refused() {
    let scene = Scene::with_main().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"] {
        let headers = [("content-type", kind)];
        let sent = request(Method::POST, "/control/agents/main/prompt", &headers, r#"{"text":"a"}"#);
        scene.send(sent).await.fails(415, "unsupported_media_type");
    }
    let none = request(Method::POST, "/control/agents/main/prompt", &[], r#"{"text":"a"}"#);
    scene.send(none).await.fails(415, "unsupported_media_type");
    for kind in ["application/json; charset=utf-8", "Application/JSON", "application/cloudevents+json"] {
        let headers = [("content-type", kind)];
        let sent = request(Method::POST, "/control/agents/main/prompt", &headers, r#"{"text":"a"}"#);
        scene.send(sent).await.ok();
    }
}

#[tokio::test]
async fn names_with_path_tricks_reach_nothing() {
    let scene = Scene::with_main().await;
    for name in
        ["..%2f..%2fetc", "%2e%2e", "Main", "main%00", "main%20", "-main", "m%C3%A4in", "main%2F", "%ff"]
    {
        let reply = scene.get(&format!("/agents/{name}/status")).await;
        assert_eq!(reply.fails(400, "invalid_path").json["details"]["field"], "agent_id", "{}", reply.text);
        scene.post(&format!("/control/agents/{name}/create"), json!({})).await.fails(400, "invalid_path");
    }
    let long = "a".repeat(64);
    scene.get(&format!("/agents/{long}/status")).await.fails(400, "invalid_path");
    for path in ["/agents/../status", "/agents//status"] {
        scene.get(path).await.fails(400, "invalid_path");
    }
    for path in ["/agents/main/status/", "/nothing", "/agents/main/../../etc/passwd", "//"] {
        scene.get(path).await.fails(404, "unknown_route");
    }
    let made: Vec<_> = std::fs::read_dir(scene.home.root().join("agents")).unwrap().collect();
    assert_eq!(made.len(), 1, "only main has a home: {made:?}");
}

#[tokio::test]
async fn queries_that_a_route_does_not_take() {
    let scene = Scene::with_main().await;
    for query in [
        "limit=0",
        "limit=513",
        "limit=-1",
        "limit=many",
        "limit=",
        "limit=1&limit=2",
        "order=up",
        "after_seq=1.5",
        "after_seq=99999999999999999999999",
        "since=1",
        "before_seq=x",
    ] {
        let reply = scene.get(&format!("/agents/main/events?{query}")).await;
        reply.fails(400, "invalid_query");
        let name = query.split('=').next().unwrap();
        assert_eq!(reply.json["details"]["field"], name, "{}", reply.text);
        let said = reply.json["error"].as_str().unwrap();
        assert!(said.contains(name) && !said.contains("eserialize"), "{said}");
    }
    scene.get("/status?verbose=1").await.fails(400, "invalid_query");
    scene.get("/agents/list?after=..").await.fails(400, "invalid_query");
    scene.get(&format!("/agents/main/events?after_seq={}", u64::MAX)).await.fails(409, "cursor_ahead");
    scene.get(&format!("/transcript?before={}", u64::MAX)).await.fails(409, "cursor_ahead");
}

#[tokio::test]
async fn methods_that_a_route_does_not_take() {
    let scene = Scene::with_main().await;
    for (method, path, allow) in [
        (Method::DELETE, "/status", "GET,HEAD"),
        (Method::PUT, "/agents/main/status", "GET,HEAD"),
        (Method::GET, "/control/agents/main/prompt", "POST"),
    ] {
        let reply = scene.send(request(method, path, &[], "")).await;
        reply.fails(405, "method_not_allowed");
        assert_eq!(reply.headers["allow"], allow, "{path}");
    }
    let head = scene.send(request(Method::HEAD, "/status", &[], "")).await;
    assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn agents_that_are_not_there() {
    let scene = Scene::with_main().await;
    for path in ["status", "state", "why", "briefs", "transcript", "events", "events/stream", "tasks"] {
        let reply = scene.get(&format!("/agents/nobody/{path}")).await;
        reply.fails(404, "unknown_agent");
        assert_eq!(reply.json["hint"], "create it: holon agent create nobody");
    }
    scene.prompt("nobody", "hello").await.fails(404, "unknown_agent");
    let enqueued =
        scene.post("/agents/nobody/enqueue", json!({ "body": { "type": "text", "text": "x" } })).await;
    enqueued.fails(404, "unknown_agent");
    scene.post("/webhooks/generic/nobody", json!({})).await.fails(404, "unknown_agent");
    for action in ["start", "stop"] {
        let reply = scene.post("/control/agents/nobody/control", json!({ "action": action })).await;
        reply.fails(404, "unknown_agent");
    }
    scene.post("/control/agents/nobody/current-run/abort", json!({})).await.fails(404, "unknown_agent");
    assert!(!scene.agent_home("nobody").exists(), "asking for an agent makes none");
}

#[tokio::test]
async fn headers_that_can_not_be_read() {
    let scene = Scene::with_main().await;
    let body = r#"{"text":"a"}"#;
    let long = "k".repeat(257);
    for value in [" ", "\u{e9}", long.as_str()] {
        let headers = [JSON, ("idempotency-key", value)];
        let reply = scene.send(request(Method::POST, "/control/agents/main/prompt", &headers, body)).await;
        reply.fails(400, "invalid_header");
    }
    for value in ["abc", "-1", "1.5"] {
        let headers = [("last-event-id", value)];
        let reply = scene.send(request(Method::GET, "/agents/main/events/stream", &headers, "")).await;
        assert_eq!(reply.fails(400, "invalid_header").json["details"]["field"], "Last-Event-ID");
    }
}

/// Whichever of two was taken, the other one would be lost without a word.
#[tokio::test]
async fn a_header_that_says_two_things() {
    let scene = Scene::with_main().await;
    let prompt = "/control/agents/main/prompt";
    for (path, name) in [
        (prompt, "idempotency-key"),
        ("/webhooks/generic/main", "x-delivery-id"),
        ("/webhooks/generic/main", "x-event-type"),
    ] {
        let sent = request(Method::POST, path, &[JSON, (name, "a"), (name, "b")], r#"{"text":"a"}"#);
        let reply = scene.send(sent).await;
        assert_eq!(reply.fails(400, "invalid_header").json["details"]["field"], name, "{}", reply.text);
    }
    let headers = [("last-event-id", "0"), ("last-event-id", "1")];
    let reply = scene.send(request(Method::GET, "/agents/main/events/stream", &headers, "")).await;
    assert_eq!(reply.fails(400, "invalid_header").json["details"]["field"], "Last-Event-ID");
    let same = [JSON, ("idempotency-key", "a"), ("idempotency-key", "a")];
    scene.send(request(Method::POST, prompt, &same, r#"{"text":"a"}"#)).await.ok();
}

#[tokio::test]
async fn a_damaged_agent_is_told_and_concerns_nobody_else() {
    let scene = Scene::with_main().await;
    scene.create("other").await;
    scene.at_rest("main").await;
    rusqlite::Connection::open(scene.home.ledger_file())
        .unwrap()
        .execute("UPDATE records SET payload = '{}' WHERE agent = 'main' AND event_seq = 1", [])
        .unwrap();
    for path in ["events", "transcript", "status"] {
        let reply = scene.get(&format!("/agents/main/{path}")).await;
        reply.fails(500, "agent_damaged");
        assert!(reply.json["hint"].as_str().is_some_and(|hint| hint.contains("holon ledger verify")));
        let error = reply.json["error"].as_str().unwrap();
        assert!(!error.contains("the runtime ends") && !error.contains("ledger verify"), "{error}");
        scene.get(&format!("/agents/other/{path}")).await.ok();
    }
    let list = scene.get("/agents/list").await.ok().json["agents"].clone();
    assert!(list[0]["damaged"].as_str().is_some_and(|problem| problem.contains("agent main")), "{list}");
    assert_eq!((&list[1]["agent_id"], &list[1]["kind"]), (&"other".into(), &"named".into()));
}
