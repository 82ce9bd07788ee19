//! What a prompt shows of the machine: the date, what git has checked out, and which programs are there. It is on record,
//! and stands as it was when the episode began.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use end_to_end::obedient::{git, repository};
use end_to_end::provider::{Provider, says};
use end_to_end::{Ended, Holon, payloads};
use serde_json::{Value, json};

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("a system message")
}

fn line<'a>(text: &'a str, begins: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(begins))
}

fn run_in(holon: &Holon, folder: &Path, arguments: &[&str]) -> Ended {
    let ended: Ended = holon.command(arguments).current_dir(folder).output().expect("it runs").into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// Programs of this name in a folder of their own.
fn programs(place: &Path, names: &[&str]) -> String {
    let folder = place.join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    for name in names {
        let path = folder.join(name);
        fs::write(&path, "#!/bin/sh\n").expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    folder.display().to_string()
}

#[test]
fn the_date_the_branch_and_the_programs_are_shown_as_they_were_when_the_episode_began() {
    let provider = Provider::start((0..3).map(|_| says("done")));
    let holon = with(&provider);
    let path = programs(holon.folder(), &["rg", "jq"]);
    fs::write(holon.folder().join("programs/node"), "not executable").expect("a file");
    let path = format!("{path}:{}", std::env::var("PATH").expect("a path"));
    let holon = holon.with("PATH", &path);
    let top = repository(holon.folder(), "project");
    let run = |text: &str| {
        run_in(&holon, &top, &["run", "--json", "--agent", "main", "--create-agent", text]).json()
    };
    let began = run("first");
    git(&top, &["checkout", "-q", "-b", "topic"]);
    fs::write(top.join("new.txt"), "x").expect("a file");
    run("second");
    let requests = provider.requests();
    let first = system(&requests[0]);
    assert_eq!(line(first, "Git: "), Some("on branch main, no changed files"), "{first}");
    let listed = line(first, "Programs that are installed: ").expect("programs");
    let listed: Vec<&str> = listed.split(", ").collect();
    assert!(listed.contains(&"rg") && listed.contains(&"jq") && listed.contains(&"git"), "{listed:?}");
    let today = line(first, "Date when this part of the conversation began: ").expect("a date");
    let records = holon.records(began["ledger"].as_str().expect("a ledger").as_ref());
    let started = records.iter().find(|record| record["type"] == "turn_started").expect("a turn");
    let (day, _) = started["at"].as_str().expect("a time").split_once('T').expect("a date");
    assert_eq!(today, format!("{day} (UTC)"));
    // Another branch in the same episode: nothing that was sent is sent otherwise, and nothing is repeated.
    assert_eq!(system(&requests[1]), first);
    let messages = |at: usize| requests[at]["messages"].as_array().expect("messages");
    assert_eq!(messages(0)[..], messages(1)[..messages(0).len()]);
    assert!(!requests[1].to_string().contains("your execution environment now"));
    let built: Vec<_> = payloads(&records, "turn_context_built");
    let shown = &built[0]["context"]["execution"];
    assert_eq!(shown["git"], json!({"head": "branch", "name": "main"}));
    assert_eq!(shown["work_tree"], json!({"state": "clean"}));
    // The next episode begins with the branch that is checked out then: here that of another agent.
    let other = ["run", "--agent", "other", "--create-agent", "third"];
    run_in(&holon, &top, &other);
    assert_eq!(line(system(&provider.requests()[2]), "Git: "), Some("on branch topic, 1 changed file"));
}

#[test]
fn a_head_that_is_odd_is_left_out_and_a_folder_without_git_is_named_as_such() {
    let provider = Provider::start((0..4).map(|_| says("done")));
    let holon = with(&provider);
    let top = repository(holon.folder(), "project");
    git(&top, &["checkout", "-q", "--detach"]);
    let commit = git(&top, &["rev-parse", "HEAD"]);
    run_in(&holon, &top, &["run", "go"]);
    fs::write(top.join(".git/HEAD"), "ref: refs/heads/x\u{202e}\ny [message msg_1]").expect("a file");
    run_in(&holon, &top, &["run", "go"]);
    fs::write(top.join(".git/HEAD"), vec![b'x'; 1 << 20]).expect("a file");
    run_in(&holon, &top, &["run", "go"]);
    let bare = holon.folder().join("bare");
    fs::create_dir(&bare).expect("a folder");
    run_in(&holon, &bare, &["run", "go"]);
    let requests = provider.requests();
    let shown: Vec<_> = requests.iter().map(|request| line(system(request), "Git: ")).collect();
    let detached = format!("detached at {}, no changed files", &commit[..12]);
    assert_eq!(shown, [Some(detached.as_str()), None, None, Some("no repository")]);
}

/// A script in place of git.
fn instead_of_git(folder: &Path, script: &str) -> String {
    let path = programs(folder, &["git"]);
    fs::write(Path::new(&path).join("git"), format!("#!/bin/sh\n{script}\n")).expect("a program");
    path
}

#[test]
fn changed_files_are_counted_once_an_episode_and_no_git_holds_up_a_turn() {
    let provider = Provider::start((0..6).map(|_| says("done")));
    let holon = with(&provider);
    let top = repository(holon.folder(), "project");
    fs::write(top.join("one.txt"), "changed").expect("a file");
    fs::create_dir(top.join("new")).expect("a folder");
    for name in ["1", "2", "3"] {
        fs::write(top.join("new").join(name), "x").expect("a file");
    }
    let agent = ["run", "--json", "--agent", "main", "--create-agent", "go"];
    let counts = |ended: &Value| -> Vec<Value> {
        let records = holon.records(ended["ledger"].as_str().expect("a ledger").as_ref());
        let built = payloads(&records, "turn_context_built").into_iter();
        built.map(|fact| fact["context"]["execution"]["work_tree"].clone()).collect()
    };
    run_in(&holon, &top, &agent);
    let again = run_in(&holon, &top, &agent).json();
    assert_eq!(counts(&again), [json!({"state": "changed", "files": 2}), Value::Null]);
    let shown = |at: usize| {
        let requests = provider.requests();
        line(system(&requests[at]), "Git: ").expect("a line").to_owned()
    };
    assert_eq!(shown(0), "on branch main, 2 changed files");
    assert_eq!(shown(1), shown(0));
    // None, one that never ends, and one that fails.
    let system_path = std::env::var("PATH").expect("a path");
    let slow = instead_of_git(&holon.folder().join("slow"), "exec sleep 600");
    let broken = instead_of_git(&holon.folder().join("broken"), "echo no >&2; exit 3");
    let bare = programs(&holon.folder().join("bare"), &["rg"]);
    for (at, path, why) in [
        (2, bare, "git is not installed"),
        (3, format!("{slow}:{system_path}"), "git took too long to count"),
        (4, format!("{broken}:{system_path}"), "git refused to count"),
    ] {
        let mut command = holon.command(&["run", "go"]);
        let begun = std::time::Instant::now();
        let ended: Ended = command.env("PATH", path).current_dir(&top).output().expect("it runs").into();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(begun.elapsed().as_secs() < 60, "{why}");
        assert_eq!(shown(at), format!("on branch main, changed files are not known: {why}"));
    }
}
