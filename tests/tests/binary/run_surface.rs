//! `holon run` without a terminal: what is printed where, codes, signals, streams that break, homes.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, Holon, count, signal, wait_for};
use serde_json::{Value, json};

fn exec(cmd: &str) -> Value {
    json!({ "tool": "ExecCommand", "arguments": { "cmd": cmd, "login": false } })
}

fn works() -> Value {
    json!([
        { "fail": { "kind": "server", "message": "overloaded", "retry_after_ms": 10 },
          "text": "I look.", "calls": [exec("sleep 1.1; exit 3")] },
        { "text": "Done \u{1b}[31m.\n", "usage": { "input_tokens": 7, "output_tokens": 3 } }
    ])
}

#[test]
fn people_see_steps_on_stderr_and_the_answer_as_it_is_on_stdout() {
    let holon = Holon::new();
    let model = holon.scenario(&works());
    let ended = holon.run(&["run", "--model", &model, "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "Done \u{1b}[31m.\n");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{ended:?}");
    assert!(lines[0].contains(" server, again in ") && lines[0].ends_with(": overloaded"), "{ended:?}");
    assert_eq!(lines[1], "I look.");
    assert!(lines[2].starts_with("✗ sleep 1.1; exit 3: exit status 3 (1."), "{ended:?}");
    // How long it takes beyond the command is the machine's.
    let seconds = lines[3].strip_prefix("· completed after ").and_then(|line| line.split_once(" s, "));
    let (seconds, rest) = seconds.unwrap_or_else(|| panic!("{ended:?}"));
    assert!(seconds.parse::<f64>().is_ok_and(|seconds| seconds >= 1.1), "{ended:?}");
    assert!(rest.contains("2 rounds, 10 tokens"), "{ended:?}");
    let quiet = holon.run(&["run", "--quiet", "--model", &model, "go"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("Done \u{1b}[31m.\n", ""));
}

#[test]
fn many_refused_calls_are_a_few_lines() {
    let holon = Holon::new();
    let round = |at: u32| {
        let call = |number: u32| json!({ "tool": "Nonsense", "arguments": { "number": at * 100 + number } });
        json!({ "calls": (0..100).map(call).collect::<Vec<_>>() })
    };
    let rounds: Vec<Value> = (0..4).map(round).chain([json!({ "text": "I give up." })]).collect();
    let ended = holon.run(&["run", "--model", &holon.scenario(&json!(rounds)), "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.lines().count() < 20, "{ended:?}");
    assert!(ended.stderr.contains("unknown_tool: 100 so far"), "{ended:?}");
    assert!(ended.stderr.contains("400 in all"), "{ended:?}");
}

#[test]
fn the_document_has_every_field() {
    let holon = Holon::new();
    let ended = holon.run(&["run", "--json", "--model", &holon.scenario(&works()), "go"]);
    assert_eq!(ended.stderr, "");
    let report = ended.json();
    let fields: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        [
            "agent_id",
            "changed_files",
            "changed_files_source",
            "due",
            "duration_ms",
            "exit_code",
            "final_text",
            "ledger",
            "message_id",
            "provider_attempt_timeline",
            "queued_messages",
            "raw_final_text",
            "rounds",
            "run_ids",
            "stop_reason",
            "token_usage",
            "turn_kind",
            "turns",
            "verdict",
        ]
    );
    assert_eq!(report["exit_code"], 0);
    assert_eq!((&report["message_id"], &report["run_ids"]), (&json!("msg_1"), &json!(["run_1"])));
    assert_eq!(report["changed_files_source"], "patches");
    let timeline = report["provider_attempt_timeline"].as_object().unwrap();
    let fields: Vec<&str> = timeline.keys().map(String::as_str).collect();
    let models = [
        "active_model_ref",
        "aggregated_token_usage",
        "attempts",
        "requested_model_ref",
        "winning_model_ref",
    ];
    assert_eq!(fields, models);
}

#[test]
fn a_stream_is_made_of_envelopes() {
    let holon = Holon::new();
    let ended =
        holon.run(&["run", "--output-format", "stream-json", "--model", &holon.scenario(&works()), "go"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["event_seq"], json!(at + 1));
        assert_eq!(event["id"], json!(format!("evt_{}", at + 1)));
        for field in ["ts", "agent_id", "type", "v", "provenance", "payload"] {
            assert!(event.get(field).is_some(), "{field} is not in {event}");
        }
    }
    let admitted = events.iter().find(|event| event["type"] == "message_admitted").unwrap();
    let executed = events.iter().find(|event| event["type"] == "tool_executed").unwrap();
    assert_eq!(admitted["provenance"], executed["provenance"]);
    assert_eq!(admitted["provenance"]["trust"], "trusted_operator");
    assert_eq!(admitted["provenance"]["delivery_surface"], "run_once");
    assert_eq!(last["type"], "run_finished");
    assert_eq!(last["payload"]["exit_code"], 0);
}

#[test]
fn a_turn_has_at_most_so_many_rounds() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "calls": [exec("true")] }, { "text": "Done." }]));
    let run = |turns: &str| holon.run(&["run", "--json", "--model", &model, "--max-turns", turns, "go"]);
    let limited = run("1");
    assert_eq!(limited.code, Some(8), "{limited:?}");
    let report = limited.json();
    assert_eq!((&report["verdict"], &report["exit_code"]), (&json!("max_turns_exceeded"), &json!(8)));
    assert_eq!((&report["turn_reason"], &report["rounds"]), (&json!("rounds"), &json!(1)));
    assert_eq!(report["failure_artifact"]["kind"], "limit_reached");
    assert_eq!(run("2").code, Some(0));
    for bad in ["0", "-1", "many", "4294967296"] {
        run(bad).refused(2, &["--max-turns"]);
    }
    let ended = holon.run(&["run", "--model", &model, "--max-turns", "1", "go"]);
    ended.refused(8, &["the turn took as many rounds as it may (--max-turns)"]);
}

