//! What the runtime does for a confined agent can't be led to where that may not write: by links, by what a repository
//! names, by other workspaces.

use std::fs;

use end_to_end::confined::{Scene, text};
use end_to_end::obedient::{asks, folder, git, repository};
use end_to_end::provider::command;
use end_to_end::wait_for;
use serde_json::json;

/// The runtime does for an agent what that could not do itself, unless it is held back as well.
#[test]
fn no_tool_is_led_outside() {
    let scene = Scene::new("on");
    let before = scene.kept();
    scene.runs("ln -sfn $out link; ln -sfn $out/kept file; ln -sfn ../outside up");
    for path in ["../outside/new", "link/new", "up/new", "/etc/holon-new", "file", "a/../../outside/new"] {
        let patch = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        let said = scene.calls(&[("ApplyPatch", json!({ "patch": patch }))]);
        assert_eq!(scene.kept(), before, "{path}: {said}");
        assert!(
            said.contains("execution_root_violation") || said.contains("patch_rejected"),
            "{path}: {said}"
        );
    }
    for workdir in ["..", "link", "up", text(&scene.outside), "/"] {
        let said = scene.calls(&[("ExecCommand", json!({ "cmd": "pwd", "workdir": workdir }))]);
        assert!(said.contains("execution_root_violation"), "{workdir}: {said}");
    }
    for path in ["/", "..", "link", "up", text(&scene.outside), text(&scene.daemon.0.home())] {
        let said = scene.calls(&[("UseWorkspace", json!({ "path": path }))]);
        assert!(said.contains("execution_root_violation"), "{path}: {said}");
    }
    // A folder of its own can be gone into, but not once a link has taken its place.
    let sub = scene.root.join("sub");
    let said = scene.calls(&[command("git init -q sub"), ("UseWorkspace", json!({ "path": "sub" }))]);
    assert!(!said.contains("execution_root_violation"), "{said}");
    scene.runs("true");
    fs::remove_dir_all(&sub).expect("the folder");
    std::os::unix::fs::symlink(&scene.outside, &sub).expect("a link");
    let said = scene.runs("echo x > new");
    assert!(said.contains("execution_root_violation"), "{said}");
    let patch = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
    let said = scene.calls(&[("ApplyPatch", json!({ "patch": patch }))]);
    assert!(said.contains("execution_root_violation"), "{said}");
    assert_eq!(scene.kept(), before);
}

/// Its home is the agent's: it can put links where the runtime keeps what it writes for it.
#[test]
fn no_file_of_the_runtime_is_led_outside() {
    let scene = Scene::new("on");
    let before = scene.kept();
    let home = scene.home();
    for (name, cmd) in [
        ("logs", "rm -rf task-output && ln -sfn $out task-output"),
        ("plans", "rm -rf work-items && ln -sfn $out work-items"),
        ("memory", "rm -rf memory notes && ln -sfn $out memory && ln -sfn $out notes && rm -f AGENTS.md"),
    ] {
        scene.runs(&format!("cd $HOLON_AGENT_HOME && {cmd}"));
        assert_eq!(scene.kept(), before, "{name}");
    }
    assert!(home.join("task-output").is_symlink() && home.join("work-items").is_symlink());
    let loud = "head -c 3000000 /dev/zero | tr '\\0' x; echo said-$((6 * 7))";
    let said = scene.runs(loud);
    assert!(said.contains("said-42"), "what it says is told all the same: {said}");
    assert_eq!(scene.kept(), before, "logs and artifacts");
    let item = json!({ "objective": "get out", "plan": "x" });
    let done = json!({ "work_item_id": "work_1" });
    let said = scene.calls(&[("CreateWorkItem", item), ("CompleteWorkItem", done)]);
    assert_eq!(scene.kept(), before, "plans: {said}");
    let said = scene.calls(&[command("true"), command("true")]);
    assert_eq!(scene.kept(), before, "what a home has to have: {said}");
    // Operators and starts make what a home has to have as well.
    scene.daemon.ok(&["workspace", "use", text(&scene.root), "--agent", "a"]);
    scene.runs("true");
    scene.calls(&[("ExecCommand", json!({ "cmd": scene.meant("cd $HOLON_AGENT_HOME && ls -l") }))]);
    scene.daemon.kill();
    scene.daemon.start();
    scene.daemon.ok(&["workspace", "attach", text(&scene.root), "--agent", "a"]);
    assert_eq!(scene.kept(), before, "what operators ask for");
}

