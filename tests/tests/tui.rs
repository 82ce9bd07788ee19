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
