//! What the runtime reads for a confined agent is what the agent could read itself: links that its commands make lead to
//! the runtime's own files and to those of other agents in vain.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use end_to_end::confined::{Scene, text};
use end_to_end::daemon::Daemon;
use end_to_end::wait_for;
use serde_json::json;

/// What is in each file that the agent can't read.
const SECRET: &str = "quokka";

/// An agent `a` that is held back, and one `b` that has something of everything.
fn scene() -> (Scene, PathBuf) {
    let scene = Scene::new("on");
    scene.daemon.ok(&["agent", "create", "b"]);
    let other = scene.daemon.0.home().join("agents/b");
    for (name, content) in [
        ("memory/self.md", format!("{SECRET} memory\n")),
        ("notes/one.md", format!("{SECRET} note\n")),
        ("work-items/work_1/plan.md", format!("{SECRET} plan\n")),
        ("AGENTS.md", format!("{SECRET} instructions\n")),
        ("skills/known/SKILL.md", format!("---\nname: known\ndescription: {SECRET} skill\n---\n{SECRET}\n")),
    ] {
        write(&other.join(name), &content);
    }
    let said = scene.runs(&format!("cat '{}' || echo held-$((6 * 7))", text(&other.join("AGENTS.md"))));
    assert!(said.contains("held-42") && !said.contains(SECRET), "its commands read everything: {said}");
    (scene, other)
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

/// Whatever a command of an operator shows, it shows nothing of it.
fn shows_nothing(daemon: &Daemon, arguments: &[&str]) -> String {
    let ended = daemon.0.run(arguments);
    let shown = ended.stdout + &ended.stderr;
    assert!(!shown.contains(SECRET), "{arguments:?}: {shown}");
    shown
}

#[test]
fn the_memory_of_another_agent_is_neither_searched_nor_shown() {
    let (scene, _) = scene();
    for link in [
        "rm -rf memory notes work-items; for one in memory notes work-items; do ln -s ../b/$one $one; done",
        "rm memory notes work-items; mkdir -p memory notes work-items/work_1; \
         ln -s ../../b/memory/self.md memory/self.md; ln -s ../../b/notes notes/deep; \
         ln -s ../../../b/work-items/work_1/plan.md work-items/work_1/plan.md",
    ] {
        scene.runs(&format!("cd $HOLON_AGENT_HOME && {link}"));
        let found = scene.daemon.ok(&["memory", "search", SECRET, "--agent", "a", "--json"]).json();
        assert_eq!(found["results"], json!([]), "{link}");
        let prompt = shows_nothing(&scene.daemon, &["debug", "prompt", "--agent", "a"]);
        assert!(prompt.contains("[not shown: it is a link]"), "{link}: {prompt}");
    }
}

#[test]
fn instructions_lead_to_what_the_agent_can_read() {
    let (scene, other) = scene();
    let link = |to: &str| {
        scene.runs(&format!("ln -sfn {to} $HOLON_AGENT_HOME/AGENTS.md"));
        shows_nothing(&scene.daemon, &["debug", "prompt", "--agent", "a"])
    };
    write(&scene.outside.join("RULES.md"), "numbat rules\n");
    assert!(link("$out/RULES.md").contains("numbat rules"));
    write(&scene.root.join("CLAUDE.md"), "numbat workspace\n");
    scene.runs("ln -s CLAUDE.md AGENTS.md");
    assert!(link("$out/RULES.md").contains("numbat workspace"));
    // It can't end such a link any more: a turn without the instructions would be another one.
    std::os::unix::fs::symlink(&other, scene.root.join("way")).expect("a link");
    for (place, to) in [
        (scene.home(), other.join("AGENTS.md")),
        (scene.home(), PathBuf::from("../../memory.key")),
        (scene.home(), PathBuf::from("/proc/self/environ")),
        (scene.root.clone(), other.join("AGENTS.md")),
        (scene.root.clone(), PathBuf::from("way/AGENTS.md")),
    ] {
        let file = place.join("AGENTS.md");
        let before = fs::read_link(&file).expect("a link");
        fs::remove_file(&file).expect("a link");
        std::os::unix::fs::symlink(&to, &file).expect("a link");
        let shown = shows_nothing(&scene.daemon, &["debug", "prompt", "--agent", "a"]);
        let refused = shown.contains("which this agent can't read") && shown.contains(text(&file));
        assert!(refused, "{}: {shown}", to.display());
        fs::remove_file(&file).expect("a link");
        std::os::unix::fs::symlink(before, &file).expect("a link");
    }
}

#[test]
fn plans_of_another_agent_are_not_shown() {
    let (scene, _) = scene();
    let item = json!({ "objective": "get in", "plan": "as it was" });
    let said = scene.calls(&[("CreateWorkItem", item)]);
    assert!(said.contains("as it was"), "{said}");
    for link in [
        "rm -rf work-items && ln -s ../b/work-items work-items",
        "rm work-items && mkdir work-items && ln -s ../../b/work-items/work_1 work-items/work_1",
        "rm work-items/work_1 && mkdir work-items/work_1 && \
         ln -s ../../../b/work-items/work_1/plan.md work-items/work_1/plan.md",
    ] {
        let run = json!({ "cmd": format!("cd $HOLON_AGENT_HOME && {link}"), "login": false });
        let said = scene.calls(&[("ExecCommand", run), ("GetWorkItem", json!({ "work_item_id": "work_1" }))]);
        assert!(said.contains("get in") && !said.contains(SECRET), "{link}: {said}");
        shows_nothing(&scene.daemon, &["work", "show", "work_1", "--agent", "a", "--json"]);
    }
}

#[test]
fn output_of_another_agent_is_not_shown() {
    let (scene, other) = scene();
    let cmd = "echo said; sleep 600";
    let said = scene.calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false, "yield_time_ms": 250 }))]);
    let (_, id) = said.split_once("task_id\\\":\\\"").unwrap_or_else(|| panic!("a task: {said}"));
    let task = id.split('\\').next().expect("an id");
    let log = format!("task-output/{task}.log");
    wait_for("a log", || scene.home().join(&log).exists());
    write(&other.join(&log), &format!("{SECRET} log\n"));
    for link in [
        "rm -rf task-output && ln -s ../b/task-output task-output".to_owned(),
        format!("rm task-output && mkdir task-output && ln -s ../../b/{log} {log}"),
    ] {
        scene.runs(&format!("cd $HOLON_AGENT_HOME && {link}"));
        let said = scene.calls(&[("TaskOutput", json!({ "task_id": task, "block": false }))]);
        assert!(said.contains("it is a link") && !said.contains(SECRET), "{link}: {said}");
        for what in ["output", "status"] {
            shows_nothing(&scene.daemon, &["task", what, task, "--agent", "a"]);
        }
    }
    scene.daemon.ok(&["task", "stop", task, "--agent", "a", "--force"]);
    shows_nothing(&scene.daemon, &["task", "output", task, "--agent", "a", "--follow"]);
}

