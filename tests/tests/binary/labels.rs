//! How people name and list agents: second names, descriptions, the archive.

use end_to_end::daemon::Daemon;
use serde_json::Value;

/// The names of listed agents, each with its second one.
fn listed(daemon: &Daemon, more: &[&str]) -> Vec<(String, Option<String>)> {
    let arguments = [&["agent", "list", "--json"], more].concat();
    let list = daemon.ok(&arguments).json();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let agents = list["agents"].as_array().expect("a list").iter();
    agents.map(|agent| (text(&agent["agent_id"]).expect("an id"), text(&agent["name"]))).collect()
}

fn agents(names: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    names.iter().map(|(id, name)| ((*id).to_owned(), name.map(str::to_owned))).collect()
}

#[test]
fn a_second_name_means_the_agent_on_every_command_and_the_id_stays() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["agent", "create", "helper", "--own-home", "--description", "Keeps CI green"]);
    daemon.ok(&["agent", "create", "other", "--own-home"]);
    let renamed = daemon.ok(&["agent", "rename", "helper", "reviewer"]);
    assert_eq!(renamed.stdout, "helper is called reviewer from now on; its id stays\n");
    let shown = daemon.ok(&["agent", "list"]).stdout;
    assert!(shown.contains("helper (reviewer)") && shown.contains("Keeps CI green"), "{shown}");
    daemon.ok(&["prompt", "--agent", "reviewer", "--wait", "hello"]);
    daemon.ok(&["task", "run", "--agent", "reviewer", "true"]);
    for read in ["status", "why", "transcript", "tail"] {
        let named = daemon.ok(&[read, "reviewer", "--json"]).stdout;
        assert!(named.contains("helper") || named.contains("hello"), "{read}: {named}");
    }
    let status = daemon.ok(&["status", "reviewer"]).stdout;
    assert!(status.contains("Keeps CI green") && status.contains("reviewer"), "{status}");
    // The log is that of the id, also after a kill, and without a runtime.
    daemon.kill();
    assert_eq!(daemon.ok(&["status", "reviewer", "--json"]).json()["agent_id"], "helper");
    daemon.start();
    daemon.0.run(&["agent", "rename", "other", "reviewer"]).refused(4, &["belongs to the agent helper"]);
    daemon.0.run(&["status", "reviewr"]).refused(3, &["did you mean reviewer?"]);
    let fork = daemon.ok(&["ledger", "fork", "reviewer", "copy"]);
    assert!(fork.stdout.contains("copy"), "{fork:?}");
    let expected = [("copy", None), ("helper", Some("reviewer")), ("main", None), ("other", None)];
    assert_eq!(listed(&daemon, &[]), agents(&expected), "two agents have no name in common");
    daemon.ok(&["agent", "rename", "reviewer", "helper"]);
    daemon.ok(&["agent", "rename", "other", "reviewer"]);
    assert_eq!(daemon.ok(&["status", "reviewer", "--json"]).json()["agent_id"], "other");
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_new_agent_is_durable_with_its_model_and_description_or_not_at_all() {
    let daemon = Daemon::hello();
    daemon.start();
    let (model, description) = ("scripted/hello", "Keeps CI green");
    daemon.ok(&["agent", "create", "helper", "--own-home", "--model", model, "--description", description]);
    daemon.kill();
    let export = daemon.ok(&["ledger", "export", "--agent", "helper"]).stdout;
    let records: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let step = |kind: &str| {
        let record = records.iter().find(|record| record["event"]["type"] == kind || record["type"] == kind);
        record.map(|record| record["step"].clone()).filter(|step| !step.is_null())
    };
    let created = step("agent_created");
    assert!(created.is_some(), "{export}");
    assert_eq!(step("model_override_changed"), created, "{export}");
    assert_eq!(step("agent_labelled"), created, "{export}");
    let status = daemon.ok(&["agent", "status", "helper", "--json"]).json();
    assert_eq!(status["model"]["source"], "agent_override", "{status}");
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn an_archived_agent_is_stopped_and_out_of_the_list_until_it_is_started() {
    let daemon = Daemon::hello();
    daemon.start();
    daemon.ok(&["agent", "create", "helper", "--own-home"]);
    assert_eq!(daemon.ok(&["agent", "archive", "helper"]).stdout, "helper is archived\n");
    assert_eq!(daemon.ok(&["agent", "archive", "helper"]).stdout, "helper is archived already\n");
    assert_eq!(listed(&daemon, &[]), agents(&[("main", None)]));
    assert_eq!(listed(&daemon, &["--all"]), agents(&[("helper", None), ("main", None)]));
    assert!(daemon.ok(&["agent", "list", "--all"]).stdout.contains("archived"));
    daemon.0.run(&["prompt", "--agent", "helper", "hello"]).refused(4, &["holon agent start helper"]);
    daemon.0.run(&["agent", "create", "helper"]).refused(4, &["exists already"]);
    daemon.ok(&["agent", "describe", "helper", "It", "is", "on", "holiday"]);
    daemon.kill();
    daemon.start();
    assert_eq!(listed(&daemon, &[]), agents(&[("main", None)]));
    daemon.ok(&["agent", "start", "helper"]);
    assert_eq!(listed(&daemon, &[]), agents(&[("helper", None), ("main", None)]));
    daemon.ok(&["prompt", "--agent", "helper", "--wait", "hello"]);
    daemon.ok(&["agent", "archive", "helper"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn names_and_descriptions_that_are_none_are_refused() {
    let daemon = Daemon::hello();
    daemon.start();
    let long = "x".repeat(201);
    for (arguments, code, words) in [
        (&["rename", "main", "My agent"][..], 2, "form of an agent id"),
        (&["rename", "main", ""], 2, "form of an agent id"),
        (&["rename", "main", "a--b"], 2, "two hyphens"),
        (&["rename", "main"], 2, "NAME"),
        (&["rename", "nobody", "boss"], 3, "no agent nobody"),
        (&["describe", "main", ""], 2, "1 to 200"),
        (&["describe", "main", &long], 2, "201"),
        (&["describe", "main", "two\nlines"], 2, "one line"),
        (&["describe", "main"], 2, "TEXT"),
        (&["describe", "main", "--clear", "text"], 2, "--clear"),
        (&["archive", "nobody"], 3, "no agent nobody"),
        (&["archive", "No Name"], 2, "agent id"),
        (&["create", "other", "--description", "two\nlines"], 2, "one line"),
    ] {
        daemon.0.run(&[&["agent"], arguments].concat()).refused(code, &[words]);
    }
    assert_eq!(
        daemon.ok(&["agent", "rename", "main", "main"]).stdout,
        "main has its id as its only name already\n"
    );
    assert_eq!(daemon.ok(&["agent", "describe", "main", "--clear"]).stdout, "main has no description\n");
    assert_eq!(daemon.events_of("agent_labelled"), 0, "nothing has changed");
    daemon.ok(&["daemon", "stop"]);
    daemon.0.run(&["agent", "rename", "main", "boss"]).refused(5, &["holon daemon start"]);
}
