//! `holon task`, and the routes behind it, with real commands.

use std::io::Read;
use std::process::Child;

use end_to_end::daemon::Daemon;
use end_to_end::{Ended, signal, wait_for};
use serde_json::{Value, json};

fn started() -> Daemon {
    let daemon = Daemon::hello();
    daemon.start();
    daemon
}

/// Starts a command, and says which task it is.
fn run(daemon: &Daemon, options: &[&str], cmd: &str) -> String {
    let started = daemon.ok(&[&["task", "run"], options, &["--", cmd]].concat());
    started.stdout.trim_end().to_owned()
}

fn status(daemon: &Daemon, task: &str) -> Value {
    daemon.ok(&["task", "status", task, "--json"]).json()["task"].clone()
}

/// What it has written so far.
fn output(daemon: &Daemon, task: &str) -> String {
    daemon.ok(&["task", "output", task]).stdout
}

fn ended(child: Child) -> Ended {
    child.wait_with_output().expect("the binary ends").into()
}

#[test]
fn a_command_is_run_looked_at_and_followed() {
    let daemon = started();
    let both = "echo one; echo two >&2; exit 3";
    let followed = daemon.0.run(&["task", "run", "--follow", both]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(1), "one\ntwo\n"), "{followed:?}");
    for said in ["task_1 for main", "task_1 is failed", "exit status 3"] {
        assert!(followed.stderr.contains(said), "{followed:?}");
    }
    // It has ended, and its output is still there.
    assert_eq!(output(&daemon, "task_1"), "one\ntwo\n");
    let task = status(&daemon, "task_1");
    assert_eq!((&task["status"], &task["exit_status"]), (&json!("failed"), &json!(3)), "{task}");
    assert_eq!(task["command"]["cmd"], both);
    let log = task["command"]["output_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(log).unwrap(), "one\ntwo\n");

    let waited = daemon.0.run(&["task", "run", "--wait", "--json", "--", "printf", "%s", "a b"]);
    let told = waited.json();
    assert_eq!(
        (waited.code, &told["ok"], &told["task"]["status"]),
        (Some(0), &json!(true), &json!("completed"))
    );
    assert_eq!((told["exit_code"].as_i64(), output(&daemon, "task_2")), (Some(0), "a b\n".to_owned()));
    let lines = daemon.0.run(&["task", "output", "task_1", "--follow", "--json"]);
    let lines: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["text"]), (&json!("output"), &json!("one\ntwo\n")));
    assert_eq!((&lines[1]["type"], &lines[1]["exit_code"]), (&json!("end"), &json!(1)));

    let list = daemon.ok(&["task", "list", "--json"]).json()["tasks"].clone();
    let named = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|task| task["task_id"].clone()).collect()
    };
    assert_eq!(named(&list), ["task_2", "task_1"]);
    let failed = daemon.ok(&["task", "list", "--status", "failed", "--json"]).json()["tasks"].clone();
    assert_eq!(named(&failed), ["task_1"]);
    let table = daemon.ok(&["task", "list"]).stdout;
    assert!(table.starts_with("TASK") && table.contains("task_1  failed"), "{table}");
}

#[test]
fn the_runtime_counts_tasks_that_have_not_ended() {
    let daemon = started();
    let count = || daemon.ok(&["daemon", "status", "--json"]).json()["activity"]["active_task_count"].clone();
    assert_eq!(count(), 0);
    let task = run(&daemon, &[], "sleep 600");
    run(&daemon, &["--wait"], "true");
    assert_eq!(count(), 1);
    assert!(daemon.ok(&["daemon", "status"]).stdout.contains(" 1 tasks"));
    daemon.ok(&["task", "stop", "--force", &task]);
    wait_for("its end", || status(&daemon, &task)["status"] == "cancelled");
    assert_eq!(count(), 0);
}

