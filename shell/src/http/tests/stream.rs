//! The event stream: every event once, in order, from wherever a client begins.

use std::time::Duration;

use axum::http::Method;
use holon_facts::{AgentId, OpId};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Scene, answer, request};
use crate::live::Live;

/// One client of a stream.
pub(super) struct Follower {
    body: Incoming,
    text: String,
}

/// One event as a client sees it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) id: Option<u64>,
    pub(super) kind: String,
    pub(super) data: Value,
}

impl Follower {
    async fn open(scene: &Scene, query: &str, headers: &[(&str, &str)]) -> Self {
        Self::at(scene, &format!("/agents/main/events/stream{query}"), headers).await
    }

    pub(super) async fn at(scene: &Scene, path: &str, headers: &[(&str, &str)]) -> Self {
        let response = answer(scene.unix().await, request(Method::GET, path, headers, "")).await;
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next event; none at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Seen> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (seen, rest) = (parse(block), rest.to_owned());
                self.text = rest;
                if let Some(seen) = seen {
                    return Some(seen);
                }
            }
            let frame = tokio::time::timeout(Duration::from_secs(20), self.body.frame()).await.unwrap()?;
            let data = frame.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    pub(super) async fn until(&mut self, last: u64) -> Vec<u64> {
        let mut seqs = Vec::new();
        while seqs.last() != Some(&last) {
            seqs.extend(self.next().await.expect("the stream goes on").id);
        }
        seqs
    }
}

fn parse(block: &str) -> Option<Seen> {
    let mut seen = Seen::default();
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => seen.id = Some(id.parse().unwrap()),
            Some(("event", kind)) => seen.kind = kind.to_owned(),
            Some(("data", data)) => seen.data = serde_json::from_str(data).unwrap(),
            Some(("" | "retry", _)) | None => {}
            Some((name, _)) => panic!("{name}"),
        }
    }
    (!seen.kind.is_empty()).then_some(seen)
}

async fn last(scene: &Scene) -> u64 {
    scene.at_rest("main").await;
    scene.get("/status").await.json["event_seq"].as_u64().unwrap()
}

#[tokio::test]
async fn from_the_start_from_here_and_after_a_cut() {
    let scene = Scene::with_main().await;
    scene.prompt("main", "one").await.ok();
    let before = last(&scene).await;
    let mut whole = Follower::open(&scene, "?after_seq=0", &[]).await;
    let mut new = Follower::open(&scene, "", &[]).await;
    let mut resumed = Follower::open(&scene, "?after_seq=1", &[("last-event-id", "5")]).await;
    scene.prompt("main", "two").await.ok();
    let after = last(&scene).await;
    assert_eq!(whole.until(after).await, (1..=after).collect::<Vec<_>>());
    assert_eq!(new.until(after).await, (before + 1..=after).collect::<Vec<_>>());
    assert_eq!(resumed.until(after).await, (6..=after).collect::<Vec<_>>());
    drop(whole);
    let mut again = Follower::open(&scene, "?after_seq=3", &[]).await;
    let seen = again.next().await.unwrap();
    let page = scene.get("/agents/main/events?after_seq=3&limit=1").await.ok().json["events"][0].clone();
    assert_eq!((seen.id, seen.kind.as_str(), &seen.data), (Some(4), page["type"].as_str().unwrap(), &page));
}

#[tokio::test]
async fn cursors_from_the_future_are_refused_with_the_last_event() {
    let scene = Scene::with_main().await;
    let last = last(&scene).await;
    let path = format!("/agents/main/events/stream?after_seq={}", last + 1);
    let reply = scene.get(&path).await;
    assert_eq!(reply.fails(409, "cursor_ahead").json["details"]["last_event_seq"], last);
    let headers = [("last-event-id", "999")];
    let reply = scene.send(request(Method::GET, "/agents/main/events/stream", &headers, "")).await;
    assert_eq!(reply.fails(409, "cursor_ahead").json["details"]["field"], "Last-Event-ID");
}