/// A repository with one file.
fn repository(holon: &Holon) {
    holon.file("kept.txt", "kept\n");
    for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", "start"]] {
        let git = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(holon.work())
            .status();
        assert!(git.expect("git runs").success());
    }
}

#[test]
fn what_commands_changed_is_found_in_the_repository() {
    let holon = Holon::new();
    repository(&holon);
    holon.file("dirty.txt", "before\n");
    holon.file("also.txt", "dirty all the time\n");
    let patch = "--- /dev/null\n+++ b/patched.txt\n@@ -0,0 +1 @@\n+new\n";
    let model = holon.scenario(&json!([
        { "calls": [exec("echo after > dirty.txt; mkdir sub; echo x > 'sub/a b'; rm kept.txt"),
                    { "tool": "ApplyPatch", "arguments": { "patch": patch } }] },
        { "text": "Done." }
    ]));
    let report = holon.run(&["run", "--json", "--model", &model, "go"]).json();
    assert_eq!(report["changed_files"], json!(["dirty.txt", "kept.txt", "patched.txt", "sub/a b"]));
    assert_eq!(report["changed_files_source"], "git_and_patches");
    let model = holon
        .scenario(&json!([{ "calls": [exec("echo y > 'a b'; echo y > ../other")] }, { "text": "Done." }]));
    let root = holon.work().join("sub");
    let report =
        holon.run(&["run", "--json", "--model", &model, "--workspace-root", root.to_str().unwrap(), "go"]);
    assert_eq!(report.json()["changed_files"], json!(["../other", "a b"]));
}

#[test]
fn a_git_that_is_missing_or_slow_delays_nothing_for_long() {
    let holon = Holon::new();
    repository(&holon);
    let programs = tempfile::tempdir().unwrap();
    let slow = programs.path().join("git");
    std::fs::write(&slow, "#!/bin/sh\nexec sleep 60\n").unwrap();
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let model = holon.scenario(&json!([{ "calls": [exec("echo x > new.txt")] }, { "text": "Done." }]));
    for (path, why) in [
        (format!("{}:/usr/bin:/bin", programs.path().display()), "git status took longer than 2 s"),
        ("/nowhere".to_owned(), "git can't be started"),
    ] {
        let mut command = holon.command(&["run", "--json", "--model", &model, "go"]);
        let ended: Ended = command.env("PATH", path).output().unwrap().into();
        let report = ended.json();
        assert_eq!(report["verdict"], "completed");
        assert_eq!(
            (&report["changed_files"], &report["changed_files_source"]),
            (&json!([]), &json!("patches"))
        );
        assert!(report["changed_files_problem"].as_str().unwrap().contains(why), "{report}");
    }
    assert!(holon.work().join("new.txt").exists());
}

#[test]
fn each_signal_ends_the_run_in_good_order() {
    for name in ["INT", "TERM", "HUP"] {
        let holon = Holon::new();
        let model =
            holon.scenario(&json!([{ "calls": [exec("touch started; sleep 60")] }, { "text": "never" }]));
        let child = holon.spawn(&["run", "--json", "--model", &model, "go"]);
        wait_for("command", || holon.work().join("started").exists());
        signal(&child, name);
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, Some(130), "{name}: {ended:?}");
        let report = ended.json();
        assert_eq!((&report["verdict"], &report["exit_code"]), (&json!("aborted"), &json!(130)));
        holon.check_ledger(report["ledger"].as_str().unwrap().as_ref());
    }
}

