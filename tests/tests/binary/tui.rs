//! `holon tui` on a real terminal, against a real runtime.

use std::fs::File;

use end_to_end::daemon::Daemon;
use end_to_end::http::{ask, get};
use end_to_end::terminal::OnTerminal;
use end_to_end::{Holon, wait_for};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::{Value, json};

fn shows(terminal: &OnTerminal, text: &str) {
    wait_for(text, || terminal.screen().contains(text));
}

/// Ctrl-C twice.
fn leave(mut terminal: OnTerminal) -> String {
    terminal.press(b"\x03");
    shows(&terminal, "again leaves");
    terminal.press(b"\x03");
    let (status, _, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    written
}

/// Rows that show a text, without those of the composer and the notices.
fn times(terminal: &OnTerminal, text: &str) -> usize {
    terminal.screen().matches(text).count()
}

#[test]
fn a_console_is_used_resized_survives_a_crash_of_the_runtime_and_leaves_the_agent_alone() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "connected");
    assert!(terminal.written().contains("\x1b[?1049h"), "it has a screen of its own");
    terminal.press("你好 one\r".as_bytes());
    shows(&terminal, "› 你好 one");
    shows(&terminal, "Hello");
    for (rows, columns) in [(24, 60), (12, 44), (40, 80)] {
        terminal.resize(rows, columns);
        wait_for("the new size", || terminal.screen().contains("你好 one"));
    }
    daemon.kill();
    shows(&terminal, "connection lost");
    terminal.press(b"zwei\r");
    shows(&terminal, "zwei (sending)");
    daemon.start();
    shows(&terminal, "› zwei");
    wait_for("the second answer", || times(&terminal, "Hello") == 2);
    wait_for("nothing on its way", || times(&terminal, "zwei") == 1);
    assert_eq!(times(&terminal, "你好 one"), 1, "{}", terminal.screen());
    let written = leave(terminal);
    assert!(written.contains("\x1b[?1049l"), "the screen of before comes back");
    let status = daemon.ok(&["status", "--json"]).json();
    assert_eq!(status["scheduling_posture"], "idle", "{status}");
    assert_eq!(daemon.events_of("turn_terminal"), 2, "each prompt was taken once");
}

#[test]
fn prompts_of_an_outage_arrive_in_the_order_in_which_they_were_written() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "connected");
    daemon.kill();
    shows(&terminal, "connection lost");
    let names: Vec<String> = (0..6).map(|number| format!("order {number}")).collect();
    for name in &names {
        terminal.press(format!("{name}\r").as_bytes());
        shows(&terminal, &format!("{name} (sending)"));
    }
    daemon.start();
    for name in &names {
        shows(&terminal, &format!("› {name}"));
    }
    wait_for("nothing on its way", || !terminal.screen().contains("(sending)"));
    for name in &names {
        wait_for(&format!("one {name}"), || times(&terminal, name) == 1);
    }
    let transcript = daemon.ok(&["transcript", "--json"]).json().to_string();
    let places: Vec<Option<usize>> = names.iter().map(|name| transcript.find(name.as_str())).collect();
    assert!(places.is_sorted() && !places.contains(&None), "{places:?}");
    leave(terminal);
}

/// A console on a runtime that answers "Hello", in its own screen or another way.
fn console(options: &[&str]) -> (Daemon, OnTerminal) {
    let daemon = Daemon::hello();
    daemon.start();
    let terminal = OnTerminal::start(&daemon.0.command(&[&["tui"], options].concat()), None);
    shows(&terminal, "connected");
    (daemon, terminal)
}

/// A lock on the shared index keeps the runtime from writing, so it refuses what comes.
#[test]
fn a_prompt_that_can_not_be_taken_for_the_moment_shows_why_and_is_sent_again() {
    let (daemon, mut terminal) = console(&[]);
    terminal.press(b"before\r");
    shows(&terminal, "Hello");
    shows(&terminal, "idle");
    let socket = daemon.run_file("holon.sock");
    let index = File::open(format!("{}-shm", daemon.ledger().display())).expect("a shared index");
    wait_for("a lock", || fcntl_lock(&index, FlockOperation::NonBlockingLockShared).is_ok());
    let first = socket.clone();
    let waiting = std::thread::spawn(move || {
        let path = "/control/agents/main/prompt";
        // Whether it gets an answer is not what matters.
        ask(&first, "POST", path, &[("Idempotency-Key", "first")], Some(&json!({ "text": "first" }))).ok();
    });
    wait_for("word of the lock", || {
        get(&socket, "/control/runtime/readiness").is_ok_and(|answer| answer.body["ready"] == false)
    });
    terminal.press(b"during\r");
    shows(&terminal, "not sent yet: ");
    shows(&terminal, "during (sending)");
    drop(index);
    waiting.join().expect("it ends");
    wait_for("nothing on its way", || !terminal.screen().contains("(sending)"));
    wait_for("the prompt", || times(&terminal, "during") == 1);
    assert!(!terminal.screen().contains("not sent yet"), "{}", terminal.screen());
    leave(terminal);
}

