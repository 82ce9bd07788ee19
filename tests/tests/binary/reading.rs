//! What people read of an agent on a terminal and in a pipe: as many lines as they asked for, local times, columns within
//! the terminal, colours where they are wanted.

use end_to_end::daemon::Daemon;
use end_to_end::terminal::OnTerminal;
use end_to_end::{Ended, Holon};
use serde_json::{Value, json};

/// A home in which three prompts were answered; stopped.
fn used(variables: &[(&str, &str)]) -> Daemon {
    let daemon = Daemon::hello_with(variables);
    daemon.start();
    for number in 1..=3 {
        daemon.ok(&["prompt", "--wait", &format!("prompt number {number}")]);
    }
    daemon.ok(&["daemon", "stop"]);
    daemon
}

fn read(holon: &Holon, arguments: &[&str]) -> Ended {
    let ended = holon.run(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended
}

/// What stands on a terminal of 80 columns, and everything that was written to it.
fn on_terminal(holon: &Holon, arguments: &[&str]) -> (String, String) {
    let (status, screen, written) = OnTerminal::start(&holon.command(arguments), None).end();
    assert_eq!(status.code(), Some(0), "{screen}");
    (screen, written)
}

#[test]
fn a_tail_has_as_many_lines_of_its_level_as_are_asked_for() {
    let daemon = used(&[]);
    for (level, wanted) in [("info", 3), ("info", 1), ("verbose", 7), ("debug", 20)] {
        let ended = read(&daemon.0, &["tail", "-n", &wanted.to_string(), "--level", level]);
        assert_eq!(ended.stdout.lines().count(), wanted, "{level}: {}", ended.stdout);
    }
    let last = read(&daemon.0, &["tail", "-n", "2", "--level", "info"]).stdout;
    assert!(last.contains("> operator: prompt number 3") || last.contains("prompt number 3"), "{last}");
    assert_eq!(read(&daemon.0, &["tail", "-n", "0"]).stdout, "");
    assert_eq!(read(&daemon.0, &["tail", "-n", "5", "--json"]).stdout.lines().count(), 5);
    daemon.0.run(&["tail", "-n", "513"]).refused(2, &["513"]);
}

#[test]
fn people_read_local_times_and_programs_read_rfc_3339() {
    let daemon = used(&[("TZ", "Asia/Tokyo")]);
    for command in [&["status"][..], &["tail", "-n", "1"], &["transcript", "-n", "1"]] {
        let shown = read(&daemon.0, command).stdout;
        assert!(shown.contains(" JST") && !shown.contains("Z\n"), "{command:?}: {shown}");
    }
    let status = read(&daemon.0, &["status"]).stdout;
    assert!(status.contains(" ago)") || status.contains("(now)"), "{status}");
    let json: Value =
        serde_json::from_str(&read(&daemon.0, &["tail", "-n", "1", "--json"]).stdout).expect("JSON");
    assert!(json["ts"].as_str().is_some_and(|ts| ts.ends_with('Z') && ts.contains('T')), "{json}");
    let elsewhere =
        daemon.0.command(&["tail", "-n", "1"]).env("TZ", "Nowhere/At-All").output().expect("it runs");
    let shown = String::from_utf8_lossy(&elsewhere.stdout).into_owned();
    assert!(shown.contains(" UTC  "), "{shown}");
}

#[test]
fn a_list_keeps_to_the_terminal_and_a_pipe_has_all_of_it() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["task", "run", &format!("true {}", "a-long-argument ".repeat(6))]);
    let (screen, written) = on_terminal(&daemon.0, &["task", "list"]);
    assert_eq!(screen.trim_end().lines().count(), 2, "no row is wrapped: {screen}");
    assert!(screen.contains('…') && written.contains("\u{1b}[2mTASK"), "{written:?}");
    let piped = read(&daemon.0, &["task", "list"]).stdout;
    assert!(!piped.contains("…\n") && !piped.contains('\u{1b}'), "{piped}");
    // Facts are for reading: they are wrapped in their column, and nothing is cut.
    let (screen, _) = on_terminal(&daemon.0, &["why"]);
    assert!(screen.lines().all(|line| line.chars().count() < 80), "{screen}");
}

