//! Why an agent is as it is, from facts alone.

use holon_api::{AgentState, AgentWhy};
use holon_facts::Millis;
use serde_json::{Value, json};

use super::{Scene, Setup};

/// A scene whose model fails in this way, with one prompt given.
async fn failing(kind: &str) -> Scene {
    let message = "away:\n  come back later";
    let rounds = json!([{ "fail": { "kind": kind, "message": message, "times": 1_000 }, "text": "late" }]);
    let change = |config: &mut holon_facts::Config| {
        config.retry.backoff = Millis(1);
        config.hold.steps = vec![Millis::hours(1)];
    };
    let scene = Scene::with(Setup { rounds, change, ..Setup::default() }).await;
    scene.create("main").await;
    scene.prompt("main", "go").await.ok();
    scene
}

async fn why(scene: &Scene) -> Value {
    scene.get("/agents/main/why").await.ok().json.clone()
}

/// Waits until an explanation has a field.
async fn why_with(scene: &Scene, field: &str) -> Value {
    why_when(scene, |told| told.pointer(field).is_some()).await
}

async fn why_when(scene: &Scene, is_so: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..5_000 {
        let told = why(scene).await;
        if is_so(&told) {
            return told;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("it is never so: {}", why(scene).await);
}

/// The event that is said to be something.
async fn event(scene: &Scene, mark: &Value) -> Value {
    let seq = mark["event_seq"].as_u64().unwrap();
    let page = scene.get(&format!("/agents/main/events?after_seq={}&limit=1", seq - 1)).await;
    let event = page.ok().json["events"][0].clone();
    assert_eq!(event["ts"], mark["at"]);
    event
}

#[tokio::test]
async fn what_is_pending_has_no_verdict_and_the_last_turn_is_history() {
    let rounds = json!([{ "text": "late", "delay_ms": 60_000 }]);
    let scene = Scene::with(Setup { rounds, ..Setup::default() }).await;
    scene.create("main").await;
    scene.prompt("main", "go").await.ok();
    scene.post("/control/agents/main/current-run/abort", json!({})).await.ok();
    let rests = why(&scene).await;
    assert_eq!((&rests["verdict"], &rests["last_turn"]["kind"]), (&json!("aborted"), &json!("aborted")));
    scene.prompt("main", "more").await.ok();
    let asks = why_with(&scene, "/run").await;
    assert_eq!((asks.get("verdict"), &asks["last_turn"]["kind"]), (None, &json!("aborted")));
    assert!(asks["run"]["since"].as_str() >= asks["run"]["started_at"].as_str(), "{asks}");
    let state: AgentState = serde_json::from_value(scene.get("/state").await.ok().json.clone()).unwrap();
    assert_eq!(state.why.explanation.verdict, None);
    let waits = scene.prompt("main", "and more").await.ok().json.clone();
    assert_eq!(why(&scene).await["queue"]["head"]["message_id"], waits["message_id"]);
}

#[tokio::test]
async fn a_decision_has_its_own_event() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "go").await.ok();
    scene.at_rest("main").await;
    let told = why(&scene).await;
    let event = event(&scene, &told["last_decision_event"]).await;
    assert_eq!((&event["type"], &event["payload"]), (&json!("scheduler_decision"), &told["last_decision"]));
    assert_ne!(told["decision"]["evidence"], told["last_decision"]["evidence"], "it was awake then");
}

#[tokio::test]
async fn a_failure_says_what_it_was_and_with_which_message() {
    let scene = failing("client").await;
    let told = why_with(&scene, "/failure").await;
    let failure = &told["failure"];
    assert_eq!((&told["verdict"], &failure["kind"]), (&json!("failed"), &json!("client")));
    assert_eq!(
        (&failure["text"], &failure["message_id"]),
        (&json!("away: come back later"), &json!("msg_1"))
    );
    let event = event(&scene, &failure["event"]).await;
    assert_eq!((&event["type"], &event["payload"]["run_id"]), (&json!("runtime_error"), &failure["run_id"]));
    assert_eq!(told.get("hold_error"), None);
}

