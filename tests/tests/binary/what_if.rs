//! What would have happened otherwise: forks with the files of then, another answer and another model, decisions side by
//! side, and under another configuration or build.

use std::fs;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{git, repository};
use end_to_end::provider::{Provider, calls, says};
use end_to_end::task::files;
use end_to_end::wait_for;
use serde_json::{Value, json};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

fn writes(word: &str) -> end_to_end::provider::Reply {
    calls(&[("ExecCommand", json!({ "cmd": format!("echo {word} > made"), "login": false }))])
}

fn records(daemon: &Daemon, agent: &str) -> Vec<Value> {
    let exported = daemon.ok(&["ledger", "export", "--agent", agent]).stdout;
    exported.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

/// The events of a kind, by number.
fn events(daemon: &Daemon, agent: &str, kind: &str) -> Vec<(u64, Value)> {
    let records = records(daemon, agent).into_iter().filter(|record| record["type"] == kind);
    records.map(|it| (it["event_seq"].as_u64().expect("a number"), it["payload"].clone())).collect()
}

fn settles(daemon: &Daemon, agent: &str) {
    wait_for("the end of the turn", || daemon.ok(&["why", agent, "--json"]).json()["quiet"] == true);
}

/// An agent that has written `one` in its first turn and `two` in its second.
fn two_turns(top: &Path, more: impl IntoIterator<Item = end_to_end::provider::Reply>) -> (Daemon, Provider) {
    let first = [writes("one"), says("First."), writes("two"), says("Second.")];
    let provider = Provider::start(first.into_iter().chain(more));
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["agent", "create", "a", "--own-home"]);
    daemon.ok(&["workspace", "use", text(top), "--agent", "a"]);
    for (turn, prompt) in [(1, "make one"), (2, "make two")] {
        daemon.ok(&["prompt", "--agent", "a", "--wait=settled", prompt]);
        wait_for("the files as the turn left them", || {
            let kept = events(&daemon, "a", "workspace_tree");
            kept.iter().filter(|(_, kept)| kept["moment"] == "turn_end").count() == turn
        });
    }
    (daemon, provider)
}

