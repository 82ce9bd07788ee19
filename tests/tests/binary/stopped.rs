//! Homes whose runtime is stopped, and homes of temporary runs: what is read of them is what a runtime would answer, and
//! nobody is in the way of a start.

use std::fs;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, Holon};
use serde_json::Value;

const READS: [&[&str]; 6] = [
    &["status", "--json"],
    &["why", "--json"],
    &["transcript", "--json"],
    &["tail", "--json"],
    &["agent", "list", "--json"],
    &["agent", "status", "main", "--json"],
];

/// A home in which a daemon has answered one prompt.
fn used() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    daemon
}

fn read(holon: &Holon, arguments: &[&str]) -> Ended {
    let ended = holon.run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended
}

/// What a stopped home adds, and what is of the moment of asking.
fn comparable(mut value: Value) -> Value {
    let listed = value.get("agents").is_some();
    let row = if listed { value["agents"].get_mut(0) } else { Some(&mut value) };
    if let Some(row) = row.and_then(Value::as_object_mut) {
        row.remove("ledger_waits");
        row.remove("last_decision");
        row.remove("last_decision_event");
        row.remove("decision");
    }
    value
}

fn documents(ended: &Ended) -> Vec<Value> {
    let whole = serde_json::from_str(&ended.stdout).map(|document| vec![document]);
    whole.unwrap_or_else(|_| {
        let lines = ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
        lines.collect()
    })
}

#[test]
fn a_stopped_home_answers_as_its_runtime_did() {
    let daemon = used();
    let live: Vec<Vec<Value>> = READS.iter().map(|reads| documents(&read(&daemon.0, reads))).collect();
    daemon.ok(&["daemon", "stop"]);
    let before = fs::read(daemon.ledger()).expect("a ledger");
    for (reads, live) in READS.iter().zip(live) {
        let ended = read(&daemon.0, reads);
        assert!(ended.stderr.contains("holon: the runtime is stopped; it was last active: "), "{ended:?}");
        assert!(ended.stderr.contains(" ago)") || ended.stderr.contains("(now)"), "{ended:?}");
        let stopped = documents(&ended);
        let skipped = |documents: Vec<Value>| documents.into_iter().map(comparable).collect::<Vec<_>>();
        // A stop may add events of its own at the end.
        let (stopped, live) = (skipped(stopped), skipped(live));
        if reads[0] == "tail" {
            assert!(stopped.starts_with(&live), "{reads:?}");
        } else if reads[0] == "transcript" {
            assert_eq!(stopped, live, "{reads:?}");
        } else {
            let keys = |documents: &[Value]| -> Vec<String> {
                let object = |value: &Value| value.get(0).unwrap_or(value).as_object().cloned();
                documents
                    .iter()
                    .filter_map(object)
                    .flat_map(|object| object.into_iter().map(|(key, _)| key))
                    .collect()
            };
            assert_eq!(keys(&stopped), keys(&live), "{reads:?}");
        }
    }
    assert_eq!(fs::read(daemon.ledger()).expect("a ledger"), before, "reading writes nothing");
    let human = read(&daemon.0, &["status"]);
    assert!(human.stdout.contains("this is the last durable state: the runtime is stopped"), "{human:?}");
    // What changes something, and what follows, needs a runtime.
    for needs in [&["prompt", "--no-start", "more"][..], &["tail", "--follow"], &["agent", "stop", "main"]] {
        daemon.0.run(needs).refused(5, &["holon daemon start"]);
    }
    daemon.0.run(&["status", "nobody"]).refused(3, &[]);
    daemon.start();
    assert!(!read(&daemon.0, &["status"]).stderr.contains("stopped"));
}

#[test]
fn a_runtime_that_was_killed_is_read_and_a_start_is_not_held_up() {
    let daemon = used();
    daemon.kill();
    let transcript = read(&daemon.0, &["transcript"]);
    assert!(transcript.stdout.contains("hello"), "{transcript:?}");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..5).for_each(|_| drop(read(&daemon.0, &["why"]))));
        }
        daemon.start();
    });
    daemon.ok(&["prompt", "--wait", "again"]);
}

#[test]
fn the_home_of_a_temporary_run_is_read() {
    let holon = Holon::new();
    read(&holon, &["run", "--model", "scripted/hello", "hello there"]);
    let runs = holon.home().join("runs");
    let run = fs::read_dir(runs).expect("homes of runs").next().expect("one").expect("readable").path();
    let of = |rest: &[&str]| {
        let home = run.display().to_string();
        read(&holon, &[&["--home", home.as_str()], rest].concat())
    };
    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(of(&["status"]).stdout.contains(&id));
    assert!(of(&["agent", "list"]).stdout.contains(&id), "its private agent is in its own list");
    assert!(of(&["transcript"]).stdout.contains("hello there"));
    assert!(of(&["tail"]).stdout.contains("hello"));
    assert!(of(&["why"]).stdout.contains("completed"));
}

#[test]
fn a_ledger_that_is_none_is_refused() {
    let holon = Holon::new();
    let home = holon.home();
    fs::create_dir(&home).expect("a home");
    fs::write(home.join("ledger.sqlite3"), "this is no database, and long enough to look like one\n")
        .expect("a file");
    for reads in READS {
        let ended = holon.run(reads);
        assert_eq!(ended.code, Some(1), "{reads:?}: {ended:?}");
        assert!(ended.stderr.contains("ledger.sqlite3"), "{ended:?}");
    }
    assert!(!Path::new(&home).join("ledger.sqlite3-wal").exists());
}
