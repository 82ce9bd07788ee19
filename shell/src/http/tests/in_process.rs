//! Whoever asks in this process is answered as over HTTP.

use holon_api::{Control, CreateTimer, Events, Follow, Followed, Output, Prompt, PromptQuery, TimersQuery};
use holon_facts::EventSeq;
use holon_facts::ids::TaskId;
use serde_json::json;

use super::Scene;

#[tokio::test]
async fn what_is_asked_in_the_process_is_what_is_asked_over_http() {
    let scene = Scene::with_main().await;
    let (app, main) = (scene.app.clone(), scene.main());
    let status = app.status(&main).await.unwrap();
    let served = scene.get("/agents/main/status").await.ok().json.clone();
    assert_eq!(serde_json::to_value(&*status).unwrap()["agent_id"], served["agent_id"]);
    assert_eq!(json!(status.summary.event_seq), served["event_seq"]);
    let timer = CreateTimer { duration_ms: 60_000, interval_ms: None, misfire: None, summary: None };
    let made = app.create_timer(&main, timer, None).await.unwrap();
    assert!(made.changed);
    let cancelled = app.cancel_timer((&main, made.timer.timer_id)).await.unwrap();
    assert!(cancelled.changed);
    let listed = app.timers(&main, TimersQuery::default()).await.unwrap();
    assert_eq!(listed.timers.len(), 1);
    let prompt: Prompt = serde_json::from_value(json!({ "text": "hello" })).unwrap();
    let taken =
        app.prompt(&main, PromptQuery::default(), prompt.clone(), Some("once".to_owned())).await.unwrap();
    let again = app.prompt(&main, PromptQuery::default(), prompt, Some("once".to_owned())).await.unwrap();
    assert_eq!((again.message_id, again.duplicate), (taken.message_id, true));
    let nobody = holon_facts::AgentId::new("nobody").unwrap();
    let mut output = app.follow_output((&main, TaskId(7)), 0);
    assert_eq!(output.next().await.unwrap_err().code(), Some("unknown_task"));
    assert_eq!(app.why(&nobody).await.unwrap_err().code(), Some("unknown_agent"));
}

#[tokio::test]
async fn events_are_followed_in_the_process_from_a_cursor() {
    let scene = Scene::with_main().await;
    let (app, main) = (scene.app.clone(), scene.main());
    let last = app.status(&main).await.unwrap().summary.event_seq;
    let mut follow = app.follow(&main, Some(EventSeq(0)), false);
    for expected in 1..=last.0 {
        let Followed::Event(event) = follow.next().await.unwrap() else { panic!("{expected}") };
        assert_eq!(event.event_seq.0, expected);
    }
    assert_eq!(follow.cursor(), Some(last));
}