#[test]
fn an_agent_s_command_that_takes_long_is_shown_by_every_surface() {
    let call = json!({ "tool": "ExecCommand",
        "arguments": { "cmd": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo done",
                       "login": false, "yield_time_ms": 100 } });
    let daemon = Daemon::scripted(&json!([{ "calls": [call] }, { "text": "it goes on" }]));
    daemon.start();
    assert_eq!(daemon.0.run(&["prompt", "-q", "--wait", "go"]).code, Some(7), "its task still runs");
    let why = daemon.ok(&["why", "--json"]).json();
    assert_eq!(
        (&why["active_tasks"][0]["task_id"], why["active_tasks"].as_array().unwrap().len()),
        (&json!("task_1"), 1)
    );
    let table = daemon.ok(&["why"]).stdout;
    assert!(table.contains("task_1 running since ") && table.contains(": echo begun;"), "{table}");
    let short = daemon.ok(&["agent", "status"]).stdout;
    assert!(short.lines().any(|line| line.starts_with("tasks ") && line.ends_with("1 under way")), "{short}");
    assert_eq!(output(&daemon, "task_1"), "begun\n");
    let brief = daemon.0.run(&["task", "output", "task_1", "--wait", "1"]);
    assert_eq!(brief.code, Some(7), "{brief:?}");
    std::fs::write(daemon.0.home().join("agents/main/go"), "").unwrap();
    let whole = daemon.0.run(&["task", "output", "task_1", "--wait", "60"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "begun\ndone\n"), "{whole:?}");
    let tail = daemon.ok(&["tail", "--level", "info"]).stdout;
    assert!(tail.contains("task_1 continues in the background: echo begun;"), "{tail}");
    assert!(tail.contains("task_1 is completed after "), "{tail}");
    assert_eq!(daemon.ok(&["why", "--json"]).json()["active_tasks"], json!([]));
}

#[test]
fn what_ends_a_command_with_its_last_byte_is_known_to_be_written() {
    let daemon = started();
    // Many at once, so that ends overtake receipts now and then on connections of their own.
    for _ in 0..5 {
        let tasks: Vec<String> = (0..8).map(|_| run(&daemon, &["--tty"], "cat")).collect();
        std::thread::scope(|threads| {
            for task in &tasks {
                threads.spawn(|| {
                    let receipt =
                        daemon.0.run_with_input(&["task", "input", task, "-", "--json"], b"\x04").json();
                    let told = (&receipt["accepted_input"], &receipt["bytes_written"]);
                    assert_eq!(told, (&json!(true), &json!(1)), "{receipt}");
                });
            }
        });
        for task in &tasks {
            assert_eq!(daemon.0.run(&["task", "output", task, "--wait", "60"]).code, Some(0));
        }
    }
}

#[test]
fn text_reaches_a_pipe_and_a_terminal() {
    let daemon = started();
    let pipe = run(&daemon, &["--input"], "read name; echo \"Hello $name\"; head -c 100000 | wc -c");
    let said = daemon.ok(&["task", "input", "--line", &pipe, "Ada"]).stdout;
    assert_eq!(said, format!("4 bytes were written to {pipe}\n"));
    wait_for("greeting", || output(&daemon, &pipe) == "Hello Ada\n");
    let long = "ä".repeat(50_000);
    let receipt = daemon.0.run_with_input(&["task", "input", &pipe, "-", "--json"], long.as_bytes());
    let told = receipt.json();
    assert_eq!(
        (receipt.code, &told["accepted_input"], &told["bytes_written"]),
        (Some(0), &json!(true), &json!(100_000)),
        "{told}"
    );
    let whole = daemon.0.run(&["task", "output", &pipe, "--wait", "60"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "Hello Ada\n100000\n"), "{whole:?}");

    let terminal = run(&daemon, &["--tty"], "test -t 0 && stty -echo && echo terminal; cat");
    wait_for("terminal", || output(&daemon, &terminal).contains("terminal"));
    daemon.ok(&["task", "input", "-l", &terminal, "typed"]);
    let last = daemon.0.run_with_input(&["task", "input", &terminal, "-"], b"\x04");
    assert_eq!(last.code, Some(0), "{last:?}");
    let whole = daemon.0.run(&["task", "output", &terminal, "--wait", "60"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(
        whole.stdout.ends_with("typed\n") && status(&daemon, &terminal)["command"]["tty"] == true,
        "{whole:?}"
    );
    daemon.0.run(&["task", "input", &terminal, "late"]).refused(4, &["0 of 4 bytes", "the task has ended"]);

    let deaf = run(&daemon, &[], "sleep 600");
    let refused = daemon.0.run(&["task", "input", &deaf, "x", "--json"]);
    let told = refused.json();
    assert_eq!((refused.code, &told["ok"], &told["accepted_input"]), (Some(4), &json!(true), &json!(false)));
    assert!(told["problem"].as_str().unwrap().contains("accepts_input"), "{told}");
    daemon.0.run(&["task", "input", &deaf, ""]).refused(2, &["nothing to write"]);
    daemon.0.run_with_input(&["task", "input", &deaf, "-"], b"\xff").refused(2, &["not UTF-8"]);
}

#[test]
fn a_stop_leaves_time_to_clean_up_and_force_does_not() {
    let daemon = started();
    let polite = run(&daemon, &[], "trap 'echo cleaning; exit 0' TERM; echo ready; sleep 600 & wait");
    let stubborn = run(&daemon, &[], "trap '' TERM; echo ready; sleep 600");
    for task in [&polite, &stubborn] {
        wait_for("ready", || output(&daemon, task) == "ready\n");
    }
    let stopped = daemon.ok(&["task", "stop", &polite]);
    assert_eq!(stopped.stdout, format!("{polite} is cancelling\n"));
    let followed = daemon.0.run(&["task", "output", &polite, "--follow"]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(130), "ready\ncleaning\n"), "{followed:?}");
    let task = status(&daemon, &polite);
    assert_eq!(
        (&task["status"], &task["stop"]["cause"]),
        (&json!("cancelled"), &json!("operator")),
        "{task}"
    );

    let told = daemon.ok(&["task", "stop", &stubborn, "--force", "--json"]).json();
    assert_eq!((&told["changed"], &told["task"]["stop"]["force"]), (&json!(true), &json!(true)), "{told}");
    let followed = daemon.0.run(&["task", "output", &stubborn, "--follow"]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(130), "ready\n"), "{followed:?}");
    let took = status(&daemon, &stubborn)["duration_ms"].as_u64().unwrap();
    assert!(took > 0, "{took}");
    let again = daemon.ok(&["task", "stop", &stubborn]);
    assert_eq!(again.stdout, format!("{stubborn} is cancelled already\n"));
}

