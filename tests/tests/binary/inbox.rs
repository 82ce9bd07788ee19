//! Who needs the operator: how agents stand in the list, what they ask, and how it is answered.

use end_to_end::daemon::Daemon;
use end_to_end::provider::{Provider, calls, fails, says};
use end_to_end::wait_for;
use serde_json::{Value, json};

fn asks(daemon: &Daemon) -> Vec<Value> {
    daemon.ok(&["inbox", "--json"]).json()["asks"].as_array().expect("a list").clone()
}

fn listed(daemon: &Daemon, name: &str) -> Value {
    let list = daemon.ok(&["agent", "list", "--json"]).json();
    list["agents"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|agent| agent["agent_id"] == name)
        .expect("it is listed")
        .clone()
}

#[test]
fn a_question_is_listed_and_answered_from_the_inbox() {
    let wait = json!({ "reason": "May I delete the old branch?", "wake": "operator_input" });
    let provider = Provider::start(vec![calls(&[("WaitFor", wait)]), says("Deleted.")]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    assert_eq!(daemon.ok(&["inbox"]).stdout, "no agent needs you\n");
    let asked = daemon.0.run(&["prompt", "--wait", "-q", "clean", "up"]);
    assert_eq!(asked.code, Some(6), "{asked:?}");
    let main = listed(&daemon, "main");
    assert_eq!(main["verdict"], "waiting_for_operator", "{main}");
    assert_eq!(main["waiting_for"], "May I delete the old branch?");
    assert!(main["spent_today"]["tokens"].as_u64() > Some(0) && main["since"].is_string(), "{main}");
    let ask = asks(&daemon).remove(0);
    assert_eq!(ask["agent_id"], "main");
    assert!(ask["text"].as_str().unwrap().contains("delete the old branch"), "{ask}");
    let shown = daemon.ok(&["inbox"]);
    let id = format!("main/{}", ask["brief_id"].as_str().unwrap());
    assert!(shown.stdout.contains(&id) && shown.stderr.contains(&format!("holon answer {id}")), "{shown:?}");
    assert!(daemon.ok(&["agent", "list"]).stdout.contains("you (1): May I delete"));
    assert!(daemon.ok(&[]).stdout.contains("holon inbox"));

    // It survives a kill: it is part of what is durable.
    daemon.kill();
    daemon.start();
    assert_eq!(asks(&daemon), [ask]);
    daemon.0.run(&["answer", "main/brief_99", "yes"]).refused(3, &["not open", "holon inbox"]);
    daemon
        .0
        .run(&["answer", "mani", "yes"])
        .refused(3, &["mani has asked nothing that is open", "holon inbox"]);
    daemon.ok(&["daemon", "stop"]);
    assert_eq!(asks(&daemon).len(), 1, "it is read without a runtime, and answered with one");
    daemon.0.run(&["answer", "main/brief_99", "yes"]).refused(3, &["not open", "holon inbox"]);
    assert!(!daemon.run_file("holon.sock").exists(), "nothing to answer starts no runtime");
    daemon.0.run(&["answer", &id, "--no-start", "yes"]).refused(5, &["holon daemon start"]);
    let answered = daemon.0.run(&["answer", &id, "--wait", "-q", "yes,", "do", "it"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "Deleted.\n"), "{answered:?}");
    assert!(provider.requests()[1].to_string().contains("yes, do it"));
    assert!(asks(&daemon).is_empty());
    daemon.0.run(&["answer", &id, "again"]).refused(3, &["it was answered"]);
    assert_eq!(listed(&daemon, "main")["verdict"], "completed");
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_failure_needs_the_operator_until_a_turn_succeeds() {
    let notify = json!({ "message": "The certificate expires tomorrow.", "urgency": "action_required" });
    let replies =
        vec![calls(&[("NotifyOperator", notify)]), says("Told you."), fails(400, "broken"), says("Well.")];
    let daemon = Daemon::new(&Provider::start(replies));
    daemon.start();
    daemon.ok(&["prompt", "--wait", "look"]);
    daemon.ok(&["agent", "create", "other"]);
    let failed = daemon.0.run(&["prompt", "--agent", "other", "--wait", "-q", "go"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let texts: Vec<String> = asks(&daemon).iter().map(|ask| ask["text"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("certificate")), "{texts:?}");
    assert_eq!(listed(&daemon, "other")["verdict"], "failed");
    // One that needs no answer is closed.
    let ask = asks(&daemon).into_iter().find(|ask| ask["agent_id"] == "main").expect("an ask");
    let id = format!("main/{}", ask["brief_id"].as_str().unwrap());
    daemon.0.run(&["answer", &id, "--close", "text"]).refused(2, &["--close"]);
    assert_eq!(daemon.ok(&["answer", &id, "--close"]).stdout, format!("{id} is closed\n"));
    daemon.0.run(&["answer", &id, "--close"]).refused(3, &["not open"]);
    wait_for("an answered inbox", || asks(&daemon).iter().all(|ask| ask["agent_id"] != "main"));
}

#[test]
fn an_answer_is_sent_again_under_its_key() {
    let wait = || calls(&[("WaitFor", json!({ "reason": "May I?", "wake": "operator_input" }))]);
    let provider = Provider::start(vec![wait(), says("I did."), wait()]);
    let daemon = Daemon::new(&provider);
    daemon.start();
    assert_eq!(daemon.0.run(&["prompt", "--wait", "-q", "clean up"]).code, Some(6));
    let id = format!("main/{}", asks(&daemon)[0]["brief_id"].as_str().expect("an id"));
    let answer = |ask: &str| daemon.ok(&["answer", ask, "--key", "once", "--wait", "--json", "yes"]).json();
    let message = answer(&id)["message_id"].clone();
    assert_eq!((&answer(&id)["message_id"], &answer("main")["message_id"]), (&message, &message));
    daemon.0.run(&["answer", &id, "--key", "other", "yes"]).refused(3, &["it was answered"]);
    daemon.0.run(&["answer", "main/brief_99", "--key", "once", "yes"]).refused(3, &["not open"]);
    assert_eq!(daemon.0.run(&["prompt", "--wait", "-q", "clean up"]).code, Some(6));
    assert_eq!(answer("main")["message_id"], message);
    assert_eq!((asks(&daemon).len(), provider.requests().len()), (1, 3));
}
