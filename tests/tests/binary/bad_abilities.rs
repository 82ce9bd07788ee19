//! Skills, templates and an index as somebody else has left them: what is wrong is named, nothing stops, and nothing half done
//! stays.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{git, input, obedient, round};
use end_to_end::provider::{Provider, calls, says};
use serde_json::json;

/// A repository below `hub`, which stands for GitHub.
fn repository(daemon: &Daemon, name: &str) -> PathBuf {
    let folder = daemon.0.folder().join("hub/team").join(format!("{name}.git"));
    fs::create_dir_all(&folder).expect("a folder");
    git(&folder, &["init", "-q", "-b", "main"]);
    folder
}

fn committed(folder: &std::path::Path) {
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "all"]);
}

fn with_hub(daemon: &Daemon, address: &str) {
    fs::create_dir_all(daemon.0.home()).expect("a home");
    let config = format!("[skills]\ngithub_url = \"{address}\"\n");
    fs::write(daemon.0.home().join("config.toml"), config).expect("a configuration");
}

fn create(daemon: &Daemon, template: &str) -> end_to_end::Ended {
    daemon.0.run(&["agent", "create", "new", "--own-home", "--template", template])
}

fn nothing_is_left(daemon: &Daemon) {
    assert!(!daemon.0.home().join("agents/new").exists());
    let listed = daemon.ok(&["agent", "list", "--json"]).json();
    assert_eq!(listed["agents"].as_array().map(Vec::len), Some(1), "{listed}");
    let drafts = fs::read_dir(daemon.0.home().join("templates")).into_iter().flatten();
    let drafts = drafts.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(drafts.filter(|name| name.contains("draft") || name.contains("staging")).count(), 0);
}

#[test]
fn a_template_whose_parts_are_not_there_makes_no_agent() {
    let daemon = Daemon::hello();
    with_hub(&daemon, &format!("file://{}", daemon.0.folder().join("hub").display()));
    let roles = repository(&daemon, "roles");
    for role in ["leaves", "asks", "large"] {
        fs::create_dir_all(roles.join(role)).expect("a folder");
        fs::write(roles.join(role).join("AGENTS.md"), "Work.").expect("instructions");
    }
    fs::remove_file(roles.join("leaves/AGENTS.md")).expect("it was there");
    symlink("/etc/passwd", roles.join("leaves/AGENTS.md")).expect("a link");
    let asks_for = |role: &str, skill: &str| {
        let refs = json!({ "skill_refs": [skill] }).to_string();
        fs::write(roles.join(role).join("skills.json"), refs).expect("a list");
    };
    asks_for("asks", "https://github.com/team/nowhere/tree/main/skills/sort");
    asks_for("large", "https://github.com/team/many/tree/main/skills/many");
    committed(&roles);
    let many = repository(&daemon, "many").join("skills/many");
    fs::create_dir_all(&many).expect("a folder");
    fs::write(many.join("SKILL.md"), "---\nname: many\ndescription: Many.\n---\n").expect("a skill");
    (0..600).for_each(|at| fs::write(many.join(at.to_string()), "").expect("a file"));
    committed(&daemon.0.folder().join("hub/team/many.git"));
    daemon.start();
    let of = |role: &str| format!("https://github.com/team/roles/tree/main/{role}");
    create(&daemon, &of("leaves")).refused(2, &["AGENTS.md", "link"]);
    create(&daemon, &of("asks")).refused(1, &["team/nowhere/tree/main/skills/sort", "git"]);
    create(&daemon, &of("large")).refused(2, &["team/many/tree/main/skills/many", "more than 500 files"]);
    nothing_is_left(&daemon);
    // The same of a folder, whose link leads out of it.
    let folder = daemon.0.folder().join("role");
    fs::create_dir(&folder).expect("a folder");
    symlink("/etc/passwd", folder.join("AGENTS.md")).expect("a link");
    create(&daemon, folder.to_str().expect("UTF-8")).refused(2, &["AGENTS.md", "link"]);
    nothing_is_left(&daemon);
}

