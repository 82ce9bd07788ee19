//! What a confined command, a patch or a tool tries to change outside of where its agent may write. Every attempt is
//! refused, or comes to nothing: the folders outside are afterwards as they were.

use std::fs;
use std::process::Command;

use end_to_end::confined::{Scene, text};
use end_to_end::obedient::{obedient, told};
use end_to_end::provider::{Provider, command};
use end_to_end::terminal::OnTerminal;
use end_to_end::{Holon, binary, wait_for};
use serde_json::json;

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
        // A process ends at a limit that somebody sets it.
        for end in ["kill -9", "prlimit --fsize=1:1 --pid", "prlimit --cpu=0:0 --pid"] {
            let said = scene.runs(&format!("{end} {victim} || echo held"));
            assert!(said.contains("held"), "{end} {victim}: {said}");
        }
    }
    // Its own limits are anybody's.
    let said = scene.runs("prlimit --nofile=50:50 sh -c 'ulimit -n'; ulimit -n 40; ulimit -n");
    assert!(said.contains("50") && said.contains("40"), "{said}");
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

/// The runtime does for its operators what a command can't: whoever is confined is none, at the socket and over TCP.
#[test]
fn a_command_with_a_network_is_no_operator() {
    let scene = Scene::new("on");
    let home = text(&scene.daemon.0.home()).to_owned();
    let about = scene.daemon.metadata().expect("it runs");
    let address = about["http_addr"].as_str().expect("an address").to_owned();
    let asks = |what: &str| scene.runs(&format!("home='{home}'; holon='{}'; {what}", text(binary())));
    let said = asks("HOLON_HOME=$home $holon workspace use / --agent a 2>&1; echo over-$((6 * 7))");
    assert!(said.contains("confined command") && said.contains("over-42"), "{said}");
    // One that seems to belong to nobody any more is as confined as it was.
    let said = asks(
        "HOLON_HOME=$home setsid -f $holon task run --agent a touch $out/new > said 2>&1; sleep 1; cat said",
    );
    assert!(said.contains("confined command"), "{said}");
    let (host, port) = address.rsplit_once(':').expect("a port");
    let over_tcp = |request: &str| {
        let (line, more) = request.split_once(" HTTP/1.1").unwrap_or((request, ""));
        let request =
            format!("{line} HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close{more}\\r\\n\\r\\n");
        asks(&format!("exec 3<>/dev/tcp/{host}/{port}; printf \"{request}\" >&3; cat <&3"))
    };
    let said = over_tcp("GET /agents/a/status");
    assert!(said.contains("confined_caller"), "{said}");
    // Not even with the token of the home, which it could have been given.
    let token = fs::read_to_string(scene.daemon.0.home().join("control.token")).expect("a token");
    let said =
        over_tcp(&format!("GET /agents/a/status HTTP/1.1\\r\\nAuthorization: Bearer {}", token.trim()));
    assert!(said.contains("confined_caller"), "{said}");
    // Nor does it get the web console, with a link that it could have read or without.
    let link = scene.daemon.ok(&["console", "--print"]).stdout;
    let token = link.trim().rsplit_once("#login=").expect("a token").1;
    let login = format!("{{\\\"token\\\":\\\"{token}\\\"}}");
    let length = json!({ "token": token }).to_string().len();
    for request in [
        "GET /console/".to_owned(),
        "GET /console/session".to_owned(),
        format!(
            "POST /console/login HTTP/1.1\\r\\nContent-Type: application/json\\r\\nContent-Length: {length}\\r\\n\\r\\n{login}"
        ),
    ] {
        let said = over_tcp(&request);
        assert!(said.contains("confined_caller"), "{request}: {said}");
    }
    // A token that the runtime has in its environment stays there.
    let said = asks("cat /proc/$runtime/environ > environ || echo held-$((6 * 7))");
    assert!(said.contains("held-42"), "{said}");
    // What is for everybody is for it, too, and its own trigger.
    let said = over_tcp("GET /healthz");
    assert!(said.contains("200 OK"), "{said}");
    let said = over_tcp("POST /${HOLON_EXTERNAL_TRIGGER_URL#*//*/}");
    assert!(said.contains("HTTP/1.1 2"), "{said}");
    let shown = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json();
    assert_eq!(shown["execution"]["cwd"], json!(scene.root));
    assert!(!scene.outside.join("new").exists());
    assert!(shown["policy"]["gaps"].to_string().contains("control token"), "{shown}");
    scene.daemon.ok(&["status", "--agent", "a"]);
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

/// What was open when the runtime began is no way out.
#[test]
fn nothing_is_inherited_from_whoever_began_the_runtime() {
    let provider = Provider::answering(obedient);
    let holon = Holon::apart().with("HOLON_EXECUTION_PROFILE", "confined");
    let holon = holon.with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    let calls = told(&[command("(echo x >&7) || echo held-$((6 * 7))")]);
    let script = format!("exec 7>>../fd; exec '{}' run \"$CALLS\"", text(binary()));
    let ran = holon.command(&[]).get_envs().fold(Command::new("sh"), |mut sh, (name, value)| {
        sh.env(name, value.unwrap_or_default());
        sh
    });
    let mut ran = ran;
    let ended = ran.args(["-c", &script]).env("CALLS", calls).current_dir(holon.work()).output().expect("sh");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("held-42"), "{ended:?}");
    assert_eq!(fs::read(holon.folder().join("fd")).expect("a file"), b"");
}

