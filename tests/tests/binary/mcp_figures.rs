//! What calls of servers cost. Measurements, not bounds: `cargo nextest run --run-ignored only -E 'test(mcp_figures)'` prints them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{asks, obedient};
use end_to_end::payloads;
use end_to_end::provider::Provider;
use end_to_end::tool_server::{add, program};
use serde_json::{Value, json};

const CALLS: usize = 60;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What the server takes by itself, in milliseconds.
fn alone() -> f64 {
    let mut child = Command::new("python3")
        .arg(program())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut ask = |method: &str, params: Value| {
        let began = Instant::now();
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
            .expect("it is sent");
        lines.next().expect("an answer").expect("a line");
        began.elapsed().as_secs_f64() * 1_000.0
    };
    let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    ask("initialize", about);
    let call = || json!({"name": "echo", "arguments": {"text": "hi"}});
    let times = (0..CALLS).map(|_| ask("tools/call", call())).collect();
    child.kill().expect("it ends");
    child.wait().expect("it has ended");
    median(times)
}

#[test]
#[ignore = "a measurement"]
fn the_overhead_of_a_call() {
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    add(&daemon.0, "test", &[]);
    daemon.start();
    let echo = ("test__echo", json!({"text": "hi"}));
    for _ in 0..CALLS / 20 {
        asks(&daemon, "main", &vec![echo.clone(); 20]);
    }
    let all = daemon.0.records(&daemon.ledger());
    let times = payloads(&all, "tool_executed");
    let times: Vec<f64> = times.iter().map(|fact| fact["duration_ms"].as_f64().expect("a time")).collect();
    println!("a call takes {:.1} ms, {:.1} ms of them the server", median(times), alone());
}

fn memory(daemon: &Daemon, what: &str) -> u64 {
    let pid = daemon.metadata().expect("it runs")["pid"].clone();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with(what)).expect("the line");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("kB") / 1_024
}

#[test]
#[ignore = "a measurement"]
fn a_line_of_20_mb() {
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    add(&daemon.0, "test", &[]);
    daemon.start();
    asks(&daemon, "main", &[("test__echo", json!({"text": "hi"}))]);
    let before = memory(&daemon, "VmRSS");
    let began = Instant::now();
    let said = asks(&daemon, "main", &[("test__flood", json!({}))]);
    let took = began.elapsed();
    assert!(said.contains("a message of more than 8 MiB") && took < Duration::from_secs(30), "{said}");
    println!("{before} MB before, {} MB at most, error after {took:?}", memory(&daemon, "VmHWM"));
}
