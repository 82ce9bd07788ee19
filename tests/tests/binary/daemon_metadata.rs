//! A runtime whose `daemon.json` is lost, unreadable or from another version is found all the same; and one that dies
//! while it is asked is replaced.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixListener;

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, wait_for};
use serde_json::{Value, json};

#[test]
fn a_runtime_without_metadata_is_found_at_its_socket() {
    let daemon = Daemon::hello();
    daemon.ok(&["config", "set", "server.advertise", "http://h.example/"]);
    let pid = daemon.start();
    let path = daemon.run_file("daemon.json");
    let whole = daemon.metadata().unwrap();
    let without = |keys: &[&str]| {
        let mut metadata = whole.clone();
        keys.iter().for_each(|key| drop(metadata.as_object_mut().unwrap().remove(*key)));
        Some(metadata.to_string())
    };
    let damaged = [None, Some("{ half".to_owned()), without(&["boot_id", "started", "pid"])];
    for text in damaged {
        match &text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let status = daemon.ok(&["daemon", "status", "--json"]).json();
        assert_eq!((&status["state"], &status["pid"]), (&json!("running"), &json!(pid)), "{text:?}");
        assert_eq!(status["config"]["fingerprint_match"], true, "{text:?}");
        for name in ["started_at", "version", "http_addr", "advertise_url", "access", "auth"] {
            assert_eq!((name, &status[name]), (name, &whole[name]), "{text:?}");
        }
    }
    let is_known = |started: Ended| {
        assert_eq!(started.code, Some(0), "{started:?}");
        let started = started.json();
        assert_eq!((&started["pid"], &started["already_running"]), (&json!(pid), &json!(true)));
        for name in ["http_addr", "advertise_url", "version"] {
            assert_eq!((name, &started[name]), (name, &whole[name]));
        }
    };
    for damaged in [without(&["socket_path"]), without(&["fingerprint"])] {
        std::fs::write(&path, damaged.unwrap()).unwrap();
        is_known(daemon.0.run(&["daemon", "start", "--json"]));
    }
    std::fs::remove_file(&path).unwrap();
    // Each of them looks for a while whether it is there to stay.
    let same = daemon.0.spawn(&["daemon", "start", "--json"]);
    let other = daemon.0.spawn(&["daemon", "start", "--advertise", "http://other.example/"]);
    is_known(same.wait_with_output().unwrap().into());
    let other = Ended::from(other.wait_with_output().unwrap());
    other.refused(4, &["another configuration", "holon daemon stop, then holon daemon start"]);
    assert!(daemon.ok(&["daemon", "stop"]).stdout.contains(&pid.to_string()));
}

/// Its options are nowhere else, and a token is nowhere at all.
#[test]
fn a_restart_without_metadata_loses_neither_options_nor_a_token() {
    let daemon = Daemon::hello();
    let advertise = ["--advertise", "http://h.example/"];
    let token = ["--token", "canary-token-0123456789"];
    daemon.ok(&[&["daemon", "start"], &advertise[..], &token].concat());
    let path = daemon.run_file("daemon.json");
    let refused = |given: &[&str], pid: &Value| {
        let refused = daemon.0.run(&[&["daemon", "restart"], given].concat());
        refused.refused(4, &["daemon.json", "another one", "holon daemon stop, then holon daemon start"]);
        let status = daemon.ok(&["daemon", "status", "--json"]).json();
        assert_eq!((&status["state"], &status["pid"]), (&json!("running"), pid), "{given:?}");
    };
    let as_before = |before: &Value| {
        let after = daemon.metadata().unwrap();
        assert_ne!(after["pid"], before["pid"]);
        for key in ["advertise_url", "options", "fingerprint"] {
            assert_eq!(after[key], before[key], "{key}");
        }
        after
    };
    let before = daemon.metadata().unwrap();
    std::fs::remove_file(&path).unwrap();
    for given in [&[][..], &advertise, &token] {
        refused(given, &before["pid"]);
    }
    daemon.ok(&[&["daemon", "restart"], &advertise[..], &token].concat());
    let before = as_before(&before);
    let mut incomplete = before.clone();
    incomplete.as_object_mut().unwrap().remove("fingerprint");
    std::fs::write(&path, incomplete.to_string()).unwrap();
    refused(&[], &before["pid"]);
    daemon.ok(&[&["daemon", "restart"], &token[..]].concat());
    as_before(&before);
}

#[test]
fn a_restart_loses_no_options_that_an_earlier_build_did_not_keep() {
    let daemon = Daemon::hello();
    daemon.ok(&["daemon", "start", "--advertise", "http://h.example/"]);
    let mut metadata = daemon.metadata().unwrap();
    let pid = metadata["pid"].clone();
    metadata.as_object_mut().unwrap().remove("options");
    std::fs::write(daemon.run_file("daemon.json"), metadata.to_string()).unwrap();
    daemon.ok(&["config", "set", "limits.rounds", "7"]);
    let refused = daemon.0.run(&["daemon", "restart"]);
    refused.refused(4, &["server.advertise is http://h.example/", "holon daemon stop"]);
    assert!(!refused.stderr.contains("limits.rounds"), "no option sets that: {refused:?}");
    assert_eq!(daemon.metadata().unwrap()["pid"], pid);
    daemon.ok(&["daemon", "restart", "--advertise", "http://h.example/"]);
    let after = daemon.metadata().unwrap();
    assert_ne!(after["pid"], pid);
    assert_eq!(after["options"], json!(["--advertise=http://h.example/"]));
}

