//! Events of all public agents in one order, page by page and as they happen.

use std::collections::BTreeMap;

use axum::http::Method;
use holon_api::{AllEvents, AllEventsQuery, AnyEvent, Control, Follow, LedgerSeq, Order};
use serde_json::{Value, json};

use super::stream::{Follower, Seen};
use super::{Scene, request};

/// A server with two agents and a private one, each with a turn behind it.
async fn three() -> Scene {
    let scene = Scene::start().await;
    for (agent, visibility) in [("one", "public"), ("hidden", "private"), ("two", "public")] {
        let path = format!("/control/agents/{agent}/create");
        scene.post(&path, json!({ "visibility": visibility })).await;
        scene.prompt(agent, "go").await.ok();
    }
    for agent in ["one", "hidden", "two"] {
        scene.at_rest(agent).await;
    }
    scene
}

async fn last(scene: &Scene) -> u64 {
    scene.get("/events?limit=1&order=desc").await.ok().json["events"][0]["position"].as_u64().unwrap()
}

fn seen_until(last: u64) -> impl AsyncFn(&mut Follower) -> Vec<Seen> {
    async move |follower| {
        let mut seen: Vec<Seen> = Vec::new();
        while seen.last().is_none_or(|seen| seen.id != Some(last)) {
            seen.push(follower.next().await.expect("the stream goes on"));
        }
        seen
    }
}

/// Each event once: per agent without a gap, overall with rising positions.
fn check(seen: &[Seen], begin: &BTreeMap<String, u64>) {
    let mut next = begin.clone();
    let mut position = 0;
    for Seen { id, kind, data } in seen {
        let at = id.expect("a cursor");
        assert!(at > position && data["position"] == at && data["type"] == *kind, "{data}");
        position = at;
        let agent = data["agent_id"].as_str().unwrap();
        assert_ne!(agent, "hidden");
        let seq = next.entry(agent.to_owned()).or_insert(1);
        assert_eq!(data["event_seq"], *seq, "{data}");
        *seq += 1;
    }
}

#[tokio::test]
async fn every_event_comes_once_from_wherever_a_follower_begins() {
    let scene = three().await;
    let before = last(&scene).await;
    let mut whole = Follower::at(&scene, "/events/stream?after=0", &[]).await;
    let first = seen_until(before)(&mut whole).await;
    check(&first, &BTreeMap::new());
    assert!(first.iter().any(|seen| seen.data["agent_id"] == "two"));
    let mut new = Follower::at(&scene, "/events/stream", &[]).await;
    let cursor = first[first.len() / 2].id.unwrap();
    let resumed = [("last-event-id", &*cursor.to_string())];
    let mut resumed = Follower::at(&scene, "/events/stream?after=3", &resumed).await;
    for agent in ["two", "one", "hidden", "two"] {
        scene.prompt(agent, "go on").await.ok();
    }
    for agent in ["one", "hidden", "two"] {
        scene.at_rest(agent).await;
    }
    let after = last(&scene).await;
    let until = seen_until(after);
    let rest = until(&mut whole).await;
    assert_eq!(until(&mut new).await, rest, "what is new is the same for all");
    let whole: Vec<Seen> = [first, rest].concat();
    check(&whole, &BTreeMap::new());
    assert_eq!(until(&mut resumed).await, whole[whole.iter().position(|it| it.id > Some(cursor)).unwrap()..]);
    let one = scene.get("/agents/one/events?limit=3").await.ok().json["events"][2].clone();
    let mut same = whole.iter().filter(|seen| seen.data["agent_id"] == "one").nth(2).unwrap().data.clone();
    same.as_object_mut().unwrap().remove("position");
    assert_eq!(same, one, "the envelope is that of the agent's own stream");
    assert_eq!(scene.hub.followed(), 0, "no agent is followed by itself");
}

#[tokio::test]
async fn pages_lead_from_one_to_the_next_in_both_directions() {
    let scene = three().await;
    let walk = async |order: &str, cursor: &str| {
        let (mut at, mut seen) = (String::new(), Vec::new());
        loop {
            let page = scene.get(&format!("/events?limit=7&order={order}{at}")).await.ok().json.clone();
            let events = page["events"].as_array().unwrap();
            seen.extend(events.iter().map(|event| event["position"].as_u64().unwrap()));
            if page["more"] == false {
                assert_eq!(page.get("next"), None);
                return seen;
            }
            at = format!("&{cursor}={}", page["next"]);
        }
    };
    let forward = walk("asc", "after").await;
    let mut back = walk("desc", "before").await;
    back.reverse();
    assert_eq!(forward, back);
    assert!(forward.len() > 21 && forward.windows(2).all(|two| two[0] < two[1]));
    let page = scene.get("/events?limit=2").await.ok().json.clone();
    assert!(page["last_position"].as_u64() >= forward.last().copied(), "{page}");
    for (query, code) in [
        ("limit=0", "invalid_query"),
        ("limit=513", "invalid_query"),
        ("order=up", "invalid_query"),
        ("after_seq=1", "invalid_query"),
        ("after=-1", "invalid_query"),
        ("after=99999", "cursor_ahead"),
    ] {
        let status = if code == "cursor_ahead" { 409 } else { 400 };
        scene.get(&format!("/events?{query}")).await.fails(status, code);
    }
    let ahead = scene.get("/events/stream?after=99999").await;
    assert!(ahead.fails(409, "cursor_ahead").json["details"]["last_position"].is_u64());
    let headers = [("last-event-id", "soon")];
    let odd = scene.send(request(Method::GET, "/events/stream", &headers, "")).await;
    odd.fails(400, "invalid_header");
}

#[tokio::test]
async fn a_damaged_event_is_shown_as_such_and_hides_no_other() {
    let scene = three().await;
    let sql = "UPDATE records SET payload = '{}' WHERE agent = 'one' AND event_seq = 3";
    rusqlite::Connection::open(scene.home.ledger_file()).unwrap().execute_batch(sql).unwrap();
    let query = AllEventsQuery { limit: Some(512), order: Some(Order::Asc), ..AllEventsQuery::default() };
    let page = scene.app.all_events(query).await.unwrap().into_reply();
    let damaged: Vec<&AnyEvent> =
        page.events.iter().filter(|event| matches!(event, AnyEvent::Damaged(_))).collect();
    let [AnyEvent::Damaged(damaged)] = damaged.as_slice() else { panic!("{damaged:?}") };
    assert_eq!((damaged.agent_id.as_str(), damaged.event_seq.0), ("one", 3));
    assert!(!damaged.problem.is_empty());
    let mut follow = scene.app.follow_all(Some(LedgerSeq(0)));
    for expected in &page.events {
        assert_eq!(follow.next().await.unwrap().position(), expected.position());
        assert_eq!(follow.cursor(), expected.position());
    }
    let damaged: Value = serde_json::to_value(damaged).unwrap();
    assert_eq!(damaged["type"], "event_damaged");
}
