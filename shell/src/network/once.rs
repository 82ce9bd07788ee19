//! A prompt whose answer is lost is sent again under its key: it is taken once, and each answer names it.

use std::collections::BTreeSet;
use std::time::Duration;

use holon_api::{Control, PromptQuery};
use serde_json::json;
use tokio::time::sleep;

use super::client::{at_rest, client, create_main, events, main, prompted};
use super::each_seed;
use super::server::{NAME, Server};

const PROMPTS: u64 = 12;
const LATENCY: Duration = Duration::from_millis(100);
/// How long the network is away.
const AWAY: Duration = Duration::from_millis(1_500);

#[test]
fn a_prompt_whose_answer_is_lost_is_taken_once() {
    each_seed(
        |network| {
            network.min_message_latency(LATENCY).max_message_latency(LATENCY);
        },
        |sim, timeline, mut dice| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                let operator = client().within(Duration::from_secs(2));
                let mut ids = BTreeSet::new();
                let mut lost = 0;
                for number in 0..PROMPTS {
                    // While it connects, on the way there, on the way back, or when all is over.
                    let moment = dice.time(number * 30, (number + 1) * 30);
                    tokio::task::spawn_local(async move {
                        sleep(moment).await;
                        turmoil::partition("operator", NAME);
                        sleep(AWAY).await;
                        turmoil::repair("operator", NAME);
                    });
                    let ask = async || {
                        let (text, key) = (format!("prompt {number}"), format!("key {number}"));
                        operator.prompt(&main(), PromptQuery::default(), prompted(&text), Some(key)).await
                    };
                    let taken = ask().await.unwrap();
                    lost += u64::from(taken.duplicate);
                    timeline.record(format!("{number}: {} ms, {}", moment.as_millis(), taken.duplicate));
                    sleep(AWAY * 2).await;
                    let again = ask().await.unwrap();
                    assert_eq!((again.message_id, again.duplicate), (taken.message_id, true));
                    ids.insert(json!(taken.message_id).to_string());
                }
                at_rest().await;
                assert!((1..PROMPTS).contains(&lost), "{lost} answers were lost");
                let admitted = events("message_admitted").await;
                let known = admitted.iter().map(|event| event["payload"]["message"]["id"].to_string());
                assert_eq!(admitted.len() as u64, PROMPTS);
                assert_eq!(known.collect::<BTreeSet<_>>(), ids);
                assert_eq!(events("turn_terminal").await.len() as u64, PROMPTS);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
