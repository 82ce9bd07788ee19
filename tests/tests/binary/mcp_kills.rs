//! `kill -9` of a runtime in the middle of calls of servers: nobody of them is left, and no call is sent twice (law CX36, and
//! CX33 of the real program).
//!
//! `HOLON_KILLS=200` kills more often than the default suite.

use std::process::Stdio;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{obedient, told};
use end_to_end::provider::Provider;
use end_to_end::tool_server::{Marks, add, lives};
use end_to_end::wait_for;
use serde_json::{Value, json};

const SERVERS: [&str; 4] = ["a", "b", "c", "d"];

/// Processes that servers have started beside themselves, of a session of their own.
fn forked(marks: &Marks) -> Vec<u32> {
    marks.lines("forked ").iter().map(|line| line["forked ".len()..].parse().expect("a process")).collect()
}

/// Everybody that was ever started.
fn processes(all: &[Marks]) -> Vec<u32> {
    all.iter().flat_map(|marks| marks.processes().into_iter().chain(forked(marks))).collect()
}

/// Those of them that still run.
fn survivors(processes: &[u32]) -> Vec<u32> {
    processes.iter().copied().filter(|process| lives(*process)).collect()
}

#[test]
fn nobody_of_a_killed_runtime_is_left_and_no_call_is_sent_twice() {
    let kills: u64 = std::env::var("HOLON_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(3);
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    let all = SERVERS.map(|name| add(&daemon.0, name, &[]));
    daemon.start();
    for kill in 0..kills {
        let text = |name: &str| json!({ "text": format!("{name} {kill}") });
        // Four servers have more tools than requests should have.
        let call = |tool: &str, arguments: Value| {
            ("ToolCall", json!({ "tool": tool, "arguments": arguments.to_string() }))
        };
        let calls = [
            call("a__fork", json!({})),
            call("b__echo", text("b")),
            call("c__echo", text("c")),
            call("d__late", json!({ "ms": 400 })),
            call("b__echo", text("again")),
        ];
        let mut asking = daemon.0.command(&["prompt", "--wait", "--agent", "main", &told(&calls)]);
        let mut asking = asking.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let begun = || all[0].count("call fork") as u64 > kill;
        wait_for("the first call", begun);
        // Somewhere in the rest of it, or after its end.
        std::thread::sleep(Duration::from_millis(kill * 137 % 700));
        daemon.kill();
        let earlier = processes(&all);
        asking.kill().expect("it ends");
        asking.wait().expect("it has ended");
        daemon.start();
        wait_for("the end of all servers of the runtime that was killed", || survivors(&earlier).is_empty());
        wait_for("the agent at rest", || {
            daemon.ok(&["status", "main", "--json"]).json()["status"] != "awake_running"
        });
        let sent = |marks: &Marks| marks.count("call ");
        let most = [1, 2, 1, 1].map(|calls| usize::try_from((kill + 1) * calls).expect("few"));
        for (marks, most) in all.iter().zip(most) {
            assert!(sent(marks) <= most, "kill {kill}: {} of {most} calls were sent", sent(marks));
        }
    }
    println!(
        "{kills} kills, {} starts of servers",
        all.iter().map(|marks| marks.count("start ")).sum::<usize>()
    );
    daemon.ok(&["daemon", "stop"]);
    wait_for("the end of all servers", || survivors(&processes(&all)).is_empty());
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn one_that_is_left_is_noticed() {
    let mut stray = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
    // It is itself a moment after it was started.
    wait_for("a stray", || survivors(&[stray.id()]) == [stray.id()]);
    stray.kill().expect("it ends");
    // One that has ended and that nobody has waited for is no process that runs.
    wait_for("its end", || survivors(&[stray.id()]).is_empty());
    stray.wait().expect("it has ended");
    assert!(survivors(&[stray.id()]).is_empty());
}
