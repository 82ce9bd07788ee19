//! What can be read, of agents and of the runtime.

use std::time::Duration;

use axum::http::Method;
use holon_api::{
    AgentListEntry, AgentState, AgentStatus, Briefs, EventsPage, Handshake, Models, RuntimeStatus, Transcript,
};
use holon_ledger::read::export_recorder;
use serde_json::{Value, json};

use super::{Scene, Setup, request};

fn decoded<T: serde::de::DeserializeOwned>(json: &Value) -> T {
    serde_json::from_value(json.clone()).unwrap()
}

#[tokio::test]
async fn the_runtime_says_what_it_is() {
    let scene = Scene::start().await;
    assert_eq!(scene.get("/").await.ok().json["default_agent"], "main");
    assert_eq!(scene.get("/healthz").await.ok().json, json!({ "ok": true }));
    let handshake: Handshake = decoded(&scene.get("/handshake").await.ok().json.clone());
    assert_eq!(handshake.protocol.name, "holon-control");
    assert_eq!(handshake.runtime.listen, Some(scene.address.to_string()));
    assert_eq!(handshake.runtime.home_dir, Some(scene.home.root().display().to_string()));
    let models: Models = decoded(&scene.get("/models").await.ok().json.clone());
    assert_eq!(models.available_models.len(), 1);
    let ready = scene.get("/control/runtime/readiness").await;
    assert_eq!(
        (&ready.json["ready"], &ready.json["config_fingerprint"]),
        (&json!(true), &json!("fingerprint"))
    );
    let metrics = scene.get("/metrics").await;
    assert!(metrics.text.contains("holon_http_requests_total") && metrics.text.ends_with("# EOF\n"));
    let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, kind) in [
        ("*/*", "application/openmetrics-text"),
        (prometheus, "application/openmetrics-text"),
        ("text/plain", "text/plain"),
        ("text/html, text/*;q=0.5", "text/plain"),
    ] {
        let metrics = scene.send(request(Method::GET, "/metrics", &[("accept", accept)], "")).await;
        let served = metrics.headers["content-type"].to_str().unwrap();
        assert_eq!(served.split(';').next(), Some(kind), "{accept}");
        assert!(metrics.text.ends_with("# EOF\n"));
    }
}

#[tokio::test]
async fn an_agent_is_read_in_every_way() {
    let scene = Scene::with_main().await;
    let long = "a long text ".repeat(500);
    let message = scene.prompt("main", &long).await.ok().json["message_id"].clone();
    scene.at_rest("main").await;
    let status: AgentStatus = decoded(&scene.get("/agents/main/status").await.ok().json.clone());
    assert_eq!(scene.get("/status").await.json, scene.get("/agents/main/status").await.json);
    let transcript: Transcript = decoded(&scene.get("/transcript").await.ok().json.clone());
    let first = serde_json::to_value(&transcript.entries[0]).unwrap();
    assert_eq!((&first["text"], &first["message_id"]), (&json!(long), &message), "the whole text");
    assert_eq!((transcript.entries.len(), transcript.more), (2, false));
    let briefs: Briefs = decoded(&scene.get("/briefs").await.ok().json.clone());
    assert_eq!((briefs.briefs.len(), briefs.briefs[0].text.as_str()), (1, "done"));
    let state: AgentState = decoded(&scene.get("/state").await.ok().json.clone());
    assert_eq!(
        (state.event_seq, state.briefs, state.transcript),
        (status.summary.event_seq, briefs.briefs, transcript.entries)
    );
    assert_eq!(state.agent, status);
    assert_eq!(scene.get("/agents/main/why").await.ok().json["woken_by"], json!(["new_message"]));
    let none: AgentState = decoded(&scene.get("/agents/main/state?recent=0").await.ok().json.clone());
    assert!(none.briefs.is_empty() && none.transcript.is_empty());
}

