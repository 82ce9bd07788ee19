//! `holon tui` on a real terminal, against a real runtime.

use end_to_end::daemon::Daemon;
use end_to_end::terminal::OnTerminal;
use end_to_end::{Holon, wait_for};

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

/// A console on a runtime that answers "Hello", in its own screen or another way.
fn console(options: &[&str]) -> (Daemon, OnTerminal) {
    let daemon = Daemon::hello();
    daemon.start();
    let terminal = OnTerminal::start(&daemon.0.command(&[&["tui"], options].concat()), None);
    shows(&terminal, "connected");
    (daemon, terminal)
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
}
