//! Disks that are full or can't be written: what was acknowledged survives, the runtime says what is wrong and what
//! to do, and goes on once it can.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{Acknowledged, every_key_once, nothing_is_open, quiet};
use end_to_end::http::{Answered, ask, get, post_until_acknowledged};
use end_to_end::life::Life;
use end_to_end::{mounts, wait_for};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::{Value, json};

/// The reserve is 32 MiB of these.
const DISK: u32 = 44;
const PROMPT: &str = "/control/agents/main/prompt";

/// Takes every byte that is left.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    for size in [1 << 20, 4 << 10] {
        let block = vec![0_u8; size];
        let full = loop {
            if let Err(error) = file.write_all(&block) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }
}

/// Temporary folders whose names begin like that.
fn left(prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("a folder");
    // Another test may take one of its own away meanwhile.
    let here = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    here.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)))
        .collect()
}

#[test]
fn a_disk_of_a_test_leaves_no_folder_behind() {
    // `unshare` becomes the process that has the mounts: its parent is the one that looks.
    let prefix = |pid: u32| format!("small-disk-of-{pid}-");
    if !mounts::own(module_path!(), "a_disk_of_a_test_leaves_no_folder_behind") {
        assert_eq!(left(&prefix(std::process::id())), Vec::<PathBuf>::new());
        return;
    }
    let folder =
        tempfile::Builder::new().prefix(&prefix(std::os::unix::process::parent_id())).tempdir().unwrap();
    mounts::small_disk(folder.path(), 1);
}

/// What the agent `main` is told under a key.
fn of_main(key: &str) -> (String, String) {
    ("main".to_owned(), key.to_owned())
}

fn say(daemon: &Daemon, key: &str, told: &mut Acknowledged) {
    let socket = daemon.run_file("holon.sock");
    let answer = post_until_acknowledged(&socket, PROMPT, key, &json!({ "text": key }));
    let id = answer["message_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    told.insert(of_main(key), id);
}

fn readiness(daemon: &Daemon) -> Value {
    get(&daemon.run_file("holon.sock"), "/control/runtime/readiness").expect("it answers").body
}

/// A prompt that nobody waits for: it stands before the full disk until there is room.
fn try_to_say(daemon: &Daemon, key: &str) {
    let (socket, key) = (daemon.run_file("holon.sock"), key.to_owned());
    std::thread::spawn(move || {
        // Whether it gets an answer is not what matters.
        ask(&socket, "POST", PROMPT, &[("Idempotency-Key", &key)], Some(&json!({ "text": key }))).ok();
    });
}

fn life(daemon: &Daemon) -> Life {
    let mut life = Life::begin(daemon, &[]);
    assert_eq!(life.ready(daemon), None, "{:?}", std::fs::read_to_string(daemon.run_file("serve.log")));
    life
}

fn in_the_end(daemon: &Daemon, life: Life, told: &Acknowledged) {
    wait_for("end of all work", || quiet(daemon, &["main"]));
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    every_key_once(&records, told);
    nothing_is_open(&records);
}

#[test]
fn a_full_disk_is_told_and_waited_out() {
    if !mounts::own(module_path!(), "a_full_disk_is_told_and_waited_out") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    let life = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    assert_eq!(readiness(&daemon)["ready"], true);

    let filler = daemon.0.home().join("filler");
    fill(&filler);
    // It meets a disk that nobody knows to be full: it can't be refused any more.
    let during = ["prompt", "--key", "during", "during"];
    daemon
        .0
        .run(&during)
        .refused(1, &["not stored yet", "free space", "holon prompt --agent main --key during"]);
    assert_eq!(readiness(&daemon)["ready"], false);
    assert!(readiness(&daemon)["problem"].as_str().unwrap().contains("full"), "{}", readiness(&daemon));
    daemon
        .0
        .run(&["prompt", "now"])
        .refused(4, &["disk of the ledger is full", "free space", "holon daemon status"]);
    let status = daemon.ok(&["daemon", "status"]);
    assert!(status.stdout.contains("disk of the ledger is full"), "{status:?}");
    let refused = ask(&daemon.run_file("holon.sock"), "POST", PROMPT, &[], Some(&json!({ "text": "x" })));
    assert!(
        matches!(&refused, Ok(Answered { status: 503, body }) if body["code"] == "disk_full"),
        "{refused:?}"
    );
    // What is durable can be read all the time.
    assert!(daemon.ok(&["transcript"]).stdout.contains("before"));
    for command in [["status"].as_slice(), &["why"], &["agent", "list"]] {
        let told = daemon.ok(command);
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains("this is the last durable state: the disk of the ledger is full"), "{told}");
    }

    std::fs::remove_file(&filler).unwrap();
    wait_for("room", || readiness(&daemon)["ready"] == true);
    say(&daemon, "during", &mut told);
    let again = daemon.ok(&["prompt", "--key", "during", "during", "--json"]).json();
    assert_eq!(
        (&again["duplicate"], again["message_id"].as_str()),
        (&json!(true), told.get(&of_main("during")).map(String::as_str))
    );
    say(&daemon, "after", &mut told);
    in_the_end(&daemon, life, &told);
}

