//! What a confined command, a patch or a tool tries to change outside of where its agent may write. Every attempt is
//! refused, or comes to nothing: the folders outside are afterwards as they were.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{asks, folder, git, obedient, repository};
use end_to_end::provider::{Provider, command};
use end_to_end::{binary, wait_for};
use serde_json::{Value, json};

/// An agent `a` that is confined to a folder, and what lies beside that.
struct Scene {
    daemon: Daemon,
    root: PathBuf,
    outside: PathBuf,
}

/// Every file below a folder, with its content and its links' number.
type Kept = BTreeMap<PathBuf, (Vec<u8>, u64)>;

impl Scene {
    fn new(network: &str) -> Self {
        let daemon = Daemon::confined(&Provider::answering(obedient), network);
        let (root, outside) = (folder(daemon.0.folder(), "root"), folder(daemon.0.folder(), "outside"));
        for name in ["kept", "kept.log"] {
            fs::write(outside.join(name), "as it was\n").expect("a file");
        }
        daemon.start();
        daemon.ok(&["agent", "create", "a", "--workspace-root", text(&root)]);
        Self { daemon, root, outside }
    }

    /// What became of a command, with `$out` for the folder outside.
    fn runs(&self, cmd: &str) -> String {
        self.calls(&[("ExecCommand", json!({ "cmd": self.meant(cmd), "login": false }))])
    }

    fn calls(&self, calls: &[(&str, Value)]) -> String {
        asks(&self.daemon, "a", calls)
    }

    fn meant(&self, cmd: &str) -> String {
        let runtime = self.daemon.metadata().map(|about| about["pid"].to_string()).unwrap_or_default();
        format!("out='{}'; runtime={runtime}; {cmd}", text(&self.outside))
    }

    fn home(&self) -> PathBuf {
        self.daemon.0.home().join("agents/a").canonicalize().expect("a home")
    }

    fn kept(&self) -> Kept {
        below(&self.outside)
    }
}

fn below(folder: &Path) -> Kept {
    let mut found = Kept::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, about) = (entry.path(), entry.metadata().expect("a file"));
        if about.is_dir() {
            found.extend(below(&path));
        }
        let content = if about.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
        found.insert(path, (content, if about.is_dir() { 0 } else { about.nlink() }));
    }
    found
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

/// Each with what it is called where it fails.
const COMMANDS: [(&str, &str); 30] = [
    ("a redirection", "echo x > $out/new"),
    ("an addition", "echo x >> $out/kept"),
    ("a path with ..", "echo x > ../outside/new"),
    ("a path through the root", "echo x > \"$PWD/../outside/new\""),
    ("a folder that is gone into", "cd $out && echo x > new"),
    ("removal", "rm -f $out/kept"),
    ("removal of all", "rm -rf $out"),
    ("truncation", ": > $out/kept; truncate -s 0 $out/kept; dd if=/dev/null of=$out/kept"),
    ("a copy", "cp /etc/hostname $out/new"),
    ("moving away", "mv $out/kept ."),
    ("moving inside", "mv $out/kept $out/moved"),
    ("moving there", "echo x > mine; mv mine $out/new"),
    ("a symbolic link", "ln -sfn $out link && echo x > link/new"),
    ("a symbolic link to a file", "ln -sfn $out/kept file && echo x > file"),
    ("a hard link", "ln $out/kept hard && echo x > hard"),
    ("a link there", "ln -s /etc/hostname $out/new"),
    ("a folder", "mkdir -p $out/a/b"),
    ("a pipe", "mkfifo $out/pipe"),
    ("the root in /proc", "echo x > /proc/self/root$out/new"),
    ("the current folder in /proc", "echo x > /proc/self/cwd/../outside/new"),
    ("the supervisor's root", "echo x > /proc/$PPID/root$out/new"),
    ("the supervisor's folder", "echo x > /proc/$PPID/cwd$out/new"),
    ("the first process's root", "echo x > /proc/1/root$out/new"),
    ("the runtime's files", "for file in /proc/$runtime/fd/*; do echo x > $file; done"),
    ("the runtime's memory", "dd if=/dev/zero of=/proc/$runtime/mem bs=1 count=1"),
    ("a mount of its own", "mkdir -p m; unshare -Urm sh -c \"mount --bind $out m && echo x > m/new\""),
    ("another root", "unshare -Ur chroot / sh -c \"echo x > $out/new\""),
    ("a process that stays", "(setsid sh -c \"sleep 0.1; echo x > $out/new\" &) ; sleep 0.4"),
    ("another shell", "env -i /bin/sh -c \"echo x > $out/new\""),
    (
        "this runtime's program",
        "$holon __confined '{\"writable\":[\"/\"],\"network\":\"on\"}' touch $out/new",
    ),
];

