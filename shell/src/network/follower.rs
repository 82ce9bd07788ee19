//! Who follows an agent through a network that comes and goes sees every durable event once, in order.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use holon_api::{AllEvents, AnyEvent, Events, Follow, Followed, LedgerSeq};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::client::{at_rest, client, create_main, main, prompt};
use super::server::{NAME, Server};
use super::{Timeline, each_seed};

const PROMPTS: usize = 6;

/// The last event there is, once it is known.
#[derive(Default)]
struct Last {
    seq: Cell<Option<u64>>,
    known: Notify,
}

async fn operate(last: &Last) {
    create_main().await;
    for number in 0..PROMPTS {
        prompt(&format!("prompt {number}"), None).await;
        sleep(Duration::from_secs(15)).await;
    }
    last.seq.set(Some(at_rest().await));
    last.known.notify_one();
}

async fn follow(timeline: &Timeline, last: &Last) -> Vec<u64> {
    let mut follow = client().follow(&main(), Some(holon_facts::EventSeq(0)), false);
    let mut seen = Vec::new();
    while last.seq.get().is_none_or(|last| seen.last() != Some(&last)) {
        let next = tokio::select! {
            biased;
            next = follow.next() => next.unwrap(),
            () = last.known.notified() => continue,
        };
        let Followed::Event(event) = next else { panic!("{next:?}") };
        let seq = event.event_seq.0;
        timeline.record(format!("{seq} {}", event.kind));
        seen.push(seq);
    }
    assert_eq!(follow.cursor().map(|cursor| cursor.0), last.seq.get());
    seen
}

#[test]
fn every_event_comes_once_and_in_order_through_partitions() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let server = Server::start(sim, timeline, &json!([{ "text": "done", "delay_ms": 700 }]));
            let last = Rc::<Last>::default();
            let (known, told) = (last.clone(), timeline.clone());
            sim.client("operator", async move {
                operate(&known).await;
                told.record("the operator is done");
                Ok(())
            });
            let told = timeline.clone();
            sim.client("follower", async move {
                sleep(Duration::from_secs(3)).await;
                let seen = follow(&told, &last).await;
                assert_eq!(seen, (1..=last.seq.get().unwrap()).collect::<Vec<_>>());
                // Those that were lost on the way are let go of.
                while server.followed() > 0 {
                    sleep(Duration::from_secs(1)).await;
                }
                told.record("nobody follows");
                Ok(())
            });
            let told = timeline.clone();
            sim.client("weather", async move {
                for _ in 0..3 {
                    sleep(dice.time(3_000, 30_000)).await;
                    turmoil::partition("follower", NAME);
                    told.record("partition");
                    sleep(dice.time(100, 20_000)).await;
                    turmoil::repair("follower", NAME);
                    told.record("repair");
                }
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

#[test]
fn events_of_all_agents_come_once_and_in_order_through_partitions() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done", "delay_ms": 700 }]));
            let last = Rc::<Last>::default();
            let known = last.clone();
            sim.client("operator", async move {
                operate(&known).await;
                Ok(())
            });
            let timeline = timeline.clone();
            sim.client("follower", async move {
                sleep(Duration::from_secs(3)).await;
                let mut follow = client().follow_all(Some(LedgerSeq(0)));
                let (mut seqs, mut position) = (Vec::new(), LedgerSeq(0));
                while last.seq.get().is_none_or(|last| seqs.last() != Some(&last)) {
                    let next = tokio::select! {
                        biased;
                        next = follow.next() => next.unwrap(),
                        () = last.known.notified() => continue,
                    };
                    let AnyEvent::Event(event) = next else { panic!("{next:?}") };
                    let at = event.position.unwrap();
                    assert!(at > position && follow.cursor() == Some(at), "{at} after {position}");
                    position = at;
                    timeline.record(format!("{at} {} {}", event.event_seq, event.kind));
                    seqs.push(event.event_seq.0);
                }
                assert_eq!(seqs, (1..=last.seq.get().unwrap()).collect::<Vec<_>>());
                Ok(())
            });
            sim.client("weather", async move {
                for _ in 0..3 {
                    sleep(dice.time(3_000, 30_000)).await;
                    turmoil::partition("follower", NAME);
                    sleep(dice.time(100, 20_000)).await;
                    turmoil::repair("follower", NAME);
                }
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