/// Pairs of sockets are for those who know each other.
#[test]
fn without_a_network_no_pair_is_connected_to_somebody_else() {
    let scene = Scene::new("off");
    for (kind, right) in [("SOCK_DGRAM", "held"), ("SOCK_STREAM", "made"), ("SOCK_SEQPACKET", "made")] {
        let said = scene.runs(&format!(
            "perl -MSocket -e 'print socketpair(A, B, AF_UNIX, {kind}, 0) ? \"made\" : \"held\", 6 * 7'"
        ));
        assert!(said.contains(&format!("{right}42")), "{kind}: {said}");
    }
}

/// Git is run for the runtime itself, which may have a terminal; a filter of it must not.
#[test]
fn what_the_runtime_runs_has_no_terminal_and_leaves_nobody() {
    let holon = Holon::apart();
    let policy = json!({ "writable": [holon.work()], "network": "on" }).to_string();
    let look = "cut -d' ' -f7 /proc/self/stat; (: < /dev/tty) 2> /dev/null || echo held-$((6 * 7)); \
                (setsid sleep 617 > /dev/null 2>&1 &)";
    // As the runtime does: it leads neither a session nor a group.
    let mut whole = Command::new("sh");
    whole.args(["-c", "\"$0\" __confined_whole \"$1\" sh -c \"$2\"; exit $?", text(binary()), &policy, look]);
    whole.env("PATH", std::env::var_os("PATH").expect("a path"));
    let (status, _, screen) = OnTerminal::start(&whole, None).end();
    assert!(status.success() && screen.contains("held-42"), "{screen}");
    let sleeps = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains("sleep\u{0}617"))
    };
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let left: Vec<u32> =
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| sleeps(*pid)).collect();
    assert!(left.is_empty(), "{left:?} is left");
}

/// A child is held back as its parent is, in a worktree of its own, too, where it can commit.
#[test]
fn no_child_gets_further_than_its_parent() {
    let scene = Scene::new("on");
    scene.runs("git -c user.name=x -c user.email=x@x commit -q --allow-empty -m one");
    let before = scene.kept();
    for mode in ["inherit", "worktree"] {
        let cmd = scene.meant(
            "(echo x > $out/new) || echo held-$((6 * 7)); echo x > mine; git add mine; \
             git -c user.name=x -c user.email=x@x commit -qm two && echo done-$((6 * 7))",
        );
        let child = told(&[("ExecCommand", json!({ "cmd": cmd, "login": false }))]);
        let spawn = json!({ "initial_message": child, "workspace_mode": mode });
        // The child is waited for, and what its report brings.
        let asked = told(&[("SpawnAgent", spawn)]);
        scene.daemon.ok(&["prompt", "--wait=settled", "--agent", "a", &asked]);
        let said = scene.daemon.ok(&["transcript", "--agent", "a"]).stdout;
        assert!(said.contains("held-42") && said.contains("done-42"), "{mode}: {said}");
        assert_eq!(scene.kept(), before, "{mode}");
    }
}