#[test]
fn a_ledger_that_can_not_be_read_is_named_by_the_status() {
    let daemon = Daemon::hello();
    let first = life(&daemon);
    say(&daemon, "before", &mut Acknowledged::new());
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    assert!(first.leave().success());
    let status = || daemon.0.run(&["daemon", "status", "--json"]).json()["ledger_problem"].clone();
    assert_eq!(status(), Value::Null);
    std::fs::write(daemon.ledger(), "no ledger of ours".repeat(100)).unwrap();
    let problem = status();
    let says = |part: &str| problem.as_str().is_some_and(|problem| problem.contains(part));
    assert!(says(&daemon.ledger().display().to_string()) && says("not a SQLite database"), "{problem}");
    let shown = daemon.0.run(&["daemon", "status"]).stdout;
    assert!(shown.contains("not a SQLite database"), "{shown}");
}

#[test]
fn a_start_that_can_tell_nobody_why_names_the_ledger_too() {
    if !mounts::own(module_path!(), "a_start_that_can_tell_nobody_why_names_the_ledger_too") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    assert!(life(&daemon).leave().success());
    std::fs::write(daemon.ledger(), "no ledger of ours".repeat(100)).unwrap();
    fill(&daemon.0.home().join("filler"));
    let ledger = daemon.ledger().display().to_string();
    let refused = daemon.0.run(&["daemon", "start"]);
    for text in [ledger.as_str(), "not a SQLite database", "is full", "free space"] {
        assert!(refused.stderr.contains(text), "{text:?} is not in {refused:?}");
    }
    assert_ne!(refused.code, Some(0));
}

/// The disk is full when the command of a turn ends, and when the next one wants to begin.
#[test]
fn a_turn_goes_on_after_a_full_disk() {
    if !mounts::own(module_path!(), "a_turn_goes_on_after_a_full_disk") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let [begun, end, second] = ["begun", "end", "second"].map(|name| outside.path().join(name));
    let call = |cmd: String| json!({ "calls": [{ "tool": "ExecCommand", "arguments": { "cmd": cmd, "login": false, "yield_time_ms": 60_000 } }] });
    let wait =
        format!("touch {}; while ! test -e {}; do sleep 0.02; done; echo x", begun.display(), end.display());
    let rounds = json!([call(wait), call(format!("touch {}", second.display())), { "text": "Done." }]);
    let daemon = Daemon::scripted(&rounds);
    mounts::small_disk(&daemon.0.home(), DISK);
    let life = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "one", &mut told);
    wait_for("command", || begun.exists());
    let filler = daemon.0.home().join("filler");
    fill(&filler);
    std::fs::write(&end, "").unwrap();
    wait_for("word of the full disk", || readiness(&daemon)["ready"] == false);
    assert!(!second.exists(), "nothing is done that is not on record");
    std::fs::remove_file(&filler).unwrap();
    wait_for("end of the turn", || quiet(&daemon, &["main"]));
    assert!(second.exists(), "the turn went on");
    in_the_end(&daemon, life, &told);
}

