//! The service manager, played by a test: it is told when a runtime is ready, hears of it as long as its loop decides, and
//! can have its address.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::machine::{Missing, without};
use end_to_end::{Holon, signal, wait_for};

fn holon() -> Holon {
    Holon::new().with("HOLON_MODEL", "scripted/hello").with("HOLON_HTTP_ADDR", "127.0.0.1:0")
}

/// What the service manager is told next; nothing for so long.
fn told(socket: &UnixDatagram, patience: Duration) -> Option<String> {
    socket.set_read_timeout(Some(patience)).expect("a timeout");
    let mut message = [0; 512];
    let count = socket.recv(&mut message).ok()?;
    Some(String::from_utf8_lossy(&message[..count]).into_owned())
}

fn ends(mut runtime: Child) {
    signal(&runtime, "TERM");
    assert!(runtime.wait().expect("it ends").success());
}

#[test]
fn the_watchdog_hears_of_a_loop_that_decides_and_of_no_other() {
    let holon = holon();
    let path = holon.folder().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    let holon = holon.with("NOTIFY_SOCKET", path.to_str().expect("a path")).with("WATCHDOG_USEC", "600000");
    let runtime = holon.spawn(&["serve"]);
    let ready = told(&socket, Duration::from_secs(60)).expect("it is ready");
    assert!(ready.contains("READY=1"), "{ready}");
    for _ in 0..3 {
        let alive = told(&socket, Duration::from_secs(20)).expect("it is alive");
        assert!(alive.contains("WATCHDOG=1"), "{alive}");
    }
    signal(&runtime, "STOP");
    while told(&socket, Duration::from_millis(50)).is_some() {}
    assert_eq!(told(&socket, Duration::from_secs(1)), None, "it hangs");
    signal(&runtime, "CONT");
    assert!(told(&socket, Duration::from_secs(20)).is_some_and(|alive| alive.contains("WATCHDOG=1")));
    ends(runtime);
}

/// A runtime that has this address from its service manager.
fn activated(holon: &Holon, listener: &TcpListener) -> Child {
    let script = r#"exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve"#;
    let given = holon.command(&["serve"]);
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(given.get_program()).current_dir(holon.work()).env_clear();
    command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let listener: OwnedFd = listener.try_clone().expect("a copy").into();
    command.stdin(Stdio::from(listener)).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn asks(mut stream: TcpStream) -> String {
    let request = "GET /control/runtime/readiness HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is asked");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn who_connects_before_there_is_a_runtime_is_answered_by_it() {
    let holon = holon();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    for _ in 0..2 {
        let early = TcpStream::connect(address).expect("the service manager listens");
        // As under a system unit in a container: a hardened one has few calls.
        let runtime = without(Missing::FilesOfProcesses, || activated(&holon, &listener));
        assert!(asks(early).starts_with("HTTP/1.1 200"));
        let status = holon.run(&["daemon", "status", "--json"]).json();
        assert_eq!(status["http_addr"], address.to_string(), "{status}");
        // Whoever connects between two runtimes waits for the next one.
        ends(runtime);
    }
}

#[test]
fn what_is_no_listener_is_refused() {
    let connected = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let stream = TcpStream::connect(connected.local_addr().expect("an address")).expect("a connection");
    for given in [Stdio::null(), Stdio::from(OwnedFd::from(stream))] {
        is_refused(given);
    }
}

fn is_refused(instead: Stdio) {
    let holon = holon();
    let script = r#"exec 3<&0; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve"#;
    let given = holon.command(&["serve"]);
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(given.get_program()).current_dir(holon.work()).env_clear();
    command.stdin(instead);
    command.envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = command.output().expect("it starts");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && error.contains("the service manager"), "{error}");
    wait_for("nobody has the home", || {
        holon.run(&["daemon", "status", "--json"]).json()["state"] == "not_running"
    });
    assert!(Path::new(given.get_program()).exists());
}