/// Says to a supervisor what a runtime would.
const TYPES: &str = r#"
use Socket;
socket(S, AF_UNIX, SOCK_STREAM, 0) or exit;
connect(S, sockaddr_un("socket")) or exit;
$SIG{PIPE} = "IGNORE";
for ('{"say":"hello"}', '{"say":"input","id":1,"text":"typed"}', '{"say":"stop","force":true}') {
    syswrite S, pack("N", length) . $_;
}
sysread S, $answer, 99;
print "told-", length $answer, "\n";
"#;

/// What the runtime keeps for itself, and what commands of other agents are given to read: a confined command gets at
/// neither, also after the runtime was started again. The runtime itself does.
#[test]
fn no_command_reaches_the_runtimes_secrets_or_tasks_of_others() {
    let scene = Scene::new("on");
    let home = scene.daemon.0.home().canonicalize().expect("a home");
    scene.daemon.ok(&["agent", "create", "b", "--own-home"]);
    let cmd = "cat >> got; echo over > over";
    let task = scene.daemon.ok(&["task", "run", "--agent", "b", "--input", cmd]).stdout.trim().to_owned();
    let folders = || fs::read_dir(home.join("run/commands")).expect("commands").flatten();
    wait_for("its supervisor", || folders().any(|entry| entry.path().join("started").exists()));
    let asks = |what: &str| scene.runs(&format!("home='{}'; {what}", text(&home)));
    for file in [
        "trigger.key",
        "control.token",
        "ledger.sqlite3",
        "ledger.sqlite3-wal",
        "run/daemon.json",
        "run/commands/*/key",
        "agents/b/AGENTS.md",
        "agents/b/task-output/*",
    ] {
        let said = asks(&format!("cat $home/{file} > /dev/null && echo read-$((6 * 7))"));
        assert!(!said.contains("read-42"), "{file}: {said}");
    }
    // What lies beside the home, and its own part of it, it can read.
    let said =
        asks("cat $out/kept $HOLON_AGENT_HOME/AGENTS.md /etc/passwd > /dev/null && echo read-$((6 * 7))");
    assert!(said.contains("read-42"), "{said}");
    fs::write(scene.root.join("types.pl"), TYPES).expect("a script");
    let types = "script=$PWD/types.pl; for folder in $home/run/commands/*; do (cd $folder && perl $script); done; \
                 echo done-$((6 * 7))";
    let others = home.join("agents/b");
    for again in [false, true] {
        if again {
            scene.daemon.kill();
            scene.daemon.start();
        }
        let said = asks(types);
        assert!(said.contains("done-42") && !said.contains("told-1"), "{said}");
        assert!(
            !others.join("over").exists() && fs::read(others.join("got")).is_ok_and(|got| got.is_empty())
        );
        let line = if again { "second" } else { "first" };
        let given = scene.daemon.ok(&["task", "input", "--agent", "b", &task, line, "--json"]).json();
        assert_eq!(given["accepted_input"], json!(true), "{given}");
        wait_for("the input", || fs::read_to_string(others.join("got")).is_ok_and(|got| got == line));
        fs::write(others.join("got"), "").expect("a file");
    }
    scene.daemon.ok(&["task", "stop", "--agent", "b", &task]);
    let gaps = scene.daemon.ok(&["workspace", "list", "--agent", "a", "--json"]).json()["policy"]["gaps"]
        .to_string();
    assert!(gaps.contains("but for those of this runtime") && gaps.contains("begun"), "{gaps}");
}