/// As a start on a full disk may leave it.
#[test]
fn a_runtime_whose_lock_names_nobody_is_shown_and_stopped() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    let lock = daemon.run_file("lock");
    File::options().write(true).open(&lock).unwrap().set_len(0).unwrap();
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!((&status["state"], &status["pid"]), (&json!("running"), &json!(pid)));
    assert_eq!(daemon.start(), pid);
    let restarted = daemon.ok(&["daemon", "restart", "--json"]).json();
    assert_ne!(restarted["pid"], pid);
    let named = std::fs::read_to_string(&lock).unwrap();
    assert_eq!(named, format!("{}\n", restarted["pid"]));
    File::options().write(true).open(&lock).unwrap().set_len(0).unwrap();
    assert!(daemon.ok(&["daemon", "stop"]).stdout.contains(&restarted["pid"].to_string()));
}

#[test]
fn a_runtime_without_metadata_is_found_at_the_socket_that_is_configured() {
    let daemon = Daemon::hello();
    let socket = daemon.0.folder().join("another.sock");
    daemon.ok(&["config", "set", "server.socket", socket.to_str().unwrap()]);
    let pid = daemon.start();
    std::fs::remove_file(daemon.run_file("daemon.json")).unwrap();
    assert_eq!(daemon.start(), pid);
    assert_eq!(daemon.ok(&["daemon", "status", "--json"]).json()["socket_path"], json!(socket));
    assert_eq!(daemon.ok(&["status", "--json"]).json()["agent_id"], "main");
    daemon.ok(&["daemon", "stop"]);
}

#[test]
fn what_was_left_at_the_socket_that_is_configured_is_cleaned_up() {
    let daemon = Daemon::hello();
    let socket = daemon.0.folder().join("another.sock");
    daemon.ok(&["config", "set", "server.socket", socket.to_str().unwrap()]);
    daemon.start();
    daemon.kill();
    let left = daemon.0.run(&["daemon", "status", "--json"]).json()["stale_files"].clone();
    assert_eq!(left, json!([daemon.run_file("daemon.json"), socket]));
    daemon.ok(&["daemon", "stop"]);
    assert!(!socket.exists());
    // The configuration may have changed since: the metadata says where it was.
    daemon.start();
    daemon.kill();
    daemon.ok(&["config", "unset", "server.socket"]);
    daemon.start();
    assert!(!socket.exists());
}

#[test]
fn only_the_owner_of_the_home_is_believed_at_its_socket() {
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.0.home().join("run")).unwrap();
    let mut holder = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let lock = File::create(daemon.run_file("lock")).unwrap();
    lock.lock().unwrap();
    writeln!(&lock, "{}", holder.id()).unwrap();
    let _stranger = UnixListener::bind(daemon.run_file("holon.sock")).unwrap();
    let status = daemon.0.run(&["daemon", "status", "--json"]);
    assert_eq!((status.code, &status.json()["state"]), (Some(5), &json!("busy")));
    drop(lock);
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// A process that ends loses its arguments before its locks. This test holds the lock in its place.
#[test]
fn a_process_that_is_about_to_be_gone_is_waited_for() {
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.0.home().join("run")).unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    let arguments = format!("/proc/{}/cmdline", ended.id());
    wait_for("end of a process", || std::fs::read(&arguments).unwrap().is_empty());
    let lock = File::create(daemon.run_file("lock")).unwrap();
    lock.lock().unwrap();
    writeln!(&lock, "{}", ended.id()).unwrap();
    let stopping = daemon.0.spawn(&["daemon", "stop"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    drop(lock);
    let stopped = Ended::from(stopping.wait_with_output().unwrap());
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(0), "not running\n"), "{stopped:?}");
    ended.wait().unwrap();
}

/// For so long a runtime that dies lets connections in, and answers none.
const DYING: std::time::Duration = std::time::Duration::from_millis(1_500);

/// This process plays a runtime that is killed, and takes its time to be gone.
#[test]
fn a_runtime_that_dies_while_it_is_asked_is_replaced() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.kill();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    let mut metadata = daemon.metadata().unwrap();
    metadata["pid"] = json!(std::process::id());
    metadata["started"] = json!(fields[19].parse::<u64>().unwrap());
    std::fs::write(daemon.run_file("daemon.json"), metadata.to_string()).unwrap();
    std::fs::remove_file(daemon.run_file("holon.sock")).unwrap();
    let lock = File::create(daemon.run_file("lock")).unwrap();
    lock.lock().unwrap();
    writeln!(&lock, "{}", std::process::id()).unwrap();
    let listener = UnixListener::bind(daemon.run_file("holon.sock")).unwrap();
    let mut starting = daemon.0.spawn(&["daemon", "start", "--json"]);
    listener.set_nonblocking(true).unwrap();
    wait_for("connection", || listener.accept().is_ok() || starting.try_wait().unwrap().is_some());
    let begun = std::time::Instant::now();
    while begun.elapsed() < DYING {
        drop(listener.accept());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop((listener, lock));
    let ended = Ended::from(starting.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["already_running"], false);
    daemon.ok(&["daemon", "stop"]);
}