#[test]
fn a_fork_has_the_files_of_its_moment() {
    let (place, _) = files();
    let top = repository(place.path(), "repository");
    let refs = || git(&top, &["for-each-ref", "refs/heads", "refs/tags"]);
    let (branches, status) = (refs(), git(&top, &["status", "--porcelain"]));
    let (daemon, _) = two_turns(&top, [says("Third."), says("Fourth.")]);
    assert_eq!(refs(), branches);
    assert_eq!(git(&top, &["status", "--porcelain"]).trim(), format!("{status}?? made").trim());
    let kept = events(&daemon, "a", "workspace_tree");
    let moments: Vec<_> = kept.iter().map(|(_, kept)| kept["moment"].as_str().expect("a word")).collect();
    assert_eq!(moments, ["turn_begin", "turn_end", "turn_end"], "what nobody changed is not repeated");
    let at = kept[1].0.to_string();
    let forked = daemon.ok(&["ledger", "fork", "a", "b", "--at", &at, "--files", "--json"]).json();
    let root = Path::new(forked["execution_root"].as_str().expect("a folder")).to_owned();
    assert_eq!(fs::read_to_string(root.join("made")).expect("a file"), "one\n");
    assert_eq!(git(&root, &["status", "--porcelain"]).trim(), "?? made");
    assert_eq!(fs::read_to_string(top.join("made")).expect("a file"), "two\n");
    daemon.ok(&["prompt", "--agent", "b", "--wait=settled", "go on"]);
    // What a turn found is kept while its first request is under way: a moment after its begin, and before its tools.
    let begun = events(&daemon, "a", "turn_context_built")[0].0;
    assert!(begun < kept[0].0);
    let early = daemon.ok(&["ledger", "fork", "a", "early", "--at", &begun.to_string(), "--files", "--json"]);
    let found = early.json()["execution_root"].as_str().expect("a folder").to_owned();
    assert_eq!(git(Path::new(&found), &["status", "--porcelain"]), "");
    let used = daemon.ok(&["status", "b", "--json"]).stdout;
    assert!(used.contains(text(&root)), "{used}");
    // Before the first turn there are no files.
    let refused = daemon.0.run(&["ledger", "fork", "a", "c", "--at", "4", "--files"]);
    refused.refused(2, &["no files", "runtime.workspace_trees"]);
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_fork_gets_another_answer_and_another_model() {
    let (place, _) = files();
    let top = repository(place.path(), "repository");
    let (daemon, provider) = two_turns(&top, [says("Otherwise.")]);
    let built = events(&daemon, "a", "turn_context_built")[1].0.to_string();
    let answer = place.path().join("answer.json");
    let call = json!({ "tool": "ExecCommand", "arguments": { "cmd": "echo three > made", "login": false } });
    fs::write(&answer, json!({ "text": "I know better.", "calls": [call] }).to_string()).expect("a file");
    let asked = provider.asked().len();
    let fork = ["ledger", "fork", "a", "b", "--at", &built, "--files", "--model", "local/other"];
    let forked = daemon.ok(&[&fork[..], &["--answer", text(&answer), "--json"]].concat()).json();
    settles(&daemon, "b");
    let root = Path::new(forked["execution_root"].as_str().expect("a folder")).to_owned();
    assert_eq!(fs::read_to_string(root.join("made")).expect("a file"), "three\n");
    assert_eq!(fs::read_to_string(top.join("made")).expect("a file"), "two\n");
    let requests = provider.asked();
    assert_eq!(requests.len(), asked + 1, "nobody is asked for the answer that was given");
    assert_eq!(requests[asked].body["model"], "other");
    assert!(daemon.ok(&["transcript", "b"]).stdout.contains("I know better."));
    let spec = daemon.ok(&["status", "b", "--json"]).json()["identity"]["forked_from"].clone();
    assert_eq!(spec["answer_given"], true);
    assert!(!daemon.0.home().join("answers/b.json").exists(), "it was given once");

    let compared = daemon.ok(&["ledger", "compare", "a", "b", "--json"]).json();
    let rows = compared["rows"].as_array().expect("rows");
    assert!(compared["same"].as_u64().expect("a number") > 5, "{compared}");
    let differs = rows.iter().find(|row| row["same"] == false).expect("a difference");
    assert!(differs["left"].is_object() || differs["right"].is_object(), "{differs}");
    let shown = daemon.ok(&["ledger", "compare", "a", "b"]).stdout;
    assert!(shown.contains("I know better.") && shown.contains("Second."), "{shown}");
    let same = daemon.ok(&["ledger", "compare", "a", "a"]).stdout;
    assert!(same.contains("decided the same"), "{same}");
    daemon.0.run(&["ledger", "compare", "a", "nobody"]).refused(3, &["nobody", "holon agent list"]);
    for (name, text, problem) in [
        ("empty.json", "{}", "calls of tools"),
        ("odd.json", r#"{"words":1}"#, "words"),
        ("no.json", "", "EOF"),
    ] {
        let file = place.path().join(name);
        fs::write(&file, text).expect("a file");
        let refused = daemon.0.run(&["ledger", "fork", "a", "c", "--answer", self::text(&file)]);
        refused.refused(2, &[problem]);
    }
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_whole_ledger_is_decided_under_another_configuration_and_by_another_build() {
    let (place, _) = files();
    let top = repository(place.path(), "repository");
    let (daemon, _) = two_turns(&top, []);
    let config = |name: &str, text: &str| {
        let file = place.path().join(name);
        fs::write(&file, text).expect("a file");
        file
    };
    let against = |other: &Path| daemon.0.run(&["ledger", "replay", "--against", text(other)]);
    let same = against(&config("same.toml", ""));
    assert!(same.code == Some(0) && same.stdout.contains("the same"), "{same:?}");
    let stricter = against(&config("stricter.toml", "[limits]\nrounds = 1\n"));
    stricter.refused(1, &["decides otherwise from a #", "limit_reached"]);
    against(&config("wrong.toml", "[limits]\nround = 1\n")).refused(2, &["limits.round"]);
    against(&place.path().join("nothing")).refused(3, &["config.toml"]);
    against(Path::new("/bin/true")).refused(2, &["/bin/true is no holon program"]);
    let by = against(end_to_end::binary());
    assert!(by.code == Some(0) && by.stdout.contains("the same"), "{by:?}");
}
