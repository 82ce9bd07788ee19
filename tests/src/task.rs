//! Background tasks of a runtime under test: how models begin them, and what is on record of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::durable::{self, nothing_is_open};
use crate::life::Life;
use crate::provider::{Provider, Reply, calls};
use crate::{http, payloads, strays, wait_for};

/// A runtime that one prompt was given to.
pub struct Prompted {
    pub daemon: Daemon,
    pub life: Life,
}

impl Prompted {
    /// `config` is that of its home.
    pub fn new(provider: &Provider, config: &str) -> Self {
        let daemon = Daemon::new(provider);
        std::fs::create_dir_all(daemon.0.home()).expect("a home");
        std::fs::write(daemon.0.home().join("config.toml"), config).expect("a configuration");
        let life = alive(&daemon);
        let path = "/control/agents/main/prompt";
        http::post_until_acknowledged(&daemon.run_file("holon.sock"), path, "one", &json!({ "text": "go" }));
        Self { daemon, life }
    }

    /// `kill -9` of the runtime.
    pub fn killed(self) -> Daemon {
        self.life.kill();
        self.daemon
    }

    /// The next life of a runtime that was killed.
    pub fn again(daemon: Daemon) -> Self {
        let life = alive(&daemon);
        Self { daemon, life }
    }

    /// Starts or stops the agent.
    pub fn control(&self, action: &str) {
        let (path, body) = ("/control/agents/main/control", json!({ "action": action }));
        let answer = http::ask(&self.daemon.run_file("holon.sock"), "POST", path, &[], Some(&body));
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub fn pid(&self) -> u32 {
        let pid = self.daemon.metadata().and_then(|metadata| metadata["pid"].as_u64());
        pid.and_then(|pid| pid.try_into().ok()).expect("a runtime that is ready")
    }

    /// What is on record once everything is over.
    pub fn in_the_end(self) -> Vec<Value> {
        wait_until_over(&self.daemon, &["main"]);
        assert!(self.life.leave().success());
        self.daemon.0.check_ledger(&self.daemon.ledger());
        let records = self.daemon.0.records(&self.daemon.ledger());
        nothing_is_open(&records);
        // The one that waited for a next command leaves by itself.
        wait_for("the last supervisor", || strays::supervisors(&self.daemon.0.home()).is_empty());
        records
    }
}

fn alive(daemon: &Daemon) -> Life {
    let mut life = Life::begin(daemon, &[]);
    assert_eq!(life.ready(daemon), None, "it starts");
    life
}

/// A folder of files that commands wait for.
pub fn files() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_owned();
    (folder, move |name| path.join(name))
}

/// The process ids in a file, once there are so many.
pub fn pids(file: &Path, count: usize) -> Vec<u32> {
    let mut pids: Vec<u32> = Vec::new();
    wait_for("process ids", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        pids = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect();
        pids.len() >= count
    });
    pids
}

/// The last result of a tool in a request to the model.
pub fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().expect("messages");
    let mut results = messages.iter().filter(|message| message["role"] == "tool");
    let last = results.next_back().expect("a result");
    last["content"].as_str().map_or_else(|| last["content"].to_string(), str::to_owned)
}

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
    Some(status(daemon, agent)?.1)
}

/// No task of these agents goes on, and nobody has anything to do.
pub fn over<T: AsRef<str>>(daemon: &Daemon, agents: &[T]) -> bool {
    let look =
        || -> Option<Vec<(u64, u64)>> { agents.iter().map(|agent| status(daemon, agent.as_ref())).collect() };
    let before = look();
    let ended = before.as_ref().is_some_and(|all| all.iter().all(|(_, active)| *active == 0));
    // A turn that came in between may have begun another one.
    ended && durable::quiet(daemon, agents) && before == look()
}

/// Waits for that.
pub fn wait_until_over<T: AsRef<str>>(daemon: &Daemon, agents: &[T]) {
    let mut done = false;
    while !done {
        durable::wait_until_quiet(daemon, agents);
        wait_for("end of all tasks, or something to do", || {
            done = over(daemon, agents);
            done || !durable::quiet(daemon, agents)
        });
    }
}

/// The last event of an agent, and how many tasks it has.
fn status(daemon: &Daemon, agent: &str) -> Option<(u64, u64)> {
    let answer = http::get(&daemon.run_file("holon.sock"), &format!("/agents/{agent}/status")).ok()?;
    Some((answer.body["event_seq"].as_u64()?, answer.body["active_task_count"].as_u64()?))
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
