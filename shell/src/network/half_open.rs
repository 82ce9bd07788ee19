//! A client that is gone without a word: its machine is cut off and goes down. The server lets go of every
//! connection by its own time-outs, serves others meanwhile, and does not stay for it when it leaves.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use holon_platform::spawn;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tokio::time::{Instant, sleep};
use turmoil::Sim;
use turmoil::net::TcpStream;

use super::client::{at_rest, client, create_main, head, prompt, prompt_head, read_head, say, shut_down};
use super::server::{NAME, PORT, Server, connections};
use super::{Timeline, each_seed};
use holon_api::Control;

const VICTIM: &str = "victim";
/// Segments that are on their way to a client before the server waits for it.
const CAPACITY: usize = 4;
/// The connections of the victim.
const CONNECTIONS: usize = 6;
/// When each of them is gone at the latest: that of a follower takes some heartbeats (15 s each), and then nothing
/// for 30 s.
const GONE: Duration = Duration::from_secs(15 * (CAPACITY as u64 + 1) + 30 + 5);

/// A client in every state that a connection can be in.
async fn connect_all(ready: Rc<Cell<bool>>) -> turmoil::Result {
    let silent = TcpStream::connect((NAME, PORT)).await?;
    let half_a_head = say(&head("GET", "/status")).await;
    let half_a_body = say(&format!("{}\r\n{{\"text\": \"ha", prompt_head(100))).await;
    let mut idle = say(&format!("{}\r\n", head("GET", "/healthz"))).await;
    read_head(&mut idle).await;
    let mut follower = say(&format!("{}\r\n", head("GET", "/agents/main/events/stream"))).await;
    read_head(&mut follower).await;
    let multiplexed = TokioIo::new(TcpStream::connect((NAME, PORT)).await?);
    let handshake = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake::<_, Empty<&[u8]>>(multiplexed);
    let (mut sender, connection) = handshake.await?;
    let connection = spawn::task(connection);
    let asked = http::Request::get(format!("http://{NAME}:{PORT}/healthz")).body(Empty::new())?;
    assert_eq!(sender.send_request(asked).await?.status().as_u16(), 200);
    ready.set(true);
    std::future::pending::<()>().await;
    drop((silent, half_a_head, half_a_body, idle, follower, sender, connection));
    Ok(())
}

/// What the simulation is told to do.
#[derive(Clone, Default)]
struct Victim {
    start: Rc<Cell<bool>>,
    ready: Rc<Cell<bool>>,
    crash: Rc<Cell<bool>>,
}

impl Victim {
    fn host(&self, sim: &mut Sim<'_>) {
        let victim = self.clone();
        sim.host(VICTIM, move || {
            let victim = victim.clone();
            async move {
                until(|| victim.start.get()).await;
                connect_all(victim.ready).await
            }
        });
    }

    /// Connects, and goes down without that anybody is told.
    async fn vanish(&self, timeline: &Timeline) {
        self.start.set(true);
        until(|| self.ready.get()).await;
        assert_eq!(connections(), CONNECTIONS);
        turmoil::partition(VICTIM, NAME);
        self.crash.set(true);
        until(|| !self.crash.get()).await;
        turmoil::repair(VICTIM, NAME);
        timeline.record("the victim is gone");
    }

    /// Until everybody is done, or the server has left.
    fn run(&self, sim: &mut Sim<'_>) {
        while !sim.step().unwrap() {
            if self.crash.take() {
                sim.crash(VICTIM);
            }
        }
    }
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn connections_of_a_client_that_is_gone_are_let_go_of() {
    each_seed(
        |network| {
            network.tcp_capacity(CAPACITY);
        },
        |sim, timeline, _| {
            let server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let victim = Victim::default();
            victim.host(sim);
            let (gone, timeline) = (victim.clone(), timeline.clone());
            sim.client("operator", async move {
                create_main().await;
                gone.vanish(&timeline).await;
                let (began, mut left) = (Instant::now(), CONNECTIONS);
                while left > 0 || server.followed() > 0 {
                    assert!(began.elapsed() < GONE, "{left} connections are kept");
                    if connections() != left {
                        left = connections();
                        timeline.record(format!("{left} are left"));
                    }
                    sleep(Duration::from_millis(100)).await;
                }
                prompt("others are served", None).await;
                at_rest().await;
                Ok(())
            });
            victim.run(sim);
        },
    );
}

#[test]
fn the_end_does_not_wait_for_who_is_gone() {
    each_seed(
        |network| {
            network.tcp_capacity(CAPACITY);
        },
        |sim, timeline, mut dice| {
            let _server = Server::start(sim, timeline, &json!([{ "text": "done" }]));
            let victim = Victim::default();
            victim.host(sim);
            let (gone, told) = (victim.clone(), timeline.clone());
            let asked = Rc::<Cell<Option<Duration>>>::default();
            let asked_at = asked.clone();
            let moment = dice.time(0, 60_000);
            sim.client("operator", async move {
                create_main().await;
                gone.vanish(&told).await;
                // So many events wait for the follower that its connection takes no more.
                for number in 0..CAPACITY {
                    prompt(&number.to_string(), None).await;
                    sleep(Duration::from_secs(1)).await;
                }
                sleep(moment).await;
                shut_down().await;
                asked_at.set(turmoil::sim_elapsed());
                told.record("asked to leave");
                let away = client().health().await.unwrap_err();
                assert!(away.may_pass(), "{away}");
                Ok(())
            });
            victim.run(sim);
            let asked = asked.get().unwrap();
            while sim.is_host_running(NAME) {
                sim.step().unwrap();
                assert!(sim.elapsed() - asked < Duration::from_secs(6), "the server stays");
            }
        },
    );
}
