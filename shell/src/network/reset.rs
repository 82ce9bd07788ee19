//! Connections that are closed or reset in the middle of something: nothing of half a prompt is taken, nothing
//! is left of its connection, and others go on.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::client::{at_rest, create_main, events, head, prompt, prompt_head, read_head, say};
use super::each_seed;
use super::server::{Server, connections};

/// Longer than anything is on its way.
const ARRIVED: Duration = Duration::from_millis(250);

#[test]
fn half_a_prompt_is_none() {
    each_seed(
        |_| {},
        |sim, timeline, _| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                let body = json!({ "text": "half a prompt" }).to_string();
                let whole = format!("{}\r\n{body}", prompt_head(body.len()));
                // An answer that is not read makes a reset of what would have been a close.
                let unread = format!("{}\r\n", head("GET", "/healthz"));
                for reset in [false, true] {
                    for cut in (1..whole.len()).step_by(7).chain([whole.len() - 1]) {
                        let before = if reset { unread.as_str() } else { "" };
                        let stream = say(&format!("{before}{}", &whole[..cut])).await;
                        sleep(ARRIVED).await;
                        assert_eq!(connections(), 1, "{cut}");
                        drop(stream);
                        sleep(ARRIVED).await;
                        assert_eq!(connections(), 0, "reset: {reset}, after {cut} of {} bytes", whole.len());
                    }
                }
                assert_eq!(events("message_admitted").await.len(), 0);
                prompt("a whole one", None).await;
                at_rest().await;
                assert_eq!(events("message_admitted").await.len(), 1);
                timeline.record("taken");
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

#[test]
fn a_follower_that_resets_its_connection_is_forgotten_at_once() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                for number in 0..6 {
                    let mut gone = say(&format!("{}\r\n", head("GET", "/agents/main/events/stream"))).await;
                    let mut stays = say(&format!("{}\r\n", head("GET", "/agents/main/events/stream"))).await;
                    read_head(&mut gone).await;
                    read_head(&mut stays).await;
                    assert_eq!((connections(), server.followed()), (2, 1));
                    prompt(&format!("prompt {number}"), None).await;
                    sleep(dice.time(0, 300)).await;
                    drop(gone);
                    sleep(ARRIVED).await;
                    assert_eq!((connections(), server.followed()), (1, 1));
                    drop(stays);
                    sleep(ARRIVED).await;
                    assert_eq!((connections(), server.followed()), (0, 0));
                    timeline.record(number);
                }
                at_rest().await;
                assert_eq!(events("turn_terminal").await.len(), 6);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
