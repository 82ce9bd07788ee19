//! `holon run` on a real terminal.

use std::fs::File;

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, says};
use end_to_end::terminal::OnTerminal;
use end_to_end::{Holon, wait_for};
use serde_json::{Value, json};

fn exec(cmd: &str) -> Value {
    json!({ "tool": "ExecCommand", "arguments": { "cmd": cmd, "login": false } })
}

fn start(holon: &Holon, rounds: &Value, more: &[&str]) -> OnTerminal {
    let model = holon.scenario(rounds);
    let arguments = [&["run", "--model", &model], more, &["go"]].concat();
    OnTerminal::start(&holon.command(&arguments), None)
}

#[test]
fn what_is_waited_for_is_shown_and_leaves_nothing_behind() {
    let holon = Holon::new();
    let rounds = json!([
        { "text": "I look first.", "calls": [exec("while [ ! -e stop ]; do sleep 0.05; done"), exec("exit 3")] },
        { "text": "Done \u{1b}[31mand \u{1b}]0;title\u{7}harmless." }
    ]);
    let run = start(&holon, &rounds, &[]);
    wait_for("line below", || {
        run.screen().lines().any(|line| line.ends_with("while [ ! -e stop ]; do sleep 0.05; done"))
    });
    wait_for("second frame", || run.written().matches("while [ ! -e stop ]").count() > 2);
    holon.file("stop", "");
    let (status, screen, written) = run.end();
    assert_eq!(status.code(), Some(0), "{screen}");
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines.len(), 5, "{screen}");
    assert_eq!(lines[0], "I look first.");
    assert!(lines[1].starts_with("✓ while [ ! -e stop ]; do sleep 0.05; done"), "{screen}");
    assert_eq!(lines[2], "✗ exit 3: exit status 3");
    assert_eq!(lines[3].replace('\u{fffd}', ""), "Done [31mand ]0;titleharmless.", "nothing acts");
    assert!(lines[4].starts_with("· completed after "), "{screen}");
    assert!(written.contains("\u{1b}[31m✗") && written.contains("\u{1b}[32m✓"), "colours: {written:?}");
}

#[test]
fn colours_and_the_moving_line_can_be_unwanted() {
    let rounds = json!([{ "calls": [exec("sleep 0.3")] }, { "text": "Done." }]);
    let (_, screen, written) = start(&Holon::new().with("NO_COLOR", "1"), &rounds, &[]).end();
    assert!(!written.contains("\u{1b}[3") && !written.contains("\u{1b}[2m"), "{written:?}");
    assert!(
        written.contains("sleep 0.3\u{1b}[0m\u{1b}[K") || written.contains("sleep 0.3\u{1b}[K"),
        "{written:?}"
    );
    assert!(screen.starts_with("✓ sleep 0.3\nDone.\n"), "{screen}");
    let (_, screen, written) = start(&Holon::new().with("TERM", "dumb"), &rounds, &[]).end();
    assert!(!written.contains('\u{1b}'), "{written:?}");
    assert!(screen.starts_with("✓ sleep 0.3\nDone.\n"), "{screen}");
    let (_, screen, _) = start(&Holon::new(), &rounds, &["--quiet"]).end();
    assert_eq!(screen.trim_end(), "Done.");
}

#[test]
fn a_document_goes_to_its_file_while_a_person_watches() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "calls": [exec("true")] }, { "text": "Done." }]));
    let path = holon.work().join("report.json");
    let command = holon.command(&["run", "--json", "--model", &model, "go"]);
    let (status, screen, _) = OnTerminal::start(&command, Some(File::create(&path).unwrap())).end();
    assert_eq!(status.code(), Some(0));
    assert_eq!(screen.trim_end(), "✓ true");
    let report: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(report["final_text"], "Done.");
}

