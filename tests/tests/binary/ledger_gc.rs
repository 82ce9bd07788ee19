//! What a home gives up with time: `holon ledger gc`, also where the process dies in the middle; and the checks of a runtime that
//! find damage by themselves.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use end_to_end::daemon::Daemon;
use end_to_end::durable::quiet;
use end_to_end::{mounts, wait_for};
use serde_json::{Value, json};

/// Kills, unless `HOLON_KILLS` says how many.
const KILLS: u64 = 5;

/// A stopped home in which a few runtimes have worked, one after the other.
fn home() -> Daemon {
    let daemon = Daemon::hello();
    for life in 0..3 {
        daemon.start();
        for prompt in 0..4 {
            daemon.ok(&["prompt", "--wait", &format!("{life} {prompt} {}", "long ".repeat(400))]);
        }
        daemon.ok(&["daemon", "stop"]);
    }
    daemon
}

fn size(daemon: &Daemon) -> u64 {
    std::fs::metadata(daemon.ledger()).expect("files and processes of a test").len()
}

fn gc(daemon: &Daemon, arguments: &[&str]) -> Value {
    daemon.ok(&[&["ledger", "gc", "--json"], arguments].concat()).json()
}

/// Makes a file that is older than a month.
fn old(path: PathBuf, bytes: usize) -> PathBuf {
    std::fs::create_dir_all(path.parent().expect("files and processes of a test"))
        .expect("files and processes of a test");
    std::fs::write(&path, vec![b'x'; bytes]).expect("files and processes of a test");
    made_old(&path);
    path
}

fn made_old(path: &Path) {
    let at = SystemTime::now() - Duration::from_hours(24 * 40);
    File::open(path)
        .expect("files and processes of a test")
        .set_modified(at)
        .expect("files and processes of a test");
}