/// It is neither brought in nor evicted for that, which would be three rows of the ledger each time.
#[tokio::test]
async fn an_agent_outside_memory_is_read_without_a_word_in_the_ledger() {
    let scene = Scene::with_main().await;
    scene.prompt("main", &"a long text ".repeat(500)).await.ok();
    scene.at_rest("main").await;
    // A start brings in whoever has something to do.
    let scene = scene.again(Setup::default()).await;
    let recorder = || {
        let mut lines = Vec::new();
        export_recorder(&scene.app.reader, &mut lines).unwrap();
        lines
    };
    let resident = || scene.runtime.read(None, |view| view.agent_ids().count());
    // The start itself is written meanwhile.
    let mut before = Vec::new();
    while before != recorder() {
        before = recorder();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let paths =
        ["status", "why", "state", "transcript", "briefs", "timers", "tasks", "work-items", "events?limit=5"];
    let mut shown = Vec::new();
    for path in paths {
        shown.push(scene.get(&format!("/agents/main/{path}")).await.ok().json.clone());
    }
    assert_eq!(scene.get("/agents/nobody/status").await.status, 404);
    assert_eq!(resident().await.unwrap(), 0);
    assert!(recorder() == before, "reading has written");
    let main = scene.main();
    assert!(scene.runtime.read(Some(&main), |view| view.agent_ids().count() == 1).await.unwrap());
    for (path, shown) in paths.into_iter().zip(shown) {
        assert_eq!(scene.get(&format!("/agents/main/{path}")).await.ok().json, shown, "{path}");
    }
}

#[tokio::test]
async fn histories_are_walked_in_both_directions() {
    let scene = Scene::with_main().await;
    for number in 0..7 {
        scene.prompt("main", &format!("prompt {number}")).await.ok();
        scene.at_rest("main").await;
    }
    for (path, list) in [("/briefs", "briefs"), ("/transcript", "entries")] {
        let whole = scene.get(&format!("{path}?limit=500")).await.ok().json[list].clone();
        let whole = whole.as_array().unwrap();
        assert_eq!(whole.len(), if path == "/briefs" { 7 } else { 14 });
        let (first, fourth) = (&whole[0]["event_seq"], &whole[3]["event_seq"]);
        let both = scene.get(&format!("{path}?after={first}&before={fourth}")).await;
        assert_eq!(both.ok().json[list].as_array().unwrap()[..], whole[1..3]);
        for direction in ["before", "after"] {
            let start = if direction == "after" { "&after=0".to_owned() } else { String::new() };
            let mut page = scene.get(&format!("{path}?limit=3{start}")).await.ok().json.clone();
            let mut walked = page[list].as_array().unwrap().clone();
            while page["more"] == true {
                page = scene
                    .get(&format!("{path}?limit=3&{direction}={}", page["next"]))
                    .await
                    .ok()
                    .json
                    .clone();
                let next = page[list].as_array().unwrap().clone();
                walked = if direction == "after" { [walked, next].concat() } else { [next, walked].concat() };
            }
            assert_eq!(page.get("next"), None, "{path}");
            assert_eq!(&walked, whole, "{path} {direction}");
        }
    }
}

#[tokio::test]
async fn a_page_of_long_texts_ends_early() {
    let scene = Scene::with_main().await;
    for _ in 0..6 {
        scene.prompt("main", &"x".repeat(900_000)).await.ok();
    }
    scene.at_rest("main").await;
    let page = scene.get("/transcript").await;
    let shown = page.ok().json["entries"].as_array().unwrap().len();
    assert!(page.text.len() < 5 << 20 && page.json["more"] == true, "{}", page.text.len());
    let rest = scene.get(&format!("/transcript?before={}", page.json["next"])).await;
    assert_eq!(shown + rest.ok().json["entries"].as_array().unwrap().len(), 12);
}

#[tokio::test]
async fn attempts_belong_to_their_round_wherever_a_page_begins() {
    let fail = json!({ "kind": "server", "message": "away", "times": 2 });
    let call = json!({ "tool": "ExecCommand", "arguments": { "cmd": "true" } });
    let rounds = json!([{ "calls": [call] }, { "text": "done", "fail": fail }]);
    let change = |config: &mut holon_facts::Config| config.retry.backoff = holon_facts::Millis(1);
    let scene = Scene::with(Setup { rounds, change, ..Setup::default() }).await;
    scene.create("main").await;
    scene.prompt("main", "go").await.ok();
    scene.at_rest("main").await;
    let whole = scene.get("/transcript").await.ok().json["entries"].clone();
    let attempts = |entry: &Value| entry["data"]["attempts"].as_array().map(Vec::len);
    let counted: Vec<_> = whole.as_array().unwrap().iter().map(attempts).collect();
    assert_eq!(counted, [None, Some(1), None, Some(3)]);
    let newest = scene.get("/transcript?limit=1").await.ok().json["entries"].clone();
    assert_eq!(newest[0], whole[3]);
    let after = scene.get(&format!("/transcript?limit=1&after={}", whole[2]["event_seq"])).await;
    assert_eq!(after.ok().json["entries"][0], whole[3]);
}

#[tokio::test]
async fn the_list_has_public_agents_alone_in_pages() {
    let scene = Scene::start().await;
    for name in ["one", "main", "two"] {
        scene.create(name).await;
    }
    scene.post("/control/agents/hidden/create", json!({ "visibility": "private" })).await;
    let names = |reply: &super::Reply| -> Vec<String> {
        let entries: Vec<AgentListEntry> = decoded(&reply.ok().json["agents"]);
        entries.into_iter().map(|entry| entry.agent_id.to_string()).collect()
    };
    assert_eq!(names(&scene.get("/agents/list").await), ["main", "one", "two"]);
    let page = scene.get("/agents/list?limit=2").await;
    assert_eq!(names(&page), ["main", "one"]);
    assert_eq!((&page.json["more"], &page.json["next"]), (&true.into(), &"one".into()));
    let last = scene.get("/agents/list?limit=3").await;
    assert_eq!((&last.json["more"], last.json.get("next")), (&false.into(), None));
    assert_eq!(names(&scene.get("/agents/list?limit=2&after=one").await), ["two"]);
    scene.post("/control/agents/one/control", json!({ "action": "stop" })).await.ok();
    let entries: Vec<AgentListEntry> = decoded(&scene.get("/agents/list").await.json["agents"]);
    assert!(
        entries[0].is_default
            && entries[1].lifecycle_hint.as_ref().is_some_and(|hint| hint.contains("start"))
    );
    let status: RuntimeStatus = decoded(&scene.get("/control/runtime/status").await.ok().json.clone());
    assert_eq!(status.activity.active_agent_count, 3, "private ones work, too");
    assert_eq!(status.http_addr, Some(scene.address.to_string()));
}

#[tokio::test]
async fn reads_load_nobody_and_write_nothing() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "go").await.ok();
    scene.at_rest("main").await;
    let seq = scene.get("/status").await.json["event_seq"].clone();
    for path in [
        "/agents/list",
        "/status",
        "/state",
        "/briefs",
        "/transcript",
        "/agents/main/events",
        "/agents/main/why",
    ] {
        scene.get(path).await.ok();
    }
    assert_eq!(scene.get("/status").await.json["event_seq"], seq);
}