#[test]
fn no_command_changes_what_is_outside() {
    let scene = Scene::new("on");
    let before = scene.kept();
    for (name, cmd) in COMMANDS {
        let said = scene.runs(&format!("holon='{}'; {cmd}", text(binary())));
        assert_eq!(scene.kept(), before, "{name}: {cmd}\n{said}");
    }
    let terminal = json!({ "cmd": scene.meant("echo x > $out/new"), "login": false, "tty": true });
    let said = scene.calls(&[("ExecCommand", terminal)]);
    assert_eq!(scene.kept(), before, "a terminal: {said}");
    let items = json!([{ "cmd": scene.meant("echo x > $out/new") }, { "cmd": scene.meant("rm $out/kept") }]);
    let said = scene.calls(&[("ExecCommandBatch", json!({ "items": items }))]);
    assert_eq!(scene.kept(), before, "a batch: {said}");
    // Those who could have been ended are there, and know nothing of it.
    for victim in ["$runtime", "$PPID"] {
        let said = scene.runs(&format!("kill -9 {victim} || echo held"));
        assert!(said.contains("held"), "{victim}: {said}");
    }
    scene.daemon.ok(&["daemon", "stop"]);
    scene.daemon.ok(&["ledger", "verify"]);
}

#[test]
fn what_an_agent_needs_it_can_do() {
    let scene = Scene::new("on");
    for (name, cmd) in [
        ("its root", "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/c && ln a/c a/d && rm -r a"),
        ("its home", "echo x > $HOLON_AGENT_HOME/notes/mine && cat $HOLON_AGENT_HOME/notes/mine"),
        ("temporary files", "f=$(mktemp) && echo x > $f && rm $f && f=$(mktemp -p /dev/shm) && rm $f"),
        ("devices", "echo x > /dev/null && head -c 4 /dev/zero > zeros"),
        ("what is to be read", "cat $out/kept"),
        ("processes of its own", "sleep 60 & kill $! && wait $! ; true"),
        ("this machine's addresses", "exec 3<>/dev/tcp/127.0.0.1/$port; echo $? >&2; exec 3>&-"),
    ] {
        let port = scene.daemon.metadata().expect("it runs")["http_addr"].as_str().map(str::to_owned);
        let port = port.as_deref().and_then(|addr| addr.rsplit(':').next()).expect("an address").to_owned();
        let said = scene.runs(&format!("port={port}; ({cmd}) && echo done-$((6 * 7))"));
        assert!(said.contains("done-42"), "{name}: {said}");
    }
    let terminal =
        json!({ "cmd": "test -t 0 && tty > tty && echo ok-$((6 * 7))", "login": false, "tty": true });
    let said = scene.calls(&[("ExecCommand", terminal)]);
    assert!(said.contains("ok-42"), "{said}");
    let patch = "--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+made\n";
    let said = scene.calls(&[("ApplyPatch", json!({ "patch": patch }))]);
    assert_eq!(fs::read_to_string(scene.root.join("made")).ok().as_deref(), Some("made\n"), "{said}");
    let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
    assert_eq!(
        (&shown["profile"], &shown["policy"]["network"]),
        (&json!("confined"), &json!("not_enforced"))
    );
    let writable = shown["policy"]["writable"].as_array().expect("folders");
    assert!([&scene.root, &scene.home()].iter().all(|own| writable.contains(&json!(own))), "{shown}");
    let list = scene.daemon.ok(&["workspace", "list", "--agent", "a"]).stdout;
    assert!(list.contains("confined (writes partly_enforced"), "{list}");
}

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
    assert!(scene.daemon.ok(&["agent", "list"]).stdout.contains('a'));
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

#[test]
fn without_a_network_nobody_is_reached() {
    let scene = Scene::new("off");
    let about = scene.daemon.metadata().expect("it runs");
    let port =
        about["http_addr"].as_str().and_then(|addr| addr.rsplit(':').next()).expect("a port").to_owned();
    let said = scene.runs(&format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1 || echo held-$((6 * 7))"));
    assert!(said.contains("held-42"), "{said}");
    // Neither is the runtime, who would do for its operators what a command can't.
    let home = text(&scene.daemon.0.home()).to_owned();
    let operator =
        format!("HOLON_HOME='{home}' '{}' workspace use / --agent a || echo held-$((6 * 7))", text(binary()));
    let said = scene.runs(&operator);
    assert!(said.contains("held-42"), "{said}");
    let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
    assert_eq!(
        (&shown["execution"]["cwd"], &shown["policy"]["network"]),
        (&json!(scene.root), &json!("enforced"))
    );
    // What needs no network goes on.
    let said = scene
        .runs("git init -q . && git add . && sort /etc/passwd | head -n 1 > first && echo done-$((6 * 7))");
    assert!(said.contains("done-42"), "{said}");
}

/// What is confined stays so when the runtime that began it is gone, and the next one knows.
#[test]
fn a_crash_lets_nobody_out() {
    let scene = Scene::new("on");
    let before = scene.kept();
    let cmd = scene.meant(
        "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo x > $out/new; echo over > over",
    );
    scene.calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false, "yield_time_ms": 250 }))]);
    wait_for("the command", || scene.root.join("begun").exists());
    scene.daemon.kill();
    scene.daemon.start();
    fs::write(scene.root.join("go"), "").expect("a file");
    wait_for("its end", || scene.root.join("over").exists());
    assert_eq!(scene.kept(), before);
    let said = scene.runs("echo x > $out/new || echo held-$((6 * 7))");
    assert!(said.contains("held-42"), "{said}");
    assert_eq!(scene.kept(), before);
}