#[test]
fn prompts_that_are_followed_by_leaving_at_once_arrive() {
    let (daemon, mut terminal) = console(&[]);
    terminal.press(b"one\rtwo\rthree\r/quit\r");
    let (status, _, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    assert_eq!(daemon.events_of("message_admitted"), 3, "{written}");
}

/// Closes the list on top: a key that follows at once would be another one.
fn close(terminal: &mut OnTerminal) {
    terminal.press(b"\x1b");
    wait_for("no list", || !terminal.screen().contains("Esc closes"));
}

fn task_is(daemon: &Daemon, task: &str, status: &str) {
    wait_for(status, || daemon.ok(&["task", "status", task, "--json"]).json()["task"]["status"] == status);
}

#[test]
fn a_task_is_followed_fed_stopped_and_killed() {
    let (daemon, mut terminal) = console(&[]);
    terminal.press(b"/run echo begin; read word; echo got $word; read end\r");
    shows(&terminal, "output of task_1 \u{b7} live, not durable yet");
    shows(&terminal, "begin");
    terminal.press(b"\x14");
    shows(&terminal, "input of task_1");
    terminal.press("漢字\r".as_bytes());
    shows(&terminal, "got 漢字");
    terminal.press(b"\r");
    shows(&terminal, "task_1 is completed after");
    close(&mut terminal);
    terminal.press(b"/run trap '' TERM INT HUP; while :; do sleep 0.1; done\r");
    shows(&terminal, "output of task_2");
    close(&mut terminal);
    terminal.press(b"/tasks\r");
    shows(&terminal, "task_1 completed");
    terminal.press(b"\x18");
    shows(&terminal, "task_2 is cancelling");
    terminal.press(b"\x0b");
    task_is(&daemon, "task_2", "cancelled");
    shows(&terminal, "task_2 cancelled");
    close(&mut terminal);
    leave(terminal);
}

#[test]
fn places_are_lists_with_their_actions() {
    let (daemon, mut terminal) = console(&[]);
    let folder = daemon.0.work();
    terminal.press(format!("/workspace attach {}\r", folder.display()).as_bytes());
    shows(&terminal, "attached ");
    terminal.press(b"/workspace\r");
    shows(&terminal, "* agent_home");
    terminal.press(b"\x1b[B\r");
    shows(&terminal, "from the next turn on");
    wait_for("another workspace", || terminal.screen().contains("  agent_home"));
    close(&mut terminal);
    terminal.press(b"/workspace exit\r");
    shows(&terminal, "its own home");
    terminal.press(b"/workspace\r");
    shows(&terminal, "* agent_home");
    terminal.press(b"\x1b[B\x18");
    shows(&terminal, "attached no longer");
    close(&mut terminal);
    terminal.press(b"/timer 10m tea\r");
    shows(&terminal, "timer_1 fires at");
    terminal.press(b"/timers\r");
    shows(&terminal, "timer_1 active");
    terminal.press(b"\x18");
    shows(&terminal, "timer_1 cancelled");
    close(&mut terminal);
    terminal.press(b"/trigger rotate\r");
    shows(&terminal, "has a new address");
    terminal.press(b"/trigger\r");
    shows(&terminal, "active since");
    terminal.press(b"\x18");
    shows(&terminal, "revoked since");
    terminal.press(b"\x12");
    shows(&terminal, "active since");
    close(&mut terminal);
    terminal.press(b"/children\r");
    shows(&terminal, "main has no children that are alive");
    close(&mut terminal);
    leave(terminal);
}

/// A model that calls one tool, and reports.
fn calling(tool: &str, arguments: &Value) -> Value {
    json!([{ "text": "Begun.", "calls": [{ "tool": tool, "arguments": arguments }] }, { "text": "All done." }])
}

#[test]
fn what_a_command_in_the_foreground_prints_is_shown_while_it_runs_and_is_never_durable() {
    let command =
        "printf '\\033[31mbegin\\033[0m\\n10 %%\\r50 %%\\n'; until [ -e go ]; do sleep 0.05; done; echo end";
    let arguments = json!({ "cmd": command, "login": false, "yield_time_ms": 30_000 });
    let daemon = Daemon::scripted(&calling("ExecCommand", &arguments));
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "connected");
    terminal.press(b"go\r");
    shows(&terminal, "│ begin");
    shows(&terminal, "│ 50 %");
    assert!(!terminal.screen().contains("│ 10 %"), "{}", terminal.screen());
    // Who begins to follow in the middle sees it, too.
    let late = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&late, "│ begin");
    std::fs::write(daemon.0.home().join("agents/main/go"), "").expect("it is written");
    shows(&terminal, "All done.");
    // What is durable is shown like what was live: without colours, and without what was written over.
    shows(&terminal, "✓ exit status 0");
    wait_for("its last line", || terminal.screen().lines().any(|line| line.trim() == "50 %"));
    assert!(!terminal.screen().contains('\u{fffd}'), "{}", terminal.screen());
    for terminal in [terminal, late] {
        wait_for("nothing that is live", || !terminal.screen().contains("│ begin"));
        leave(terminal);
    }
    assert_eq!(daemon.events_of("live_output"), 0);
}