#[tokio::test]
async fn events_come_in_pages() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "go").await.ok();
    scene.at_rest("main").await;
    let page: EventsPage = decoded(&scene.get("/agents/main/events").await.ok().json.clone());
    let seqs: Vec<u64> = page.events.iter().map(|event| event.event_seq.0).collect();
    assert_eq!(seqs, (1..=page.last_event_seq.0).collect::<Vec<_>>());
    assert_eq!(page.events[0].kind, "agent_created");
    let last = page.last_event_seq.0;
    let seqs = |page: &super::Reply| -> Vec<u64> {
        let page: EventsPage = decoded(&page.ok().json);
        page.events.iter().map(|event| event.event_seq.0).collect()
    };
    assert_eq!(seqs(&scene.get("/agents/main/events?order=desc&limit=2").await), [last, last - 1]);
    assert_eq!(seqs(&scene.get("/agents/main/events?after_seq=2&before_seq=5").await), [3, 4]);
    assert_eq!(seqs(&scene.get(&format!("/agents/main/events?after_seq={last}")).await), [0; 0]);
    let beyond = scene.get(&format!("/agents/main/events?after_seq={}", last + 1)).await;
    assert_eq!(beyond.fails(409, "cursor_ahead").json["details"]["last_event_seq"], last);
    for path in ["/briefs?before=999", "/transcript?after=999"] {
        scene.get(path).await.fails(409, "cursor_ahead");
    }
}

#[tokio::test]
async fn a_decision_that_no_log_can_hold_is_one_that_there_is_not() {
    let scene = Scene::with_main().await;
    for at in [1 << 63, u64::MAX] {
        let reply = scene.get(&format!("/agents/main/scheduler-fixture?at={at}")).await;
        reply.fails(404, "unknown_event");
    }
}
