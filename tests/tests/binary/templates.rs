//! Templates: what new agents begin with, from the build, from folders, for children.

use std::fs;

use end_to_end::Holon;
use end_to_end::daemon::Daemon;
use end_to_end::obedient::{self, round};
use end_to_end::provider::{Provider, calls, says};
use serde_json::{Value, json};

/// The system message of a request.
fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("a system message")
}

/// What a conversation says before its turns.
fn instructions(request: &Value) -> String {
    request["messages"].to_string()
}

fn template(daemon: &Daemon, name: &str, text: &str) -> String {
    let folder = daemon.0.folder().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("AGENTS.md"), text).expect("a template");
    folder.to_str().expect("UTF-8").to_owned()
}

fn agents_md(daemon: &Daemon, agent: &str) -> String {
    fs::read_to_string(daemon.0.home().join("agents").join(agent).join("AGENTS.md")).expect("instructions")
}

#[test]
fn an_agent_of_a_built_in_template_reads_it_in_every_prompt_and_states_what_it_was_made_from() {
    let provider = Provider::answering(|_| says("done"));
    let daemon = Daemon::new(&provider);
    daemon.start();
    let list = daemon.ok(&["template", "list"]).stdout;
    for id in ["holon-default", "holon-developer", "holon-reviewer", "holon-watcher"] {
        assert!(list.contains(id), "{list}");
    }
    daemon.ok(&["agent", "create", "reviewer", "--own-home", "--template", "holon-reviewer"]);
    daemon.ok(&["prompt", "--agent", "reviewer", "--wait", "hello"]);
    let requests = provider.requests();
    assert!(instructions(&requests[0]).contains("You review changes to software."), "{requests:?}");
    assert!(!system(&requests[0]).is_empty());
    let text = agents_md(&daemon, "reviewer");
    assert!(text.starts_with("# Reviewer\n") && text.contains("## Your home"), "{text}");
    let state = daemon.0.home().join("agents/reviewer/.holon/state/template.json");
    let state: Value = serde_json::from_slice(&fs::read(state).expect("provenance")).expect("JSON");
    let records = daemon.0.records(&daemon.ledger());
    let mut made = records.iter().filter(|record| record["type"] == "agent_created");
    let of_reviewer = made.rfind(|record| record["agent"] == "reviewer").expect("a beginning");
    let on_record = &of_reviewer["payload"]["spec"]["template"];
    assert_eq!(
        (&on_record["selector"], &on_record["origin"]),
        (&json!("holon-reviewer"), &json!("built_in"))
    );
    assert_eq!(on_record["hash"], state["hash"]);
    // The default agent is a plain assistant; nobody's own text is replaced.
    assert!(agents_md(&daemon, "main").starts_with("# Assistant\n"));
    fs::write(daemon.0.home().join("agents/main/AGENTS.md"), "mine").expect("my own");
    daemon.kill();
    daemon.start();
    assert_eq!(agents_md(&daemon, "main"), "mine");
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn a_start_writes_the_templates_of_the_build_where_nobody_has_changed_them() {
    let daemon = Daemon::hello();
    daemon.start();
    let folder = daemon.0.folder().join(".agents/templates");
    let reviewer = folder.join("holon-reviewer/AGENTS.md");
    assert!(fs::read_to_string(&reviewer).expect("a template").starts_with("# Reviewer"));
    fs::write(&reviewer, "Mine.").expect("a change");
    fs::remove_dir_all(folder.join("holon-watcher")).expect("a removal");
    daemon.kill();
    daemon.start();
    assert_eq!(fs::read_to_string(&reviewer).expect("a template"), "Mine.");
    assert!(!folder.join("holon-watcher").exists());
    let shown = daemon.ok(&["template", "show", "holon-reviewer"]).stdout;
    assert_eq!(shown, "Mine.\n");
    let list = daemon.ok(&["template", "list", "--json"]).json();
    let origin = |id: &str| {
        let listed = list["templates"].as_array().expect("a list").iter();
        listed.clone().find(|one| one["template"] == id).expect("one")["origin"].clone()
    };
    assert_eq!((origin("holon-reviewer"), origin("holon-watcher")), (json!("user"), json!("built_in")));
    let other = Daemon::hello();
    fs::create_dir_all(other.0.home()).expect("a home");
    fs::write(other.0.home().join("config.toml"), "[templates]\nseed = false\n").expect("a setting");
    other.start();
    assert!(!other.0.folder().join(".agents").exists());
}

/// It would be waited for without end.
#[test]
fn a_pipe_in_the_place_of_a_template_keeps_no_runtime_from_starting() {
    let daemon = Daemon::hello();
    let folder = daemon.0.folder().join(".agents/templates");
    let pipe = folder.join("holon-default/AGENTS.md");
    fs::create_dir_all(folder.join("holon-default")).expect("a folder");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    daemon.start();
    assert!(folder.join("holon-watcher/AGENTS.md").is_file(), "the others are written");
    assert!(fs::symlink_metadata(&pipe).is_ok_and(|about| !about.is_file()), "it is left alone");
    daemon.ok(&["daemon", "stop"]);
}

#[test]
fn what_is_no_template_makes_no_agent_and_says_what_is_wrong() {
    let daemon = Daemon::hello();
    daemon.start();
    let create =
        |template: &str| daemon.0.run(&["agent", "create", "new", "--own-home", "--template", template]);
    create("holon-reviewr")
        .refused(3, &["there is no template holon-reviewr", "did you mean holon-reviewer?"]);
    create("Not One").refused(2, &["names no template"]);
    create("/nowhere/at/all").refused(2, &["/nowhere/at/all", "can't be read"]);
    let empty = daemon.0.folder().join("empty");
    fs::create_dir(&empty).expect("a folder");
    create(empty.to_str().expect("UTF-8")).refused(2, &["it has no AGENTS.md"]);
    let odd = template(&daemon, "odd", "Be brief.");
    fs::write(empty.parent().expect("one").join("odd/skills.json"), r#"{"skills":[]}"#).expect("a list");
    create(&odd).refused(2, &["skills.json", "unknown field `skills`"]);
    daemon.0.run(&["template", "check", &odd]).refused(2, &["skills.json", "unknown field `skills`"]);
    assert!(!daemon.0.home().join("agents/new").exists(), "nothing is left of it");
    let list = daemon.ok(&["agent", "list", "--json"]).json();
    assert_eq!(list["agents"].as_array().expect("a list").len(), 1);
    // Standing instructions that are there already stay as they are.
    fs::create_dir_all(daemon.0.home().join("agents/new")).expect("a home");
    fs::write(daemon.0.home().join("agents/new/AGENTS.md"), "mine").expect("my own");
    create("holon-reviewer").refused(2, &["is there already, and is not overwritten"]);
    assert_eq!(agents_md(&daemon, "new"), "mine");
}

#[test]
fn a_home_that_a_death_has_cut_short_is_made_by_the_next_turn_from_what_was_taken_in() {
    let provider = Provider::answering(|_| says("done"));
    let daemon = Daemon::new(&provider);
    daemon.start();
    let folder = template(&daemon, "mine", "Answer with one word.");
    daemon.ok(&["agent", "create", "brief", "--own-home", "--template", &folder]);
    daemon.kill();
    // As if the process had died right after the record of the agent, and the template had gone since.
    fs::remove_dir_all(daemon.0.home().join("agents/brief")).expect("a home");
    fs::remove_dir_all(&folder).expect("a template");
    daemon.start();
    daemon.ok(&["prompt", "--agent", "brief", "--wait", "hello"]);
    assert!(agents_md(&daemon, "brief").starts_with("Answer with one word.\n"));
    assert!(instructions(&provider.requests()[0]).contains("Answer with one word."));
}

#[test]
fn a_run_creates_its_agent_from_a_template_with_and_without_a_runtime() {
    let provider = Provider::answering(|_| says("done"));
    let daemon = Daemon::new(&provider);
    let mine = template(&daemon, "mine", "Answer with one word.");
    let run = |agent: &str, template: &str| {
        daemon.ok(&["run", "--agent", agent, "--create-agent", "--template", template, "hello"]);
        assert!(agents_md(&daemon, agent).starts_with("Answer with one word.\n"));
    };
    run("alone", &mine);
    daemon.start();
    run("served", &mine);
    for request in provider.requests() {
        assert!(instructions(&request).contains("Answer with one word."));
    }
    daemon.0.run(&["run", "--agent", "x", "--template", &mine, "hello"]).refused(2, &["--create-agent"]);
    daemon
        .0
        .run(&["run", "--agent", "x", "--create-agent", "--template", "nope", "hello"])
        .refused(3, &["no template"]);
    assert!(!daemon.0.home().join("agents/x").exists());
}

#[test]
fn a_child_begins_with_the_role_that_its_supervisor_names() {
    let provider = Provider::answering(|request| {
        let asked = obedient::input(request);
        match round(request) {
            0 if asked.contains("delegate") => calls(&[
                ("SpawnAgent", json!({ "initial_message": "review it", "template": "holon-reviewer" })),
                ("SpawnAgent", json!({ "initial_message": "review it", "template": "holon-reviewr" })),
                ("SpawnAgent", json!({ "initial_message": "just look" })),
            ]),
            1 if asked.contains("delegate") => says("delegated"),
            _ => says("approve"),
        }
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "delegate"]);
    assert!(agents_md(&daemon, "main--1").starts_with("# Reviewer\n"));
    assert!(agents_md(&daemon, "main--2").starts_with("# Standing instructions of this agent\n"));
    assert!(!daemon.0.home().join("agents/main--3").exists());
    let told = daemon.ok(&["transcript"]).stdout;
    assert!(told.contains("did you mean holon-reviewer?"), "{told}");
    let child =
        provider.requests().into_iter().find(|request| obedient::input(request).contains("review it"));
    assert!(
        instructions(&child.expect("a request of the child")).contains("You review changes to software.")
    );
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn templates_are_listed_without_a_home_or_a_runtime() {
    let holon = Holon::new();
    let check = holon.run(&["template", "check", "holon-watcher", "--json"]);
    assert_eq!((check.code, &check.json()["origin"]), (Some(0), &json!("built_in")));
    holon.run(&["template", "show", "nope"]).refused(3, &["there is no template nope"]);
    assert!(!holon.home().exists());
}

#[test]
fn a_template_of_a_repository_is_pinned_to_its_commit_and_brings_its_skills() {
    let provider = Provider::answering(|_| says("done"));
    let daemon = Daemon::new(&provider);
    let top = daemon.0.folder().join("hub/team/roles.git");
    let skill = top.join("skills/sort");
    fs::create_dir_all(&skill).expect("a folder");
    fs::create_dir_all(top.join("triage")).expect("a folder");
    obedient::git(&top, &["init", "-q", "-b", "main"]);
    fs::write(skill.join("SKILL.md"), "---\nname: sort\ndescription: Sorts issues.\n---\nDo it.\n")
        .expect("a skill");
    fs::write(top.join("triage/AGENTS.md"), "Sort what comes in.").expect("instructions");
    let refs = r#"{"skill_refs":["https://github.com/team/roles/tree/main/skills/sort"]}"#;
    fs::write(top.join("triage/skills.json"), refs).expect("a list");
    obedient::git(&top, &["add", "."]);
    obedient::git(&top, &["commit", "-q", "-m", "first"]);
    let commit = obedient::git(&top, &["rev-parse", "HEAD"]);
    let config = format!("[skills]\ngithub_url = \"file://{}\"\n", daemon.0.folder().join("hub").display());
    fs::create_dir_all(daemon.0.home()).expect("a home");
    fs::write(daemon.0.home().join("config.toml"), config).expect("a configuration");
    let address = "https://github.com/team/roles/tree/main/triage";
    daemon.ok(&["run", "--agent", "alone", "--create-agent", "--template", address, "hello"]);
    daemon.start();
    daemon.ok(&["agent", "create", "triage", "--own-home", "--template", address]);
    daemon.ok(&["prompt", "--agent", "triage", "--wait", "hello"]);
    for agent in ["alone", "triage"] {
        let home = daemon.0.home().join("agents").join(agent);
        assert!(agents_md(&daemon, agent).starts_with("Sort what comes in.\n"));
        assert!(home.join("skills/sort/SKILL.md").is_file());
        let state = fs::read(home.join(".holon/state/template.json")).expect("provenance");
        let state: Value = serde_json::from_slice(&state).expect("JSON");
        assert_eq!((&state["origin"], &state["commit"]), (&json!("github"), &json!(commit.trim())));
    }
    let last = provider.requests().last().cloned().expect("a request").to_string();
    assert!(last.contains("- sort: Sorts issues."), "{last}");
    let shown = daemon.ok(&["template", "show", address]).stdout;
    let skill = "skill: https://github.com/team/roles/tree/main/skills/sort";
    assert_eq!(shown, format!("Sort what comes in.\n{skill}\n"));
    let checked = daemon.ok(&["template", "check", address, "--json"]).json();
    assert_eq!((&checked["template"], &checked["origin"]), (&json!(address), &json!("github")));
    let no_skill = daemon.0.run(&["template", "check", "https://github.com/team/roles/tree/main/none"]);
    no_skill.refused(2, &["https://github.com/team/roles/tree/main/none: ", "none"]);
    assert!(!no_skill.stderr.contains("names no skill"), "{no_skill:?}");
    daemon
        .0
        .run(&["template", "check", "https://github.com/team/roles/tree/main/skills/sort"])
        .refused(2, &["https://github.com/team/roles/tree/main/skills/sort: it has no AGENTS.md"]);
    // What is gone is named, and nothing is left of the agent.
    let gone = "https://github.com/team/roles/tree/main/nothing";
    daemon
        .0
        .run(&["agent", "create", "other", "--own-home", "--template", gone])
        .refused(2, &[gone, "nothing"]);
    let nowhere = "https://github.com/team/nowhere/tree/main/x";
    daemon.0.run(&["agent", "create", "other", "--own-home", "--template", nowhere]).refused(1, &[nowhere]);
    assert!(!daemon.0.home().join("agents/other").exists());
}
