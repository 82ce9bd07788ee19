//! `kill -9` of the real daemon while background tasks run, short ones and long ones, some of which end while it is
//! away, and whose supervisors are killed, too, now and then: each task has its true exit status, or was interrupted
//! where its supervisor was killed, and its result is told once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{Acknowledged, every_key_once, nothing_is_open};
use end_to_end::http::post_until_acknowledged;
use end_to_end::life::Life;
use end_to_end::provider::{Provider, Reply, calls, says};
use end_to_end::task::{begins, ends, wait_until_over};
use end_to_end::{payloads, strays};
use serde_json::{Value, json};

/// Kills, unless `HOLON_KILLS` says how many.
const KILLS: u64 = 6;
/// The latest, in milliseconds after the runtime was ready.
const LATEST: u64 = 400;
/// Every so many lives begin with a prompt for each agent; every so many end in good order.
const PROMPTS: u64 = 1;
const STOPS: u64 = 5;
/// Before every so many starts a supervisor is killed, and at another time while the runtime lives.
const SUPERVISORS: u64 = 4;
/// And every so many times the ledger is verified and replayed.
const CHECKS: u64 = 20;
/// How long tasks take, in tenths of a second.
const TENTHS: [u64; 4] = [0, 2, 8, 30];
/// Commands of one round. Few rounds begin any, so that the results of tasks do not lead to ever more.
const AT_ONCE: u64 = 3;
const ROUNDS: u64 = 5;
/// The first of them begin some more often.
const EARLY: u64 = 6;
const AGENTS: [&str; 2] = ["main", "second"];

/// What a request is answered with; commands leave a line and end with a status that their text says.
fn reply(number: u64, done: &Path) -> Reply {
    let rounds = if number < EARLY { 2 } else { ROUNDS };
    if !number.is_multiple_of(rounds) {
        return says("Done.");
    }
    let command = |at: u64| {
        let id = number * AT_ONCE + at;
        let tenths = TENTHS[usize::try_from(id).expect("a number") % TENTHS.len()];
        let (log, status) = (done.display(), id % 100);
        begins(
            &format!("echo {id} >> {log}; sleep {}.{}; exit {status}", tenths / 10, tenths % 10),
            &json!({}),
        )
    };
    calls(&(0..AT_ONCE).map(command).collect::<Vec<_>>())
}

/// A supervisor of the home, not always the same one.
fn kill_a_supervisor(daemon: &Daemon, number: u64, killed: &mut BTreeSet<u64>) {
    let alive = strays::supervisors(&daemon.0.home());
    let count = u64::try_from(alive.len()).expect("a number").max(1);
    if let Some(&pid) = alive.get(usize::try_from(number % count).expect("a number")) {
        strays::kill(pid);
        killed.insert(pid.into());
    }
}

/// Lets the runtime live and die so often. Says what was acknowledged, and whose supervisors were killed.
fn killed_so_often(daemon: &Daemon, kills: u64) -> (Acknowledged, BTreeSet<u64>) {
    let (mut told, mut killed) = (Acknowledged::new(), BTreeSet::new());
    for kill in 0..kills {
        if kill % SUPERVISORS == 1 {
            kill_a_supervisor(daemon, kill, &mut killed);
        }
        let mut life = Life::begin(daemon, &[]);
        assert_eq!(life.ready(daemon), None, "it starts after kill {kill}");
        for agent in AGENTS.iter().filter(|_| kill.is_multiple_of(PROMPTS)) {
            let (key, path) = (format!("{agent}.{kill}"), format!("/control/agents/{agent}/prompt"));
            let body = json!({ "text": key });
            let answer = post_until_acknowledged(&daemon.run_file("holon.sock"), &path, &key, &body);
            let id = answer["message_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
            told.insert(((*agent).to_owned(), key), id);
        }
        std::thread::sleep(Duration::from_millis(kill * 37 % LATEST));
        if kill % SUPERVISORS == 3 {
            kill_a_supervisor(daemon, kill, &mut killed);
        }
        if kill % STOPS == STOPS - 1 {
            assert!(life.leave().success(), "it ends in good order");
        } else {
            life.kill();
        }
        if kill % CHECKS == CHECKS - 1 {
            daemon.0.check_ledger(&daemon.ledger());
        }
    }
    (told, killed)
}

/// The supervisor of each task, by its process id.
fn supervisors(own: &[Value]) -> BTreeMap<String, u64> {
    let opened = payloads(own, "operation_opened").into_iter().filter(|fact| fact["kind"] == "run_command");
    opened
        .filter_map(|fact| Some((fact["task_id"].as_str()?.to_owned(), fact["supervisor"]["pid"].as_u64()?)))
        .collect()
}

/// Every task of an agent has the end that its command says, and that end was told once. Says how many there were,
/// and how many of them were interrupted.
fn judged(records: &[Value], agent: &str, killed: &BTreeSet<u64>) -> (usize, usize) {
    let own: Vec<Value> = records.iter().filter(|record| record["agent"] == agent).cloned().collect();
    let (supervisors, ends) = (supervisors(&own), ends(&own, agent));
    let mut interrupted = 0;
    for fact in payloads(&own, "task_created") {
        let id = fact["task_id"].as_str().expect("an id");
        let cmd = fact["summary"].as_str().expect("a command");
        let status: i64 = cmd.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a status");
        let (end, exit) = &ends[id];
        if end == "interrupted" {
            let story = || told_of(&own, id);
            assert!(killed.contains(&supervisors[id]), "nobody killed the supervisor of {id}: {}", story());
            interrupted += 1;
        } else {
            let expected = if status == 0 { "completed" } else { "failed" };
            assert_eq!((end.as_str(), *exit), (expected, Some(status)), "{id} of {agent}: {cmd}");
        }
        let told = payloads(&own, "task_result_queued").into_iter().filter(|told| told["task_id"] == id);
        assert_eq!(told.count(), 1, "{id} of {agent} is told once");
    }
    (ends.len(), interrupted)
}

/// Everything on record that names a task.
fn told_of(own: &[Value], id: &str) -> String {
    let of_it = own.iter().filter(|record| record["payload"]["task_id"] == id);
    of_it.map(|record| format!("{record}\n")).collect()
}

#[test]
fn killed_at_any_moment_every_task_has_its_true_end_and_is_told_once() {
    let kills = std::env::var("HOLON_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    // More answers than anybody asks for.
    let provider = Provider::start((0..1_000 + 100 * kills).map(|number| reply(number, &done)));
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["agent", "create", AGENTS[1], "--own-home"]);
    daemon.ok(&["daemon", "stop"]);
    let (told, killed) = killed_so_often(&daemon, kills);
    daemon.start();
    wait_until_over(&daemon, &AGENTS);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    every_key_once(&records, &told);
    nothing_is_open(&records);
    let judged = AGENTS.map(|agent| judged(&records, agent, &killed));
    let (tasks, interrupted) = judged.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let lines = std::fs::read_to_string(&done).unwrap_or_default();
    let once: BTreeSet<&str> = lines.lines().collect();
    assert_eq!(once.len(), lines.lines().count(), "a command was executed twice: {lines}");
    assert!(tasks > 0, "there were some");
    assert_eq!(strays::supervisors(&daemon.0.home()), [0_u32; 0]);
    let left = std::fs::read_dir(daemon.0.home().join("run/commands")).into_iter().flatten().count();
    assert_eq!(left, 0, "traces of commands are left");
    println!(
        "{kills} kills, {tasks} tasks, {} supervisors killed, {interrupted} tasks interrupted",
        killed.len()
    );
}
