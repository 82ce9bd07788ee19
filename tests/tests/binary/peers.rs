//! Who may ask a runtime over TCP without a token: processes of its own user, and nobody else on the machine.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use serde_json::json;

/// Of nobody on this machine.
const STRANGER: u32 = 65_534;

fn address(daemon: &Daemon) -> String {
    daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("an address").to_owned()
}

/// What a request gets that this process sends.
fn ask(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let length = body.len();
    write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// What the same request gets from another user: a program of the system connects for it.
fn ask_as(uid: u32, address: &str, arguments: &[&str]) -> String {
    let (host, port) = address.rsplit_once(':').expect("a port");
    let script = "exec 3<>/dev/tcp/$0/$1; printf \"$2\" >&3; cat <&3";
    let request = arguments.join("\\r\\n") + "\\r\\nConnection: close\\r\\n\\r\\n";
    let mut command = Command::new("bash");
    command.args(["-c", script, host, port, &request]).current_dir("/").stdin(Stdio::null());
    let ended = command.uid(uid).gid(uid).output().expect("bash runs");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

#[expect(clippy::print_stdout, reason = "whoever runs the tests is told what they leave out")]
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can be somebody else");
    }
    root
}

fn token_file(daemon: &Daemon) -> PathBuf {
    daemon.0.home().join("control.token")
}

#[test]
fn another_user_of_the_machine_needs_the_token_that_the_first_start_makes() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    let token = fs::read_to_string(token_file(&daemon)).expect("a token").trim().to_owned();
    let mode = fs::metadata(token_file(&daemon)).expect("a file").permissions().mode();
    assert_eq!((mode & 0o777, token.len()), (0o600, 64));
    // The owner's own processes need none.
    assert!(ask(&address, "GET /agents/list HTTP/1.1\r\nHost: localhost", "").starts_with("HTTP/1.1 200"));
    if !is_root() {
        return;
    }
    let task = json!({ "cmd": "touch /tmp/no" }).to_string();
    for request in [
        vec!["GET /agents/main/status HTTP/1.1", "Host: localhost"],
        vec!["POST /control/runtime/shutdown HTTP/1.1", "Host: localhost", "Content-Type: application/json"],
        vec![
            "POST /control/agents/main/tasks HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            &format!("Content-Length: {}", task.len()),
        ],
    ] {
        let said = ask_as(STRANGER, &address, &request);
        assert!(said.starts_with("HTTP/1.1 401") && said.contains("missing_token"), "{request:?}: {said}");
        assert!(said.contains("other users and containers"), "{said}");
    }
    // What is open stays open, and tells nothing of the home.
    let said = ask_as(STRANGER, &address, &["GET /handshake HTTP/1.1", "Host: localhost"]);
    assert!(said.starts_with("HTTP/1.1 200") && said.contains(r#""required":true"#), "{said}");
    assert!(!said.contains("home_dir"), "{said}");
    let bearer = format!("Authorization: Bearer {token}");
    let said = ask_as(STRANGER, &address, &["GET /agents/list HTTP/1.1", "Host: localhost", &bearer]);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // A link that it could have read in the list of processes logs in the owner alone.
    let link = daemon.ok(&["console", "--print"]).stdout;
    let login = json!({ "token": link.trim().rsplit_once("#login=").expect("a token").1 }).to_string();
    let head = format!("POST /console/login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json");
    let length = format!("Content-Length: {}", login.len());
    let mut stolen: Vec<&str> = head.split("\r\n").collect();
    let body = format!("{length}\\r\\nConnection: close\\r\\n\\r\\n{}", login.replace('"', "\\\""));
    stolen.push(&body);
    let said = ask_as(STRANGER, &address, &stolen);
    assert!(said.starts_with("HTTP/1.1 401") && said.contains("the owner of the home alone"), "{said}");
    let said = ask(&address, &head, &login);
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("set-cookie: holon_session_"), "{said}");
    let wrong = "Authorization: Bearer 0123456789abcdef0123456789abcdef";
    let said = ask_as(STRANGER, &address, &["GET /agents/list HTTP/1.1", "Host: localhost", wrong]);
    assert!(said.contains("wrong_token"), "{said}");
}

/// A thousand connections whose first requests come at once: the kernel's processes are gone through for all of them
/// together, and no thread waits for each.
#[test]
fn a_crowd_that_comes_at_once_is_answered_whole() {
    const CROWD: usize = 1_000;
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    let pid = daemon.metadata().expect("it is ready")["pid"].to_string();
    let request =
        b"GET /handshake HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let (head, last) = request.split_at(request.len() - 1);
    let connect = |_| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        stream.write_all(head).expect("it reads");
        stream
    };
    let mut crowd: Vec<TcpStream> = (0..CROWD).map(connect).collect();
    let threads = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("a number");
        line.trim().parse::<usize>().expect("a number")
    };
    let before = threads();
    for stream in &mut crowd {
        stream.write_all(last).expect("it reads");
    }
    let mut most = before;
    for stream in &mut crowd {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        // Each is known as the owner's.
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("home_dir"), "{answer}");
        most = most.max(threads());
    }
    assert!(most < before + 64, "{most} threads, and {before} before");
}

/// Whoever closes its end at once belongs to nobody any more, and the kernel shows such sockets as root's.
#[test]
fn who_leaves_before_the_answer_is_nobody() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    if !is_root() {
        return;
    }
    let (host, port) = address.rsplit_once(':').expect("a port");
    let request = "POST /control/runtime/shutdown HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 0\\r\\n\
                   Content-Type: application/json\\r\\n\\r\\n";
    for _ in 0..50 {
        let script = format!("exec 3<>/dev/tcp/{host}/{port}; printf \"{request}\" >&3; exec 3>&-");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir("/").uid(STRANGER).gid(STRANGER);
        assert!(command.status().expect("bash runs").success());
    }
    std::thread::sleep(Duration::from_millis(300));
    daemon.ok(&["agent", "list"]);
}