#[test]
fn all_of_a_long_output_can_be_had() {
    let daemon = started();
    let lines: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    let followed = daemon.0.run(&["task", "run", "--follow", "seq 1 200000"]);
    assert_eq!(followed.code, Some(0));
    assert!(followed.stdout == lines, "{} of {} bytes", followed.stdout.len(), lines.len());
    let preview = daemon.ok(&["task", "output", "task_1", "--characters", "100"]);
    assert!(preview.stdout.starts_with("1\n2\n") && preview.stdout.ends_with("200000\n"), "{preview:?}");
    assert!(
        preview.stdout.chars().count() <= 101 && preview.stdout.contains("bytes left out"),
        "{preview:?}"
    );
    assert!(preview.stderr.contains("holon task output task_1 --follow"), "{preview:?}");
    let offset = (lines.len() - 14).to_string();
    let rest = daemon.ok(&["task", "output", "task_1", "--follow", "--offset", &offset]);
    assert_eq!(rest.stdout, "199999\n200000\n");
    let none = daemon.ok(&["task", "output", "task_1", "--characters", "0"]);
    assert!(!none.stdout.contains('7'), "{none:?}");
    // A log that somebody has removed is not taken for a command that wrote nothing.
    std::fs::remove_file(status(&daemon, "task_1")["command"]["output_path"].as_str().unwrap()).unwrap();
    let gone = daemon.ok(&["task", "output", "task_1", "--follow"]);
    assert!(gone.stdout.is_empty() && gone.stderr.contains("the log is gone"), "{gone:?}");
    assert!(output(&daemon, "task_1").starts_with("1\n2\n"), "an excerpt is on record");
    let quiet = daemon.0.run(&["task", "run", "--follow", "true"]);
    assert!(quiet.stdout.is_empty() && !quiet.stderr.contains("gone"), "{quiet:?}");
}

#[test]
fn what_is_not_there_and_what_is_asked_for_wrongly() {
    let daemon = started();
    for words in [
        &["status", "task_9"][..],
        &["output", "task_9"],
        &["output", "task_9", "--follow"],
        &["input", "task_9", "x"],
        &["stop", "task_9"],
    ] {
        let ended = daemon.0.run(&[&["task"], words].concat());
        ended.refused(3, &["there is no task task_9", "holon task list --agent main"]);
        let ended = daemon.0.run(&[&["task"], words, &["--agent", "nobody"]].concat());
        ended.refused(3, &["there is no agent nobody"]);
        assert!(ended.stdout.is_empty(), "{ended:?}");
    }
    daemon.0.run(&["task", "status", "9"]).refused(2, &["task_"]);
    daemon.0.run(&["task", "list", "--status", "up"]).refused(2, &["running", "cancelled"]);
    daemon.0.run(&["task", "run"]).refused(2, &["COMMAND"]);
    daemon.0.run(&["task", "run", "--workdir", "../..", "true"]).refused(2, &["leads out of"]);
    daemon.0.run(&["task", "run", "--shell", "no-such-shell", "true"]).refused(1, &["no-such-shell"]);
    assert_eq!(daemon.ok(&["task", "list"]).stdout, "main has no tasks\n");
    let missing = daemon.0.run(&["task", "run", "--wait", "no-such-program-here"]);
    assert_eq!(
        (missing.code, &status(&daemon, missing.stdout.trim_end())["exit_status"]),
        (Some(1), &json!(127))
    );
}