#[test]
fn a_template_that_never_comes_is_given_up_while_its_client_still_waits() {
    let daemon = Daemon::hello();
    // Connections are taken by the kernel, and nobody answers.
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    with_hub(&daemon, &format!("http://{}", listener.local_addr().expect("an address")));
    daemon.start();
    let began = Instant::now();
    let ended = create(&daemon, "https://github.com/team/roles/tree/main/triage");
    ended.refused(1, &["was not fetched within 25 s; no agent was made", "fetch the repository yourself"]);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    nothing_is_left(&daemon);
    daemon.ok(&["prompt", "--wait", "hello"]);
}

#[test]
fn what_is_wrong_with_skills_templates_and_the_index_is_listed_by_doctor() {
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "The kestrel hovers."]);
    daemon.ok(&["memory", "search", "kestrel"]);
    let doctor = || daemon.0.run(&["config", "doctor"]).stdout;
    let fine = doctor();
    for line in
        ["fine     skills: 0 skills of main", "fine     templates: there are holon-", "fine     memory: "]
    {
        assert!(fine.contains(line), "{line} is not in {fine}");
    }
    let skills = daemon.0.home().join("agents/main/skills");
    for (name, text) in
        [("good", "---\nname: good\ndescription: Good.\n---\n"), ("broken", "---\nname: [\n---\n")]
    {
        fs::create_dir_all(skills.join(name)).expect("a folder");
        fs::write(skills.join(name).join("SKILL.md"), text).expect("a skill");
    }
    let template = daemon.0.folder().join(".agents/templates/odd");
    fs::create_dir_all(&template).expect("a folder");
    daemon.ok(&["daemon", "stop"]);
    // The file of another program: a ledger is one.
    let index = daemon.0.home().join("index/memory.sqlite3");
    fs::remove_dir_all(index.parent().expect("a folder")).expect("it was there");
    fs::create_dir(index.parent().expect("a folder")).expect("a folder");
    fs::copy(daemon.ledger(), &index).expect("a copy");
    let told = doctor();
    for part in [
        "1 skill of main and of the user",
        "agent:broken is not offered",
        "odd can't be used",
        "it has no AGENTS.md",
        "memory.sqlite3 can't be used: it is the database of another program",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert!(!index.with_extension("sqlite3.aside-1").exists(), "looking changes nothing");
    assert!(daemon.ok(&["memory", "search", "kestrel"]).stdout.contains("hovers"));
    assert!(index.with_file_name("memory.sqlite3.aside-1").exists(), "it is kept");
    assert!(doctor().contains("memory.sqlite3 is up to date"), "{}", doctor());
}

#[test]
fn a_query_that_is_none_is_refused_whatever_its_size() {
    let provider = Provider::answering(|request| {
        if request["tools"].is_null() {
            return says("a summary");
        }
        let length = input(request).split("search ").nth(1).and_then(|length| length.trim().parse().ok());
        match length {
            Some(length) if round(request) == 0 => {
                calls(&[("MemorySearch", json!({ "query": "x".repeat(length) }))])
            }
            _ => says("done"),
        }
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    for length in ["1001", "100000"] {
        daemon.ok(&["prompt", "--wait", "search", length]);
        let last = provider.requests().pop().expect("a request")["messages"].to_string();
        assert!(last.contains("expected at most 1000 characters"), "{}", &last[last.len() - 600..]);
    }
    // What the model has written fits no request any more: that turn fails, and the next one goes on.
    let ended = daemon.0.run(&["prompt", "--wait", "search", "1048576"]);
    ended.refused(1, &["expected at most 1000 characters", "context_length_exceeded"]);
    assert_eq!(daemon.ok(&["prompt", "--wait", "and now?"]).stdout.trim(), "done");
    let long = "x".repeat(100_000);
    daemon.0.run(&["memory", "search", &long]).refused(2, &["1000 characters"]);
    daemon.0.run(&["memory", "get", &long]).refused(2, &["the address of the request would have"]);
    for harmless in ["超", "\"", "a OR b NOT c NEAR(d)", "%", "'; --"] {
        daemon.ok(&["memory", "search", harmless]);
    }
}