#[test]
fn another_container_on_the_same_network_counts_as_others() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    let (host, port) = address.rsplit_once(':').expect("a port");
    let request = "GET /agents/list HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n";
    let script = format!("exec 3<>/dev/tcp/{host}/{port}; printf \"{request}\" >&3; cat <&3");
    for space in ["-Ur", "-Urpf"] {
        let ended =
            Command::new("unshare").args([space, "bash", "-c", &script]).output().expect("unshare runs");
        if !ended.status.success() {
            println!("skipped {space}: {}", String::from_utf8_lossy(&ended.stderr));
            continue;
        }
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(said.contains("missing_token"), "{space}: {said}");
    }
}

#[test]
fn everybody_is_told_who_may_ask_and_nobody_the_token() {
    let daemon = Daemon::hello();
    assert!(daemon.0.run(&["daemon", "status", "--json"]).json()["control_token"].is_null());
    daemon.start();
    let path = token_file(&daemon).display().to_string();
    let token = fs::read_to_string(&path).expect("a token").trim().to_owned();
    let status = daemon.ok(&["daemon", "status", "--json"]).json();
    assert_eq!(status["control_token"], json!(path));
    let texts = [
        ("status", daemon.ok(&["daemon", "status"]).stdout),
        ("doctor", daemon.0.run(&["config", "doctor"]).stdout),
        ("log", fs::read_to_string(daemon.run_file("daemon.log")).expect("a log")),
    ];
    for (place, text) in &texts {
        assert!(text.contains("control.token") && !text.contains(&token), "{place}: {text}");
    }
    for (place, text) in &texts[1..] {
        assert!(text.contains("other users and containers need the control token"), "{place}: {text}");
    }
    // It is kept, is no part of the configuration, and is replaced wherever it is said.
    daemon.ok(&["daemon", "restart"]);
    assert_eq!(fs::read_to_string(&path).expect("a token").trim(), token);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "-q", &format!("is {token} secret?")]);
    let transcript = daemon.ok(&["transcript"]).stdout;
    assert!(transcript.contains("[redacted:HOLON_CONTROL_TOKEN]") && !transcript.contains(&token));
    daemon.ok(&["daemon", "stop"]);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("it is ours");
    daemon.0.run(&["daemon", "start"]).refused(2, &["chmod 600", "control.token"]);
}

#[test]
fn commands_of_the_home_find_its_token() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    // Without its socket the runtime is reached over TCP: in another container with the same home, for example.
    fs::rename(daemon.run_file("holon.sock"), daemon.run_file("away")).expect("it is ours");
    let list = |variables: &[(&str, &str)]| {
        let mut command = daemon.0.command(&["agent", "list"]);
        let mut command =
            variables.iter().fold(&mut command, |command, (name, value)| command.env(name, value));
        command = command.env("HOLON_HTTP_ADDR", &address);
        end_to_end::Ended::from(command.output().expect("it runs"))
    };
    assert_eq!(list(&[]).code, Some(0));
    list(&[("HOLON_CONTROL_TOKEN", "another-token-0123")]).refused(2, &["wrong"]);
    fs::rename(daemon.run_file("away"), daemon.run_file("holon.sock")).expect("it is ours");
}

#[test]
fn a_page_of_another_port_and_a_simple_form_get_nothing() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    let host = format!("Host: {address}");
    let post = |lines: &str| {
        ask(
            &address,
            &format!("POST /control/agents/main/current-run/abort HTTP/1.1\r\n{host}\r\n{lines}"),
            "",
        )
    };
    let said = post("Content-Type: application/json\r\nOrigin: http://localhost:5173");
    assert!(said.starts_with("HTTP/1.1 403") && said.contains("forbidden_origin"), "{said}");
    // What a form sends, and what it sends without anything in it.
    for kind in ["Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "X-None: 1"] {
        let said = post(kind);
        assert!(said.starts_with("HTTP/1.1 415"), "{kind}: {said}");
    }
    let said = post(&format!("Content-Type: application/json\r\nOrigin: http://{address}"));
    assert!(said.contains("no_current_run"), "{said}");
    let said = post("Host: another.example\r\nContent-Type: application/json");
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("invalid_head"), "{said}");
}

/// Once for each connection, and no more than a connection costs anyway.
#[test]
fn to_know_who_asks_is_cheap() {
    let daemon = Daemon::hello();
    daemon.start();
    let address = address(&daemon);
    let mut times: Vec<Duration> = (0..40)
        .map(|_| {
            let began = Instant::now();
            let said = ask(&address, "GET /agents/list HTTP/1.1\r\nHost: localhost", "");
            assert!(said.starts_with("HTTP/1.1 200"), "{said}");
            began.elapsed()
        })
        .collect();
    times.sort();
    println!("median {:?}, slowest {:?}", times[20], times[39]);
    assert!(times[20] < Duration::from_millis(250), "{times:?}");
}

#[test]
fn a_token_that_was_given_at_the_start_is_named_as_that() {
    let daemon = Daemon::hello();
    let token = "canary-of-a-given-token";
    daemon.ok(&["daemon", "start", "--token", token]);
    let status = daemon.ok(&["daemon", "status"]).stdout;
    assert!(status.contains("given at the start (--token, --token-file or HOLON_CONTROL_TOKEN)"), "{status}");
    assert!(!status.contains("control.token") && !status.contains(token), "{status}");
}
