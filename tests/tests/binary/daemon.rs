//! `holon daemon`: start, stop, status and restart with real processes.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use end_to_end::daemon::Daemon;
use end_to_end::{count, wait_for};
use serde_json::{Value, json};

#[test]
fn a_start_is_idempotent_and_a_stop_leaves_nothing() {
    let daemon = Daemon::hello();
    let stopped = daemon.0.run(&["daemon", "status"]);
    stopped.refused(5, &["holon daemon start"]);
    let pid = daemon.start();
    assert_eq!(daemon.start(), pid, "the same process");
    assert!(daemon.ok(&["daemon", "start"]).stdout.contains("runs already"));
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!((&status["state"], &status["pid"]), (&json!("running"), &json!(pid)));
    assert_eq!(status["control"]["ok"], true);
    assert_eq!(status["config"]["fingerprint_match"], true);
    assert_eq!(status["activity"]["state"], "idle");
    assert_eq!(status["activity"]["active_agent_count"], 1, "the default agent");
    assert_eq!(status["last_failure"], Value::Null);
    assert!(status["http_addr"].as_str().unwrap().starts_with("127.0.0.1:"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &daemon.run_file("holon.sock").symlink_metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert!(daemon.ok(&["daemon", "stop"]).stdout.contains(&pid.to_string()));
    for left in ["holon.sock", "daemon.json", "last_failure.json"] {
        assert!(!daemon.run_file(left).exists(), "{left}");
    }
    assert!(daemon.ok(&["daemon", "stop"]).stdout.contains("not running"));
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!(count(&records, "agent_created"), 1);
    assert_eq!(count(&records, "control_applied"), 0, "nobody was written down as stopped");
}

#[test]
fn starts_at_the_same_moment_are_one_start() {
    let daemon = Daemon::hello();
    let children: Vec<_> = (0..4).map(|_| daemon.0.spawn(&["daemon", "start", "--json"])).collect();
    let pids: Vec<Value> = children
        .into_iter()
        .map(|child| {
            let ended = end_to_end::Ended::from(child.wait_with_output().unwrap());
            assert_eq!(ended.code, Some(0), "{ended:?}");
            ended.json()["pid"].clone()
        })
        .collect();
    assert!(pids.iter().all(|pid| pid == &pids[0]), "{pids:?}");
}

#[test]
fn another_configuration_is_refused_until_a_restart() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    daemon.ok(&["config", "set", "limits.rounds", "7"]);
    let refused = daemon.0.run(&["daemon", "start"]);
    refused.refused(4, &["limits.rounds is the default, would be 7", "holon daemon restart"]);
    daemon.0.run(&["daemon", "start", "--advertise", "http://h.example/"]).refused(4, &["server.advertise"]);
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!(status["config"]["fingerprint_match"], false);
    assert_eq!(status["config"]["differences"][0]["key"], "limits.rounds");
    assert_eq!(status["pid"], pid, "it was left alone");
    let restarted = daemon.ok(&["daemon", "restart", "--json"]).json();
    assert_ne!(restarted["pid"], pid);
    assert_eq!(daemon.start(), restarted["pid"].as_u64().unwrap());
    // What could not be started again is not stopped.
    std::fs::write(daemon.0.home().join("config.toml"), "[limits]\nrounds = 0\n").unwrap();
    daemon.0.run(&["daemon", "restart"]).refused(2, &["limits.rounds"]);
    assert_eq!(daemon.metadata().unwrap()["pid"], restarted["pid"]);
    std::fs::remove_file(daemon.0.home().join("config.toml")).unwrap();
}

#[test]
fn a_restart_keeps_how_the_runtime_was_started() {
    let daemon = Daemon::hello();
    let token = daemon.0.file("token", "canary-token-0123456789");
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let token = token.to_str().unwrap();
    let options = ["--access", "tunnel", "--token-file", token, "--advertise", "http://h.example/"];
    daemon.ok(&[&["daemon", "start"], &options[..]].concat());
    let before = daemon.metadata().unwrap();
    daemon.ok(&["daemon", "restart"]);
    let after = daemon.metadata().unwrap();
    assert_ne!(after["pid"], before["pid"]);
    for key in ["access", "advertise_url", "options", "fingerprint"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    daemon.ok(&["daemon", "restart", "--advertise", "http://other.example/"]);
    let changed = daemon.metadata().unwrap();
    assert_eq!(
        (&changed["access"], &changed["advertise_url"]),
        (&json!("tunnel"), &json!("http://other.example/"))
    );
    daemon.ok(&["daemon", "stop"]);
    // A token of the command line is kept nowhere.
    daemon.ok(&["daemon", "start", "--token", "canary-token-9876543210"]);
    let pid = daemon.metadata().unwrap()["pid"].clone();
    daemon.0.run(&["daemon", "restart"]).refused(4, &["control token", "--token"]);
    assert_eq!(daemon.metadata().unwrap()["pid"], pid);
    daemon.ok(&["daemon", "restart", "--token", "canary-token-9876543210"]);
    assert!(!std::fs::read_to_string(daemon.run_file("daemon.json")).unwrap().contains("canary"));
}

#[test]
fn a_restart_at_another_port_keeps_the_host() {
    let daemon = Daemon::hello();
    daemon.ok(&["daemon", "start", "--listen", "127.0.0.2:0"]);
    let address = || daemon.metadata().unwrap()["http_addr"].as_str().unwrap().to_owned();
    let port = address().rsplit_once(':').unwrap().1.to_owned();
    daemon.ok(&["daemon", "restart", "--port", &port]);
    assert_eq!(address(), format!("127.0.0.2:{port}"));
    daemon.ok(&["daemon", "restart", "--host", "127.0.0.3"]);
    assert_eq!(address(), format!("127.0.0.3:{port}"));
}

/// What a start would be refused for is found out while the runtime still works.
#[test]
fn a_restart_that_could_not_start_stops_nothing() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    let home = daemon.0.home();
    let stays = |arguments: &[&str], code: i32, cause: &[&str]| {
        daemon.0.run(&[&["daemon", "restart"], arguments].concat()).refused(code, cause);
        assert_eq!(daemon.metadata().unwrap()["pid"], pid, "{cause:?}");
        assert_eq!(daemon.ok(&["daemon", "status", "--json"]).json()["state"], "running", "{cause:?}");
    };
    let replaced = |name: &str, text: &str, cause: &[&str]| {
        let path = home.join(name);
        let before = std::fs::read(&path).ok();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        stays(&[], if name == "restored.json" { 4 } else { 2 }, cause);
        match before {
            Some(before) => std::fs::write(&path, before).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
    };
    let mark = json!({ "whole": true, "backup": "b", "of_home": "/h", "made_at": "2026-11-27T00:00:00Z",
        "restored_at": "2026-11-27T00:00:00Z" });
    replaced("restored.json", &mark.to_string(), &["was restored from a backup", "--accept-restored"]);
    replaced("trigger.key", "nonsense", &["no key of trigger addresses"]);
    replaced("control.token", "short", &["control token"]);
    let socket = daemon.0.folder().join("foreign.sock");
    std::fs::write(&socket, "mine").unwrap();
    daemon.ok(&["config", "set", "server.socket", &socket.display().to_string()]);
    stays(&[], 5, &["is not a socket"]);
    daemon.ok(&["config", "unset", "server.socket"]);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    stays(&["--listen", &taken], 5, &[&taken, "--port"]);
    // Its own addresses are no obstacle: it lets go of them.
    let own = daemon.metadata().unwrap()["http_addr"].as_str().unwrap().to_owned();
    let restarted = daemon.ok(&["daemon", "restart", "--listen", &own, "--json"]).json();
    assert_ne!(restarted["pid"], pid);
    assert_eq!(restarted["http_addr"], own);
}

#[test]
fn a_second_runtime_of_a_home_is_refused() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    let second = daemon.0.run(&["serve", "--port", "0"]);
    second.refused(5, &[&pid.to_string(), "holon daemon status"]);
    assert!(!daemon.run_file("last_failure.json").exists(), "the one that lives is well");
    daemon.ok(&["daemon", "status"]);
}

#[test]
fn what_a_killed_runtime_left_is_cleaned_up() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    daemon.kill();
    let status = daemon.0.run(&["daemon", "status", "--json"]);
    assert_eq!(status.code, Some(5), "{status:?}");
    assert_eq!(status.json()["stale_files"].as_array().unwrap().len(), 2, "{status:?}");
    daemon.0.run(&["prompt", "--no-start", "hello"]).refused(5, &["holon daemon start"]);
    assert_ne!(daemon.start(), pid);
    daemon.kill();
    daemon.ok(&["daemon", "restart"]);
    daemon.kill();
    daemon.ok(&["daemon", "stop"]);
    assert!(!daemon.run_file("daemon.json").exists() && !daemon.run_file("holon.sock").exists());
}

