//! Skills that are installed, checked and removed with the binary, from folders and from repositories.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::http::{ask, get};
use end_to_end::obedient::git;
use end_to_end::provider::{Provider, says};
use end_to_end::{Ended, Holon, signal, wait_for};
use serde_json::{Value, json};

/// A home with an agent, and no runtime.
fn home() -> (Holon, Provider) {
    let provider = Provider::answering(|_| says("done"));
    let holon = Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    assert_eq!(holon.run(&["run", "--agent", "main", "--create-agent", "hello"]).code, Some(0));
    (holon, provider)
}

fn skill(folder: &Path, name: &str) {
    fs::create_dir_all(folder.join("scripts")).expect("a folder");
    let text = format!("---\nname: {name}\ndescription: What {name} is for\n---\nDo it.\n");
    fs::write(folder.join("SKILL.md"), text).expect("a skill");
    fs::write(folder.join("scripts/go.sh"), "echo went\n").expect("a script");
}

/// `hub/team/skills.git` with two skills.
fn hub(holon: &Holon) -> PathBuf {
    let top = holon.folder().join("hub/team/skills.git");
    fs::create_dir_all(&top).expect("a folder");
    git(&top, &["init", "-q", "-b", "main"]);
    skill(&top.join("skills/pdf"), "pdf");
    skill(&top.join("skills/csv"), "csv");
    git(&top, &["add", "."]);
    git(&top, &["commit", "-q", "-m", "first"]);
    fs::create_dir_all(holon.home()).expect("a home");
    let hub = holon.folder().join("hub");
    let config = format!("[skills]\ngithub_url = \"file://{}\"\n", hub.display());
    fs::write(holon.home().join("config.toml"), config).expect("a configuration");
    top
}

fn root(holon: &Holon) -> PathBuf {
    holon.home().join("agents/main/skills")
}