#[test]
fn colours_are_for_terminals_that_take_them() {
    let daemon = used(&[]);
    for command in [&["status"][..], &["tail"], &["agent", "list"]] {
        let (_, written) = on_terminal(&daemon.0, command);
        assert!(written.contains("\u{1b}[2m"), "{command:?}: {written:?}");
        assert!(!read(&daemon.0, command).stdout.contains('\u{1b}'));
    }
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut command = daemon.0.command(&["tail"]);
        let (_, screen, written) = OnTerminal::start(command.env(name, value), None).end();
        assert!(!written.contains("\u{1b}["), "{name}: {written:?}");
        assert!(screen.contains("prompt number 3"), "{screen}");
    }
}

const PATCH: &str = "--- a/note.txt\n+++ b/note.txt\n@@ -1 +1 @@\n-an old line\n+a new line\n";

/// A folder with a note, and a model that runs a command and patches it.
fn at_work() -> Daemon {
    let long = "x".repeat(300);
    let rounds = json!([
        { "text": "I look.", "calls": [
            { "tool": "ExecCommand", "arguments": { "cmd": format!("for i in $(seq 30); do echo line $i; done; exit 3 # {long}"), "login": false } },
        ] },
        { "calls": [{ "tool": "ApplyPatch", "arguments": { "patch": PATCH } }] },
        { "text": "Done." },
    ]);
    Daemon::scripted(&rounds)
}

/// What each command shows of it.
fn tells_the_steps(shown: &str) {
    for line in ["line 29", "line 30", "-an old line", "+a new line"] {
        assert!(shown.lines().any(|shown| shown.trim().ends_with(line)), "{line}: {shown}");
    }
    assert!(shown.contains("exit status 3") && !shown.contains("line 5\n"), "{shown}");
    assert!(!shown.contains("stdout_preview") && !shown.contains("{\"patch\""), "no JSON: {shown}");
}

#[test]
fn patches_are_diffs_and_commands_show_the_end_of_their_output() {
    let daemon = at_work();
    daemon.start();
    let folder = daemon.0.work().join("project");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("note.txt"), "an old line\n").expect("a note");
    daemon.ok(&["agent", "create", "painter", "--workspace-root", &folder.display().to_string()]);
    let told = daemon.ok(&["prompt", "--wait", "--agent", "painter", "go"]);
    tells_the_steps(&told.stderr);
    assert_eq!(told.stdout, "Done.\n");
    let transcript = read(&daemon.0, &["transcript", "painter"]).stdout;
    assert!(
        transcript.contains("✗ exit status 3") && transcript.contains("✓ changed note.txt"),
        "{transcript}"
    );
    assert!(transcript.contains("line 5\n"), "it has more of the output: {transcript}");
    tells_the_steps(&read(&daemon.0, &["tail", "painter"]).stdout);
    tells_the_steps(&read(&daemon.0, &["tail", "--all"]).stdout);
    let (_, written) = on_terminal(&daemon.0, &["tail", "painter"]);
    assert!(
        written.contains("\u{1b}[32m+a new line") && written.contains("\u{1b}[31m-an old line"),
        "{written:?}"
    );
    // A run in this process, and programs, which read what they always did.
    daemon.ok(&["daemon", "stop"]);
    std::fs::write(folder.join("note.txt"), "an old line\n").expect("a note");
    let ended = read(&daemon.0, &["run", "--workspace-root", &folder.display().to_string(), "go"]);
    tells_the_steps(&ended.stderr);
    assert_eq!(ended.stdout, "Done.\n");
    let json = read(&daemon.0, &["transcript", "painter", "--json"]).stdout;
    assert!(json.contains("stdout_preview"), "{json}");
}
