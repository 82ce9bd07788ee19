//! What operators do to agents and to the runtime.

use std::time::Duration;

use axum::http::Method;
use serde_json::json;

use super::{Scene, Setup, request};

/// A server whose agent is in the middle of a run.
async fn busy() -> Scene {
    let rounds = json!([{ "text": "done", "delay_ms": 60_000 }]);
    let scene = Scene::with(Setup { rounds, ..Setup::default() }).await;
    scene.create("main").await;
    scene.prompt("main", "take your time").await.ok();
    for _ in 0..2_000 {
        if scene.get("/status").await.json["run"]["phase"]["phase"] == "requesting" {
            return scene;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("no run begins: {}", scene.get("/status").await.text);
}

#[tokio::test]
async fn an_agent_is_made_once_where_it_was_asked_for() {
    let scene = Scene::start().await;
    let made = scene.create("builder").await;
    assert_eq!(made.json["identity"]["kind"], "named");
    assert!(scene.agent_home("builder").join("AGENTS.md").is_file());
    scene.post("/control/agents/builder/create", json!({})).await.fails(409, "agent_exists");
    let folder = tempfile::tempdir().unwrap();
    let (inside, real) = (folder.path().join("src"), folder.path().canonicalize().unwrap());
    std::fs::create_dir(&inside).unwrap();
    let wanted = json!({ "workspace_root": folder.path(), "cwd": inside });
    let made = scene.post("/control/agents/main/create", wanted).await;
    assert_eq!(made.json["identity"]["kind"], "default");
    let execution = &made.json["identity"]["execution"];
    assert_eq!(execution["execution_root"], json!(real));
    assert_eq!(execution["cwd"], json!(real.join("src")));
}

#[tokio::test]
async fn an_agent_that_is_refused_leaves_what_was_there_before_and_nothing_else() {
    let limited = Setup { change: |config| config.limits.agents = 1, ..Setup::default() };
    let scene = Scene::with(limited).await;
    scene.create("main").await;
    let create =
        |agent: &str| (format!("/control/agents/{agent}/create"), json!({ "instructions": "Be brief." }));
    let (path, body) = create("new");
    scene.post(&path, body.clone()).await.fails(409, "too_many_agents");
    assert!(!scene.agent_home("new").exists());
    let mine = scene.agent_home("mine").join("AGENTS.md");
    std::fs::create_dir_all(scene.agent_home("mine")).unwrap();
    std::fs::write(&mine, "Mine.").unwrap();
    scene.post(&create("mine").0, json!({})).await.fails(409, "too_many_agents");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "Mine.");
    assert!(!scene.agent_home("mine").join("memory").exists());
    // One that exists keeps its own.
    scene.post(&create("main").0, json!({})).await.fails(409, "agent_exists");
    assert!(scene.agent_home("main").join("AGENTS.md").is_file());
    let scene = scene.again(Setup::default()).await;
    assert_eq!(scene.post(&path, body).await.status, 201);
    assert_eq!(std::fs::read_to_string(scene.agent_home("new").join("AGENTS.md")).unwrap(), "Be brief.");
}

#[tokio::test]
async fn folders_that_nobody_can_work_in() {
    let scene = Scene::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (body, field) in [
        (json!({ "workspace_root": "/no/such/folder" }), "workspace_root"),
        (json!({ "workspace_root": file }), "workspace_root"),
        (json!({ "workspace_root": folder.path(), "cwd": "/" }), "cwd"),
        (json!({ "cwd": "/" }), "cwd"),
        (json!({ "workspace_root": "/\u{0}" }), "workspace_root"),
    ] {
        let reply = scene.post("/control/agents/x/create", body).await;
        assert_eq!(reply.fails(409, "invalid_workspace").json["details"]["field"], field);
    }
    for (body, field) in [
        (json!({ "workspace_root": "src" }), "workspace_root"),
        (json!({ "workspace_root": folder.path(), "cwd": "../x" }), "cwd"),
    ] {
        let reply = scene.post("/control/agents/x/create", body).await;
        assert_eq!(reply.fails(400, "invalid_body").json["details"]["field"], field);
    }
    assert!(!scene.agent_home("x").exists(), "a refused agent leaves nothing behind");
}

#[tokio::test]
async fn start_and_stop_and_their_old_names() {
    let scene = Scene::with_main().await;
    let control = async |action: &str| {
        scene.post("/control/agents/main/control", json!({ "action": action })).await.ok().json.clone()
    };
    let outcome = |json: &serde_json::Value| {
        let outcome = &json["outcome"];
        (
            outcome["next"].as_str().unwrap().to_owned(),
            outcome["changed"] == true,
            json["deprecated"].is_string(),
        )
    };
    assert_eq!(outcome(&control("start").await), ("asleep".into(), false, false));
    assert_eq!(outcome(&control("pause").await), ("stopped".into(), true, true));
    assert_eq!(outcome(&control("stop").await), ("stopped".into(), false, false));
    assert_eq!(outcome(&control("resume").await), ("awake_idle".into(), true, true));
}

#[tokio::test]
async fn a_run_is_aborted_by_its_id_or_whichever_it_is() {
    let scene = busy().await;
    let path = "/control/agents/main/current-run/abort";
    let stale = scene.post(path, json!({ "run_id": "run_99" })).await;
    assert_eq!(stale.fails(409, "stale_run_id").json["details"]["current_run_id"], "run_1");
    assert_eq!(stale.json["hint"], "holon why main");
    let aborted = scene.post(path, json!({ "run_id": "run_1" })).await;
    assert_eq!(aborted.ok().json["outcome"]["aborted_run_id"], "run_1");
    scene.post(path, json!({})).await.fails(409, "no_current_run");
    let without_a_body = request(Method::POST, path, &[("content-type", "application/json")], "");
    scene.send(without_a_body).await.fails(409, "no_current_run");
    // A form of any page could be sent like this.
    let without_a_type = request(Method::POST, path, &[], "");
    scene.send(without_a_type).await.fails(415, "unsupported_media_type");
    let scene = busy().await;
    let stopped = scene.post(path, json!({ "stop_after_abort": true })).await;
    assert_eq!(stopped.ok().json["outcome"]["next"], "stopped");
}

#[tokio::test]
async fn the_runtime_leaves_when_it_is_asked_to() {
    let scene = busy().await;
    let status = scene.get("/control/runtime/status").await;
    assert_eq!(status.ok().json["activity"]["state"], "processing");
    scene.post("/control/runtime/shutdown", json!({})).await.ok();
    tokio::time::timeout(Duration::from_secs(5), scene.shutdown.asked()).await.unwrap();
    scene.runtime.leave().await;
    scene.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_runtime_that_has_left_says_so() {
    let scene = Scene::with_main().await;
    scene.runtime.leave().await;
    // Nothing is read from a runtime that is gone; what is durable still is.
    scene.prompt("main", "too late").await.fails(503, "draining");
    let health = scene.get("/healthz").await;
    assert_eq!(health.fails(503, "draining").headers["retry-after"], "5");
    scene.get("/agents/main/events").await.ok();
}

#[tokio::test]
async fn a_prompt_is_shown_and_not_sent() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "an earlier prompt").await.ok();
    scene.at_rest("main").await;
    std::fs::write(scene.agent_home("main").join("AGENTS.md"), "Be brief.\n").unwrap();
    let before = scene.get("/status").await.json["event_seq"].clone();
    let text = "a prompt ".repeat(100);
    let shown = scene.post("/control/agents/main/debug-prompt", json!({ "text": text })).await;
    let sections = shown.ok().json["sections"].as_array().unwrap();
    let labels: Vec<&str> = sections.iter().map(|section| section["label"].as_str().unwrap()).collect();
    assert_eq!((labels.first(), labels.last()), (Some(&"policy"), Some(&"current_input")));
    let said = |label: &str| {
        let section = sections.iter().find(|section| section["label"] == label);
        section.unwrap_or_else(|| panic!("{labels:?}"))["text"].as_str().unwrap()
    };
    assert!(said("conversation").contains("an earlier prompt"));
    let input = said("current_input");
    assert!(
        input.starts_with("[instruction file as it is now") && input.contains("\nBe brief.\n"),
        "{input}"
    );
    assert!(input.contains("\n[message msg_2 | kind operator_prompt") && input.ends_with(&text), "{input}");
    assert_eq!(shown.json["loaded_sources"][0]["scope"], "agent");
    assert_eq!(scene.get("/status").await.json["event_seq"], before);
    scene
        .post("/control/agents/nobody/debug-prompt", json!({ "text": "x" }))
        .await
        .fails(404, "unknown_agent");
}