/// What an agent begins with is made again where it is missing.
#[test]
fn no_file_of_a_template_is_led_outside() {
    let scene = Scene::new("on");
    let template = folder(scene.daemon.0.folder(), "template");
    let skill = folder(&template, "skill");
    let front = "---\nname: skill\ndescription: d\n---\nx\n";
    fs::write(skill.join("SKILL.md"), front).expect("a skill");
    fs::write(template.join("AGENTS.md"), "Work.\n").expect("instructions");
    fs::write(template.join("skills.json"), json!({ "skill_refs": [skill] }).to_string()).expect("skills");
    scene.daemon.ok(&["agent", "create", "t", "--own-home", "--template", text(&template)]);
    let (home, before) = (scene.daemon.0.home().join("agents/t"), scene.kept());
    assert!(home.join("skills/skill/SKILL.md").is_file());
    for led in [
        "rm -rf .holon skills; ln -s $out .holon; ln -s $out skills",
        "rm .holon; mkdir .holon; ln -s $out .holon/state",
    ] {
        asks(&scene.daemon, "t", &[command(&scene.meant(led))]);
        // The next turn makes what is missing.
        let said = asks(&scene.daemon, "t", &[command("echo done-$((6 * 7))")]);
        assert!(said.contains("done-42"), "{said}");
        assert_eq!(scene.kept(), before, "{led}");
    }
    asks(&scene.daemon, "t", &[command("rm -rf .holon skills; mkdir skills")]);
    asks(&scene.daemon, "t", &[command("true")]);
    let made = [".holon/state/template.json", "skills/skill/SKILL.md"];
    assert!(made.iter().all(|name| home.join(name).is_file()), "what is missing is made again");
}

/// The list of installed skills is written under another name first.
#[test]
fn no_list_of_skills_is_led_outside() {
    let scene = Scene::new("on");
    let (skill, before) = (folder(scene.daemon.0.folder(), "skill"), scene.kept());
    fs::write(skill.join("SKILL.md"), "---\nname: skill\ndescription: d\n---\nx\n").expect("a skill");
    let install = ["skills", "install", text(&skill), "--agent", "a"];
    scene.runs("cd $HOLON_AGENT_HOME/skills && ln -s $out/kept .skills.lock.draft");
    let refused = scene.daemon.0.run(&install);
    assert_eq!(scene.kept(), before, "{refused:?}");
    scene.runs("cd $HOLON_AGENT_HOME/skills && rm -rf .skills.lock.draft skill");
    scene.daemon.ok(&install);
    scene.daemon.ok(&["skills", "remove", "skill", "--agent", "a"]);
    assert_eq!(scene.kept(), before);
}

/// A repository names programs that git runs for it, and the runtime runs git.
#[test]
fn no_filter_of_a_repository_gets_outside() {
    let scene = Scene::new("on");
    let top = repository(scene.daemon.0.folder(), "repository");
    scene.daemon.ok(&["workspace", "use", text(&top), "--agent", "a"]);
    let before = scene.kept();
    let filter = "touch ran; touch $out/new; echo x > $out/kept; cat";
    scene.runs(&format!(
        "git config filter.x.smudge \"sh -c '{filter}'\"; git config filter.x.clean \"sh -c '{filter}'\"; \
         echo '* filter=x' > .gitattributes; git add .; git -c user.name=x -c user.email=x@x commit -qm two"
    ));
    assert!(git(&top, &["log", "--oneline"]).lines().count() == 2, "commits are what a workspace is for");
    assert_eq!(scene.kept(), before);
    let said = scene.calls(&[("UseWorkspace", json!({ "path": top, "mode": "isolated" }))]);
    assert!(said.contains("git_worktree_root"), "{said}");
    assert_eq!(scene.kept(), before, "the filter ran with the checkout");
    // Commits of a worktree are kept in its repository, where they can be put.
    let commit = "git config --unset filter.x.clean; echo two > file; git add file && \
                  git -c user.name=x -c user.email=x@x commit -qm three && echo done-$((6 * 7))";
    let said = scene.runs(commit);
    assert!(said.contains("done-42"), "{said}");
    let elsewhere = scene.runs(
        "echo x > $(dirname $(git rev-parse --path-format=absolute --git-common-dir))/README || echo held",
    );
    assert!(elsewhere.contains("held"), "{elsewhere}");
    scene.daemon.ok(&["workspace", "use", "agent_home", "--agent", "a"]);
    scene.daemon.ok(&["workspace", "prune", "--agent", "a"]);
    assert_eq!(scene.kept(), before, "the filter ran with the look at what is new");
    assert_eq!(fs::read_to_string(top.join("README")).expect("a file"), "first\n");
}

