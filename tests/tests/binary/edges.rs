//! What an accident or an impatient client finds at the edges of the HTTP surface.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, Holon, binary, wait_for};
use serde_json::json;

/// What comes back when everything is sent before anything is read; none where the connection was reset.
fn send_all(address: &str, head: &str, body: &[u8], pause: Duration) -> Option<String> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let head = format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    for chunk in body.chunks(64 << 10) {
        sleep(pause);
        stream.write_all(chunk).ok()?;
    }
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
        Err(error) => panic!("{error}"),
    }
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn an_answer_arrives_however_much_its_client_still_sends() {
    let daemon = Daemon::hello();
    daemon.start();
    let address =
        daemon.metadata().expect("it is ready")["http_addr"].as_str().expect("an address").to_owned();
    let json = "Content-Type: application/json\r\nConnection: close";
    let large = vec![b' '; 32 << 20];
    let none = Duration::ZERO;
    let prompt = format!("POST /control/agents/main/prompt HTTP/1.1\r\n{json}");
    let said = send_all(&address, &prompt, &large, none).expect("an answer");
    assert!(said.starts_with("HTTP/1.1 413") && said.contains("too_large"), "{said}");
    // A route that takes no body has done what it was asked for before one comes.
    let rotate = format!("POST /control/agents/main/triggers/rotate HTTP/1.1\r\n{json}");
    for (bytes, pause) in [(300 << 10, none), (300 << 10, Duration::from_millis(50)), (2, none)] {
        let said = send_all(&address, &rotate, &large[..bytes], pause);
        assert!(said.as_ref().is_some_and(|said| said.starts_with("HTTP/1.1 200")), "{bytes}: {said:?}");
    }
    // So does whoever is refused.
    let wrong = format!(
        "POST /control/agents/main/prompt HTTP/1.1\r\n{json}\r\nAuthorization: Bearer 0123456789abcdef"
    );
    let said = send_all(&address, &wrong, &large, none).expect("an answer");
    assert!(said.contains("wrong_token"), "{said}");
    // Who never ends is not read for ever, and the runtime does not wait for it to leave.
    let mut endless = TcpStream::connect(&address).expect("it listens");
    let began = Instant::now();
    let head = format!("{prompt}\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n");
    endless.write_all(head.as_bytes()).expect("it reads");
    endless.set_write_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    while endless.write_all(&large[..1 << 20]).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(30), "it is still read");
        sleep(Duration::from_millis(1));
    }
    daemon.ok(&["daemon", "stop"]);
}

#[test]
fn a_socket_that_somebody_removed_is_made_again() {
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.run_file("")).expect("a folder");
    for name in ["daemon.1234.draft", "last_failure.99.draft"] {
        std::fs::write(daemon.run_file(name), "half").expect("a file");
    }
    daemon.start();
    for _ in 0..3 {
        std::fs::remove_file(daemon.run_file("holon.sock")).expect("it is there");
        wait_for("the socket", || daemon.run_file("holon.sock").exists());
        wait_for("the runtime", || daemon.0.run(&["agent", "list"]).code == Some(0));
    }
    // What else stands there is left alone; when it goes, the socket comes back.
    std::fs::rename(daemon.run_file("holon.sock"), daemon.run_file("away")).expect("it is there");
    wait_for("the socket", || daemon.run_file("holon.sock").exists());
    std::fs::remove_file(daemon.run_file("away")).expect("it is there");
    let log = std::fs::read_to_string(daemon.run_file("daemon.log")).expect("a log");
    assert!(log.contains("was removed, and is made again"), "{log}");
    let left = std::fs::read_dir(daemon.run_file("")).expect("a folder").flatten();
    let drafts = left.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "draft")).count();
    assert_eq!(drafts, 0);
    daemon.ok(&["daemon", "stop"]);
    assert!(!daemon.run_file("holon.sock").exists());
}

/// Not root, which no limit of processes holds back.
#[test]
fn a_start_without_threads_says_so() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be somebody who has no processes of his own");
        return;
    }
    let holon = Holon::new().with("HOLON_MODEL", "scripted/hello").with("HOLON_HTTP_ADDR", "127.0.0.1:0");
    let somebody = 64_321;
    std::fs::create_dir(holon.home()).expect("a home");
    for folder in [holon.folder().to_owned(), holon.home(), holon.work()] {
        std::os::unix::fs::chown(folder, Some(somebody), Some(somebody)).expect("root may");
    }
    let script = format!("ulimit -u 4; exec '{}' serve", binary().display());
    let mut command = holon.command(&[]).get_envs().fold(Command::new("bash"), |mut bash, (name, value)| {
        bash.env(name, value.unwrap_or_default());
        bash
    });
    let ended = command.args(["-c", &script]).current_dir(holon.work()).uid(somebody).gid(somebody).output();
    let ended = Ended::from(ended.expect("bash runs"));
    if ended.stderr.contains("Permission denied") {
        println!("skipped: the binary lies where only root can go: {ended:?}");
        return;
    }
    ended.refused(1, &["4 processes and threads", "ulimit -u"]);
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn a_home_that_was_moved_says_how_to_mend_its_agents_folders() {
    let call =
        json!({ "tool": "ExecCommand", "arguments": { "cmd": "echo works-$((6 * 7))", "login": false } });
    let daemon = Daemon::scripted(&json!([{ "calls": [call] }, { "text": "done" }]));
    // Paths are as they really are, so a link stands for the name that changes.
    let [before, after] = ["before", "after"].map(|name| daemon.0.folder().join(name));
    std::fs::create_dir(&before).expect("a folder");
    std::os::unix::fs::symlink(&before, daemon.0.home()).expect("a link");
    daemon.start();
    daemon.ok(&["agent", "create", "apart", "--workspace-root", daemon.0.work().to_str().expect("text")]);
    daemon.ok(&["daemon", "stop"]);
    std::fs::rename(&before, &after).expect("it is ours");
    std::fs::remove_file(daemon.0.home()).expect("it is ours");
    std::os::unix::fs::symlink(&after, daemon.0.home()).expect("a link");
    let doctor = daemon.0.run(&["config", "doctor"]).stdout;
    let mends = "holon workspace use agent_home --agent main";
    assert!(doctor.contains(mends) && !doctor.contains("--agent apart"), "{doctor}");
    daemon.start();
    let log = std::fs::read_to_string(daemon.run_file("daemon.log")).expect("a log");
    assert!(log.contains(mends), "{log}");
    daemon.ok(&["prompt", "--wait", "go"]);
    let said = daemon.ok(&["transcript"]).stdout;
    assert!(said.contains("before/agents/main can't be opened") && !said.contains("works-42"), "{said}");
    daemon.ok(&["workspace", "use", "agent_home", "--agent", "main"]);
    daemon.ok(&["prompt", "--wait", "go"]);
    assert!(daemon.ok(&["transcript"]).stdout.contains("works-42"));
    assert!(!daemon.0.run(&["config", "doctor"]).stdout.contains(mends));
}