#[test]
fn children_are_a_tree_to_switch_in() {
    // A child has the model of its parent, so it begins one, too.
    let begets = json!({ "tool": "SpawnAgent", "arguments": { "initial_message": "Look." } });
    let later = json!({ "text": "Later.", "delay_ms": 3_000_000 });
    let daemon = Daemon::scripted(&json!([{ "text": "Begun.", "calls": [begets] }, later]));
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "connected");
    terminal.press(b"go\r");
    shows(&terminal, "› go");
    terminal.press(b"/children\r");
    shows(&terminal, "\n└─ ");
    shows(&terminal, "\n   └─ ");
    terminal.press(b"\x1b[B\r");
    shows(&terminal, "Look.");
    assert!(!terminal.screen().starts_with(" main ·"), "{}", terminal.screen());
    terminal.press(b"/children\r");
    shows(&terminal, "main (parent)");
    close(&mut terminal);
    leave(terminal);
}

#[test]
fn unused_worktrees_are_pruned() {
    let holon = Holon::new();
    let repository = holon.folder().join("repository");
    std::fs::create_dir(&repository).expect("a folder");
    for words in ["init -q", "-c user.name=x -c user.email=x@x commit -q --allow-empty -m first"] {
        let git = std::process::Command::new("git").current_dir(&repository).args(words.split(' ')).status();
        assert!(git.expect("git runs").success());
    }
    let isolated = json!({ "path": repository, "mode": "isolated", "isolation_label": "trial" });
    let model = holon.scenario(&calling("UseWorkspace", &isolated));
    let daemon = Daemon(holon.with("HOLON_HTTP_ADDR", "127.0.0.1:0").with("HOLON_MODEL", &model));
    daemon.start();
    daemon.ok(&["prompt", "--wait", "go"]);
    let trees =
        || daemon.ok(&["workspace", "list", "--json"]).json()["worktrees"].as_array().map_or(0, Vec::len);
    assert_eq!(trees(), 1);
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "connected");
    terminal.press(b"/workspace\r");
    shows(&terminal, "trial");
    close(&mut terminal);
    terminal.press(b"/workspace exit\r");
    shows(&terminal, "its own home");
    terminal.press(b"/workspace prune\r");
    wait_for("no worktree", || trees() == 0);
    terminal.press(b"/workspace\r");
    shows(&terminal, "* agent_home");
    assert!(!terminal.screen().contains("trial"), "{}", terminal.screen());
    close(&mut terminal);
    leave(terminal);
}

#[test]
fn the_demo_is_watched_in_a_terminal_and_its_runtime_ends_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = std::process::Command::new(end_to_end::binary());
    command.args(["demo", "--tui"]).env("TMPDIR", folder.path()).env("HOLON_MODEL", "none/none");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let terminal = OnTerminal::start(&command, None);
    shows(&terminal, "› The test in this folder fails.");
    shows(&terminal, "connected");
    let made = std::fs::read_dir(folder.path()).expect("a folder").next().expect("one").expect("one").path();
    let repaired = || std::fs::read_to_string(made.join("project/greet.sh")).unwrap_or_default();
    wait_for("the repair", || repaired().contains("Hello, ${1:-World}"));
    wait_for("rest", || terminal.screen().contains("idle"));
    let written = leave(terminal);
    assert!(written.contains("Everything stays there to look at"), "{written}");
    assert!(!made.join("home/run/holon.sock").exists(), "its runtime has ended");
}

#[test]
fn without_a_runtime_it_offers_to_start_one() {
    let daemon = Daemon::hello();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "No runtime answers");
    shows(&terminal, "holon daemon start");
    terminal.press(b"\x12");
    shows(&terminal, "connected");
    terminal.press(b"/tsaks\r");
    shows(&terminal, "did you mean /tasks?");
    terminal.press(b"\x1b");
    leave(terminal);
    assert!(daemon.metadata().is_some(), "the runtime goes on");
}

#[test]
fn without_a_terminal_it_names_the_next_command() {
    Holon::new().run(&["tui", "main"]).refused(2, &["terminal", "holon tail --follow main"]);
    let dumb = Holon::new().with("TERM", "dumb").run(&["tui", "main"]);
    dumb.refused(2, &["TERM is dumb", "holon tail --follow main"]);
}