#[test]
fn a_process_that_only_has_the_number_is_left_alone() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.kill();
    let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
    let mut metadata = daemon.metadata().unwrap();
    metadata["pid"] = json!(stranger.id());
    std::fs::write(daemon.run_file("daemon.json"), metadata.to_string()).unwrap();
    assert_eq!(daemon.0.run(&["daemon", "status", "--json"]).json()["state"], "not_running");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["daemon", "restart"]);
    assert!(stranger.try_wait().unwrap().is_none(), "it still sleeps");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_foreign_socket_is_refused_and_told_later() {
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.0.home().join("run")).unwrap();
    let socket = daemon.run_file("holon.sock");
    std::fs::write(&socket, "mine").unwrap();
    daemon.0.run(&["daemon", "start"]).refused(5, &["is not a socket", "HOLON_SOCKET_PATH"]);
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "mine");
    let status = daemon.0.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["last_failure"]["phase"], "startup");
    assert_eq!(status["stale_files"], json!([]), "it is somebody else's");
    assert!(status["socket_problem"].as_str().unwrap().contains("is not a socket"), "{status}");
    let people = daemon.0.run(&["daemon", "status"]);
    people.refused(5, &["HOLON_SOCKET_PATH"]);
    assert!(people.stdout.contains("in the way") && !people.stdout.contains("left behind"), "{people:?}");
    let logs = daemon.ok(&["daemon", "logs", "--json"]).json();
    assert!(logs["startup_failure"]["summary"].as_str().unwrap().contains("not a socket"), "{logs}");
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    daemon.0.run(&["daemon", "start"]).refused(5, &["another program listens"]);
    let status = daemon.0.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["stale_files"], json!([]), "it is somebody else's");
    assert!(status["socket_problem"].as_str().unwrap().contains("another program listens"), "{status}");
    drop(listener);
    // Nobody listens any more: a leftover.
    daemon.start();
    assert!(!daemon.run_file("last_failure.json").exists(), "cleared by the start that succeeded");
}

