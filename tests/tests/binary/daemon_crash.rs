//! `kill -9` of the real daemon at moments that nobody chose, while clients hold on to their idempotency keys:
//! what was acknowledged is there, once, and nothing is done twice. What was interrupted goes on, or is given up after
//! three runs that died without having got on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use end_to_end::count;
use end_to_end::daemon::Daemon;
use end_to_end::durable::{Acknowledged, every_key_once, nothing_is_open};
use end_to_end::http::post_until_acknowledged;
use end_to_end::life::Life;
use end_to_end::provider::{Provider, Reply, command, fails, says};
use end_to_end::task::wait_until_over;
use serde_json::json;

/// Kills, unless `HOLON_KILLS` says how many; each comes a little later than the one before.
const KILLS: u64 = 12;
/// The latest, in milliseconds after the runtime was ready.
const LATEST: u64 = 160;
/// Every so many kills one comes while the runtime starts, and the ledger is verified and replayed.
const EARLY: u64 = 3;
const CHECKS: u64 = 8;
/// And every so many it is asked to end instead.
const STOPS: u64 = 5;
/// Each client may send so many messages for each life of the runtime.
const MESSAGES: u64 = 2;
/// The clients: each has an agent, and a route that takes keys.
const CLIENTS: [(&str, &str); 3] = [
    ("main", "/control/agents/main/prompt"),
    ("second", "/control/agents/second/prompt"),
    ("third", "/agents/third/enqueue"),
];

/// A provider that is slow and fails now and then; its commands leave a line each.
fn reply(number: u64, done: &Path) -> Reply {
    match number % 7 {
        0 | 3 => {
            let (name, mut arguments) = command(&format!("echo {number} >> {}", done.display()));
            arguments["login"] = json!(false);
            end_to_end::provider::calls(&[(name, arguments)])
        }
        1 => fails(529, "overloaded"),
        2 => says("Slowly done.").late(Duration::from_millis(60)),
        4 => says("Half of this is lost.").cut_in_text(),
        _ => says("Done."),
    }
}

/// What one client was told, until it may send no more.
fn client(daemon: &Daemon, at: usize, lives: &AtomicU64) -> Acknowledged {
    let (agent, path) = CLIENTS[at];
    let mut told = Acknowledged::new();
    let mut number = 0;
    loop {
        let lives = lives.load(Ordering::Acquire);
        if number >= lives.saturating_mul(MESSAGES) {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        // The last life lets everybody go.
        if lives == u64::MAX {
            return told;
        }
        let key = format!("{agent}.{number}");
        let text = format!("message {number} for {agent}");
        let body = if path.ends_with("enqueue") {
            json!({ "body": { "type": "text", "text": text } })
        } else {
            json!({ "text": text })
        };
        let answer = post_until_acknowledged(&daemon.run_file("holon.sock"), path, &key, &body);
        let id = answer["message_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        told.insert((agent.to_owned(), key), id);
        number += 1;
    }
}

/// Lets the clients go, also when the test fails.
struct LastLife<'a>(&'a AtomicU64);

impl Drop for LastLife<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::Release);
    }
}

fn killed_so_often(daemon: &Daemon, kills: u64, lives: &AtomicU64) {
    for kill in 0..kills {
        let mut life = Life::begin(daemon, &[]);
        lives.store(kill + 1, Ordering::Release);
        let moment = Duration::from_millis(kill * 13 % LATEST);
        if kill % EARLY == EARLY - 1 {
            std::thread::sleep(moment * 2);
        } else {
            assert_eq!(life.ready(daemon), None, "it starts after kill {kill}");
            std::thread::sleep(moment);
        }
        if kill % STOPS == STOPS - 1 && kill % EARLY != EARLY - 1 {
            assert!(life.leave().success(), "it ends in good order");
        } else {
            life.kill();
        }
        if kill % CHECKS == CHECKS - 1 {
            daemon.0.check_ledger(&daemon.ledger());
        }
    }
}

#[test]
fn killed_at_any_moment_every_key_is_admitted_and_settled_once() {
    let kills = std::env::var("HOLON_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    // More answers than anybody asks for.
    let provider = Provider::start((0..100 * kills).map(|number| reply(number, &done)));
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["config", "set", "runtime.retry_backoff_ms", "1"]);
    for (agent, _) in &CLIENTS[1..] {
        daemon.ok(&["agent", "create", agent, "--own-home"]);
    }
    daemon.ok(&["daemon", "stop"]);
    let lives = AtomicU64::new(0);
    let acknowledged: Acknowledged = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS.len())
            .map(|at| {
                scope.spawn({
                    let (daemon, lives) = (&daemon, &lives);
                    move || client(daemon, at, lives)
                })
            })
            .collect();
        let last = LastLife(&lives);
        killed_so_often(&daemon, kills, &lives);
        daemon.start();
        drop(last);
        clients.into_iter().flat_map(|client| client.join().expect("a client ends")).collect()
    });
    let agents = CLIENTS.map(|(agent, _)| agent);
    wait_until_over(&daemon, &agents);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    every_key_once(&records, &acknowledged);
    nothing_is_open(&records);
    let lines = std::fs::read_to_string(&done).unwrap_or_default();
    let once: BTreeSet<&str> = lines.lines().collect();
    assert_eq!(once.len(), lines.lines().count(), "a command was executed twice: {lines}");
    assert!(count(&records, "message_processed") >= CLIENTS.len(), "somebody got on");
}