#[test]
fn texts_that_nothing_needs_go_and_agents_go_on() {
    let daemon = Daemon::hello();
    daemon.start();
    // An agent keeps what the newest episodes were about.
    for episode in 0..16 {
        daemon.ok(&["prompt", "--wait", &format!("{episode} {}", "long ".repeat(400))]);
        daemon.ok(&["agent", "compact", "main"]);
    }
    daemon.ok(&["prompt", "--wait", &format!("new {}", "words ".repeat(400))]);
    daemon.ok(&["daemon", "stop"]);
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!(gc(&daemon, &["--texts"])["ledger"]["texts"], 0, "a month is not over");
    let kept = gc(&daemon, &["--keep", "0"]);
    assert_eq!(kept["ledger"]["texts"], 0, "{kept}");
    let removed = gc(&daemon, &["--keep", "0", "--texts"]);
    assert!(removed["ledger"]["texts"].as_u64().is_some_and(|texts| texts >= 6), "{removed}");
    assert!(removed["ledger"]["text_bytes"].as_u64().is_some_and(|bytes| bytes > 12_000), "{removed}");
    daemon.0.check_ledger(&daemon.ledger());
    assert_eq!(daemon.0.records(&daemon.ledger()), records, "records stay");
    let told = daemon.ok(&["ledger", "gc", "--keep", "0", "--texts"]).stdout;
    assert!(told.contains("0 texts that nothing needs"), "{told}");

    // The beginning of each stays, and what the agent still holds.
    let shown = daemon.ok(&["transcript", "--entries", "200"]).stdout;
    assert!(shown.contains("0 long") && shown.contains("[removed: it had 2002 bytes]"), "{shown}");
    assert!(shown.contains(&"words ".repeat(50)), "{shown}");
    daemon.start();
    daemon.0.run(&["ledger", "fork", "main", "early", "--at", "60"]).refused(4, &["texts", "were removed"]);
    daemon.ok(&["ledger", "fork", "main", "late"]);
    for agent in ["main", "late"] {
        daemon.ok(&["prompt", "--agent", agent, "--wait", "go on"]);
    }
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn what_is_old_goes_and_everything_that_is_left_is_in_order() {
    let daemon = home();
    let records = daemon.0.records(&daemon.ledger());
    let outputs = daemon.0.home().join("agents/main/task-output");
    let (gone, stays) = (old(outputs.join("task_1.log"), 5_000), outputs.join("task_2.log"));
    std::fs::write(&stays, "new").unwrap();
    let run = daemon.0.home().join("runs/run-old");
    for file in ["ledger.sqlite3", "run/lock"] {
        old(run.join(file), 100);
    }
    made_old(&run);

    // A month is not over.
    assert_eq!(gc(&daemon, &["--dry-run"])["ledger"]["calls"], 0);
    let before = size(&daemon);
    let planned = gc(&daemon, &["--dry-run", "--keep", "0"]);
    assert_eq!((size(&daemon), gone.exists(), run.exists()), (before, true, true), "nothing was changed");
    assert!(planned["ledger"]["calls"].as_u64().unwrap() > 10, "{planned}");
    let removed = gc(&daemon, &["--keep", "0"]);
    assert_eq!(removed["ledger"], planned["ledger"]);
    assert_eq!(removed["before_bytes"], before);
    assert!(removed["after_bytes"].as_u64().unwrap() < before, "{removed}");
    assert_eq!(removed["runs"], json!({ "count": 1, "bytes": 200 }));
    assert!(!gone.exists() && !run.exists(), "{removed}");

    daemon.0.check_ledger(&daemon.ledger());
    assert_eq!(daemon.0.records(&daemon.ledger()), records, "records stay");
    let replayed = daemon.ok(&["ledger", "replay", "--json"]).json();
    assert!(
        replayed["skipped_segments"].as_u64().unwrap() > 0 && replayed["calls"].as_u64() > Some(0),
        "{replayed}"
    );
    assert!(daemon.ok(&["transcript"]).stdout.contains("0 0 long"));
    let told = daemon.ok(&["ledger", "gc", "--keep", "0"]).stdout;
    assert!(told.contains("0 calls of the flight recorder") && told.contains("the ledger had"), "{told}");
    daemon.start();
    daemon.0.run(&["ledger", "gc"]).refused(4, &["another runtime", "holon daemon stop"]);
    daemon.ok(&["ledger", "gc", "--dry-run"]);
    daemon.ok(&["prompt", "--wait", "and on"]);
    daemon.ok(&["ledger", "verify", "--quick"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn output_stays_while_a_command_is_at_work() {
    let daemon = Daemon::hello();
    daemon.start();
    let end = daemon.0.folder().join("end");
    let waits = format!("while ! test -e {}; do sleep 0.05; done", end.display());
    daemon.ok(&["task", "run", "--agent", "main", &waits]);
    let log = old(daemon.0.home().join("agents/main/task-output/task_7.log"), 100);
    // It goes on without its runtime.
    daemon.ok(&["daemon", "stop"]);
    let removed = gc(&daemon, &["--keep", "0"]);
    assert_eq!((&removed["commands_at_work"], log.exists()), (&json!(true), true), "{removed}");
    let told = daemon.ok(&["ledger", "gc", "--keep", "0"]).stdout;
    assert!(told.contains("some are still at work"), "{told}");

    std::fs::write(&end, "").unwrap();
    daemon.start();
    wait_for("end of the task", || quiet(&daemon, &["main"]));
    daemon.ok(&["daemon", "stop"]);
    let removed = gc(&daemon, &["--keep", "0"]);
    assert_eq!((&removed["commands_at_work"], log.exists()), (&json!(false), false), "{removed}");
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn what_can_not_be_is_refused() {
    let daemon = Daemon::hello();
    daemon.0.run(&["ledger", "gc"]).refused(3, &["there is no ledger"]);
    daemon.0.run(&["ledger", "gc", "--keep", "-1"]).refused(2, &["--keep"]);
    daemon.0.run(&["ledger", "verify", "--quick", "--full"]).refused(2, &["--full"]);
    let mut in_database = daemon.0.command(&["ledger", "gc"]);
    let refused = in_database.env("HOLON_STORE_URL", "postgres://somebody@127.0.0.1:1/holon").output();
    end_to_end::Ended::from(refused.unwrap()).refused(1, &["gave no answer"]);
}

#[test]
fn wherever_it_is_killed_nothing_is_lost() {
    let daemon = home();
    let kills = std::env::var("HOLON_KILLS").map_or(KILLS, |kills| kills.parse().expect("a number"));
    let records = daemon.0.records(&daemon.ledger());
    let good = std::fs::read(daemon.ledger()).unwrap();
    let began = Instant::now();
    gc(&daemon, &["--keep", "0"]);
    let takes = began.elapsed();
    let mut cut = 0;
    for kill in 0..kills {
        for suffix in ["-wal", "-shm"] {
            std::fs::remove_file(format!("{}{suffix}", daemon.ledger().display())).unwrap_or_default();
        }
        std::fs::write(daemon.ledger(), &good).unwrap();
        let mut child = daemon.0.command(&["ledger", "gc", "--keep", "0"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(takes.mul_f64((kill as f64 + 0.5) / kills as f64));
        cut += u64::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        daemon.0.check_ledger(&daemon.ledger());
        gc(&daemon, &["--keep", "0"]);
        daemon.0.check_ledger(&daemon.ledger());
        assert_eq!(gc(&daemon, &["--keep", "0"])["ledger"]["calls"], 0);
        assert_eq!(daemon.0.records(&daemon.ledger()), records);
    }
    assert!(cut > 0, "none of {kills} kills came in time");
    daemon.start();
    daemon.ok(&["prompt", "--wait", "and on"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_full_disk_leaves_everything_in_order() {
    if !mounts::own(module_path!(), "a_full_disk_leaves_everything_in_order") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), 44);
    for _ in 0..2 {
        daemon.start();
        for prompt in 0..10 {
            daemon.ok(&["prompt", "--wait", &format!("{prompt} {}", "long ".repeat(400))]);
        }
        daemon.ok(&["daemon", "stop"]);
    }
    let filler = daemon.0.home().join("filler");
    let mut file = File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 4_096]).is_ok() {}
    daemon.0.run(&["ledger", "gc", "--keep", "0"]).refused(1, &["free space"]);
    drop(file);
    std::fs::remove_file(&filler).unwrap();
    daemon.0.check_ledger(&daemon.ledger());
    gc(&daemon, &["--keep", "0"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_runtime_finds_damage_by_itself_and_names_it() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["prompt", "--wait", "one"]);
    wait_for("end of all work", || quiet(&daemon, &["main"]));
    daemon.ok(&["daemon", "stop"]);
    // Calls of long ago, wherever a page has them.
    let mut bytes = std::fs::read(daemon.ledger()).unwrap();
    let call = br#""input":{"input":"completed""#;
    let places: Vec<usize> = bytes
        .windows(call.len())
        .enumerate()
        .filter_map(|(at, window)| (window == call).then_some(at))
        .collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at + 3] ^= 2);
    std::fs::write(daemon.ledger(), bytes).unwrap();
    std::fs::write(daemon.0.home().join("config.toml"), "[runtime]\nverify_every_ms = 200\n").unwrap();
    daemon.start();
    let status = || daemon.ok(&["daemon", "status", "--json"]).json()["problem"].clone();
    wait_for("a check that fails", || status().is_string());
    let problem = status().to_string();
    assert!(problem.contains("the check of the ledger at") && problem.contains("call "), "{problem}");
    assert!(daemon.ok(&["daemon", "status"]).stdout.contains("the check of the ledger"));
    let log = std::fs::read_to_string(daemon.run_file("daemon.log")).unwrap();
    assert!(log.contains("ERROR") && log.contains("the check of the ledger"), "{log}");
    // Work goes on: what is damaged is of the past.
    daemon.ok(&["prompt", "--wait", "two"]);
}