/// Whoever is refused by what is there is told the command that shows it.
#[tokio::test]
async fn a_refusal_names_the_next_command() {
    let scene = Scene::with_main().await;
    scene.create("helper").await;
    let control = "/control/agents/helper";
    for (path, body, code, command) in [
        ("current-run/abort", json!({}), "no_current_run", "holon why helper"),
        ("create", json!({}), "agent_exists", "holon status helper"),
        ("fork", json!({ "agent_id": "main" }), "agent_exists", "holon status main"),
        ("fork", json!({ "agent_id": "far", "event_seq": 100_000 }), "unknown_event", "holon tail helper"),
        ("model", json!({ "model": "nope/x" }), "invalid_model", "holon config doctor"),
        ("create", json!({ "workspace_root": "/no/such" }), "agent_exists", "holon agent list"),
    ] {
        let reply = scene.post(&format!("{control}/{path}"), body).await;
        let status = if code == "unknown_event" { 404 } else { 409 };
        let hint = reply.fails(status, code).json["hint"].as_str().unwrap_or_default();
        assert!(hint.contains(command), "{path}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_second_name_leads_to_its_agent_on_every_route() {
    let scene = Scene::with_main().await;
    scene.create("other").await;
    let rename = |agent: &str| format!("/control/agents/{agent}/rename");
    let renamed = scene.post(&rename("main"), json!({ "name": "boss" })).await;
    assert_eq!(renamed.ok().json, json!({ "ok": true, "agent_id": "main", "changed": true, "name": "boss" }));
    scene.prompt("boss", "go").await.ok();
    scene.at_rest("main").await;
    for path in ["status", "why", "state", "briefs", "transcript", "events", "tasks", "timers", "work-items"]
    {
        let named = scene.get(&format!("/agents/boss/{path}")).await.ok().json.clone();
        let own = scene.get(&format!("/agents/main/{path}")).await.ok().json.clone();
        assert_eq!(named, own, "{path}");
    }
    for (agent, body, status, code) in [
        ("other", json!({ "name": "boss" }), 409, "name_taken"),
        ("other", json!({ "name": "main" }), 409, "name_taken"),
        ("other", json!({ "name": "a--b" }), 400, "reserved_agent_id"),
        ("other", json!({ "name": "No Name" }), 400, "invalid_body"),
        ("other", json!({ "title": "boss" }), 400, "invalid_body"),
        ("nobody", json!({ "name": "chief" }), 404, "unknown_agent"),
    ] {
        scene.post(&rename(agent), body).await.fails(status, code);
    }
    scene.post("/control/agents/boss/create", json!({})).await.fails(409, "name_taken");
    scene.post("/control/agents/main/fork", json!({ "agent_id": "boss" })).await.fails(409, "name_taken");
    scene.post(&rename("boss"), json!({})).await.ok();
    scene.get("/agents/boss/status").await.fails(404, "unknown_agent");
}

#[tokio::test]
async fn an_agent_is_described_and_archived() {
    let scene = Scene::with_main().await;
    let describe = "/control/agents/main/describe";
    for text in ["", "   ", "two\nlines", &"x".repeat(201)] {
        let refused = scene.post(describe, json!({ "description": text })).await;
        refused.fails(400, "invalid_body");
        assert_eq!(refused.json["details"]["field"], "description");
    }
    let described = scene.post(describe, json!({ "description": " keeps CI green " })).await;
    assert_eq!(described.ok().json["description"], "keeps CI green");
    assert_eq!(scene.get("/status").await.ok().json["description"], "keeps CI green");
    let archive = json!({ "action": "archive" });
    let archived = scene.post("/control/agents/main/control", archive.clone()).await.ok().json.clone();
    assert_eq!(
        (&archived["outcome"]["archived"], &archived["outcome"]["changed"]),
        (&true.into(), &true.into())
    );
    let again = scene.post("/control/agents/main/control", archive).await.ok().json.clone();
    assert_eq!(again["outcome"]["changed"], false);
    let listed = |reply: &super::Reply| reply.json["agents"].as_array().unwrap().len();
    assert_eq!(listed(&scene.get("/agents/list?all=true").await), 1);
    scene.prompt("main", "go").await.fails(409, "agent_stopped");
    let started = scene.post("/control/agents/main/control", json!({ "action": "start" })).await;
    assert_eq!(started.ok().json["outcome"].get("archived"), None);
    scene.prompt("main", "go").await.ok();
    scene.at_rest("main").await;
}

#[tokio::test]
async fn an_ask_is_closed_by_its_id_alone() {
    let scene = Scene::with_main().await;
    let close = |agent: &str, brief: &str| format!("/control/agents/{agent}/asks/{brief}/close");
    scene.post(&close("main", "brief_1"), json!({})).await.fails(404, "unknown_ask");
    scene.post(&close("nobody", "brief_1"), json!({})).await.fails(404, "unknown_agent");
    scene.post(&close("main", "task_1"), json!({})).await.fails(400, "invalid_path");
}

#[tokio::test]
async fn a_past_request_shows_what_was_erased_as_such() {
    let scene = Scene::with_main().await;
    let text = "a long text that will be erased ".repeat(20);
    scene.prompt("main", &text).await.ok();
    scene.at_rest("main").await;
    let path = "/control/agents/main/debug-prompt";
    let shown = scene.post(path, json!({ "turn": 1 })).await;
    assert!(shown.ok().text.contains("a long text that will be erased"), "{}", shown.text);
    assert_eq!(shown.json["warnings"], serde_json::Value::Null);
    let ledger = rusqlite::Connection::open(scene.home.ledger_file()).unwrap();
    ledger.execute_batch("UPDATE content SET text = NULL").unwrap();
    let shown = scene.post(path, json!({ "turn": 1 })).await;
    let sections = shown.ok().json["sections"].as_array().unwrap();
    let input = sections.iter().find(|section| section["label"] == "current_input").unwrap();
    assert_eq!(input["state"], "erased");
    assert!(input["text"].as_str().unwrap().contains(" was erased]"), "{input}");
    assert!(shown.json["warnings"][0].as_str().unwrap().contains("not stored any more"), "{}", shown.text);
    let policy = &sections[0];
    assert_eq!((&policy["label"], &policy["state"]), (&json!("policy"), &json!("whole")));
    // A text that was changed is not taken for what was sent.
    ledger.execute_batch("UPDATE content SET text = 'another text'").unwrap();
    let shown = scene.post(path, json!({ "request": "op_2" })).await;
    assert!(shown.ok().text.contains("can't be read"), "{}", shown.text);
}
