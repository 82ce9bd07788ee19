//! Two nodes, one of which owns the ledger: what comes to the other is passed on over a network that holds messages back, while
//! the owner closes and opens its cell, and while it dies. What has a key is carried out once; what has none is never sent twice.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::http::Uri;
use holon_api::{Activity, AuthMode, Control, PromptQuery, RuntimeStatus};
use holon_facts::{AgentId, Millis};
use holon_ledger::postgres::Server as Database;
use holon_ledger::postgres::node::{CellId, Cluster, Deposits, Directory, Epoch, NodeId, Routes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tower::util::BoxCloneSyncService;
use turmoil::Sim;
use turmoil::net::{TcpListener, TcpStream};

use super::client::{at_rest, client_at, create_main_at, events, main, prompted};
use super::each_seed;
use super::server::{NAME, PORT, Port, TOKEN};
use crate::home::Home;
use crate::http::auth::Policy;
use crate::http::signature::Signatures;
use crate::http::tests::{Setup, Started, start};
use crate::http::{AboutFront, Connector, Front, Link, Peers, Process, Shutdown, router, serve};
use crate::trigger_address::{TriggerAddresses, TriggerKey};

/// The node that owns nothing.
const DOOR: &str = "door";
const CELL: CellId = CellId(1);
/// What nodes know each other by; at the owner it is a control token, too.
const SECRET: &str = TOKEN;
/// How long another node may take to take a connection.
const CONNECTS: Duration = Duration::from_secs(1);

/// A connection on which nothing comes for so long is at an end, as TCP finds out by its own messages.
const QUIET: Duration = Duration::from_secs(3);
/// How long answers are lost before their sender dies.
const LOST: Duration = Duration::from_millis(300);

/// A connection of the simulated network, for hyper.
struct Simulated {
    stream: TokioIo<TcpStream>,
    ends: Pin<Box<Sleep>>,
}

impl Connection for Simulated {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Simulated {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(context, into) {
            Poll::Ready(read) => {
                self.ends.as_mut().reset(Instant::now() + QUIET);
                Poll::Ready(read)
            }
            Poll::Pending => self.ends.as_mut().poll(context).map(|()| Err(ErrorKind::TimedOut.into())),
        }
    }
}

impl Write for Simulated {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

fn connector() -> Connector {
    BoxCloneSyncService::new(tower::service_fn(|uri: Uri| async move {
        let host = uri.host().unwrap_or_default().to_owned();
        let connected = timeout(CONNECTS, TcpStream::connect((host, PORT))).await??;
        let ends = Box::pin(sleep(QUIET));
        Ok(Link::new(Simulated { stream: TokioIo::new(connected), ends }))
    }))
}

/// A door, with what its node knows of owners. The database is asked for nothing: there is one cell.
fn front(token: &str, routes: watch::Receiver<Routes>) -> Front {
    let database = Database::new("postgres://nobody@127.0.0.1:1/nothing").unwrap();
    let cluster =
        Cluster { secret: SECRET.to_owned(), lease: Millis(0), grace: Millis(0), cells: vec![CELL.0] };
    let directory = Arc::new(Directory::new(database.clone(), &cluster));
    let deposits = Arc::new(Deposits::new(database));
    let policy = Policy::new(AuthMode::Required, Some(token), None).unwrap();
    let about = AboutFront {
        itself: RuntimeStatus {
            ok: true,
            pid: 1,
            version: String::new(),
            home_dir: String::new(),
            socket_path: String::new(),
            http_addr: None,
            advertise_url: None,
            access: None,
            auth: None,
            config_fingerprint: None,
            started_at: None,
            problem: None,
            activity: Activity::default().into(),
            spending: None,
            tool_servers: Vec::new(),
            last_failure: None,
        },
        default_agent: AgentId::new("main").unwrap(),
        folders: None,
        triggers: TriggerAddresses::new("http://holon.example", TriggerKey::of_nodes(SECRET)),
        signatures: Signatures::new(None),
        peers: Peers::default(),
        process: Process::default(),
        connector: connector(),
    };
    Front::new((routes, directory, deposits), policy, SECRET, about, Shutdown::default()).unwrap()
}

/// The cell at its owner, to be closed and opened.
type Cell = Arc<Mutex<Option<(Front, Router)>>>;

/// Both nodes, with a runtime at the one that owns the cell.
fn nodes(sim: &mut Sim<'_>) -> (Cell, Rc<TempDir>) {
    let (cell, folder) = (Cell::default(), Rc::new(tempfile::tempdir().unwrap()));
    let (own, kept) = (cell.clone(), folder.clone());
    sim.host(NAME, move || {
        let (own, kept) = (own.clone(), kept.clone());
        async move {
            let home = Home::at(kept.path().join("home"));
            home.create()?;
            let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
            let setup = Setup {
                mode: AuthMode::Required,
                token: Some(TOKEN),
                rounds: json!([{ "text": "done" }]),
                ..Setup::default()
            };
            let address = std::net::SocketAddr::new(turmoil::lookup(NAME), PORT);
            let Started { app, ended } = start(&home, &setup, address).await;
            let (_sender, routes) = watch::channel(Routes::default());
            let (front, leave) = (front(TOKEN, routes), app.shutdown.asked());
            let served = router(app);
            front.open(CELL, Epoch(1), served.clone());
            *own.lock().unwrap() = Some((front.clone(), served));
            serve(Port(listener), front.router(), leave).await;
            ended.await??;
            Ok(())
        }
    });
    sim.host(DOOR, || async {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
        let owners = [(CELL, (NodeId(1), format!("http://{NAME}:{PORT}")))].into();
        let (_sender, routes) = watch::channel(Routes { own: Some(NodeId(2)), owners, ..Routes::default() });
        serve(Port(listener), front("a-token-of-its-own", routes).router(), std::future::pending()).await;
        Ok(())
    });
    (cell, folder)
}

/// The owner gives the cell up for a while.
fn close_for(cell: &Cell, from: Duration, until: Duration) {
    let cell = cell.clone();
    tokio::task::spawn_local(async move {
        sleep(from).await;
        if let Some((front, _)) = &*cell.lock().unwrap() {
            front.close(CELL);
        }
        sleep(until).await;
        if let Some((front, served)) = &*cell.lock().unwrap() {
            front.open(CELL, Epoch(1), served.clone());
        }
    });
}

/// Messages between the nodes are held back for a while.
fn hold_for(from: Duration, until: Duration) {
    tokio::task::spawn_local(async move {
        sleep(from).await;
        turmoil::hold(DOOR, NAME);
        sleep(until).await;
        turmoil::release(DOOR, NAME);
    });
}

const PROMPTS: u64 = 12;

#[test]
fn what_has_a_key_is_carried_out_once_whatever_becomes_of_its_way() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let (cell, _folder) = nodes(sim);
            let timeline = timeline.clone();
            sim.client("operator", async move {
                create_main_at(DOOR).await;
                let operator = client_at(DOOR).within(Duration::from_secs(3));
                let mut ids = BTreeSet::new();
                for number in 0..PROMPTS {
                    hold_for(dice.time(0, 400), dice.time(200, 4_000));
                    close_for(&cell, dice.time(0, 400), dice.time(100, 3_000));
                    let mut asked = 0;
                    let taken = loop {
                        asked += 1;
                        let (text, key) = (format!("prompt {number}"), format!("key {number}"));
                        let query = PromptQuery::default();
                        match operator.prompt(&main(), query, prompted(&text), Some(key)).await {
                            Ok(taken) => break taken,
                            Err(error) => assert!(asked < 20, "prompt {number}: {error}"),
                        }
                    };
                    timeline.record(format!("{number}: asked {asked} times, {}", taken.duplicate));
                    ids.insert(json!(taken.message_id).to_string());
                    sleep(Duration::from_secs(8)).await;
                }
                at_rest().await;
                let admitted = events("message_admitted").await;
                let known = admitted.iter().map(|event| event["payload"]["message"]["id"].to_string());
                assert_eq!(known.collect::<BTreeSet<_>>(), ids);
                assert_eq!(admitted.len() as u64, PROMPTS);
                Ok(())
            });
            sim.run().unwrap();
        },
    );
}