/// The notes of patches are the runtime's own: who could write one could have anything undone.
#[test]
fn no_patch_gets_among_the_notes_of_patches() {
    let scene = Scene::new("on");
    scene.calls(&[("ApplyPatch", json!({ "patch": new_file("first") }))]);
    let notes = scene.daemon.0.home().join("patches").canonicalize().expect("the notes of patches");
    let flips = format!(
        "mkdir d; ln -sfn '{}' l; while [ ! -e over ]; do mv -T d e; mv -T l d; mv -T d l; mv -T e d; done",
        text(&notes)
    );
    scene.calls(&[("ExecCommand", json!({ "cmd": flips, "login": false, "yield_time_ms": 250 }))]);
    for number in 0..8 {
        let names: Vec<String> = (0..8).map(|one| format!("d/x{number}{one}.undo")).collect();
        let patches: Vec<_> =
            names.iter().map(|name| ("ApplyPatch", json!({ "patch": new_file(name) }))).collect();
        scene.calls(&patches);
        let led = fs::read_dir(&notes).expect("the folder").flatten().map(|entry| entry.file_name());
        let led: Vec<_> = led.filter(|name| name.to_string_lossy().starts_with('x')).collect();
        assert!(led.is_empty(), "{led:?}");
    }
    fs::write(scene.root.join("over"), "").expect("a file");
}

fn new_file(name: &str) -> String {
    format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n")
}

/// What stands for a project decides which repository can be written to.
#[test]
fn no_worktree_is_made_of_somebody_elses_repository() {
    let scene = Scene::new("on");
    let victim = repository(scene.daemon.0.folder(), "victim");
    let before = git(&victim, &["rev-parse", "HEAD"]);
    scene.runs(&format!(
        "mkdir -p wt g; echo \"gitdir: $PWD/g\" > wt/.git; echo '{}/.git' > g/commondir; cp -r '{}/.git/.' g/",
        text(&victim),
        text(&victim)
    ));
    for mode in ["isolated", "direct"] {
        let said = scene.calls(&[("UseWorkspace", json!({ "path": "wt", "mode": mode }))]);
        assert!(said.contains("execution_root_violation"), "{mode}: {said}");
    }
    let said = scene.calls(&[("UseWorkspace", json!({ "path": victim, "mode": "isolated" }))]);
    assert!(said.contains("execution_root_violation"), "{said}");
    let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
    assert_eq!(shown["execution"]["execution_root"], json!(scene.root));
    assert!(!shown.to_string().contains("victim"), "{shown}");
    assert_eq!(git(&victim, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&victim, &["branch", "--list"]).lines().count(), 1);
}

/// A pipe in the place of a log would keep a reader waiting for ever.
#[test]
fn nobody_waits_for_what_stands_in_the_place_of_a_log() {
    let scene = Scene::new("on");
    let begin =
        ("ExecCommand", json!({ "cmd": "echo said; sleep 600", "login": false, "yield_time_ms": 250 }));
    scene.calls(&[begin]);
    let log = scene.home().join("task-output/task_1.log");
    wait_for("a log", || log.exists());
    scene.runs("cd $HOLON_AGENT_HOME/task-output && rm task_1.log && mkfifo task_1.log");
    let said = scene.calls(&[("TaskOutput", json!({ "task_id": "task_1", "block": false }))]);
    assert!(said.contains("task_1"), "{said}");
    scene.daemon.ok(&["task", "stop", "task_1", "--agent", "a"]);
    scene.daemon.ok(&["daemon", "stop"]);
}