#[test]
fn killed_and_started_on_a_full_disk_it_keeps_what_it_acknowledged() {
    if !mounts::own(module_path!(), "killed_and_started_on_a_full_disk_it_keeps_what_it_acknowledged") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    let first = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    let filler = daemon.0.home().join("filler");
    fill(&filler);
    try_to_say(&daemon, "during");
    wait_for("word of the full disk", || readiness(&daemon)["ready"] == false);
    first.kill();
    fill(&filler);
    let refused = daemon.0.run(&["daemon", "start"]);
    refused.refused(1, &["full", "free space"]);
    std::fs::remove_file(&filler).unwrap();
    let life = life(&daemon);
    say(&daemon, "during", &mut told);
    in_the_end(&daemon, life, &told);
}

/// Exit code 2 is wrong usage: a service manager would not start it again.
#[test]
fn a_start_without_any_space_is_no_wrong_usage() {
    if !mounts::own(module_path!(), "a_start_without_any_space_is_no_wrong_usage") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    life(&daemon).kill();
    for name in ["run/lock", "ledger.reserve"] {
        std::fs::remove_file(daemon.0.home().join(name)).unwrap();
    }
    let filler = daemon.0.home().join("filler");
    fill(&filler);
    daemon.0.run(&["serve"]).refused(1, &["full", "free space"]);
    std::fs::remove_file(&filler).unwrap();
    assert!(life(&daemon).leave().success());
}

#[test]
fn a_stop_on_a_full_disk_ends_in_good_order() {
    if !mounts::own(module_path!(), "a_stop_on_a_full_disk_ends_in_good_order") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    let first = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    let filler = daemon.0.home().join("filler");
    fill(&filler);
    assert!(first.leave().success(), "the reserve is for this");
    std::fs::remove_file(&filler).unwrap();
    let life = life(&daemon);
    say(&daemon, "after", &mut told);
    in_the_end(&daemon, life, &told);
}

#[test]
fn a_stop_without_anything_in_reserve_ends_as_a_crash_would() {
    if !mounts::own(module_path!(), "a_stop_without_anything_in_reserve_ends_as_a_crash_would") {
        return;
    }
    let daemon = Daemon::hello();
    mounts::small_disk(&daemon.0.home(), DISK);
    let first = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    std::fs::remove_file(daemon.0.home().join("ledger.reserve")).expect("a reserve");
    let filler = daemon.0.home().join("filler");
    fill(&filler);
    // More than the write-ahead log has space for: what comes after it waits as well.
    let long = "x".repeat(60_000);
    daemon.0.run(&["prompt", "--key", "during", &long]).refused(1, &["not stored yet"]);
    daemon.ok(&["daemon", "stop"]);
    assert!(!first.leave().success());
    std::fs::remove_file(&filler).unwrap();
    let life = life(&daemon);
    say(&daemon, "after", &mut told);
    in_the_end(&daemon, life, &told);
}

