//! Background tasks of a runtime under test: how models begin them, and what is on record of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::provider::{Reply, calls};
use crate::{http, payloads, wait_for};

/// A call of a command that goes on as a task at once; more arguments of it may be given.
pub fn begins(cmd: &str, more: &Value) -> (&'static str, Value) {
    let mut arguments = json!({ "cmd": cmd, "login": false, "yield_time_ms": 1 });
    let more = more.as_object().into_iter().flatten();
    more.for_each(|(name, value)| arguments[name] = value.clone());
    ("ExecCommand", arguments)
}

/// A model that begins this as a task.
pub fn task(cmd: &str) -> Reply {
    calls(&[begins(cmd, &json!({}))])
}

/// A model that waits until there is a file.
pub fn awaits(file: &Path) -> Reply {
    let arguments = json!({ "cmd": until(file), "login": false, "yield_time_ms": 60_000 });
    calls(&[("ExecCommand", arguments)])
}

/// What waits for a file in a shell, but not for ever.
pub fn until(file: &Path) -> String {
    format!("n=0; while ! test -e {} && test $n -lt 3000; do sleep 0.02; n=$((n+1)); done", file.display())
}

/// A model that waits for the end of a task, and reads its output.
pub fn reads(task: &str) -> Reply {
    calls(&[("TaskOutput", json!({ "task_id": task, "timeout_ms": 60_000 }))])
}

/// How many tasks of an agent go on; none while nobody can say.
pub fn active(daemon: &Daemon, agent: &str) -> Option<u64> {
    let answer = http::get(&daemon.run_file("holon.sock"), &format!("/agents/{agent}/status")).ok()?;
    answer.body["active_task_count"].as_u64()
}

/// Waits until no task of these agents goes on, and nobody has anything to do.
pub fn wait_until_over<T: AsRef<str>>(daemon: &Daemon, agents: &[T]) {
    for agent in agents {
        wait_for("end of all tasks", || active(daemon, agent.as_ref()) == Some(0));
    }
    crate::durable::wait_until_quiet(daemon, agents);
}

/// The end of each task of an agent, by its id: the last status that is on record, and the exit status.
pub fn ends(records: &[Value], agent: &str) -> BTreeMap<String, (String, Option<i64>)> {
    let own: Vec<Value> = records.iter().filter(|record| record["agent"] == agent).cloned().collect();
    let mut ends: BTreeMap<String, (String, Option<i64>)> = BTreeMap::new();
    for fact in payloads(&own, "task_created") {
        ends.insert(text(&fact["task_id"]), (text(&fact["status"]), None));
    }
    for fact in payloads(&own, "task_status_updated") {
        ends.insert(text(&fact["task_id"]), (text(&fact["status"]), fact["exit_status"].as_i64()));
    }
    ends
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
