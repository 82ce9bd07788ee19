//! An agent has the same history whatever number of nodes and cells there is (law X12): what it is asked, and what tools and models
//! answer, decides, and nothing about where it is.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, thread};

use end_to_end::daemon::Daemon;
use end_to_end::durable::wait_until_quiet;
use end_to_end::http::get;
use end_to_end::obedient::{asks, obedient, told};
use end_to_end::provider::Provider;
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

use crate::cluster_cells::{Nodes, not_tried};

const AGENTS: [&str; 3] = ["ada", "bob", "cleo"];

/// What differs from run to run of one home: moments and spans, processes, keys of requests, and what is counted or made of
/// them or of paths. Then, how somebody was let in: by a node that passes a request on, with the secret of the cluster.
const CHANCE: &[&str] = &[
    "at",
    "day",
    "until",
    "next_deadline",
    "tokens",
    "est_tokens",
    "bytes",
    "shared_bytes",
    "fingerprint",
    "fence",
    "id",
    "preview",
    "pid",
    "socket",
    "started",
    "key",
    "admission_context",
];

fn is_chance(name: &str) -> bool {
    CHANCE.contains(&name) || name.ends_with("_at") || name.ends_with("_ms")
}

/// Everything that agents do, each beside the others, each step at the next node. In `signals` their children wait for a file
/// each.
fn lived(nodes: &[&Daemon], signals: &Path) {
    thread::scope(|scope| {
        let all: Vec<_> = AGENTS.iter().map(|agent| scope.spawn(|| lives(nodes, agent, signals))).collect();
        all.into_iter().for_each(|one| one.join().expect("it lives"));
    });
}

fn lives(nodes: &[&Daemon], agent: &str, signals: &Path) {
    let mut turns = nodes.iter().cycle();
    let mut next = || turns.next().expect("a node");
    next().ok(&["agent", "create", agent, "--own-home"]);
    let all = [
        ("ExecCommand", json!({ "cmd": "echo one > file; cat file", "login": false })),
        ("CreateWorkItem", json!({ "objective": "stay the same" })),
    ];
    for call in all {
        asks(next(), agent, &[call]);
        wait_until_quiet(next(), &[agent]);
    }
    // The child ends when everything is over that the turn which began it has led to.
    let signal = signals.join(agent);
    let waits = format!("until [ -e {} ]; do sleep 0.1; done", signal.display());
    let waits = told(&[("ExecCommand", json!({ "cmd": waits, "login": false, "yield_time_ms": 300_000 }))]);
    asks(next(), agent, &[("SpawnAgent", json!({ "initial_message": waits }))]);
    wait_for("its parent to have nothing else", || only_waits(next(), agent));
    fs::write(&signal, "").expect("a file");
    wait_until_quiet(next(), &[agent]);
    fs::remove_file(&signal).expect("the file");
    next().ok(&["timer", "add", "--agent", agent, "1s", "look around"]);
    let fired = |node: &Daemon| {
        let timers = node.ok(&["timer", "list", "--agent", agent, "--json"]).json();
        timers["timers"][0]["status"] == "completed"
    };
    wait_for("the timer", || fired(next()));
    wait_until_quiet(next(), &[agent]);
}

/// An agent has no turn and nothing in its queue.
fn only_waits(node: &Daemon, agent: &str) -> bool {
    let why = get(&node.run_file("holon.sock"), &format!("/agents/{agent}/why"));
    why.is_ok_and(|why| why.status == 200 && why.body["run"].is_null() && why.body["queue"]["entries"] == 0)
}

/// What each agent has on record, but for what chance gives.
fn histories(records: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records {
        let mut kept = json!({ "type": record["type"], "payload": record["payload"] });
        scrub(&mut kept);
        all.entry(record["agent"].as_str().expect("a name").to_owned()).or_default().push(kept);
    }
    all
}

fn scrub(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !is_chance(name));
            fields.values_mut().for_each(scrub);
        }
        Value::Array(items) => items.iter_mut().for_each(scrub),
        // Homes of agents are in one place or another.
        Value::String(path) if path.starts_with('/') => {
            if let Some((_, below)) = path.split_once("/home/") {
                *path = below.trim_start_matches("agents/").to_owned();
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn exported(daemon: &Daemon) -> Vec<Value> {
    let lines = daemon.ok(&["ledger", "export"]).stdout;
    lines.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

#[test]
fn any_number_of_nodes_and_cells_gives_an_agent_what_one_home_does() {
    let provider = Provider::answering(obedient);
    let signals = tempfile::tempdir().expect("a folder");
    let signals = signals.path();
    let alone = Daemon::asking(Holon::new(), &provider);
    alone.start();
    lived(&[&alone], signals);
    let expected = histories(&exported(&alone));
    for cells in [1, 4] {
        let Some(nodes) = Nodes::over(cells, &provider) else { return not_tried() };
        lived(&[&nodes.nodes[0], &nodes.nodes[1]], signals);
        let found = histories(&nodes.records());
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (agent, history) in &found {
            let other = history.iter().zip(&expected[agent]).find(|(is, was)| is != was);
            assert_eq!(other, None, "{agent} with {cells} cells");
            assert_eq!(history.len(), expected[agent].len(), "{agent} with {cells} cells");
        }
        for node in &nodes.nodes {
            let log = node.ok(&["daemon", "logs"]).stdout;
            assert!(!log.contains("WARN"), "{log}");
        }
    }
}
