//! `holon serve` in the foreground: who may come in, what is told to whom, and its end.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, signal, wait_for};
use serde_json::{Value, json};

const TOKEN: &str = "canary-token-0123456789";

fn ready(daemon: &Daemon) -> String {
    wait_for("runtime", || daemon.metadata().is_some());
    daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("an address").to_owned()
}

fn ended(child: Child) -> Ended {
    signal(&child, "TERM");
    child.wait_with_output().expect("it ends").into()
}

/// The answer to a GET over TCP.
fn get(address: &str, path: &str, token: Option<&str>) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn it_ends_in_good_order_and_says_when_it_is_ready() {
    let daemon = Daemon::hello();
    let folder = tempfile::tempdir().unwrap();
    let notify = folder.path().join("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let child = daemon.0.command(&["serve", "--json"]).env("NOTIFY_SOCKET", &notify).spawn().unwrap();
    let told = || {
        let mut bytes = [0; 256];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    assert!(told().contains("READY=1"));
    assert!(get(&ready(&daemon), "/healthz", None).starts_with("HTTP/1.1 200"));
    let ended = ended(child);
    assert!(told().contains("STOPPING=1"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    let lines: Vec<Value> = ended.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"].as_str().unwrap().contains("left in good order")));
    assert!(!daemon.run_file("holon.sock").exists() && !daemon.run_file("daemon.json").exists());
}

/// As a file on a full disk, and as a pipe whose reader has gone.
#[test]
fn a_log_that_can_not_be_written_ends_nothing() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    for stderr in [full(), closed()] {
        let daemon = Daemon::hello();
        let child = daemon.0.command(&["serve"]).stderr(stderr).spawn().unwrap();
        ready(&daemon);
        daemon.ok(&["prompt", "--wait=settled", "-q", "hello"]);
        assert_eq!(ended(child).code, Some(0));
    }
}

#[test]
fn the_token_is_asked_for_on_tcp_and_seen_nowhere() {
    let daemon = Daemon::hello();
    let file = daemon.0.file("token", TOKEN);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let child = daemon.0.spawn(&["serve", "--access", "tunnel", "--token-file", file.to_str().unwrap()]);
    let address = ready(&daemon);
    assert!(get(&address, "/agents/list", None).starts_with("HTTP/1.1 401"));
    assert!(get(&address, "/agents/list", Some("another-token-0123")).starts_with("HTTP/1.1 401"));
    assert!(get(&address, "/agents/list", Some(TOKEN)).starts_with("HTTP/1.1 200"));
    daemon.ok(&["prompt", "--wait=settled", "-q", &format!("is {TOKEN} secret?")]);
    let transcript = daemon.ok(&["transcript"]).stdout;
    assert!(transcript.contains("[redacted:HOLON_CONTROL_TOKEN]"), "{transcript}");
    let metadata = daemon.metadata().unwrap().to_string();
    let ended = ended(child);
    let ledger = std::fs::read(daemon.ledger()).unwrap();
    for (place, text) in [("daemon.json", metadata), ("log", ended.stderr), ("ledger", text(&ledger))] {
        assert!(!text.contains("canary"), "{place}");
    }
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    daemon.0.run(&["serve", "--token-file", file.to_str().unwrap()]).refused(2, &["chmod 600"]);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_token_of_the_command_line_is_in_no_process_list() {
    let daemon = Daemon::hello();
    let started = daemon.ok(&["daemon", "start", "--json", "--token", TOKEN]).json();
    let arguments = std::fs::read(format!("/proc/{}/cmdline", started["pid"])).unwrap();
    assert!(!text(&arguments).contains("canary"), "{}", text(&arguments));
    let address = started["http_addr"].as_str().unwrap();
    assert!(get(address, "/agents/list", None).starts_with("HTTP/1.1 401"));
    assert!(get(address, "/agents/list", Some(TOKEN)).starts_with("HTTP/1.1 200"));
    // Another token is another configuration.
    daemon.0.run(&["daemon", "start"]).refused(4, &["control token"]);
    let refused = daemon.0.run(&["daemon", "start", "--token", TOKEN]);
    assert_eq!(refused.code, Some(0), "{refused:?}");
    assert!(!text(&std::fs::read(daemon.run_file("daemon.log")).unwrap()).contains("canary"));
}

/// Who exports another token and restarts has replaced it.
#[test]
fn a_variable_takes_the_place_of_a_token_file_at_a_restart() {
    let daemon = Daemon::hello();
    let file = daemon.0.file("token", TOKEN);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    daemon.ok(&["daemon", "start", "--token-file", file.to_str().unwrap()]);
    let newer = "canary-token-of-a-variable";
    let restart =
        daemon.0.command(&["daemon", "restart"]).env("HOLON_CONTROL_TOKEN", newer).output().unwrap();
    let restarted = Ended::from(restart);
    assert_eq!(restarted.code, Some(0), "{restarted:?}");
    let metadata = daemon.metadata().unwrap();
    assert_eq!(metadata["options"], json!([]));
    let address = metadata["http_addr"].as_str().unwrap();
    assert!(get(address, "/agents/list", Some(newer)).starts_with("HTTP/1.1 200"));
    assert!(get(address, "/agents/list", Some(TOKEN)).starts_with("HTTP/1.1 401"));
}

#[test]
fn a_token_that_is_required_everywhere_is_asked_for_on_the_socket() {
    let daemon =
        Daemon::hello_with(&[("HOLON_CONTROL_AUTH_MODE", "required"), ("HOLON_CONTROL_TOKEN", TOKEN)]);
    daemon.start();
    daemon.ok(&["daemon", "status"]);
    let refused = daemon.0.command(&["agent", "list"]).env_remove("HOLON_CONTROL_TOKEN").output().unwrap();
    Ended::from(refused).refused(2, &["HOLON_CONTROL_TOKEN"]);
    daemon.ok(&["agent", "list"]);
}

#[test]
fn a_runtime_is_reached_over_tcp_where_its_socket_is_not() {
    let daemon = Daemon::hello_with(&[("HOLON_CONTROL_TOKEN", TOKEN)]);
    daemon.start();
    let address = daemon.metadata().unwrap()["http_addr"].as_str().unwrap().to_owned();
    let elsewhere = daemon
        .0
        .command(&["prompt", "--wait=settled", "hello"])
        .env("HOLON_SOCKET_PATH", daemon.0.work().join("no.sock"))
        .env("HOLON_HTTP_ADDR", &address)
        .output()
        .unwrap();
    let ended = Ended::from(elsewhere);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("scripted model"), "{ended:?}");
}

#[test]
fn a_socket_in_another_place_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("elsewhere.sock");
    let daemon = Daemon::hello();
    let mut start = daemon.0.command(&["daemon", "start"]);
    assert!(start.env("HOLON_SOCKET_PATH", &socket).status().unwrap().success());
    assert!(socket.exists() && !daemon.run_file("holon.sock").exists());
    daemon.ok(&["prompt", "--wait=settled", "hello"]);
    daemon.ok(&["daemon", "status"]);
    daemon.0.run(&["daemon", "start"]).refused(4, &["server.socket"]);
    daemon.ok(&["daemon", "stop"]);
    assert!(!socket.exists());
}

#[test]
fn a_runtime_takes_the_files_that_it_needs_and_its_commands_get_what_it_was_given() {
    let call =
        json!({ "tool": "ExecCommand", "arguments": { "cmd": "echo soft=$(ulimit -Sn)", "login": false } });
    let daemon = Daemon::scripted(&json!([{ "calls": [call] }, { "text": "done" }]));
    let hard = Command::new("sh").args(["-c", "ulimit -Hn"]).output().expect("a shell").stdout;
    let hard = String::from_utf8(hard).unwrap();
    let mut shell = Command::new("sh");
    let words = daemon.0.command(&["serve"]);
    shell
        .env_clear()
        .args(["-c", "ulimit -Sn 256; exec \"$0\" \"$@\""])
        .arg(words.get_program())
        .args(words.get_args());
    for (name, value) in words.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let child = shell.stderr(Stdio::piped()).spawn().expect("a shell");
    ready(&daemon);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap().to_owned();
    let soft: u64 = files.split_ascii_whitespace().nth(3).unwrap().parse().unwrap();
    let most = hard.trim().parse().unwrap_or(u64::MAX);
    assert_eq!(soft, most.min(16_384), "{files}");
    daemon.ok(&["prompt", "--wait=settled", "-q", "how many files?"]);
    let transcript = daemon.ok(&["transcript", "--json"]).stdout;
    assert!(transcript.contains("soft=256"), "{transcript}");
    let ended = ended(child);
    assert_eq!(ended.stderr.contains("files may be open at once"), soft < 5_000, "{ended:?}");
}