fn ok(ended: Ended) -> Ended {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// What is below the agent's root, by its first names.
fn below(holon: &Holon) -> Vec<String> {
    let entries = fs::read_dir(root(holon)).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_skill_from_a_folder_is_listed_offered_checked_and_removed() {
    let (holon, provider) = home();
    skill(&holon.work().join("mine/notes"), "notes");
    let installed = ok(holon.run(&["skills", "install", "mine/notes"]));
    assert!(installed.stdout.starts_with("installed notes from /"), "{installed:?}");
    holon.run(&["skills", "install", "mine/notes"]).refused(4, &["notes is there already", "--name"]);
    ok(holon.run(&["skills", "install", "mine/notes", "--name", "other"]));
    let listed = ok(holon.run(&["skills", "list"]));
    assert!(listed.stdout.contains("notes  agent  offered  What notes is for"), "{listed:?}");
    let shown = ok(holon.run(&["skills", "show", "other", "--json"])).json();
    assert_eq!((&shown["standing"], &shown["scope"]), (&json!("offered"), &json!("agent")));
    assert!(shown["problems"][0].as_str().is_some_and(|it| it.contains("names itself \"notes\"")), "{shown}");
    ok(holon.run(&["run", "--agent", "main", "and now?"]));
    let last = provider.requests().last().cloned().expect("a request").to_string();
    assert!(last.contains("- notes: What notes is for"), "{last}");
    fs::write(root(&holon).join("notes/scripts/go.sh"), "changed").expect("a script");
    let checked = holon.run(&["skills", "check", "--json"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let states: Vec<_> =
        checked.json()["skills"].as_array().expect("skills").iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, [json!("modified"), json!("ok")]);
    holon.run(&["skills", "remove", "notes"]).refused(4, &["has changed since", "--force"]);
    ok(holon.run(&["skills", "remove", "notes", "--force"]));
    ok(holon.run(&["skills", "remove", "other"]));
    holon.run(&["skills", "remove", "other"]).refused(3, &["no skill named other"]);
    holon.run(&["skills", "show", "note"]).refused(3, &["main has no skill named note"]);
    assert_eq!(below(&holon), ["skills.lock.json"]);
    // Another root: that of the user.
    ok(holon.run(&["skills", "install", "mine/notes", "--user"]));
    assert!(holon.folder().join(".agents/skills/notes/SKILL.md").is_file());
}

#[test]
fn a_skill_from_a_repository_is_pinned_to_its_commit() {
    let (holon, _provider) = home();
    let top = hub(&holon);
    let source = "https://github.com/team/skills/tree/main/skills/pdf";
    let installed = ok(holon.run(&["skills", "install", source, "--json"])).json();
    let commit = fs::read_to_string(top.join(".git/refs/heads/main")).expect("a commit");
    assert_eq!(
        (installed["commit"].as_str(), installed["source"].as_str()),
        (Some(commit.trim()), Some(source))
    );
    let named = format!("file://{}#main:skills/csv", top.display());
    ok(holon.run(&["skills", "install", &named]));
    assert_eq!(below(&holon), ["csv", "pdf", "skills.lock.json"]);
    let lock = fs::read_to_string(root(&holon).join("skills.lock.json")).expect("a lock file");
    assert!(lock.contains(commit.trim()) && lock.contains(source), "{lock}");
    let cases = [
        ("https://github.com/team/none/tree/main/x", 1, "git"),
        ("https://github.com/team/skills/tree/main/none", 2, "no folder"),
        ("https://github.com/team/skills/tree/none/skills/pdf", 2, "none of these"),
        ("https://github.com/team/skills/blob/main/x", 2, "only addresses of folders"),
        ("https://me:secret@github.com/team/skills", 2, "password"),
        ("--upload-pack=touch x", 2, ""),
    ];
    for (source, code, expected) in cases {
        holon.run(&["skills", "install", "--", source]).refused(code, &[expected]);
    }
    assert_eq!(below(&holon), ["csv", "pdf", "skills.lock.json"]);
}

#[test]
fn the_same_over_http_with_a_runtime() {
    let daemon = Daemon::hello();
    let holon = &daemon.0;
    hub(holon);
    daemon.start();
    let socket = holon.home().join("run/holon.sock");
    let post = |path: &str, body: Value| {
        let path = format!("/control/agents/main/skills/{path}");
        let answered = ask(&socket, "POST", &path, &[], Some(&body)).expect("an answer");
        (answered.status, answered.body)
    };
    let source = "https://github.com/team/skills/tree/main/skills/pdf";
    let (status, installed) = post("install", json!({ "source": source }));
    assert_eq!((status, installed["skill_name"].as_str()), (201, Some("pdf")), "{installed}");
    let (status, again) = post("install", json!({ "source": source }));
    assert_eq!((status, again["code"].as_str()), (409, Some("skill_already_installed")), "{again}");
    let (status, bad) = post("install", json!({ "source": "relative/folder" }));
    assert_eq!((status, bad["code"].as_str()), (422, Some("skill_invalid")), "{bad}");
    let (status, none) = post("install", json!({ "source": "https://github.com/team/none" }));
    assert_eq!((status, none["code"].as_str()), (502, Some("remote_unreachable")), "{none}");
    let listed = get(&socket, "/agents/main/skills").expect("an answer");
    let (status, listed) = (listed.status, listed.body);
    assert_eq!((status, listed["skills"][0]["skill_id"].as_str()), (200, Some("agent:pdf")), "{listed}");
    let (status, removed) = post("uninstall", json!({ "name": "pdf" }));
    assert_eq!((status, removed["skill_name"].as_str()), (200, Some("pdf")), "{removed}");
    let (status, gone) = post("uninstall", json!({ "name": "../pdf" }));
    assert_eq!((status, gone["code"].as_str()), (422, Some("skill_invalid")), "{gone}");
    assert_eq!(below(holon), ["skills.lock.json"]);
}

#[test]
fn nobody_is_asked_for_a_password_and_a_death_leaves_nothing() {
    let (holon, _provider) = home();
    let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
    let url = format!("http://{}/team/skills.git", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = [0; 4_096];
        let read = stream.read(&mut request).expect("a request");
        assert!(read > 0);
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(refusal.as_bytes()).expect("a reply");
        drop(stream);
        // The next one is accepted and never answered.
        listener.accept()
    });
    let began = Instant::now();
    let ended = holon.run(&["skills", "install", &format!("{url}#main:skills/pdf")]);
    ended.refused(1, &["nobody is asked for a password"]);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(below(&holon), [""; 0]);
    let mut child = holon.spawn(&["skills", "install", &format!("{url}#main:skills/pdf")]);
    let stream = server.join().expect("a server");
    // Git runs in a folder of the runtime, and not where the agent could write to its settings.
    wait_for("an installation", || fetched(&holon) == 1);
    assert_eq!(below(&holon), [""; 0]);
    signal(&child, "KILL");
    child.wait().expect("it ends");
    drop(stream);
    assert!(holon.run(&["skills", "list"]).stdout.contains("no skills"));
    ok(holon.run(&["skills", "check"]));
    assert_eq!(below(&holon), [""; 0]);
    let daemon = Daemon(holon.with("HOLON_HTTP_ADDR", "127.0.0.1:0"));
    daemon.start();
    assert_eq!(fetched(&daemon.0), 0, "a start takes away what was being fetched");
}

/// Repositories that git is fetching, or was.
fn fetched(holon: &Holon) -> usize {
    let store = fs::read_dir(holon.home().join("templates")).into_iter().flatten().flatten();
    let drafts = store.filter(|entry| entry.file_name().to_string_lossy().starts_with(".draft-"));
    drafts.filter(|draft| draft.path().join("repository/.git").exists()).count()
}

/// `HOLON_KILLS=200` for more than a few.
#[test]
fn an_installation_that_is_killed_is_whole_or_not_there() {
    let kills = std::env::var("HOLON_KILLS").map_or(6, |kills| kills.parse().expect("a number"));
    let (holon, _provider) = home();
    let from = holon.work().join("many");
    skill(&from, "many");
    for at in 0..300 {
        fs::write(from.join(format!("scripts/{at}.sh")), "x".repeat(10_000)).expect("a file");
    }
    // How long it takes is what a machine makes of it.
    let began = Instant::now();
    ok(holon.run(&["skills", "install", "many"]));
    let whole = began.elapsed();
    let (mut done, mut undone) = (0, 0);
    for kill in 0..kills {
        let there = root(&holon).join("many").exists();
        let words: &[&str] =
            if there { &["skills", "remove", "many"] } else { &["skills", "install", "many"] };
        let mut child = holon.spawn(words);
        std::thread::sleep(whole.mul_f64(f64::from(kill * 7 % 23) / 22.0));
        signal(&child, "KILL");
        child.wait().expect("it ends");
        let checked = holon.run(&["skills", "check", "--json"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let skills = checked.json()["skills"].clone();
        let now = root(&holon).join("many").exists();
        let expected = if now { json!([["many", "ok"]]) } else { json!([]) };
        let shown: Vec<_> = skills
            .as_array()
            .expect("skills")
            .iter()
            .map(|one| json!([one["skill_name"], one["state"]]))
            .collect();
        assert_eq!(json!(shown), expected);
        assert!(!below(&holon).iter().any(|name| name.starts_with('.')), "{:?}", below(&holon));
        *(if now == there { &mut undone } else { &mut done }) += 1;
    }
    println!("{kills} kills: {done} changes were done, {undone} were not");
}

#[test]
fn a_wrong_skill_is_named_with_its_file() {
    let (holon, _) = home();
    let folder = holon.folder().join("given/broken");
    fs::create_dir_all(&folder).expect("a folder");
    let named = folder.canonicalize().expect("a folder").display().to_string();
    let install = || holon.run(&["skills", "install", folder.to_str().expect("UTF-8")]);
    install().refused(2, &[&format!("{named} is no skill: it has no SKILL.md")]);
    fs::write(folder.join("SKILL.md"), "---\nname: [\n---\n").expect("a file");
    install().refused(2, &[&format!("the SKILL.md of {named}: ")]);
}

/// What somebody has put into the folder of a skill is not taken away with it, whatever it is.
#[test]
fn a_skill_with_something_of_ones_own_is_removed_only_with_force() {
    let (holon, _provider) = home();
    skill(&holon.work().join("mine/notes"), "notes");
    ok(holon.run(&["skills", "install", "mine/notes"]));
    let data = root(&holon).join("notes/data");
    fs::write(&data, vec![b'x'; (1 << 20) + 1]).expect("a file");
    holon.run(&["skills", "remove", "notes"]).refused(4, &["has changed since it was installed", "--force"]);
    assert!(data.exists());
    ok(holon.run(&["skills", "remove", "notes", "--force"]));
    assert!(!data.exists());
}

/// A pipe with the name of an unfinished change: opening it would wait without end.
#[test]
fn a_pipe_in_a_root_keeps_nobody_from_installing() {
    let (holon, _provider) = home();
    skill(&holon.work().join("mine/notes"), "notes");
    fs::create_dir_all(root(&holon)).expect("a folder");
    let pipe = root(&holon).join(".staging-pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    fs::write(root(&holon).join(".staging-file"), "").expect("a file");
    ok(holon.run(&["skills", "install", "mine/notes"]));
    ok(holon.run(&["skills", "check"]));
    ok(holon.run(&["skills", "remove", "notes"]));
}
