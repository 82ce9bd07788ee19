//! What `holon tui` needs: its first frame, a key while events arrive, an idle screen, memory. Figures of an optimised build:
//! `HOLON_TEST_BINARIES=FOLDER cargo test -p end-to-end --test binary console_figures:: -- --ignored --nocapture`, where the folder has
//! the binary `holon`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::http::{get, post_until_acknowledged};
use end_to_end::terminal::OnTerminal;
use end_to_end::wait_for;
use serde_json::json;

const AGENTS: usize = 1_000;
const STARTS: usize = 20;
const KEYS: usize = 100;
/// Those who send prompts as fast as they are taken.
const SENDERS: usize = 4;

fn figure(text: &str) {
    writeln!(stderr(), "{text}").expect("there is a standard error");
}

/// The part of the values below the quantile ends here.
fn quantile(mut values: Vec<Duration>, part: f64) -> Duration {
    values.sort();
    values[((values.len() - 1) as f64 * part) as usize]
}

/// A number of each thread of the console: `setsid` becomes it.
fn threads(terminal: &OnTerminal, name: &str) -> BTreeMap<OsString, u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", terminal.child.id())).expect("it runs");
    let of = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?.to_owned();
        Some((task.file_name(), line.split_whitespace().next()?.parse().ok()?))
    };
    tasks.filter_map(Result::ok).filter_map(of).collect()
}

fn resident_kb(terminal: &OnTerminal) -> u64 {
    threads(terminal, "VmRSS:").into_values().next().expect("it runs")
}

/// How long each of some keys takes to the screen.
fn keys(terminal: &mut OnTerminal, count: usize) -> Vec<Duration> {
    let typed = (1..=count).map(|at| {
        // Letters that no event and no name of a colour has.
        let key = b"QXZJ"[at % 4];
        // What was written until now has been shown: the key is in what comes after it.
        let before = terminal.written_bytes();
        let began = Instant::now();
        terminal.press(&[key]);
        while !terminal.has_written(key, before) {
            assert!(began.elapsed() < Duration::from_secs(10), "no {key}");
            sleep(Duration::from_micros(500));
        }
        let took = began.elapsed();
        sleep(Duration::from_millis(50));
        took
    });
    typed.collect()
}

fn events_so_far(daemon: &Daemon) -> u64 {
    get(&daemon.run_file("holon.sock"), "/agents/main/state").expect("an answer").body["event_seq"]
        .as_u64()
        .expect("a number")
}

#[test]
#[ignore = "a measurement of several minutes"]
fn the_terminal_console_is_measured() {
    let daemon = Daemon::hello();
    daemon.start();
    let socket = daemon.run_file("holon.sock");
    let post =
        |path: &str, key: &str, body: &serde_json::Value| post_until_acknowledged(&socket, path, key, body);
    for number in 0..AGENTS {
        post(&format!("/control/agents/agent-{number}/create"), &format!("create-{number}"), &json!({}));
    }
    let start = || {
        let began = Instant::now();
        let terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
        while !terminal.written().contains("Enter sends") {
            sleep(Duration::from_micros(500));
        }
        (began.elapsed(), terminal)
    };
    let mut first = Vec::new();
    for _ in 0..STARTS {
        let (took, mut terminal) = start();
        first.push(took);
        terminal.press(b"\x03\x03");
        terminal.end();
    }
    let (p50, p95) = (quantile(first.clone(), 0.5), quantile(first, 0.95));
    figure(&format!("first frame with {AGENTS} agents: p50 {p50:?}, p95 {p95:?}"));
    let (_, mut terminal) = start();
    wait_for("connected", || terminal.screen().contains("connected"));
    // Threads that had something to do at the start have ended.
    sleep(Duration::from_secs(12));
    let before = threads(&terminal, "voluntary_ctxt_switches:");
    sleep(Duration::from_secs(20));
    let after = threads(&terminal, "voluntary_ctxt_switches:");
    let since = |(thread, count): (&OsString, &u64)| count - before.get(thread).unwrap_or(&0);
    let wakes: u64 = after.iter().map(since).sum();
    figure(&format!("idle for 20 s: {wakes} wake-ups of all threads; {} kB", resident_kb(&terminal)));
    let typed = keys(&mut terminal, KEYS);
    let (p50, p95) = (quantile(typed.clone(), 0.5), quantile(typed, 0.95));
    figure(&format!("key to screen, idle: p50 {p50:?}, p95 {p95:?}"));
    let (begun, done) = (Instant::now(), AtomicBool::new(false));
    let first = events_so_far(&daemon);
    scope(|scope| {
        for sender in 0..SENDERS {
            let (post, done) = (&post, &done);
            scope.spawn(move || {
                for at in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    let path = "/control/agents/main/prompt?wait=turn";
                    post(path, &format!("prompt-{sender}-{at}"), &json!({ "text": "Go on, please." }));
                }
            });
        }
        sleep(Duration::from_secs(5));
        let typed = keys(&mut terminal, KEYS);
        let rate = (events_so_far(&daemon) - first) as f64 / begun.elapsed().as_secs_f64();
        let (p50, p95) = (quantile(typed.clone(), 0.5), quantile(typed, 0.95));
        figure(&format!("key to screen at {rate:.0} events/s: p50 {p50:?}, p95 {p95:?}"));
        // 100,000 events, or as many as come in two minutes.
        while events_so_far(&daemon) < 100_000 && begun.elapsed() < Duration::from_secs(120) {
            sleep(Duration::from_secs(1));
        }
        done.store(true, Ordering::Relaxed);
    });
    let events = events_so_far(&daemon);
    figure(&format!("after {events} events: {} kB", resident_kb(&terminal)));
    terminal.press(b"\x03\x03");
    terminal.end();
}