/// However many messages come in meanwhile.
#[tokio::test]
async fn a_hold_says_what_it_is_for_and_a_decision_its_event() {
    let scene = failing("server").await;
    let told = why_with(&scene, "/hold_error").await;
    let error = &told["hold_error"];
    assert_eq!((&told["verdict"], &error["kind"]), (&json!("waiting_for_timer"), &json!("server")));
    assert_eq!((&error["text"], &error["message_id"]), (&json!("away: come back later"), &json!("msg_1")));
    let attempt = event(&scene, &error["event"]).await;
    assert_eq!(attempt["type"], "provider_attempt_recorded");
    assert_eq!(attempt["payload"]["attempt"]["outcome"], "retries_exhausted");
    let before = told["event_seq"].as_u64().unwrap();
    let body = json!({ "kind": "channel_event", "source": "ci", "body": { "type": "text", "text": "more" } });
    for _ in 0..600 {
        scene.post("/agents/main/enqueue", body.clone()).await.ok();
    }
    let later: AgentWhy = serde_json::from_value(why(&scene).await).unwrap();
    assert!(later.explanation.event_seq.0 >= before + 600);
    assert_eq!(serde_json::to_value(&later.hold_error).unwrap(), *error);
    assert_eq!(serde_json::to_value(later.last_decision_event).unwrap(), told["last_decision_event"]);
    let ignored = json!({ "fact": "ignored_queue", "entries": 601 });
    let evidence = serde_json::to_value(&later.explanation.decision.evidence).unwrap();
    assert!(evidence.as_array().unwrap().contains(&ignored), "{evidence}");
}

/// However long the run is: a decision that began it, and one beside it that later ones repeat.
#[tokio::test]
async fn a_decision_is_found_far_behind_the_newest_events() {
    let round = |round: u32| {
        let call =
            |number: u32| json!({ "tool": "Levitate", "arguments": { "round": round, "number": number } });
        json!({ "calls": (0..100).map(call).collect::<Vec<_>>(), "delay_ms": if round == 0 { 200 } else { 0 } })
    };
    let mut rounds: Vec<Value> = (0..7).map(round).collect();
    rounds.push(json!({ "text": "late", "delay_ms": 60_000 }));
    for beside in [false, true] {
        let scene = Scene::with(Setup { rounds: json!(rounds), ..Setup::default() }).await;
        scene.create("main").await;
        scene.prompt("main", "go").await.ok();
        if beside {
            scene.prompt("main", "more").await.ok();
        }
        let told = why_when(&scene, |told| told["run"]["rounds"] == 7).await;
        let reason = if beside { "run_in_progress" } else { "queued_message" };
        assert_eq!(told["last_decision"]["reason"], reason);
        let event = event(&scene, &told["last_decision_event"]).await;
        assert_eq!(event["payload"], told["last_decision"]);
        let since = told["event_seq"].as_u64().unwrap() - event["event_seq"].as_u64().unwrap();
        assert!(beside || since > 600, "the second prompt may have come late, the first did not: {since}");
    }
}

#[tokio::test]
async fn damaged_events_are_told_and_keep_nothing_else_back() {
    let scene = Scene::with_main().await;
    scene.at_rest("main").await;
    let whole = why(&scene).await;
    rusqlite::Connection::open(scene.home.ledger_file())
        .unwrap()
        .execute("UPDATE records SET payload = '{}' WHERE kind = 'scheduler_decision'", [])
        .unwrap();
    let told = why(&scene).await;
    assert!(told["events_damaged"].as_str().is_some_and(|problem| problem.contains("agent main")), "{told}");
    assert_eq!((told.get("last_decision_event"), &told["decision"]), (None, &whole["decision"]));
}
