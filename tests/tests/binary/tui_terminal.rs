//! `holon tui` and what it does to a terminal: styles, the scrollback, the screen of before, and tmux.

use std::path::Path;
use std::process::{Command, Output};

use end_to_end::daemon::Daemon;
use end_to_end::terminal::OnTerminal;
use end_to_end::{Holon, wait_for};
use serde_json::json;

const REPORT: &str =
    "# Result\n\nIt is **done**, see `main.rs`:\n\n- one\n- two\n\n```diff\n-old\n+new\n```\n";

fn shows(terminal: &OnTerminal, text: &str) {
    wait_for(text, || terminal.screen().contains(text));
}

fn leave(mut terminal: OnTerminal) -> (String, String) {
    terminal.press(b"\x03");
    shows(&terminal, "again leaves");
    terminal.press(b"\x03");
    let (status, screen, written) = terminal.end();
    assert_eq!(status.code(), Some(0), "{written}");
    (screen, written)
}

fn reported(holon: Holon) -> String {
    let model = holon.scenario(&json!([{ "text": REPORT }]));
    let daemon = Daemon(holon.with("HOLON_MODEL", &model));
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "idle");
    terminal.press(b"go\r");
    for line in ["Result", "It is done, see", "\u{2022} two", "    +new"] {
        shows(&terminal, line);
    }
    leave(terminal).1
}

/// A selector makes a character a picture of two columns, which some terminals show in one. This one does, too.
#[test]
fn nothing_of_a_list_is_left_around_pictures() {
    let numbers: String = (0..12).map(|number| format!("{number:02},")).collect();
    let report = format!("{}{numbers}", "\u{26a0}\u{fe0f}".repeat(10));
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "text": report }]));
    let daemon = Daemon(holon.with("HOLON_MODEL", &model));
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui"]), None);
    shows(&terminal, "idle");
    terminal.press(b"go\r");
    shows(&terminal, &numbers);
    terminal.press(b"\x1b[17~");
    shows(&terminal, "turn_terminal");
    terminal.press(b"\x1b");
    wait_for("no list", || !terminal.screen().contains("Esc closes"));
    shows(&terminal, &numbers);
    let screen = terminal.screen();
    let shown = |line: &&str| line.starts_with('\u{26a0}') && line.contains(&numbers);
    let line = screen.lines().find(shown).expect("it is there");
    let rest = line.replace(['\u{26a0}', '\u{fe0f}', ' '], "");
    assert_eq!(rest, numbers, "{screen}");
    leave(terminal);
}

/// Numbers of the colours that were chosen.
fn colours(written: &str) -> Vec<u8> {
    let chosen = written.split("\x1b[").filter_map(|rest| rest.split_once('m'));
    let numbers =
        chosen.flat_map(|(codes, _)| codes.split_once("38;5;").map(|(_, number)| number.to_owned()));
    numbers.filter_map(|number| number.split(';').next()?.parse().ok()).collect()
}

#[test]
fn reports_have_styles_in_sixteen_colours_and_weights_without_any() {
    let written = reported(Holon::new());
    let used = colours(&written);
    assert!(used.iter().all(|number| *number < 16), "{used:?}");
    // Code, a line that a patch adds, and one that it removes.
    for colour in [6, 2, 1] {
        assert!(used.contains(&colour), "{colour}: {used:?}");
    }
    assert!(!written.contains("38;2;") && written.contains("\x1b[1m") && written.contains("\x1b[4m"));
    let plain = reported(Holon::new().with("NO_COLOR", "1"));
    assert!(colours(&plain).is_empty() && plain.contains("\x1b[1m"));
}

#[test]
fn inline_rows_stay_in_the_scrollback_and_only_the_rest_is_drawn_again() {
    let daemon = Daemon::hello();
    daemon.start();
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui", "--inline"]), None);
    shows(&terminal, "connected");
    let prompts = ["eins", "二つ", "trois"];
    for (at, prompt) in prompts.into_iter().enumerate() {
        terminal.press(format!("{prompt}\r").as_bytes());
        wait_for(prompt, || terminal.screen().matches("Hello").count() == at + 1);
    }
    let screen = terminal.screen();
    for prompt in prompts {
        assert_eq!(screen.matches(&format!("› {prompt}")).count(), 1, "{screen}");
    }
    let (left, written) = leave(terminal);
    assert!(!written.contains("\x1b[?1049h"), "it keeps the screen that is there");
    for row in prompts.map(|prompt| format!("› {prompt}")) {
        assert_eq!(left.matches(&row).count(), 1, "{left}");
    }
    assert_eq!(left.matches("Hello").count(), 3, "{left}");
    assert!(!left.contains("Enter sends"), "the composer is gone: {left}");
}