#[test]
fn a_start_that_fails_says_why() {
    let daemon = Daemon::hello();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    daemon.0.run(&["daemon", "start", "--listen", &address]).refused(5, &[&address, "--port"]);
    daemon.0.run(&["daemon", "start", "--access", "tunnel"]).refused(2, &["control token", "--token-file"]);
    daemon.0.run(&["daemon", "start", "--host", "0.0.0.0"]).refused(2, &["0.0.0.0"]);
    let nothing = Daemon::hello_with(&[("HOLON_MODEL", "")]);
    nothing.0.run(&["daemon", "start"]).refused(2, &["no model is configured"]);
}

#[test]
fn a_start_that_fails_before_it_has_the_home_is_kept() {
    let daemon = Daemon::hello_with(&[("HOLON_MODEL", "scripted/nonexist")]);
    daemon.0.run(&["daemon", "start"]).refused(2, &["nonexist"]);
    let status = daemon.0.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["last_failure"]["phase"], "startup", "{status}");
    assert_eq!(status["last_failure"]["exit_code"], 2);
    let logs = daemon.ok(&["daemon", "logs"]);
    assert!(logs.stdout.contains("failed at startup") && logs.stdout.contains("nonexist"), "{logs:?}");
    daemon.ok(&["daemon", "stop"]);
    assert_eq!(daemon.0.run(&["daemon", "status", "--json"]).json()["last_failure"], Value::Null);
    // What would keep a process from writing anything down.
    let odd = Daemon::hello_with(&[("HOLON_LOG", "holon_shell=loud")]);
    let named = ["HOLON_LOG is \"holon_shell=loud\"", "which is no filter", "HOLON_LOG=info"];
    odd.0.run(&["daemon", "start"]).refused(2, &named);
    odd.0.run(&["serve"]).refused(2, &named);
    let status = odd.0.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["last_failure"]["phase"], "startup", "{status}");
    // Whoever lives is well.
    let living = Daemon::hello();
    living.start();
    std::fs::write(living.0.home().join("config.toml"), "[limits]\nrounds = 0\n").unwrap();
    living.0.run(&["daemon", "start"]).refused(2, &["limits.rounds"]);
    assert!(!living.run_file("last_failure.json").exists());
}

#[test]
fn a_runtime_that_hangs_is_told_and_never_waited_for_without_end() {
    let daemon = Daemon::hello();
    let pid = daemon.start();
    daemon.signal("STOP");
    let status = daemon.0.run(&["daemon", "status", "--json"]);
    assert_eq!((status.code, &status.json()["state"]), (Some(5), &json!("not_answering")));
    let kill = format!("kill -9 {pid}");
    daemon.0.run(&["daemon", "stop", "--wait", "1"]).refused(1, &[&kill, "holon daemon logs"]);
    let logs = daemon.ok(&["daemon", "logs", "--json"]).json();
    assert!(logs["shutdown_failure"]["summary"].is_string(), "{logs}");
    daemon.signal("CONT");
    daemon.ok(&["daemon", "stop"]);
    assert!(!daemon.run_file("last_failure.json").exists());
}

#[test]
fn the_log_is_shown_and_followed() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut following =
        daemon.0.command(&["daemon", "logs", "--follow", "-n", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    daemon.ok(&["prompt", "--wait=settled", "hello"]);
    wait_for("turn in the log", || {
        let logs = daemon.ok(&["daemon", "logs", "--json"]).json();
        logs["tail"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains("turn_terminal"))
    });
    std::thread::sleep(std::time::Duration::from_millis(600));
    end_to_end::signal(&following, "INT");
    let mut followed = String::new();
    std::io::Read::read_to_string(&mut following.stdout.take().unwrap(), &mut followed).unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(0));
    assert!(followed.contains("turn_terminal"), "{followed}");
    assert!(!followed.contains("ready at"), "that was before: {followed}");
    let one = daemon.ok(&["daemon", "logs", "-n", "1", "--json"]).json();
    assert_eq!(one["tail"].as_array().unwrap().len(), 1);
}
