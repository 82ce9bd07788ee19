//! An agent as it stood after one of its events, a request by its id, and events with what they mean to people.

use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, get};
use serde_json::{Value, json};

fn read(daemon: &Daemon, path: &str) -> Value {
    let Answered { status, body } = get(&daemon.run_file("holon.sock"), path).expect("an answer");
    assert_eq!(status, 200, "{path}: {body}");
    body
}

#[test]
fn the_state_after_an_event_is_what_it_was_when_that_was_the_newest() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut seen = Vec::new();
    for text in ["one", "two", "three"] {
        daemon.ok(&["prompt", "--wait=settled", text]);
        seen.push(read(&daemon, "/agents/main/state"));
    }
    assert_ne!(seen[0]["event_seq"], seen[1]["event_seq"]);
    let check = |then: &Value| {
        let at = then["event_seq"].to_string();
        let now = read(&daemon, &format!("/agents/main/state?at_seq={at}"));
        assert_eq!(now, *then, "after event {at}");
        let told = daemon.ok(&["status", "--at", &at, "--json"]).json();
        assert_eq!(told, then["agent"], "after event {at}");
    };
    seen.iter().for_each(check);
    // From the states that a restart stores, too.
    daemon.ok(&["daemon", "restart"]);
    seen.iter().for_each(check);
    assert_eq!(read(&daemon, "/agents/main/state?at_seq=1&recent=0")["event_seq"], 1);

    let last = read(&daemon, "/agents/main/state")["event_seq"].as_u64().expect("a number");
    for beyond in [0, last + 1] {
        let path = format!("/agents/main/state?at_seq={beyond}");
        let refused = get(&daemon.run_file("holon.sock"), &path).expect("an answer");
        assert_eq!((refused.status, &refused.body["code"]), (404, &json!("unknown_event")), "{refused:?}");
        assert_eq!(refused.body["details"]["last_event_seq"], last, "{refused:?}");
    }
    let refused = daemon.0.run(&["status", "--at", &(last + 1).to_string()]);
    refused.refused(3, &[&format!("no event {}: ", last + 1), &format!("from 1 to {last}")]);
}

#[test]
fn a_request_is_shown_by_its_id_as_the_command_shows_it() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hi"]);
    let page = read(&daemon, "/agents/main/events?limit=512");
    let events = page["events"].as_array().expect("events");
    let opened = events.iter().find(|event| event["payload"]["kind"] == "call_model").expect("a request");
    let id = opened["payload"]["op"].as_str().expect("an id");
    let shown = read(&daemon, &format!("/agents/main/requests/{id}"));
    assert_eq!(shown, daemon.ok(&["debug", "prompt", "--request", id, "--json"]).json());
    assert_eq!(shown["request"]["request_id"], *id, "{shown}");
    let missing = get(&daemon.run_file("holon.sock"), "/agents/main/requests/op_999999").expect("an answer");
    assert_eq!((missing.status, &missing.body["code"]), (404, &json!("unknown_request")), "{missing:?}");
}

#[test]
fn events_come_with_what_they_mean_where_that_is_asked_for() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hi there"]);
    for path in ["/agents/main/events?limit=512", "/events?limit=512"] {
        let (bare, shown) = (read(&daemon, path), read(&daemon, &format!("{path}&present=true")));
        let (bare, shown) =
            (bare["events"].as_array().expect("events"), shown["events"].as_array().expect("events"));
        assert!(!bare.is_empty() && bare.len() == shown.len());
        for (bare, shown) in bare.iter().zip(shown) {
            let mut without = shown.clone();
            let presentation = without.as_object_mut().and_then(|event| event.remove("presentation"));
            let presentation = presentation.expect("a presentation");
            assert_eq!(without, *bare);
            assert_eq!(presentation["source_event_kind"], bare["type"], "{shown}");
        }
        let message = shown.iter().find(|event| event["type"] == "message_admitted").expect("a message");
        assert_eq!(message["presentation"]["body"], "hi there", "{message}");
    }
}