#[test]
fn a_stopped_agent_has_no_task_under_way_and_can_be_read() {
    let daemon = started();
    daemon.ok(&["agent", "create", "helper", "--own-home"]);
    let task = daemon.ok(&["task", "run", "--agent", "helper", "--", "echo mine; sleep 600"]);
    assert!(task.stderr.contains("holon task output task_1 --follow --agent helper"), "{task:?}");
    let mine = || daemon.ok(&["task", "output", "task_1", "--agent", "helper"]).stdout == "mine\n";
    wait_for("output", mine);
    daemon.ok(&["agent", "stop", "helper"]);
    let followed = daemon.0.run(&["task", "output", "task_1", "--agent", "helper", "--follow"]);
    assert_eq!((followed.code, followed.stdout.as_str()), (Some(130), "mine\n"), "{followed:?}");
    let task = daemon.ok(&["task", "status", "task_1", "--agent", "helper", "--json"]).json()["task"].clone();
    assert_eq!(
        (&task["status"], &task["stop"]["cause"]),
        (&json!("cancelled"), &json!("lifecycle")),
        "{task}"
    );
    let refused = daemon.0.run(&["task", "run", "--agent", "helper", "true"]);
    refused.refused(4, &["helper is stopped", "holon agent start helper"]);
    assert_eq!(
        daemon.ok(&["task", "stop", "task_1", "--agent", "helper"]).stdout,
        "task_1 is cancelled already\n"
    );
    let other = daemon.ok(&["task", "list", "--json"]).json();
    assert_eq!(other["tasks"], json!([]), "they are of another agent");
}

#[test]
fn an_interrupt_ends_the_look_and_not_the_task() {
    let daemon = started();
    let task = run(&daemon, &[], "echo here; sleep 600");
    let again = ["run", "--follow", "echo here; sleep 601"];
    for (words, task) in [(&["output", task.as_str(), "--follow"][..], &*task), (&again, "task_2")] {
        let mut looking = daemon.0.spawn(&[&["task"], words].concat());
        let mut here = [0; 5];
        looking.stdout.as_mut().unwrap().read_exact(&mut here).unwrap();
        signal(&looking, "INT");
        let hint = format!("holon task stop {task}");
        ended(looking).refused(130, &[&format!("{task} continues"), &hint]);
        assert_eq!(status(&daemon, task)["status"], "running");
    }
}

/// Past its bound a log has the beginning and the end, while the command runs and afterwards; what was lost is counted.
#[test]
fn a_log_has_its_bound() {
    const BOUND: u64 = 65_536;
    let daemon = Daemon::hello();
    std::fs::create_dir_all(daemon.0.home()).unwrap();
    std::fs::write(daemon.0.home().join("config.toml"), format!("[limits]\ntask_log_bytes = {BOUND}\n"))
        .unwrap();
    daemon.start();
    let go = daemon.0.work().join("go");
    let cmd = format!("seq 1 100000; until [ -e {} ]; do sleep 0.05; done; echo over", go.display());
    let task = run(&daemon, &[], &cmd);
    wait_for("all of its output", || output(&daemon, &task).trim_end().ends_with("100000"));
    let shown = output(&daemon, &task);
    assert!(shown.starts_with("1\n2\n") && shown.contains("bytes left out"), "{shown}");
    std::fs::write(go, "").unwrap();
    wait_for("its end", || status(&daemon, &task)["status"] == "completed");
    let shown = output(&daemon, &task);
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("100000\nover\n"), "{shown}");
    let task = status(&daemon, &task);
    let log = std::fs::metadata(task["command"]["output_path"].as_str().unwrap()).unwrap();
    assert!(log.len() <= BOUND + 100, "{}", log.len());
}