#[test]
fn a_ledger_that_can_not_be_written_is_refused_in_words() {
    if !mounts::own(module_path!(), "a_ledger_that_can_not_be_written_is_refused_in_words") {
        return;
    }
    let daemon = Daemon::hello();
    let first = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    assert!(first.leave().success());
    let ledger = daemon.ledger();
    mounts::read_only(&ledger);
    let path = ledger.display().to_string();
    daemon.0.run(&["daemon", "start"]).refused(1, &[&path, "read-only", "this user may write"]);
    let failure = daemon.0.run(&["daemon", "status", "--json"]).json()["last_failure"].clone();
    assert!(failure["summary"].as_str().unwrap().contains(&path), "{failure}");
    daemon.0.check_ledger(&ledger);
    mounts::take_away(&ledger);
    // The folder around it: SQLite needs files beside the ledger.
    mounts::read_only(&daemon.0.home());
    let refused = daemon.0.run(&["daemon", "start"]);
    assert!(
        refused.code.is_some_and(|code| code != 0) && !refused.stderr.contains("panicked"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("ead-only") && refused.stderr.contains("home"), "{refused:?}");
    mounts::take_away(&daemon.0.home());
    let life = life(&daemon);
    say(&daemon, "after", &mut told);
    in_the_end(&daemon, life, &told);
}

/// Takes a flag of the file system from files again, whatever becomes of the test.
struct Immutable(Vec<String>);

impl Immutable {
    /// None where that is not allowed.
    fn make(ledger: &Path) -> Option<Self> {
        let name = ledger.display().to_string();
        let files = vec![name.clone(), format!("{name}-wal")];
        let mut probe = tempfile::Builder::new().tempfile_in(ledger.parent()?).ok()?;
        let immutable = |files: &[String]| {
            let done = Command::new("chattr").arg("+i").args(files).output();
            done.is_ok_and(|done| done.status.success()).then(|| Self(files.to_vec()))
        };
        // Some file systems still take writes through a descriptor that was opened before.
        let own = immutable(&[probe.path().display().to_string()])?;
        let taken = probe.write_all(b"x").is_ok();
        drop(own);
        if taken { None } else { immutable(&files) }
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        Command::new("chattr").arg("-i").args(&self.0).status().ok();
    }
}

#[test]
fn a_ledger_that_becomes_read_only_ends_the_runtime_and_keeps_what_it_acknowledged() {
    let daemon = Daemon::hello();
    let mut first = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));
    let Some(immutable) = Immutable::make(&daemon.ledger()) else {
        println!("skipped: files can't be made immutable here");
        return;
    };
    try_to_say(&daemon, "during");
    let mut ended = None;
    wait_for("end of the runtime", || {
        ended = first.ended();
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.code()), Some(1));
    let failure = daemon.0.run(&["daemon", "status", "--json"]).json()["last_failure"].clone();
    assert!(failure["summary"].as_str().unwrap().contains("the ledger failed"), "{failure}");
    assert!(failure["detail_hint"].is_string(), "{failure}");
    let refused = daemon.0.run(&["daemon", "start"]);
    assert!(refused.code.is_some_and(|code| code != 0) && refused.stderr.contains("ledger"), "{refused:?}");
    drop(immutable);
    let life = life(&daemon);
    say(&daemon, "during", &mut told);
    in_the_end(&daemon, life, &told);
}

/// Any process of this user can take a lock on the shared index: it keeps the runtime waiting, and nothing else.
#[test]
fn a_lock_of_another_process_is_told_and_waited_out() {
    let daemon = Daemon::hello();
    let life = life(&daemon);
    let mut told = Acknowledged::new();
    say(&daemon, "before", &mut told);
    wait_for("end of the first turn", || quiet(&daemon, &["main"]));

    let index = File::open(format!("{}-shm", daemon.ledger().display())).expect("a shared index");
    wait_for("a lock", || fcntl_lock(&index, FlockOperation::NonBlockingLockShared).is_ok());
    try_to_say(&daemon, "during");
    wait_for("word of the lock", || readiness(&daemon)["ready"] == false);
    let problem = readiness(&daemon)["problem"].as_str().unwrap_or_default().to_owned();
    let own = format!("process {}", std::process::id());
    assert!(problem.contains("locked by") && problem.contains(&own), "{problem}");
    let socket = daemon.run_file("holon.sock");
    let refused = ask(&socket, "POST", PROMPT, &[("Idempotency-Key", "no")], Some(&json!({ "text": "no" })));
    let refused = refused.expect("it answers");
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("ledger_locked")), "{}", refused.body);

    drop(index);
    wait_for("end of the lock", || readiness(&daemon)["ready"] == true);
    for key in ["during", "after"] {
        say(&daemon, key, &mut told);
    }
    in_the_end(&daemon, life, &told);
}