#[test]
fn skills_lead_to_what_the_agent_can_read() {
    let (scene, _) = scene();
    let skill = "---\nname: fine\ndescription: numbat skill\n---\nnumbat\n";
    write(&scene.outside.join("fine/SKILL.md"), skill);
    scene.runs(
        "mkdir -p $HOLON_AGENT_HOME/skills/file && cd $HOLON_AGENT_HOME/skills && ln -s $out/fine fine",
    );
    for link in [
        "cd skills && ln -s ../../b/skills/known folder && ln -s ../../../b/skills/known/SKILL.md file/SKILL.md",
        "mv skills had && ln -s ../b/skills skills",
    ] {
        let shown = shows_nothing(&scene.daemon, &["skills", "list", "a", "--all"]);
        assert!(link.starts_with("mv") || shown.contains("numbat skill"), "{shown}");
        scene.runs(&format!("cd $HOLON_AGENT_HOME && {link}"));
        let shown = shows_nothing(&scene.daemon, &["skills", "list", "a", "--all", "--json"]);
        assert!(shown.contains("which this agent can't read"), "{link}: {shown}");
        shows_nothing(&scene.daemon, &["debug", "prompt", "--agent", "a"]);
        for name in ["agent:folder", "agent:file", "agent:known"] {
            let given = scene.daemon.0.run(&["prompt", "--agent", "a", "--skill", name, "nothing"]);
            assert_ne!(given.code, Some(0), "{name}: {given:?}");
        }
    }
}

/// What turns keep of the files of a workspace, and what a fork has, an agent can read.
#[test]
fn no_copy_is_made_of_what_the_agent_can_not_read() {
    let (scene, _) = scene();
    scene.daemon.ok(&["memory", "search", "anything", "--agent", "a"]);
    let key = fs::read_to_string(scene.daemon.0.home().join("control.token")).expect("a token");
    fs::remove_dir_all(scene.root.join(".git/holon")).ok();
    fs::remove_file(scene.root.join(".git/index")).ok();
    std::os::unix::fs::symlink(scene.daemon.0.home().join("control.token"), scene.root.join(".git/index"))
        .expect("a link");
    scene.runs("true");
    let copies = fs::read_dir(scene.root.join(".git/holon")).into_iter().flatten().flatten();
    for copy in copies {
        let copy = fs::read(copy.path()).expect("a file");
        assert!(!String::from_utf8_lossy(&copy).contains(key.trim()));
    }
    // A key has the looks of a commit's id, and an agent that begins is shown which one is checked out.
    let key = scene.daemon.0.home().join("memory.key");
    let head = scene.root.join(".git/HEAD");
    fs::remove_file(&head).expect("a file");
    std::os::unix::fs::symlink(&key, &head).expect("a link");
    scene.daemon.ok(&["agent", "create", "d", "--workspace-root", text(&scene.root)]);
    let shown = shows_nothing(&scene.daemon, &["debug", "prompt", "--agent", "d"]);
    let key = fs::read_to_string(key).expect("a key");
    assert!(shown.contains("Execution root") && !shown.contains(&key[..12]), "{shown}");
    scene.runs("rm -rf $HOLON_AGENT_HOME/memory && ln -s ../b/memory $HOLON_AGENT_HOME/memory");
    scene.daemon.ok(&["ledger", "fork", "a", "c"]);
    let copied = scene.daemon.0.home().join("agents/c/memory/self.md");
    assert_eq!(fs::read_to_string(copied).expect("a file"), "");
}

/// Others who have accounts on the machine read nothing of it.
#[test]
fn the_index_of_the_memory_is_for_its_owner_alone() {
    let daemon = Daemon::hello();
    let folder = daemon.0.home().join("index");
    fs::create_dir_all(&folder).expect("a folder");
    let mode = || fs::metadata(&folder).expect("a folder").permissions().mode() & 0o777;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("a mode");
    daemon.start();
    daemon.ok(&["memory", "search", "anything"]);
    assert!(folder.join("memory.sqlite3").exists());
    assert_eq!(mode(), 0o700);
    daemon.ok(&["daemon", "stop"]);
    fs::remove_dir_all(&folder).expect("a folder");
    daemon.start();
    daemon.ok(&["memory", "search", "anything"]);
    assert_eq!(mode(), 0o700);
}
