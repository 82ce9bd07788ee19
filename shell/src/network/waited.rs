//! Whoever waits for a prompt through a network that comes and goes has its outcome, and prompts once.

use std::time::Duration;

use holon_api::{Control, PromptQuery, WaitUntil};
use serde_json::json;
use tokio::time::sleep;

use super::client::{client, create_main, events, main, prompted};
use super::each_seed;
use super::server::{NAME, Server};

const PROMPTS: u64 = 5;

#[test]
fn a_wait_that_is_cut_goes_on_with_the_same_key() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done", "delay_ms": 2_000 }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                let query = PromptQuery { wait: Some(WaitUntil::Turn), timeout_ms: Some(4_000) };
                for number in 0..PROMPTS {
                    let moment = dice.time(number * 500, (number + 1) * 500);
                    tokio::task::spawn_local(async move {
                        sleep(moment).await;
                        turmoil::partition("operator", NAME);
                        sleep(Duration::from_secs(3)).await;
                        turmoil::repair("operator", NAME);
                    });
                    let (text, key) = (format!("prompt {number}"), format!("key {number}"));
                    let operator = client().within(Duration::from_secs(2));
                    let agent = main();
                    let reply = loop {
                        let sent = operator.prompt(&agent, query.clone(), prompted(&text), Some(key.clone()));
                        if let Some(reply) = sent.await.ok().filter(|reply| reply.ended == Some(true)) {
                            break reply;
                        }
                        sleep(Duration::from_secs(1)).await;
                    };
                    timeline.record(format!("{number}: {} {}", reply.message_id, reply.duplicate));
                    let outcome = reply.outcome.as_ref().unwrap();
                    assert_eq!((outcome.final_text.as_deref(), outcome.exit_code), (Some("done"), 0));
                    sleep(Duration::from_secs(5)).await;
                }
                assert_eq!(events("message_admitted").await.len() as u64, PROMPTS);
                assert_eq!(events("turn_terminal").await.len() as u64, PROMPTS);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
