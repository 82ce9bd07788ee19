//! Tasks whose runtime goes away and comes back: they go on, and so does whoever follows them.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use end_to_end::daemon::Daemon;
use end_to_end::http::get;
use end_to_end::{Ended, wait_for};
use serde_json::{Value, json};

/// Writes a line at once, and another one when the file is there.
const IN_TWO_PARTS: &str = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second";

fn started() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["task", "run", IN_TWO_PARTS]);
    wait_for("first line", || daemon.ok(&["task", "output", "task_1"]).stdout == "first\n");
    daemon
}

fn go(daemon: &Daemon) {
    std::fs::write(daemon.0.home().join("agents/main/go"), "").expect("a file can be written");
}

/// Follows over this, and sees each line once.
fn followed_over(what: impl Fn(&Daemon)) {
    let daemon = started();
    let mut following = daemon.0.spawn(&["task", "output", "task_1", "--follow"]);
    let mut lines = BufReader::new(following.stdout.take().expect("a pipe"));
    let mut seen = String::new();
    lines.read_line(&mut seen).expect("a line");
    assert_eq!(seen, "first\n");
    what(&daemon);
    assert_eq!(daemon.ok(&["task", "status", "task_1", "--json"]).json()["task"]["status"], "running");
    go(&daemon);
    lines.read_to_string(&mut seen).expect("text");
    let ended: Ended = following.wait_with_output().expect("the binary ends").into();
    assert_eq!((ended.code, seen.as_str()), (Some(0), "first\nsecond\n"), "{ended:?}");
}

#[test]
fn over_a_restart_the_output_is_followed_from_where_it_was() {
    followed_over(|daemon| {
        daemon.ok(&["daemon", "restart"]);
    });
}

#[test]
fn over_a_crash_the_output_is_followed_from_where_it_was() {
    followed_over(|daemon| {
        daemon.kill();
        daemon.start();
    });
}

#[test]
fn what_ends_while_no_runtime_is_there_has_its_output_and_its_end() {
    let daemon = started();
    daemon.ok(&["daemon", "stop"]);
    go(&daemon);
    let log = daemon.0.home().join("agents/main/task-output/task_1.log");
    wait_for("end", || std::fs::read_to_string(&log).unwrap() == "first\nsecond\n");
    daemon.start();
    let whole = daemon.0.run(&["task", "output", "task_1", "--wait", "60"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "first\nsecond\n"), "{whole:?}");
    let followed = daemon.ok(&["task", "output", "task_1", "--follow"]);
    assert_eq!(followed.stdout, "first\nsecond\n");
    // Nothing of it is left to do: the next runtime has the agent in its ledger alone.
    daemon.ok(&["daemon", "restart"]);
    assert_eq!(daemon.ok(&["task", "stop", "task_1"]).stdout, "task_1 is completed already\n");
    daemon.ok(&["daemon", "restart"]);
    let list = daemon.ok(&["task", "list", "--json"]).json()["tasks"].clone();
    assert_eq!((&list[0]["status"], list.as_array().unwrap().len()), (&json!("completed"), 1));
    assert_eq!(daemon.ok(&["task", "output", "task_1"]).stdout, "first\nsecond\n");
}

/// Everything that a stream says until it ends.
fn streamed(daemon: &Daemon, query: &str, headers: &str) -> String {
    let mut stream = UnixStream::connect(daemon.run_file("holon.sock")).expect("a runtime");
    let head = format!("GET /agents/main/tasks/task_1/output/stream{query} HTTP/1.0\r\nHost: localhost\r\n");
    stream.write_all(format!("{head}{headers}\r\n").as_bytes()).expect("it listens");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("text");
    said
}

/// The data of the events of a stream, each with its id and its type.
fn events(said: &str) -> Vec<(u64, String, Value)> {
    let blocks = said.split("\n\n").filter(|block| block.contains("data: "));
    let line = |block: &str, name: &str| {
        let found = block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        found.to_owned()
    };
    let event = |block: &str| {
        let data = serde_json::from_str(&line(block, "data: ")).expect("JSON");
        (line(block, "id: ").parse().expect("a number"), line(block, "event: "), data)
    };
    blocks.map(event).collect()
}

#[test]
fn a_wait_ends_with_its_task_and_a_stream_with_its_end() {
    let daemon = started();
    let socket = daemon.run_file("holon.sock");
    let path = "/agents/main/tasks/task_1/output";
    let look = get(&socket, &format!("{path}?block=false")).unwrap().body;
    assert_eq!(
        (&look["retrieval_status"], &look["task"]["output_preview"]),
        (&json!("not_ready"), &json!("first\n"))
    );
    let short = get(&socket, &format!("{path}?timeout_ms=50")).unwrap().body;
    assert_eq!(
        (&short["retrieval_status"], &short["task"]["status"]),
        (&json!("timeout"), &json!("running"))
    );
    thread::scope(|scope| {
        let waiting = scope.spawn(|| get(&socket, &format!("{path}?timeout_ms=600000")).unwrap().body);
        let whole = scope.spawn(|| streamed(&daemon, "", ""));
        let resumed = scope.spawn(|| streamed(&daemon, "?offset=2", "Last-Event-ID: 6\r\n"));
        go(&daemon);
        let waited = waiting.join().unwrap();
        assert_eq!(waited["retrieval_status"], "success", "{waited}");
        assert_eq!(waited["task"]["output_preview"], "first\nsecond\n");
        for (said, expected, from) in
            [(whole.join().unwrap(), "first\nsecond\n", 0), (resumed.join().unwrap(), "second\n", 6)]
        {
            let events = events(&said);
            let (end, pieces) = events.split_last().unwrap();
            assert_eq!(
                (end.0, end.1.as_str(), &end.2["task"]["status"]),
                (13, "end", &json!("completed")),
                "{said}"
            );
            let mut offset = from;
            let mut text = String::new();
            for (id, kind, data) in pieces {
                assert_eq!((kind.as_str(), data["offset"].as_u64()), ("output", Some(offset)), "{said}");
                text.push_str(data["text"].as_str().unwrap());
                offset = *id;
            }
            assert_eq!((text.as_str(), offset), (expected, 13), "{said}");
        }
    });
    // Beyond the end there is only the end.
    assert_eq!(events(&streamed(&daemon, "?offset=999", "")).len(), 1);
}

/// What it has not taken stays in the log.
#[test]
fn whoever_reads_late_gets_all_of_it() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["task", "run", "sleep 0.5; seq 1 400000"]);
    let mut stream = UnixStream::connect(daemon.run_file("holon.sock")).unwrap();
    let head = "GET /agents/main/tasks/task_1/output/stream HTTP/1.0\r\nHost: localhost\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    daemon.ok(&["task", "output", "task_1", "--wait", "60", "--characters", "0"]);
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let events = events(&said);
    let (end, pieces) = events.split_last().unwrap();
    let text: String = pieces.iter().map(|(_, _, data)| data["text"].as_str().unwrap()).collect();
    let whole: String = (1..=400_000).map(|number| format!("{number}\n")).collect();
    assert!(text == whole, "{} of {} bytes", text.len(), whole.len());
    assert_eq!((end.0, &end.2["task"]["status"]), (whole.len() as u64, &json!("completed")));
    assert!(pieces.iter().all(|(_, _, data)| data["text"].as_str().unwrap().len() <= 64 << 10));
}
