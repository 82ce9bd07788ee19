//! Networks and clients that are slow: what arrives in time is served, however late each piece of it is; what
//! doesn't is cut.

use std::time::Duration;

use holon_api::{Events, Follow, Followed};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};
use turmoil::net::TcpStream;

use super::client::{at_rest, client, create_main, events, head, main, prompt, prompt_head, say};
use super::each_seed;
use super::server::{NAME, PORT, Server};

/// A head has so long to arrive, and a body.
const HEAD: Duration = Duration::from_secs(10);
const BODY: Duration = Duration::from_secs(30);

#[test]
fn a_network_with_much_delay_is_a_network() {
    each_seed(
        |network| {
            network.min_message_latency(Duration::from_secs(1)).max_message_latency(Duration::from_secs(4));
        },
        |sim, timeline, _| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                let mut follow = client().follow(&main(), Some(holon_facts::EventSeq(0)), false);
                for number in 0..4 {
                    prompt(&format!("prompt {number}"), None).await;
                    timeline.record_untimed(number);
                }
                let last = at_rest().await;
                for expected in 1..=last {
                    let Followed::Event(event) = follow.next().await.unwrap() else { panic!("{expected}") };
                    assert_eq!(event.event_seq.0, expected);
                }
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

/// Sends byte by byte; says what came back, and after which time the connection ended.
async fn dribble(mut stream: TcpStream, text: String, pause: Duration) -> (String, Duration) {
    let began = Instant::now();
    let mut answer = Vec::new();
    for byte in text.bytes() {
        if stream.write_u8(byte).await.is_err() {
            break;
        }
        if timeout(pause, stream.read_buf(&mut answer)).await.is_ok_and(|read| !matches!(read, Ok(1..))) {
            return (String::from_utf8(answer).unwrap(), began.elapsed());
        }
    }
    drop(stream.read_to_end(&mut answer).await);
    (String::from_utf8(answer).unwrap(), began.elapsed())
}

#[test]
fn whoever_dribbles_is_cut_and_whoever_is_only_slow_is_served() {
    each_seed(
        |_| {},
        |sim, timeline, _| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                let second = Duration::from_secs(1);
                let stream = TcpStream::connect((NAME, PORT)).await?;
                let (answer, after) = dribble(stream, head("GET", "/status"), second).await;
                timeline.record(format!("a head: {} ms", after.as_millis()));
                assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
                assert!(after >= HEAD && after < HEAD + second * 2, "{after:?}");

                let body = json!({ "text": "x".repeat(20) }).to_string();
                let long = format!("{}\r\n", prompt_head(100));
                let (answer, after) = dribble(say(&long).await, format!("{body}{body}{body}"), second).await;
                timeline.record(format!("a body: {} ms", after.as_millis()));
                assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
                assert!(after >= BODY && after < BODY + HEAD + second * 2, "{after:?}");
                assert_eq!(events("message_admitted").await.len(), 0);

                let fits = format!("{}connection: close\r\n\r\n", prompt_head(body.len()));
                let pause = (BODY - second * 5) / u32::try_from(body.len())?;
                let (answer, after) = dribble(say(&fits).await, body, pause).await;
                timeline.record(format!("within the time: {} ms", after.as_millis()));
                assert!(answer.starts_with("HTTP/1.1 200 ") && after > BODY / 2, "{after:?} {answer}");
                assert_eq!(events("message_admitted").await.len(), 1);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

#[test]
fn what_was_held_up_on_its_way_arrives() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main().await;
                for number in 0..5 {
                    let (moment, away) = (dice.time(0, 200), dice.time(100, 4_000));
                    tokio::task::spawn_local(async move {
                        sleep(moment).await;
                        turmoil::hold("operator", NAME);
                        sleep(away).await;
                        turmoil::release("operator", NAME);
                    });
                    let taken = prompt(&format!("prompt {number}"), None).await;
                    assert!(!taken.duplicate);
                    timeline.record(number);
                    sleep(Duration::from_secs(5)).await;
                }
                at_rest().await;
                assert_eq!(events("message_admitted").await.len(), 5);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