#[test]
fn a_signal_at_any_moment_ends_with_130() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "text": "Slow.", "delay_ms": 60_000 }]));
    for wait in (0..12).map(|step| Duration::from_millis(step * 4)) {
        let mut child = holon.spawn(&["run", "--model", &model, "go"]);
        std::thread::sleep(wait);
        signal(&child, "INT");
        let status = child.wait().unwrap();
        // Before the program's first line the system ends it, which a shell shows as 130, too.
        assert!(status.code() == Some(130) || status.signal() == Some(2), "{wait:?}: {status}");
    }
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "calls": [exec("touch started; sleep 1")] }, { "text": "Done." }]));
    let run = holon.command(&["run", "--model", &model, "go"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(run.get_program()).args(run.get_args());
    shell.current_dir(holon.work()).env_clear();
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("command", || holon.work().join("started").exists());
    signal(&child, "HUP");
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Done.\n"), "{ended:?}");
}

/// Whatever the runtime ignores, its commands can be ended as always.
#[test]
fn commands_ignore_no_signal_that_the_runtime_ignores() {
    let holon = Holon::new();
    let look = exec("grep SigIgn /proc/self/status > seen");
    let model = holon.scenario(&json!([{ "calls": [look] }, { "text": "Done." }]));
    let run = holon.command(&["run", "--model", &model, "go"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP INT QUIT TERM USR1 CHLD; exec \"$0\" \"$@\""]);
    shell.arg(run.get_program()).args(run.get_args()).current_dir(holon.work()).env_clear();
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended: Ended = shell.stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let seen = std::fs::read_to_string(holon.work().join("seen")).unwrap();
    let ignored = u64::from_str_radix(seen.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    // Signals 32 and 33 belong to the C library, which starts processes with both ignored (`posix_spawn`).
    assert_eq!(ignored & !(0b11 << 31), 0, "{seen}");
}

#[test]
fn waiting_for_standard_input_or_for_a_reader_can_be_interrupted() {
    let holon = Holon::new();
    let mut child =
        holon.command(&["run", "--model", "scripted/hello", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);

    let model = holon.scenario(&json!([{ "text": "word ".repeat(100_000) }]));
    let mut child = holon.command(&["run", "--model", &model, "go"]).stderr(Stdio::piped()).spawn().unwrap();
    let ledgers = || std::fs::read_dir(holon.home().join("runs")).map_or(0, Iterator::count);
    wait_for("run", || ledgers() > 0);
    std::thread::sleep(Duration::from_millis(1_000));
    assert!(child.try_wait().unwrap().is_none(), "nobody reads");
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_is_interrupted_in_its_check_has_a_report() {
    let holon = Holon::new();
    let check = "touch checking; sleep 60";
    let child = holon.spawn(&["run", "--json", "--model", "scripted/hello", "--check", check, "go"]);
    wait_for("check", || holon.work().join("checking").exists());
    signal(&child, "INT");
    let ended: Ended = child.wait_with_output().unwrap().into();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.json()["verdict"], "interrupted");
}

/// A runtime that came meanwhile has limits of its own: a run that names some is not done without them.
#[test]
fn limits_of_a_run_are_not_lost_to_a_runtime_that_comes_meanwhile() {
    let daemon = Daemon::hello();
    let run = ["run", "--agent", "main", "--create-agent", "--max-turns", "1", "-"];
    let mut command = daemon.0.command(&run);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    daemon.start();
    child.stdin.take().unwrap().write_all(b"go").unwrap();
    let ended: Ended = child.wait_with_output().unwrap().into();
    ended.refused(2, &["--max-turns", "holon config set"]);
}

/// The writing end of a pipe that takes nothing more.
fn stuck() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).expect("a pipe");
    while rustix::io::write(&writer, &[b'x'; 4_096]).is_ok() {}
    while rustix::io::write(&writer, b"x").is_ok() {}
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).expect("it blocks");
    (reader, writer)
}

#[test]
fn the_second_interrupt_ends_it_at_once() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "calls": [exec("touch started; sleep 60")] }, { "text": "never" }]));
    let (_reader, writer) = stuck();
    let mut command = holon.command(&["run", "--json", "--model", &model, "go"]);
    let mut child = command.stdout(writer).spawn().unwrap();
    wait_for("command", || holon.work().join("started").exists());
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(child.try_wait().unwrap().is_none(), "the report waits for its reader");
    signal(&child, "TERM");
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let run = std::fs::read_dir(holon.home().join("runs")).unwrap().next().unwrap().unwrap().path();
    let records = holon.records(&run.join("ledger.sqlite3"));
    assert_eq!(count(&records, "turn_terminal"), 1, "the ledger has the outcome");
}

