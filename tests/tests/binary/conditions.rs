//! What a run in CI can require: an answer that fits a schema, a check that passes, a limit on what it costs.

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, Reply, calls, says};
use end_to_end::{Ended, Holon, signal, wait_for};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type":"object","required":["risk"],"properties":{"risk":{"enum":["low","high"]}}}"#;

fn holon(replies: Vec<Reply>) -> (Holon, Provider) {
    let provider = Provider::start(replies);
    let holon = Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    (holon, provider)
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    let (holon, provider) = holon(vec![
        says("The risk is low."),
        says("```json\n{ \"risk\": \"none\" }\n```"),
        says(r#"{ "risk": "low" }"#),
    ]);
    holon.file("schema.json", SCHEMA);
    let ended = holon.run(&["run", "--output-schema", "schema.json", "review"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "{\"risk\":\"low\"}\n"), "{ended:?}");
    let asked: Vec<String> = provider.requests().iter().map(ToString::to_string).collect();
    assert!(asked[0].contains("valid against this JSON") && asked[0].contains("low"), "{}", asked[0]);
    assert!(asked[1].contains("it is not JSON") && asked[2].contains("/risk"), "{asked:?}");
    assert!(ended.stderr.contains("the answer can't be used"), "{ended:?}");
}

#[test]
fn an_answer_that_never_fits_fails_the_run() {
    let (holon, provider) = holon(vec![says("no"), says("no"), says("no")]);
    holon.file("schema.json", SCHEMA);
    let ended =
        holon.run(&["run", "-q", "--json", "--tries", "1", "--output-schema", "schema.json", "review"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    assert_eq!((&report["verdict"], &report["final_text"]), (&json!("failed"), &json!("no")), "{report}");
    assert!(report["output_problem"].as_str().unwrap().contains("not JSON"), "{report}");
    assert_eq!((provider.requests().len(), &report["turns"]), (2, &json!(2)));
    holon.run(&["run", "--output-schema", "missing.json", "x"]).refused(2, &["missing.json"]);
    holon.file("schema.json", r#"{"type": 7}"#);
    holon.run(&["run", "--output-schema", "schema.json", "x"]).refused(2, &["no JSON schema"]);
    assert_eq!(provider.requests().len(), 2, "nothing was sent");
}

#[test]
fn a_check_decides_whether_a_run_is_completed() {
    let repair = json!({ "cmd": "echo good > result", "login": false });
    let (holon, provider) =
        holon(vec![says("Done."), calls(&[("ExecCommand", repair)]), says("Repaired."), says("Made.")]);
    let check = "cat result && grep -q good result";
    let ended = holon.run(&["run", "--json", "--check", check, "make", "it"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = ended.json();
    assert_eq!((&report["verdict"], &report["final_text"]), (&json!("completed"), &json!("Repaired.")));
    assert_eq!(
        report["check"],
        json!({ "command": check, "passed": true, "exit_status": 0, "output": "good\n" })
    );
    let told = provider.requests()[1].to_string();
    assert!(told.contains("The task is not done") && told.contains("result: No such file"), "{told}");
    let never = holon.run(&["run", "--tries", "0", "--check", "echo broken; exit 3", "make", "it"]);
    assert_eq!(never.code, Some(1), "{never:?}");
    assert!(never.stderr.contains("the check `echo broken; exit 3` failed with exit status 3"), "{never:?}");
    holon.run(&["run", "--check", " ", "x"]).refused(2, &["--check", "empty"]);
    let none = holon.run(&["run", "--tries", "5", "x"]);
    none.refused(2, &["--tries is for a condition", "--check COMMAND, or --output-schema FILE"]);
}

#[test]
fn a_run_that_did_not_meet_its_conditions_is_resumed_with_them() {
    let repair = json!({ "cmd": "echo good > result", "login": false });
    let answer = r#"{"risk":"low"}"#;
    let (holon, provider) =
        holon(vec![says("Done."), says("Done."), calls(&[("ExecCommand", repair)]), says(answer)]);
    holon.file("schema.json", SCHEMA);
    let terms = ["--check", "grep good result", "--output-schema", "schema.json", "--budget", "1m tokens"];
    let failed = holon.run(&[&["run", "--tries", "1"], &terms[..], &["make it"]].concat());
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let shown = |name: &str| holon.run(&["runs", "show", name, "--json"]).json()["state"].clone();
    let runs = holon.run(&["runs", "list", "--json"]).json()["runs"].clone();
    let name = runs[0]["run"].as_str().expect("a run");
    assert_eq!((&runs[0]["state"], &shown(name)), (&json!("failed"), &json!("failed")));
    let hint = format!("holon run --resume {name}");
    assert!(failed.stderr.contains(&hint), "{failed:?}");
    std::fs::remove_file(holon.work().join("schema.json")).unwrap();
    let resumed = holon.run(&["run", "-q", "--resume", name]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "{\"risk\":\"low\"}\n"), "{resumed:?}");
    let told = provider.requests()[2].to_string();
    for text in ["The task is not done", "grep good result", "valid against this JSON"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!(shown(name), "completed");
    holon.run(&["run", "--resume", name]).refused(4, &["nothing to resume"]);
}

/// The name and the state of the only run.
fn only_run(holon: &Holon) -> (String, Value) {
    let runs = holon.run(&["runs", "list", "--json"]).json()["runs"].clone();
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
    (runs[0]["run"].as_str().expect("a run").to_owned(), runs[0]["state"].clone())
}

#[test]
fn what_was_not_met_outlives_a_resumption_that_is_refused() {
    let repair = json!({ "cmd": "echo good > result", "login": false });
    let (holon, provider) = holon(vec![says("Done."), calls(&[("ExecCommand", repair)]), says("Repaired.")]);
    let failed = holon.run(&["run", "--tries", "0", "--check", "grep good result", "make it"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let (name, state) = only_run(&holon);
    assert_eq!(state, "failed");
    holon.run(&["run", "--resume", &name, "--skill", "nope"]).refused(2, &["nope"]);
    assert_eq!(only_run(&holon), (name.clone(), json!("failed")));
    let resumed = holon.run(&["run", "-q", "--resume", &name]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Repaired.\n"), "{resumed:?}");
    assert!(provider.requests()[1].to_string().contains("The task is not done"));
    assert_eq!(only_run(&holon), (name, json!("completed")));
}

#[test]
fn conditions_that_were_not_checked_to_the_end_are_checked_first() {
    let (holon, provider) = holon(vec![says(r#"{"risk":"low"}"#)]);
    holon.file("schema.json", SCHEMA);
    let begun = holon.work().join("begun");
    let check = "touch begun; while [ ! -e go ]; do sleep 0.05; done";
    let arguments = ["run", "--check", check, "--output-schema", "schema.json", "review"];
    let interrupted = holon.spawn(&arguments);
    wait_for("the check", || begun.exists());
    signal(&interrupted, "INT");
    let ended: Ended = interrupted.wait_with_output().expect("an end").into();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let (name, state) = only_run(&holon);
    assert_eq!(state, "interrupted");
    assert!(ended.stderr.contains(&format!("holon run --resume {name}")), "{ended:?}");
    std::fs::remove_file(&begun).expect("it can be removed");
    let killed = holon.spawn(&["run", "--resume", &name]);
    wait_for("the check again", || begun.exists());
    signal(&killed, "KILL");
    killed.wait_with_output().expect("an end");
    wait_for("a free home", || only_run(&holon).1 == "interrupted");
    std::fs::write(holon.work().join("go"), "").expect("a file");
    let resumed = holon.run(&["run", "-q", "--resume", &name]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "{\"risk\":\"low\"}\n"), "{resumed:?}");
    assert_eq!(provider.requests().len(), 1, "nothing was left to ask for");
    assert_eq!(only_run(&holon), (name.clone(), json!("completed")));
    holon.run(&["run", "--resume", &name]).refused(4, &["nothing to resume"]);
}

#[test]
fn other_conditions_are_checked_before_the_agent_is_asked_for_more() {
    let (holon, provider) = holon(vec![says("Done."), says("Done again.")]);
    let failed = holon.run(&["run", "--tries", "0", "--check", "echo first; false", "make it"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let (name, _) = only_run(&holon);
    let other = ["run", "--resume", &name, "--tries", "1", "--check", "echo second; exit 3"];
    let again = holon.run(&other);
    assert_eq!(again.code, Some(1), "{again:?}");
    let told = provider.requests()[1].to_string();
    assert!(told.contains("echo second") && !told.contains("echo first"), "{told}");
    assert_eq!(only_run(&holon).1, "failed");
    let holds = holon.run(&["run", "-q", "--resume", &name, "--check", "true"]);
    assert_eq!((holds.code, holds.stdout.as_str()), (Some(0), "Done again.\n"), "{holds:?}");
    assert_eq!(provider.requests().len(), 2, "what holds is not asked for");
    assert_eq!(only_run(&holon), (name, json!("completed")));
}

#[test]
fn the_conditions_hold_for_a_run_with_an_agent_of_the_runtime_too() {
    let daemon = Daemon::new(&Provider::start(vec![says("no"), says(r#"{"risk":"high"}"#)]));
    daemon.start();
    daemon.0.file("schema.json", SCHEMA);
    let arguments =
        ["run", "-q", "--agent", "main", "--output-schema", "schema.json", "--check", "true", "go"];
    let ended = daemon.0.run(&arguments);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "{\"risk\":\"high\"}\n"), "{ended:?}");
    daemon.0.run(&["run", "--agent", "main", "--budget", "1", "x"]).refused(2, &["--budget"]);
}

#[test]
fn a_budget_ends_the_run() {
    let work = || calls(&[("ExecCommand", json!({ "cmd": "true", "login": false }))]);
    let (holon, provider) = holon((0..50).map(|_| work()).collect());
    let ended = holon.run(&["run", "-q", "--json", "--budget", "10k tokens", "go"]);
    assert_eq!(ended.code, Some(8), "{ended:?}");
    assert_eq!(ended.json()["verdict"], "budget_exhausted");
    assert!(provider.requests().len() < 50);
    let ended = holon.run(&["run", "--budget", "1 tokens", "go"]);
    ended.refused(8, &["--budget (1 tokens) is exhausted", "raise --budget"]);
    assert!(!ended.stderr.contains("runtime_tokens"), "{ended:?}");
    assert!(ended.stderr.contains("--budget MORE"), "{ended:?}");
    let before = provider.requests().len();
    let name = holon.run(&["runs", "list", "--json"]).json()["runs"][0]["run"].clone();
    let again = holon.run(&["run", "--resume", name.as_str().expect("a run")]);
    again.refused(8, &["--budget (1 tokens) is exhausted", "--budget MORE"]);
    assert_eq!(provider.requests().len(), before, "its budget still holds");
    holon.run(&["run", "--budget", "0.50", "go"]).refused(2, &["local/test has no price", "tokens"]);
    holon.run(&["run", "--budget", "lots", "go"]).refused(2, &["expected dollars"]);
    assert_eq!(provider.requests().len(), before);
}