#[test]
fn ctrl_c_ends_the_run_and_says_how_to_go_on() {
    let holon = Holon::new();
    let rounds = json!([{ "calls": [exec("echo $$ > pid; exec sleep 60")] }, { "text": "never" }]);
    let mut run = start(&holon, &rounds, &["--agent", "main", "--create-agent"]);
    let pid = holon.work().join("pid");
    wait_for("command", || std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')));
    run.press(b"\x03");
    let (status, screen, _) = run.end();
    assert_eq!(status.code(), Some(130), "{screen}");
    assert!(screen.contains("holon: interrupted, the run ends (once more: at once)"), "{screen}");
    assert!(screen.contains("holon: aborted\n"), "{screen}");
    assert!(screen.contains("continue: holon run --agent main \"…\""), "{screen}");
    let pid = std::fs::read_to_string(&pid).unwrap();
    wait_for("end of the command", || !std::path::Path::new("/proc").join(pid.trim()).exists());
    holon.check_ledger(&holon.home().join("ledger.sqlite3"));
}

#[test]
fn a_prompt_can_be_typed_or_given_up() {
    let holon = Holon::new();
    let command = holon.command(&["run", "--model", "scripted/hello", "-"]);
    let mut run = OnTerminal::start(&command, None);
    wait_for("question", || run.screen().contains("end it with Ctrl-D"));
    run.press(b"hello\n\x04");
    let (status, screen, _) = run.end();
    assert_eq!(status.code(), Some(0), "{screen}");
    let mut run = OnTerminal::start(&command, None);
    wait_for("question", || run.screen().contains("end it with Ctrl-D"));
    run.press(b"\x03");
    let (status, screen, _) = run.end();
    assert_eq!(status.code(), Some(130), "{screen}");
    assert!(screen.contains("interrupted before the run began"), "{screen}");
}

const ANSWER: &str = "# Found\n\nThe test fails since `greet` returns *nothing*, and so \
                      every caller of it reads an empty line.\n\n| file | why |\n|---|---|\n| greet.sh | no echo |\n\nDone.";

/// A provider that gives its answer slowly.
fn slow(answer: &str) -> Provider {
    let pieces = says(answer).dribble(std::time::Duration::from_millis(1));
    Provider::start([pieces.clone(), pieces])
}

fn asking(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn rendered(screen: &str) {
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let from = lines.iter().position(|line| *line == "Found").expect("the heading");
    let table = ["file      why", "────────  ───────", "greet.sh  no echo", "", "Done."];
    assert_eq!(lines[from + 1], "", "{screen}");
    assert!(lines[from + 2].starts_with("The test fails since greet returns nothing"), "{screen}");
    assert!(lines[from + 5..].starts_with(&table), "{screen}");
    assert_eq!(screen.matches("Done.").count(), 1, "it is shown once: {screen}");
}

#[test]
fn an_answer_is_rendered_while_it_is_made_and_a_pipe_has_it_as_it_is() {
    let provider = slow(ANSWER);
    let holon = asking(&provider);
    let run = OnTerminal::start(&holon.command(&["run", "go"]), None);
    wait_for("the heading, before the end", || {
        let screen = run.screen();
        assert!(screen.contains("Found") || !screen.contains("completed after"), "{screen}");
        screen.contains("Found")
    });
    assert!(!run.screen().contains("completed after"), "the answer is still being made: {}", run.screen());
    let (status, screen, written) = run.end();
    assert_eq!(status.code(), Some(0), "{screen}");
    rendered(&screen);
    assert!(written.contains("\u{1b}[36mgreet\u{1b}[0m"), "{written:?}");
    let piped = holon.run(&["run", "go"]);
    assert_eq!(piped.stdout, format!("{ANSWER}\n"), "byte for byte");
}

#[test]
fn an_answer_of_the_runtime_comes_the_same_way() {
    let provider = slow(ANSWER);
    let daemon = Daemon::asking(asking(&provider), &provider);
    daemon.start();
    let (status, screen, _) = OnTerminal::start(&daemon.0.command(&["prompt", "--wait", "go"]), None).end();
    assert_eq!(status.code(), Some(0), "{screen}");
    rendered(&screen);
    let piped = daemon.ok(&["prompt", "--wait", "go"]);
    assert_eq!(piped.stdout, format!("{ANSWER}\n"), "byte for byte");
}
