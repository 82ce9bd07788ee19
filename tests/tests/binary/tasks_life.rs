//! Background tasks through the whole runtime, with real processes: how a command becomes one, how its result is
//! told, what can be written to it, and which equal commands there are (contract: tasks.md).

use end_to_end::provider::{Provider, calls, says};
use end_to_end::task::{Prompted, awaits, begins, ends, files, last_result, reads, task, until};
use end_to_end::{count, payloads, wait_for};
use serde_json::{Value, json};

#[test]
fn a_command_that_takes_longer_than_its_call_goes_on_and_its_result_begins_a_turn() {
    let (_folder, file) = files();
    let cmd = format!("echo early; {}; echo late; exit 3", until(&file("go")));
    let call = begins(&cmd, &json!({ "yield_time_ms": 1_500 }));
    let provider = Provider::start([calls(&[call]), says("It runs."), says("It has failed.")]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(2);
    let told = last_result(&provider.requests()[1]);
    for part in ["promoted_to_task", r#""task_id":"task_1""#, r#""initial_output_preview":"early\n""#] {
        assert!(told.contains(part), "{part}: {told}");
    }
    wait_for("end of the turn", || end_to_end::durable::quiet(&prompted.daemon, &["main"]));
    std::fs::write(file("go"), "").unwrap();
    provider.wait_for_requests(3);
    let result = provider.requests()[2]["messages"].to_string();
    assert!(result.contains("late") && result.contains("exit_status"), "{result}");
    let records = prompted.in_the_end();
    assert_eq!(ends(&records, "main")["task_1"], ("failed".to_owned(), Some(3)));
    assert_eq!(payloads(&records, "task_created")[0]["cause"], "promoted_to_task");
    for (kind, times) in [("task_result_queued", 1), ("turn_started", 2), ("message_processed", 2)] {
        assert_eq!(count(&records, kind), times, "{kind}");
    }
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_result_that_was_shown_is_not_told_again() {
    let (_folder, file) = files();
    let cmd = format!("{}; seq 1 100000; echo the end", until(&file("go")));
    let provider = Provider::start([task(&cmd), reads("task_1"), says("I have read it.")]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(2);
    std::fs::write(file("go"), "").unwrap();
    let daemon_home = prompted.daemon.0.home();
    provider.wait_for_requests(3);
    let shown: Value = serde_json::from_str(&last_result(&provider.requests()[2])).expect("JSON");
    assert_eq!(shown["retrieval_status"], "success", "{shown}");
    let preview = shown["task"]["output_preview"].as_str().unwrap();
    assert!(preview.starts_with("1\n2\n") && preview.ends_with("the end\n"), "{preview}");
    assert!(preview.chars().count() <= 8_200, "{} characters", preview.chars().count());
    assert_eq!(shown["task"]["output_truncated"], true);
    let log = daemon_home.join("agents/main/task-output/task_1.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.lines().count() == 100_001 && log.ends_with("\n100000\nthe end\n"), "all of it is there");
    let records = prompted.in_the_end();
    assert_eq!(ends(&records, "main")["task_1"], ("completed".to_owned(), Some(0)));
    assert_eq!(payloads(&records, "task_result_queued").len(), 1);
    assert_eq!(count(&records, "turn_started"), 1, "nothing new is told by its message");
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn input_reaches_a_pipe_and_a_terminal_and_nobody_who_takes_none() {
    let (_folder, file) = files();
    let input = |task: &str, text: &str| calls(&[("TaskInput", json!({ "task_id": task, "input": text }))]);
    let terminal = "read -r line; test -t 0 && echo \"terminal: $line\"";
    let deaf = until(&file("go"));
    let provider = Provider::start([
        calls(&[
            begins("head -n 2", &json!({ "accepts_input": true })),
            begins(terminal, &json!({ "tty": true })),
            begins(&deaf, &json!({})),
        ]),
        input("task_1", "one\n"),
        input("task_1", "two\n"),
        reads("task_1"),
        input("task_2", "typed\n"),
        reads("task_2"),
        input("task_3", "nobody reads this\n"),
        input("task_1", "too late\n"),
        says("Done."),
        says("All of them have ended."),
    ]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(9);
    let shown: Vec<String> = provider.requests().iter().skip(2).map(last_result).collect();
    for (at, parts) in [
        (0, [r#""accepted_input":true"#, r#""bytes_written":4"#]),
        (1, [r#""accepted_input":true"#, r#""bytes_written":4"#]),
        (2, [r#""output_preview":"one\ntwo\n""#, r#""exit_status":0"#]),
        (3, [r#""accepted_input":true"#, r#""bytes_written":6"#]),
        (4, ["terminal: typed", r#""exit_status":0"#]),
        (5, [r#""accepted_input":false"#, r#""bytes_written":0"#]),
        (6, [r#""accepted_input":false"#, "the task has ended"]),
    ] {
        parts.iter().for_each(|part| assert!(shown[at].contains(part), "{part} is not in {}", shown[at]));
    }
    std::fs::write(file("go"), "").unwrap();
    let records = prompted.in_the_end();
    let delivered = payloads(&records, "task_input_delivered");
    let delivered: Vec<_> = delivered.iter().map(|fact| (&fact["task_id"], &fact["bytes_written"])).collect();
    let [one, two] = [json!("task_1"), json!("task_2")];
    assert_eq!(delivered, [(&one, &json!(4)), (&one, &json!(4)), (&two, &json!(6))]);
}

#[test]
fn an_equal_command_is_not_started_beside_the_one_that_runs_unless_that_is_asked_for() {
    let (_folder, file) = files();
    let cmd = format!("echo x >> {}; {}", file("begun").display(), until(&file("go")));
    let provider = Provider::start([
        task(&cmd),
        task(&cmd),
        calls(&[begins(&cmd, &json!({ "duplicate_policy": "start_new" }))]),
        says("Two of them run."),
        says("Both have ended."),
        says("Both have ended."),
    ]);
    let prompted = Prompted::new(&provider, "");
    provider.wait_for_requests(4);
    let second = last_result(&provider.requests()[2]);
    assert!(second.contains("already_running") && second.contains("task_1"), "{second}");
    assert!(last_result(&provider.requests()[3]).contains("promoted_to_task"));
    std::fs::write(file("go"), "").unwrap();
    let records = prompted.in_the_end();
    assert_eq!(std::fs::read_to_string(file("begun")).unwrap().lines().count(), 2);
    assert_eq!(ends(&records, "main").len(), 2);
    assert_eq!(count(&records, "task_result_queued"), 2);
}

#[test]
fn an_agent_has_only_so_many_tasks() {
    const LIMIT: usize = 3;
    let (_folder, file) = files();
    let cmd = |at: usize| begins(&format!("{}; exit {at}", until(&file("go"))), &json!({}));
    let all: Vec<_> = (0..=LIMIT).map(cmd).collect();
    // Their results come in as many turns as they like.
    let told = (0..LIMIT).map(|_| says("Some have ended."));
    let begun = [calls(&all), awaits(&file("never")), says("They run.")];
    let provider = Provider::start(begun.into_iter().chain(told));
    let prompted = Prompted::new(&provider, "[limits]\ntasks_per_agent = 3\n");
    provider.wait_for_requests(2);
    let refused = last_result(&provider.requests()[1]);
    assert!(refused.contains("limits.tasks_per_agent") && refused.contains("TaskStop"), "{refused}");
    // A foreground command could become a task as well.
    provider.wait_for_requests(3);
    assert!(last_result(&provider.requests()[2]).contains("limits.tasks_per_agent"));
    std::fs::write(file("go"), "").unwrap();
    let records = prompted.in_the_end();
    let ends = ends(&records, "main");
    assert_eq!(ends.len(), LIMIT);
    let exits: Vec<i64> =
        (0..LIMIT).map(|at| ends[&format!("task_{}", at + 1)].1.expect("an exit")).collect();
    assert_eq!(exits, (0..LIMIT as i64).collect::<Vec<_>>());
}