#[test]
fn streams_that_break_change_nothing_about_the_run() {
    let holon = Holon::new();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for format in ["text", "json", "stream-json"] {
        let mut command =
            holon.command(&["run", "--output-format", format, "--model", "scripted/hello", "go"]);
        let ended: Ended = command.stdout(full()).output().unwrap().into();
        ended.refused(1, &["standard output can't be written", "No space left", "holon ledger export"]);
        let ledger = ended.stderr.split("ledger export ").nth(1).unwrap().split(',').next().unwrap();
        let records = holon.records(ledger.as_ref());
        assert_eq!(count(&records, "turn_terminal"), 1, "the ledger has the outcome");
    }
    let mut command = holon.command(&["run", "--model", "scripted/hello", "go"]);
    let ended: Ended = command.stderr(full()).output().unwrap().into();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stdout.is_empty());
    let mut child =
        holon.spawn(&["run", "--output-format", "stream-json", "--model", "scripted/hello", "go"]);
    drop(child.stdout.take());
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// What decided is what `--version` says, the commit included: another commit is another build.
#[test]
fn the_ledger_names_the_build_that_decided() {
    let holon = Holon::new();
    let model = holon.scenario(&json!([{ "text": "Done." }]));
    let ended = holon.run(&["run", "--json", "--agent", "main", "--create-agent", "--model", &model, "go"]);
    let ledger = ended.json()["ledger"].as_str().expect("a ledger").to_owned();
    let version = holon.run(&["--version"]).stdout.trim().to_owned();
    assert!(version.starts_with("holon "), "{version}");
    let export = holon.run(&["ledger", "export", "--recorder", &ledger]).stdout;
    assert!(export.contains(&format!("\"build\":\"{version}\"")), "{version}: {export}");
    let replay = holon.run(&["ledger", "replay", "--json", &ledger]).json();
    assert_eq!(replay["skipped_segments"], 0, "{replay}");
}

#[test]
fn homes_of_old_runs_go_and_those_in_use_stay() {
    let holon = Holon::new();
    let runs = holon.home().join("runs");
    for age in 1..=5_u64 {
        let run = runs.join(format!("run-old{age}"));
        std::fs::create_dir_all(&run).unwrap();
        let at = SystemTime::now() - Duration::from_secs(7_200 * age);
        File::open(&run).unwrap().set_modified(at).unwrap();
    }
    std::fs::write(holon.home().join("config.toml"), "[run]\nkeep = 3\n").unwrap();
    let model = holon.scenario(&json!([{ "text": "Slow enough.", "delay_ms": 500 }]));
    assert_eq!(holon.run(&["run", "--model", &model, "go"]).code, Some(0));
    let left =
        std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.filter(|name| name.starts_with("run-old")).collect();
    left.sort();
    assert_eq!(left, ["run-old1", "run-old2"], "three with the run itself");
}

#[test]
fn temporary_runs_work_side_by_side_and_beside_an_agent() {
    let holon = Holon::new();
    let model =
        holon.scenario(&json!([{ "calls": [exec("touch started; sleep 1.5")] }, { "text": "Done." }]));
    let agent = holon.spawn(&["run", "--model", &model, "--agent", "main", "--create-agent", "go"]);
    wait_for("command", || holon.work().join("started").exists());
    let others: Vec<_> = (0..2).map(|_| holon.spawn(&["run", "--model", "scripted/hello", "go"])).collect();
    for child in others.into_iter().chain([agent]) {
        let ended: Ended = child.wait_with_output().unwrap().into();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn folders_and_homes_that_can_t_be_used() {
    let holon = Holon::new();
    let shell = |script: &str| {
        let run = holon.command(&["run", "--model", "scripted/hello", "go"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(run.get_program()).args(run.get_args()).current_dir(holon.work());
        shell.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ended::from(shell.output().unwrap())
    };
    let gone = shell("mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"");
    gone.refused(2, &["the current folder is gone", "--workspace-root"]);
    let limited = shell("ulimit -f 8; exec \"$0\" \"$@\"");
    limited.refused(1, &["ledger"]);
    for home in ["/proc/nothing", "/dev/null/home"] {
        let ended = holon.run(&["run", "--home", home, "--model", "scripted/hello", "go"]);
        assert!(ended.code == Some(1) || ended.code == Some(2), "{ended:?}");
        ended.refused(ended.code.unwrap(), &[home]);
    }
    let run = ["run", "--model", "scripted/hello", "go"];
    holon
        .run(&[&run[..], &["--workspace-root", "nowhere"]].concat())
        .refused(2, &["nowhere", "not a folder"]);
}