#[test]
fn the_wheel_scrolls_where_that_is_asked_for() {
    let daemon = Daemon::hello();
    daemon.start();
    for number in 0..12 {
        daemon.ok(&["prompt", "--wait", &format!("message {number:02}")]);
    }
    let mut terminal = OnTerminal::start(&daemon.0.command(&["tui", "--mouse"]), None);
    shows(&terminal, "message 11");
    assert!(!terminal.screen().contains("message 00"), "{}", terminal.screen());
    for _ in 0..40 {
        terminal.press(b"\x1b[<64;10;10M");
    }
    shows(&terminal, "message 00");
    for _ in 0..40 {
        terminal.press(b"\x1b[<65;10;10M");
    }
    shows(&terminal, "message 11");
    let (_, written) = leave(terminal);
    assert!(written.contains("\x1b[?1000h") && written.contains("\x1b[?1000l"), "the mouse is given back");
    daemon.0.run(&["tui", "--mouse", "--inline"]).refused(2, &["--inline"]);
}

/// A server of its own, which ends with the test.
struct Tmux<'a>(&'a Path);

impl Tmux<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.0).args(arguments).env("LC_ALL", "C.UTF-8");
        command.output().expect("tmux runs")
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    fn alternate(&self) -> String {
        let shown = self.run(&["display-message", "-p", "#{alternate_on}"]);
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[expect(clippy::print_stdout, reason = "whoever runs the test sees why it did nothing")]
fn there_is_none() -> bool {
    let none = Command::new("tmux").arg("-V").output().is_err();
    if none {
        println!("skipped: there is no tmux");
    }
    none
}

/// Starts the console in a shell of 80 columns and 24 lines.
fn begin(tmux: &Tmux<'_>, daemon: &Daemon, options: &str) {
    let started = tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "sh"]);
    assert!(started.status.success(), "{started:?}");
    let (home, program) = (daemon.0.home(), daemon.0.command(&[]).get_program().to_owned());
    let line = format!("{} --home {} tui {options}", program.display(), home.display());
    tmux.run(&["send-keys", &line, "Enter"]);
    wait_for("the console", || tmux.screen().contains("connected"));
}

/// A terminal breaks and joins the lines of its scrollback when its width changes: rows stay, once each, and nothing of the
/// composer is left between them.
#[test]
fn inline_rows_stay_once_each_when_the_terminal_changes_its_size() {
    if there_is_none() {
        return;
    }
    let daemon = Daemon::hello();
    daemon.start();
    let socket = daemon.0.folder().join("tmux");
    let tmux = Tmux(&socket);
    begin(&tmux, &daemon, "--inline");
    let all =
        || String::from_utf8_lossy(&tmux.run(&["capture-pane", "-p", "-S", "-", "-J"]).stdout).into_owned();
    let sent = |prompt: &str, answers: usize| {
        tmux.run(&["send-keys", "-l", prompt]);
        tmux.run(&["send-keys", "Enter"]);
        wait_for(prompt, || all().matches("Hello!").count() == answers);
    };
    for (at, prompt) in ["eins", "二つ", "trois"].into_iter().enumerate() {
        sent(prompt, at + 1);
    }
    for (at, (columns, rows)) in
        [("60", "16"), ("100", "30"), ("44", "20"), ("80", "24")].into_iter().enumerate()
    {
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
        let hints = |text: &str| {
            text.lines()
                .rev()
                .find(|line| line.starts_with("Enter sends"))
                .map(|line| line.trim().chars().count())
        };
        let fits = columns.parse::<usize>().expect("a number").min(84) - 2;
        wait_for("the new width", || {
            hints(&all()).is_some_and(|width| (fits - 1..=fits + 2).contains(&width))
        });
        tmux.run(&["send-keys", "-l", "x"]);
        wait_for("what is typed", || all().contains(&format!("> {}", "x".repeat(at + 1))));
        // A frame that is left behind stays; one that is just drawn anew is there a moment later.
        wait_for(&format!("one frame at {columns} columns"), || all().matches("main · idle").count() == 1);
    }
    tmux.run(&["send-keys", "C-u"]);
    sent("vier", 4);
    for prompt in ["eins", "二つ", "trois", "vier"] {
        assert_eq!(all().matches(&format!("› {prompt}")).count(), 1, "{}", all());
    }
    assert_eq!(all().matches("── verbose").count(), 1, "{}", all());
}

#[test]
fn it_works_inside_of_tmux() {
    if there_is_none() {
        return;
    }
    let daemon = Daemon::hello();
    daemon.start();
    let socket = daemon.0.folder().join("tmux");
    let tmux = Tmux(&socket);
    let shows = |text: &str| wait_for(text, || tmux.screen().contains(text));
    begin(&tmux, &daemon, "");
    assert_eq!(tmux.alternate(), "1");
    tmux.run(&["send-keys", "-l", "你好 tmux"]);
    tmux.run(&["send-keys", "Enter"]);
    shows("› 你好 tmux");
    shows("Hello");
    for (columns, rows) in [("60", "16"), ("100", "30"), ("70", "20")] {
        tmux.run(&["resize-window", "-x", columns, "-y", rows]);
        shows("› 你好 tmux");
    }
    daemon.kill();
    shows("connection lost");
    daemon.start();
    wait_for("the connection", || !tmux.screen().contains("connection lost"));
    assert_eq!(tmux.screen().matches("› 你好 tmux").count(), 1, "{}", tmux.screen());
    tmux.run(&["send-keys", "C-c"]);
    shows("again leaves");
    tmux.run(&["send-keys", "C-c"]);
    wait_for("the screen of before", || tmux.alternate() == "0");
    shows("--home");
}
