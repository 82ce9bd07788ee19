//! What an attempt ends with, and when.

use std::time::Duration;

use holon_facts::Millis;
use holon_facts::model::{AnswerBlock, FailureKind};
use holon_models::ProviderOptions;
use holon_models::testing::Asking;
use tokio::time::Instant;

use super::{PROVIDER, Server, host, providers};
use crate::network::{Timeline, each_seed};

/// Far less than any time-out.
const SOON: Duration = Duration::from_secs(5);
const CONNECT: Millis = Millis::seconds(15);
const FIRST: Millis = Millis::seconds(25);
const IDLE: Millis = Millis::seconds(20);
const WHOLE: Millis = Millis::seconds(60);

/// A server, where an attempt at it fails, and after which time at the earliest.
type Case = (Server, FailureKind, &'static str, Millis);

const SECOND: Duration = Duration::from_secs(1);
const FAILURES: [Case; 9] = [
    (Server::Silent, FailureKind::Timeout, "first_byte", FIRST),
    (Server::Begins, FailureKind::Timeout, "first_byte", FIRST),
    (Server::Stalls, FailureKind::Timeout, "idle", IDLE),
    (Server::Endless { pause: SECOND }, FailureKind::Timeout, "whole", WHOLE),
    (Server::Closes, FailureKind::StreamCut, "response", Millis(0)),
    (Server::ClosesDocument, FailureKind::StreamCut, "body", Millis(0)),
    (Server::ClosesStream, FailureKind::StreamCut, "stream", Millis(0)),
    (Server::Resets, FailureKind::StreamCut, "response", Millis(0)),
    (Server::ResetsStream, FailureKind::StreamCut, "body", Millis(0)),
];

fn asking() -> Asking {
    let options = ProviderOptions {
        connect_timeout: CONNECT,
        first_byte_timeout: FIRST,
        idle_timeout: IDLE,
        ..ProviderOptions::default()
    };
    Asking::of("local", providers(options)).within(WHOLE.0)
}

/// One attempt that fails as it should.
async fn fails(timeline: &Timeline, kind: FailureKind, stage: &str, after: Millis) {
    let (asking, began) = (asking(), Instant::now());
    let failure = asking.failure().await;
    let (took, after) = (began.elapsed(), Duration::from_millis(after.0));
    timeline.record(format!("{kind:?} {stage} after {} ms", took.as_millis()));
    assert_eq!((failure.kind, failure.diagnostics.as_ref().unwrap().stage.as_str()), (kind, stage));
    assert!(took >= after && took < after + SOON, "{took:?}: {}", asking.message(&failure));
    assert!(failure.timing.duration_ms.0.abs_diff(u64::try_from(took.as_millis()).unwrap()) <= 5);
}

#[test]
fn each_way_to_break_has_its_kind_and_its_time() {
    const SERVERS: [Server; FAILURES.len()] = {
        let mut servers = [Server::Silent; FAILURES.len()];
        let mut number = 0;
        while number < FAILURES.len() {
            servers[number] = FAILURES[number].0;
            number += 1;
        }
        servers
    };
    each_seed(
        |_| {},
        |sim, timeline, _| {
            host(sim, &SERVERS);
            let timeline = timeline.clone();
            sim.client("runtime", async move {
                for (server, kind, stage, after) in FAILURES {
                    timeline.record(format!("{server:?}"));
                    fails(&timeline, kind, stage, after).await;
                }
                assert_eq!(asking().answer().await.blocks.len(), 1, "later connections are answered");
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

#[test]
fn a_network_that_is_away_is_told_from_one_that_is_slow() {
    const SLOW: Server = Server::Streams { pause: Duration::from_secs(15) };
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            host(sim, &[SLOW, SLOW, SLOW]);
            let timeline = timeline.clone();
            sim.client("runtime", async move {
                turmoil::partition("runtime", PROVIDER);
                fails(&timeline, FailureKind::Connect, "connect", Millis(0)).await;
                turmoil::repair("runtime", PROVIDER);
                turmoil::hold("runtime", PROVIDER);
                fails(&timeline, FailureKind::Timeout, "connect", CONNECT).await;
                // The connection that nobody waits for any more reaches the server, which finds it closed.
                turmoil::release("runtime", PROVIDER);

                let answer = asking().answer().await;
                timeline.record("slow");
                let AnswerBlock::Text { text } = &answer.blocks[0] else { panic!("{answer:?}") };
                assert_eq!(text.preview(), "word word word ");

                // The second piece comes after 15 s, and the third never.
                let moment = dice.time(16_000, 29_000);
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(moment).await;
                    turmoil::partition("runtime", PROVIDER);
                });
                fails(&timeline, FailureKind::Timeout, "idle", Millis(15_000 + IDLE.0)).await;
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}