#[tokio::test]
async fn live_text_comes_to_those_who_ask_and_has_no_id() {
    let scene = Scene::with_main().await;
    let mut live = Follower::open(&scene, "?live=true", &[]).await;
    let mut plain = Follower::open(&scene, "", &[]).await;
    // As a model with a stream shows it.
    let (agent, op) = (AgentId::new("main").unwrap(), OpId(7));
    for piece in ["do", "ne\n\n"] {
        scene.hub.live().send(Live::Text { agent: agent.clone(), op, piece: piece.to_owned() });
    }
    scene.prompt("main", "one").await.ok();
    let after = last(&scene).await;
    let (mut attempts, mut text, mut ended) = (0, String::new(), false);
    // Durable events stand before live ones: an attempt may be told after the turn that it brought.
    while !(ended && attempts == 1) {
        let seen = live.next().await.unwrap();
        ended |= seen.id == Some(after);
        if seen.kind.starts_with("live_") {
            assert_eq!((seen.id, seen.data["agent_id"].as_str()), (None, Some("main")));
            text.push_str(seen.data["text"].as_str().unwrap_or_default());
            attempts += usize::from(seen.kind == "live_attempt");
        }
    }
    assert_eq!(text, "done\n\n");
    while let Some(seen) = plain.next().await {
        assert!(!seen.kind.starts_with("live_"));
        if seen.id == Some(after) {
            break;
        }
    }
}

#[tokio::test]
async fn streams_end_when_the_server_leaves() {
    let scene = Scene::with_main().await;
    let mut follower = Follower::open(&scene, "", &[]).await;
    scene.shutdown.ask();
    assert_eq!(follower.next().await, None);
    tokio::time::timeout(Duration::from_secs(5), async {
        while scene.hub.followed() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_silent_stream_says_that_it_is_alive() {
    let scene = Scene::with_main().await;
    let mut follower = Follower::open(&scene, "", &[]).await;
    let begin = follower.body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(begin.starts_with(b": events\n"));
    tokio::time::pause();
    let frame = follower.body.frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap().as_ref(), b": alive\n\n");
}

/// Whoever does not read is cut, and goes on after the last event that it has.
#[tokio::test]
async fn whoever_does_not_read_is_cut_and_resumes() {
    let scene = Scene::with_main().await;
    // A socket of this machine holds less on its way than a connection over TCP.
    let mut stream = scene.unix().await;
    let head = "GET /agents/main/events/stream?after_seq=0 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for number in 0..60 {
        let text = format!("{number} {}", "x".repeat(200));
        scene.prompt("main", &text).await.ok();
    }
    let after = last(&scene).await;
    assert_eq!(scene.hub.followed(), 1);
    let cut = async {
        while scene.hub.followed() > 0 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::pause();
    tokio::time::timeout(Duration::from_secs(120), cut).await.expect("it is cut");
    tokio::time::resume();
    let mut text = Vec::new();
    drop(stream.read_to_end(&mut text).await);
    let text = String::from_utf8_lossy(&text);
    // Its last event is the last one that came whole.
    let whole = &text[..text.rfind("\n\n").unwrap()];
    let ids = whole.lines().filter_map(|line| line.strip_prefix("id: "));
    let seen: Vec<u64> = ids.map(|id| id.trim().parse().unwrap()).collect();
    assert!(seen.len() < usize::try_from(after).unwrap(), "it did not read");
    let cursor = seen.len() as u64;
    assert_eq!(seen, (1..=cursor).collect::<Vec<_>>());
    let id = cursor.to_string();
    let mut resumed = Follower::open(&scene, "", &[("last-event-id", &id)]).await;
    assert_eq!(resumed.until(after).await, (cursor + 1..=after).collect::<Vec<_>>());
}

/// Five hundred who wait for something cost what a connection costs, and all see it.
#[tokio::test]
async fn many_follow_one_agent() {
    let scene = Scene::with_main().await;
    let mut followers = Vec::new();
    for _ in 0..500 {
        followers.push(Follower::open(&scene, "", &[]).await);
    }
    let before = last(&scene).await;
    scene.prompt("main", "all of you").await.ok();
    let after = last(&scene).await;
    for follower in &mut followers {
        assert_eq!(follower.until(after).await, (before + 1..=after).collect::<Vec<_>>());
    }
}
