//! Law CX31: the state after an event is what the surface showed when that event was the newest, whatever had happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Scene, Setup};

const STATE: &str = "/agents/main/state?recent=0";

/// What an operator or a stranger does to the agent; `number` tells one from another.
async fn happens(scene: &Scene, what: u8, number: u8, folder: &Path) {
    let own = |path: &str| format!("/control/agents/main/{path}");
    let (path, body) = match what {
        0..4 => (own("prompt"), json!({ "text": format!("Prompt {number}. {}", "x".repeat(400)) })),
        4 => (own("timers"), json!({ "duration_ms": 3_600_000, "summary": format!("timer {number}") })),
        5 => (own(&format!("timers/timer_{number}/cancel")), json!({})),
        6 => (own("work-items"), json!({ "objective": format!("Objective {number}") })),
        7 => (own(&format!("work-items/work_{number}/complete")), json!({})),
        8 => (own("rename"), json!({ "name": format!("name-{number}") })),
        9 => (own("describe"), json!({ "description": format!("Description {number}") })),
        10 => (own("control"), json!({ "action": if number == 1 { "stop" } else { "start" } })),
        11 => (own("wake"), json!({ "reason": format!("Reason {number}") })),
        12 => (own("workspace/use"), json!({ "path": folder.join(number.to_string()) })),
        13 => (own("workspace/exit"), json!({})),
        14 => (own(&format!("triggers/{}", if number == 1 { "revoke" } else { "rotate" })), json!({})),
        15 => (own("compact"), json!({})),
        _ => ("/agents/main/enqueue".to_owned(), json!({ "text": format!("From elsewhere {number}.") })),
    };
    // What is refused has changed nothing, or is on record.
    let reply = scene.post(&path, body).await;
    assert!(!reply.status.is_server_error(), "{path}: {}", reply.text);
}

async fn rests(scene: &Scene) {
    for _ in 0..200 {
        let status = scene.get("/agents/main/status").await.ok().json.clone();
        if status["run"].is_null() && status["queue"]["entries"] == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Every state that was shown, by its newest event.
async fn lived(scene: &Scene, history: &[(u8, u8)], folder: &Path) -> BTreeMap<u64, Value> {
    let mut shown = BTreeMap::new();
    for (what, number) in history {
        happens(scene, *what, *number, folder).await;
        for at_rest in [false, true] {
            if at_rest {
                rests(scene).await;
            }
            let state = scene.get(STATE).await.ok().json.clone();
            shown.insert(state["event_seq"].as_u64().unwrap(), state);
        }
    }
    shown
}

/// What the law speaks of: deadlines of a run are those of its process.
fn lawful(mut state: Value) -> Value {
    if !state["agent"]["run"].is_null() {
        let why = state["why"].as_object_mut().unwrap();
        why.retain(|name, _| name != "deadlines" && name != "woken_by");
    }
    state
}

/// A state without the number of its event.
fn unnumbered(mut state: Value) -> Value {
    for part in ["/agent", "/why", ""] {
        let fields = state.pointer_mut(part).and_then(Value::as_object_mut);
        fields.into_iter().for_each(|fields| drop(fields.remove("event_seq")));
    }
    state
}

/// The first event at which the past is not what it was; `back` asks for an event so far before.
async fn differs(scene: &Scene, shown: &BTreeMap<u64, Value>, back: u64) -> Option<String> {
    for (at, then) in shown {
        let past = scene.get(&format!("{STATE}&at_seq={}", at - back)).await.ok().json.clone();
        let (past, then) = (lawful(past), lawful(then.clone()));
        let (past, then) = if back > 0 { (unnumbered(past), unnumbered(then)) } else { (past, then) };
        if past != then {
            let fields = then.as_object()?.iter().filter(|(name, value)| past[name.as_str()] != **value);
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name}: {value} was shown, now {}", past[name.as_str()]))
                .collect();
            return Some(format!("after event {at}: {}", fields.join("\n")));
        }
    }
    None
}

fn rounds() -> Value {
    json!([
        { "text": "two", "calls": [{ "tool": "WaitFor", "arguments": { "reason": "an answer", "wake": "operator_input" } }] },
        { "text": "three", "calls": [{ "tool": "NotifyOperator",
            "arguments": { "message": "Look here.", "urgency": "action_required" } }] },
        { "text": "four", "calls": [{ "tool": "Sleep", "arguments": { "duration_ms": 3_600_000 } }] },
        { "text": "done", "usage": { "input_tokens": 900, "output_tokens": 20 } },
    ])
}

fn history() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0_u8..18, 1_u8..4), 3..10)
}

/// Lives through a history, and looks back; then again from what a restart has stored.
fn looks_back(history: &[(u8, u8)], back: u64) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let folders = tempfile::tempdir().unwrap();
        for number in 1..4 {
            std::fs::create_dir(folders.path().join(number.to_string())).unwrap();
        }
        let scene = Scene::with(Setup { rounds: rounds(), ..Setup::default() }).await;
        scene.create("main").await;
        let shown = lived(&scene, history, folders.path()).await;
        if let Some(difference) = differs(&scene, &shown, back).await {
            return Some(difference);
        }
        let scene = scene.again(Setup { rounds: rounds(), ..Setup::default() }).await;
        differs(&scene, &shown, back).await.map(|difference| format!("after a restart, {difference}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn the_state_after_an_event_is_what_was_shown_then(history in history()) {
        let difference = looks_back(&history, 0);
        prop_assert!(difference.is_none(), "{}", difference.unwrap_or_default());
    }
}

/// The check finds a fold that stops one event early.
#[test]
fn a_fold_that_stops_early_is_found() {
    let difference = looks_back(&[(0, 1), (6, 1)], 1).unwrap();
    assert!(difference.starts_with("after event"), "{difference}");
}
