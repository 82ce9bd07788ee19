//! What must hold of a ledger however often its runtime was killed.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::daemon::Daemon;

/// What clients were told: agent and key, and the id of the message that stands for it.
pub type Acknowledged = BTreeMap<(String, String), String>;

/// Does harm while a client asks for one thing after the other, and goes on until more than `least` of them were
/// acknowledged, since a slow machine gets few of them through meanwhile. Gives what was acknowledged.
pub fn acknowledged_under(
    harm: impl FnOnce(),
    least: usize,
    ask: impl Fn(usize) -> ((String, String), String) + Sync,
) -> Acknowledged {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut acknowledged = Acknowledged::new();
            while !ends.load(Ordering::Acquire) || acknowledged.len() <= least {
                acknowledged.extend([ask(acknowledged.len())]);
            }
            acknowledged
        });
        let harmed = catch_unwind(AssertUnwindSafe(harm));
        ends.store(true, Ordering::Release);
        let acknowledged = client.join().expect("a client ends");
        harmed.unwrap_or_else(|panic| resume_unwind(panic));
        acknowledged
    })
}

/// Runs of a message that may die without having got on before it is given up.
const REPLAYS: u64 = 3;

/// Every key was admitted once and under the id that its client was told, nothing was admitted that nobody
/// asked for, and every message was settled once: it was processed, or given up after runs that all died, which
/// its operator was notified.
pub fn every_key_once(records: &[Value], acknowledged: &Acknowledged) {
    let mut admitted: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut settled: BTreeMap<(String, String), usize> = BTreeMap::new();
    for record in records {
        let (agent, payload) = (text(&record["agent"]), &record["payload"]);
        if record["type"] == "message_admitted" {
            let id = text(&payload["message"]["id"]);
            settled.entry((agent.clone(), id.clone())).or_default();
            if is_own(&payload["message"]) {
                continue;
            }
            let key = text(&payload["idempotency"]["key"]);
            let before = admitted.insert((agent, key), id);
            assert_eq!(before, None, "a key was admitted twice: {record}");
        }
        if record["type"] == "message_processed" || record["type"] == "message_dropped" {
            *settled.entry((text(&record["agent"]), text(&payload["message_id"]))).or_default() += 1;
        }
        if record["type"] == "message_dropped" {
            assert_eq!(payload["crashes"], REPLAYS, "{record}");
            let told = records.iter().any(|brief| {
                brief["type"] == "brief_created"
                    && brief["agent"] == record["agent"]
                    && brief["payload"]["related_message_id"] == payload["message_id"]
                    && brief["payload"]["kind"] == "failure"
            });
            assert!(told, "nobody was told of {record}");
        }
    }
    assert_eq!(&admitted, acknowledged, "what was admitted is not what was acknowledged");
    let wrong: Vec<_> = settled.iter().filter(|(_, times)| **times != 1).collect();
    assert!(wrong.is_empty(), "admitted, and not settled once: {wrong:?}\n{}", story(records));
}

/// Whether the runtime itself is who says it: nobody holds a key of that.
fn is_own(message: &Value) -> bool {
    message["kind"] == "task_result" || message["kind"] == "system_tick"
}

/// Where messages went and turns ended, a line each.
fn story(records: &[Value]) -> String {
    let told = |record: &&Value| {
        let kind = record["type"].as_str().unwrap_or_default();
        kind.starts_with("message_") || kind.starts_with("turn_terminal") || kind.starts_with("runtime_")
    };
    let line = |record: &Value| {
        let mut payload = record["payload"].to_string();
        payload.truncate(payload.char_indices().nth(300).map_or(payload.len(), |(at, _)| at));
        format!("{} {} {} {payload}\n", record["agent"], record["event_seq"], record["type"])
    };
    records.iter().filter(told).map(line).collect()
}

/// Every operation that was opened was settled, once.
pub fn nothing_is_open(records: &[Value]) {
    let mut open = BTreeMap::new();
    for record in records {
        let op = (text(&record["agent"]), record["payload"]["op"].to_string());
        if record["type"] == "operation_opened" {
            assert!(open.insert(op.clone(), ()).is_none(), "opened twice: {record}");
        } else if record["type"] == "operation_settled" {
            assert!(open.remove(&op).is_some(), "settled, and not open: {record}");
        }
    }
    assert!(open.is_empty(), "still open: {open:?}");
}

/// Waits until nobody has anything to do, for as long as somebody gets on: many deaths leave much to do.
///
/// # Panics
/// When nothing happens any more, and somebody still has something to do.
pub fn wait_until_quiet<T: AsRef<str>>(daemon: &Daemon, agents: &[T]) {
    let reached = || -> Vec<Value> {
        let status = |agent: &T| {
            let path = format!("/agents/{}/status", agent.as_ref());
            let answer = crate::http::get(&daemon.run_file("holon.sock"), &path);
            answer.map(|answer| answer.body["event_seq"].clone()).unwrap_or_default()
        };
        agents.iter().map(status).collect()
    };
    let mut before = Vec::new();
    for _ in 0..1_000_000 {
        let mut done = false;
        crate::wait_for("progress, or end of all work", || {
            done = quiet(daemon, agents);
            done || reached() != before
        });
        if done {
            return;
        }
        before = reached();
    }
    panic!("there is no end of all work");
}

/// Nobody has anything to do.
pub fn quiet<T: AsRef<str>>(daemon: &Daemon, agents: &[T]) -> bool {
    agents.iter().all(|agent| {
        let path = format!("/agents/{}/why", agent.as_ref());
        let why = crate::http::get(&daemon.run_file("holon.sock"), &path);
        why.is_ok_and(|why| why.status == 200 && why.body["quiet"] == true)
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
