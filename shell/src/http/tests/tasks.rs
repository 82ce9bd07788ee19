//! Tasks as they are asked for: what is wrong with a request, and what is not there. What real commands do is tested
//! with the real binary, which is their supervisor (`tests/tests/binary/tasks_surface.rs`).

use axum::http::Method;
use holon_api::Tasks;
use serde_json::{Value, json};

use super::{Scene, request};

const TASKS: &str = "/control/agents/main/tasks";

#[tokio::test]
async fn an_agent_without_tasks() {
    let scene = Scene::with_main().await;
    let tasks: Tasks =
        serde_json::from_value(scene.get("/agents/main/tasks").await.ok().json.clone()).unwrap();
    assert_eq!(tasks, Tasks { ok: true, tasks: Vec::new(), more: false });
    assert_eq!(scene.get("/agents/main/tasks?status=running&limit=500").await.ok().json["tasks"], json!([]));
    assert_eq!(scene.get("/agents/main/why").await.ok().json["active_tasks"], json!([]));
    assert_eq!(scene.get("/status").await.ok().json["active_task_count"], 0);
}

#[tokio::test]
async fn tasks_that_are_not_there() {
    let scene = Scene::with_main().await;
    for path in ["task_1", "task_1/output", "task_1/output?block=false", "task_1/output/stream"] {
        let reply = scene.get(&format!("/agents/main/tasks/{path}")).await;
        let told = &reply.fails(404, "unknown_task").json;
        assert_eq!(told["details"], json!({ "task_id": "task_1", "agent_id": "main" }), "{path}");
        assert_eq!(told["hint"], "holon task list --agent main", "{path}");
        scene.get(&format!("/agents/nobody/tasks/{path}")).await.fails(404, "unknown_agent");
    }
    for (path, body) in [("stop", json!({})), ("input", json!({ "input": "x" }))] {
        let reply = scene.post(&format!("{TASKS}/task_1/{path}"), body.clone()).await;
        assert_eq!(reply.fails(404, "unknown_task").json["hint"], "holon task list --agent main");
        let nobody = format!("/control/agents/nobody/tasks/task_1/{path}");
        scene.post(&nobody, body).await.fails(404, "unknown_agent");
    }
    let run = scene.post("/control/agents/nobody/tasks", json!({ "cmd": "true" })).await;
    run.fails(404, "unknown_agent");
    for id in ["1", "task_", "task_-1", "task_x", "run_1", "task_99999999999999999999", "%2e%2e"] {
        let reply = scene.get(&format!("/agents/main/tasks/{id}")).await;
        assert_eq!(reply.fails(400, "invalid_path").json["details"]["field"], "task_id", "{}", reply.text);
    }
}

#[tokio::test]
async fn queries_and_cursors_that_are_not_taken() {
    let scene = Scene::with_main().await;
    for (path, query) in [
        ("", "status=up"),
        ("", "limit=0"),
        ("", "limit=501"),
        ("/task_1/output", "block=maybe"),
        ("/task_1/output", "timeout_ms=600001"),
        ("/task_1/output", "timeout_ms=-1"),
        ("/task_1/output", "characters=1000001"),
        ("/task_1/output", "offset=0"),
        ("/task_1/output/stream", "offset=-1"),
        ("/task_1/output/stream", "offset=99999999999999999999999"),
        ("/task_1", "verbose=1"),
    ] {
        let reply = scene.get(&format!("/agents/main/tasks{path}?{query}")).await;
        let name = query.split('=').next().unwrap();
        assert_eq!(reply.fails(400, "invalid_query").json["details"]["field"], name, "{}", reply.text);
    }
    for value in ["abc", "-1", "1.5"] {
        let headers = [("last-event-id", value)];
        let path = "/agents/main/tasks/task_1/output/stream";
        let reply = scene.send(request(Method::GET, path, &headers, "")).await;
        assert_eq!(reply.fails(400, "invalid_header").json["details"]["field"], "Last-Event-ID");
    }
}

#[tokio::test]
async fn bodies_that_are_not_taken() {
    let scene = Scene::with_main().await;
    let (stop, input) = (format!("{TASKS}/task_1/stop"), format!("{TASKS}/task_1/input"));
    for (path, body, field) in [
        (TASKS, json!({}), "cmd"),
        (TASKS, json!({ "cmd": " \n" }), "cmd"),
        (TASKS, json!({ "cmd": 7 }), "cmd"),
        (TASKS, json!({ "cmd": "true", "command": "true" }), "command"),
        (TASKS, json!({ "cmd": "true", "tty": "yes" }), "tty"),
        (TASKS, json!({ "cmd": "true", "yield_time_ms": -1 }), "yield_time_ms"),
        (TASKS, json!({ "cmd": "true", "duplicate_policy": "never" }), "duplicate_policy"),
        (&stop, json!({ "force": "yes" }), "force"),
        (&stop, json!({ "signal": 9 }), "signal"),
        (&input, json!({}), "input"),
        (&input, json!({ "input": "" }), "input"),
        (&input, json!({ "input": ["x"] }), "input"),
    ] {
        let reply = scene.post(path, body).await;
        assert_eq!(reply.fails(400, "invalid_body").json["details"]["field"], field, "{}", reply.text);
    }
    for (path, field, bytes) in [(TASKS, "cmd", 100 << 10), (&input, "input", 64 << 10)] {
        // However long it is as JSON.
        let fits = scene.post(path, json!({ field: "\u{1}".repeat(bytes) })).await;
        assert_ne!(fits.status.as_u16(), 413, "{}", fits.text);
        let reply = scene.post(path, json!({ field: "x".repeat(bytes + 1) })).await;
        let details = &reply.fails(413, "too_large").json["details"];
        assert_eq!((&details["field"], &details["limit"]), (&json!(field), &json!(bytes)));
    }
}

#[tokio::test]
async fn commands_that_are_refused_say_why() {
    let scene = Scene::with_main().await;
    let reply = scene.post(TASKS, json!({ "cmd": "true", "workdir": "../.." })).await;
    assert_eq!(reply.fails(409, "command_refused").json["details"]["kind"], "execution_root_violation");
    let reply = scene.post(TASKS, json!({ "cmd": "a\u{0}b" })).await;
    assert_eq!(reply.fails(409, "command_refused").json["details"]["kind"], "invalid_tool_input");
    scene.post("/control/agents/main/control", json!({ "action": "stop" })).await.ok();
    scene.post(TASKS, json!({ "cmd": "true" })).await.fails(409, "agent_stopped");
    assert_eq!(scene.get("/agents/main/tasks").await.ok().json["tasks"], Value::Array(Vec::new()));
}
