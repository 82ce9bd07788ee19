//! The first minutes with Holon: in an empty home, and with agents that are not there, every command ends with the
//! code of its kind and names the next command.

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use serde_json::json;

/// A command, its code, and the next command that it names.
type Row<'a> = (&'a [&'a str], i32, &'a str);

fn told(holon: &Holon, rows: &[Row<'_>]) {
    for (command, code, next) in rows {
        let ended = holon.run(command);
        ended.refused(*code, &[]);
        let hint = ended.stderr.lines().find_map(|line| line.strip_prefix("  try: "));
        assert!(hint.is_some_and(|hint| hint.contains(next)), "{command:?}: {next} is not in {ended:?}");
    }
}

const START: &str = "holon daemon start";
const FIRST: &str = "holon init";

#[test]
fn in_an_empty_home_every_command_names_the_next_one() {
    let holon = Holon::new();
    told(
        &holon,
        &[
            (&["status"], 3, FIRST),
            (&["status", "--json"], 3, FIRST),
            (&["why"], 3, FIRST),
            (&["why", "--agent", "helper"], 3, FIRST),
            (&["tail"], 3, FIRST),
            (&["tail", "--all"], 3, FIRST),
            (&["tail", "--follow", "helper"], 5, START),
            (&["transcript"], 3, FIRST),
            (&["skills", "list"], 3, FIRST),
            (&["memory", "search", "word"], 3, FIRST),
            (&["debug", "prompt"], 3, FIRST),
            (&["answer", "main", "yes"], 3, "holon inbox"),
            (&["prompt", "x"], 2, "holon init"),
            (&["prompt", "--no-start", "x"], 5, START),
            (&["prompt", "--wait", "--agent", "helper", "x"], 2, "holon init"),
            (&["agent", "status", "helper"], 3, FIRST),
            (&["agent", "create", "helper"], 5, START),
            (&["agent", "start", "helper"], 5, START),
            (&["agent", "stop", "helper"], 5, START),
            (&["agent", "abort", "helper"], 5, START),
            (&["agent", "model", "helper"], 5, START),
            (&["pause", "helper"], 5, START),
            (&["resume", "helper"], 5, START),
            (&["ledger", "fork", "main", "other"], 5, START),
            (&["ledger", "export"], 3, "holon demo"),
            (&["ledger", "verify"], 3, "holon demo"),
            (&["ledger", "replay"], 3, "holon demo"),
            // A start would be refused, too, as long as there is no model.
            (&["daemon", "status"], 5, "holon config doctor"),
            (&["daemon", "start"], 2, "holon init"),
            (&["daemon", "restart"], 2, "holon init"),
            (&["serve"], 2, "holon init"),
            (&["run", "x"], 2, "holon init"),
            (&["config", "get", "nosuch"], 3, "holon config list"),
            (&["config", "unset", "nosuch"], 3, "holon config list"),
            (&["config", "set", "limits.rounds", "0"], 2, "holon config get limits.rounds"),
        ],
    );
    let status = holon.run(&["status"]).stderr;
    assert!(status.contains("has no agents yet") && !status.contains("reached"), "{status}");
    let list = holon.run(&["agent", "list"]);
    assert_eq!((list.code, list.stdout.as_str()), (Some(0), "no agents yet\n"), "{list:?}");
    assert!(list.stderr.contains("try: holon init"), "{list:?}");
    let list = holon.run(&["agent", "list", "--json"]).json();
    assert_eq!((&list["ok"], &list["agents"]), (&json!(true), &json!([])), "{list}");
    let served = holon.run(&["serve"]).stderr;
    assert_eq!(served.matches("no model is configured").count(), 1, "{served}");
    let stopped = holon.run(&["daemon", "stop"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(0), "not running\n"));
    let with_model = Holon::new().with("HOLON_MODEL", "scripted/hello");
    with_model.run(&["daemon", "status"]).refused(5, &[START]);
    with_model.run(&["status"]).refused(3, &["holon prompt --wait"]);
}

#[test]
fn an_agent_that_is_not_there_is_offered() {
    let daemon = Daemon::hello();
    daemon.start();
    let create = "holon agent create nobody";
    told(
        &daemon.0,
        &[
            (&["status", "nobody"], 3, create),
            (&["why", "nobody"], 3, create),
            (&["tail", "nobody"], 3, create),
            (&["tail", "--follow", "nobody"], 3, create),
            (&["transcript", "nobody"], 3, create),
            (&["prompt", "--agent", "nobody", "x"], 3, create),
            (&["prompt", "--wait", "--agent", "nobody", "x"], 3, create),
            (&["agent", "status", "nobody"], 3, create),
            (&["agent", "start", "nobody"], 3, create),
            (&["agent", "stop", "nobody"], 3, create),
            (&["agent", "abort", "nobody"], 3, create),
            (&["agent", "model", "nobody"], 3, create),
            (&["ledger", "fork", "nobody", "other"], 3, create),
            (&["run", "--agent", "nobody", "x"], 3, "holon run --agent nobody --create-agent"),
            (&["ledger", "export", "--agent", "nobody"], 3, "without --agent"),
            (&["agent", "model", "main", "--set", "hello"], 2, "holon config providers list"),
            (&["agent", "model", "main", "--set", "nope/x"], 2, "holon config providers list"),
        ],
    );
    for (command, says) in [
        (&["agent", "abort", "--run", "7"][..], "expected an id like run_12"),
        (&["agent", "model", "--set", "hello"], "provider/model"),
        (&["status", "No Name"], "an agent id is 1 to 63 characters"),
    ] {
        let ended = daemon.0.run(command);
        ended.refused(2, &[says]);
        assert!(
            !ended.stderr.contains("column"),
            "where it stood in a request is nobody's business: {ended:?}"
        );
    }
}