/// Whoever gives no key is told that it is not known what became of the request, where an answer is lost.
#[test]
fn what_has_no_key_is_never_sent_twice() {
    each_seed(
        |_| {},
        |sim, timeline, mut dice| {
            let (cell, _folder) = nodes(sim);
            let answers = Rc::new(std::cell::RefCell::new(Vec::new()));
            let (seen, timeline) = (answers.clone(), timeline.clone());
            let crashes: Vec<Duration> = (1..20).map(|at| dice.time(at * 4_000, at * 4_000 + 900)).collect();
            sim.client("operator", async move {
                create_main_at(DOOR).await;
                let operator = client_at(DOOR).within(Duration::from_secs(12));
                let mut number = 0;
                while turmoil::sim_elapsed().unwrap_or_default() < Duration::from_secs(80) {
                    number += 1;
                    if number % 5 == 0 {
                        close_for(&cell, dice.time(0, 100), dice.time(100, 900));
                    }
                    let text = format!("prompt {number}");
                    let answer =
                        operator.prompt(&main(), PromptQuery::default(), prompted(&text), None).await;
                    let became = match answer {
                        Ok(_) => "taken",
                        Err(error) if error.code() != Some("moving") => panic!("prompt {number}: {error}"),
                        Err(error) if error.to_string().contains("not known") => "not known",
                        Err(_) => "not accepted",
                    };
                    seen.borrow_mut().push((text, became));
                    sleep(Duration::from_millis(100)).await;
                }
                at_rest().await;
                let admitted = events("message_admitted").await;
                for (text, became) in &*seen.borrow() {
                    let there =
                        admitted.iter().filter(|event| event["payload"]["message"]["body"]["text"] == **text);
                    match (*became, there.count()) {
                        ("taken", 1) | ("not accepted", 0) | ("not known", 0 | 1) => {}
                        (became, count) => panic!("{text}: {became}, and there {count} times"),
                    }
                }
                timeline.record(seen.borrow().len());
                Ok(())
            });
            let mut crashes = crashes.into_iter().peekable();
            let mut dies_at = None;
            while !sim.step().unwrap() {
                let now = sim.elapsed();
                if crashes.next_if(|at| now >= *at).is_some() {
                    sim.partition_oneway(NAME, DOOR);
                    dies_at = Some(now + LOST);
                }
                if dies_at.take_if(|at| now >= *at).is_some() {
                    sim.crash(NAME);
                    sim.repair_oneway(NAME, DOOR);
                    sim.bounce(NAME);
                }
            }
            let lost = answers.borrow().iter().filter(|(_, became)| *became != "taken").count();
            assert!(lost > 0, "every answer came");
        },
    );
}
