//! Temporary runs go on: after an answer, after a failure, after a kill, and with another prompt.

use std::path::PathBuf;

use end_to_end::Holon;
use end_to_end::provider::{Provider, Reply, calls, fails, says};
use end_to_end::{signal, wait_for};
use serde_json::{Value, json};

fn holon(replies: Vec<Reply>) -> (Holon, Provider) {
    let provider = Provider::start(replies);
    let holon = Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    (holon, provider)
}

fn runs(holon: &Holon) -> Vec<Value> {
    let listed = holon.run(&["runs", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    listed.json()["runs"].as_array().expect("a list").clone()
}

fn ledger(run: &Value) -> PathBuf {
    PathBuf::from(run["ledger"].as_str().expect("a path"))
}

#[test]
fn a_run_is_continued_with_another_prompt_and_remembers() {
    let (holon, provider) = holon(vec![says("It is red."), says("Since Monday."), says("Another one.")]);
    assert!(holon.run(&["runs", "list"]).stdout.contains("no temporary run"));
    holon.run(&["run", "--continue", "and"]).refused(3, &["no run", "holon run"]);
    let first = holon.run(&["run", "-q", "what", "colour?"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let next = holon.run(&["run", "-q", "--continue", "since", "when?"]);
    assert_eq!((next.code, next.stdout.as_str()), (Some(0), "Since Monday.\n"), "{next:?}");
    assert!(provider.requests()[1].to_string().contains("It is red."), "it has the history of the run");
    let all = runs(&holon);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["state"], &all[0]["prompt"]), (&json!("completed"), &json!("what colour?")));
    assert!(all[0]["spent"]["tokens"].as_u64() > Some(0));
    let name = all[0]["run"].as_str().unwrap();
    // By the beginning of its name, without `run-`.
    let beginning = format!("--continue={}", &name["run-".len()..name.len() - 2]);
    assert_eq!(holon.run(&["run", "-q", &beginning, "more"]).stdout, "Another one.\n");
    let shown = holon.run(&["runs", "show", name]);
    assert!(shown.stdout.contains("completed") && shown.stderr.contains("--continue="), "{shown:?}");
    holon.run(&["run", "--resume", name]).refused(4, &["nothing to resume", "--continue="]);
    holon.run(&["run", "--resume", "run-zzzz"]).refused(3, &["no run run-zzzz", "holon runs list"]);
    holon.run(&["run", "--resume", name, "--agent", "main"]).refused(2, &["--agent"]);
    holon.run(&["runs", "show", "../x"]).refused(3, &["no run"]);
    holon.check_ledger(&ledger(&all[0]));
}

#[test]
fn a_run_that_asks_is_answered() {
    let wait = json!({ "reason": "Which port?", "wake": "operator_input" });
    let (holon, provider) = holon(vec![calls(&[("WaitFor", wait)]), says("It listens at 80.")]);
    let asked = holon.run(&["run", "start the server"]);
    assert_eq!(asked.code, Some(6), "{asked:?}");
    let name = runs(&holon)[0]["run"].as_str().unwrap().to_owned();
    assert!(asked.stderr.contains(&format!("holon run --resume {name} \"…\"")), "{asked:?}");
    assert_eq!(runs(&holon)[0]["waiting_for"], "Which port?");
    // The inbox names it as well, with the command that answers it.
    let inbox = holon.run(&["inbox"]);
    assert!(inbox.stdout.contains(&name) && inbox.stdout.contains("  Which port?"), "{inbox:?}");
    assert!(inbox.stderr.contains(&format!("holon run --resume {name} \"…\"")), "{inbox:?}");
    holon
        .run(&["answer", &name, "8080"])
        .refused(2, &["temporary run", &format!("holon run --resume {name}")]);
    let inbox = holon.run(&["inbox", "--json"]).json();
    assert_eq!((&inbox["asks"], &inbox["runs"][0]["run"]), (&json!([]), &json!(name)), "{inbox}");
    // The same over HTTP.
    assert_eq!(holon.run(&["daemon", "start", "--listen", "127.0.0.1:0"]).code, Some(0));
    let page = end_to_end::http::get(&holon.home().join("run/holon.sock"), "/inbox").expect("a reply");
    assert_eq!((page.status, &page.body["runs"]), (200, &inbox["runs"]), "{}", page.body);
    assert_eq!(holon.run(&["inbox", "--json"]).json(), inbox);
    assert_eq!(holon.run(&["daemon", "stop"]).code, Some(0));
    holon.run(&["run", "--resume", &name]).refused(4, &["waits for your answer: Which port?"]);
    let answered = holon.run(&["run", "-q", "--resume", &name, "80"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "It listens at 80.\n"), "{answered:?}");
    assert!(provider.requests()[1].to_string().contains("Which port?"));
    assert_eq!(runs(&holon)[0]["state"], "completed");
    assert_eq!(holon.run(&["inbox"]).stdout, "no agent needs you\n");
}

#[test]
fn a_run_that_failed_is_resumed() {
    let (holon, provider) = holon(vec![fails(400, "broken"), says("Done now.")]);
    let failed = holon.run(&["run", "do it"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let name = runs(&holon)[0]["run"].as_str().unwrap().to_owned();
    assert!(failed.stderr.contains(&format!("holon run --resume {name}")), "{failed:?}");
    let resumed = holon.run(&["run", "-q", "--resume", &name, "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(resumed.json()["final_text"], "Done now.");
    let body = provider.requests()[1].to_string();
    assert!(body.contains("do it") && body.contains("Continue with the task"), "{body}");
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was_and_does_nothing_twice() {
    let count = json!({ "cmd": "echo x >> count; touch begun; while [ ! -e go ]; do sleep 0.05; done", "login": false });
    let (holon, provider) =
        holon(vec![calls(&[("ExecCommand", count)]), says("Counted."), says("Counted again.")]);
    let child = holon.spawn(&["run", "count"]);
    wait_for("the command", || holon.work().join("begun").exists());
    let all = runs(&holon);
    assert_eq!(all[0]["state"], "in_progress", "{all:?}");
    let name = all[0]["run"].as_str().unwrap().to_owned();
    holon.run(&["run", "--resume", &name]).refused(4, &["a process is at"]);
    signal(&child, "KILL");
    child.wait_with_output().unwrap();
    wait_for("a free home", || runs(&holon)[0]["state"] == "killed");
    std::fs::write(holon.work().join("go"), "").unwrap();
    let resumed = holon.run(&["run", "-q", "--resume", &name, "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let report = resumed.json();
    assert_eq!((&report["final_text"], &report["turns"]), (&json!("Counted."), &json!(1)), "{report}");
    assert_eq!(std::fs::read_to_string(holon.work().join("count")).unwrap(), "x\n");
    assert_eq!(provider.requests().len(), 2, "the interrupted turn goes on; no prompt was added");
    holon.check_ledger(&ledger(&all[0]));
}
