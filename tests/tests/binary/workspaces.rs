//! Where agents work: what operators and agents say about it, and that one supervision tree at a time works in a folder.

use std::fs;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::life::Life;
use end_to_end::obedient::{asks, folder, git, obedient, told};
use end_to_end::provider::{Provider, command};
use end_to_end::task::{begins, files, until};
use end_to_end::{http, payloads, wait_for};
use serde_json::{Value, json};

fn daemon() -> Daemon {
    let daemon = Daemon::new(&Provider::answering(obedient));
    daemon.start();
    daemon
}

fn goes(to: &Path) -> (&'static str, Value) {
    ("UseWorkspace", json!({ "path": to }))
}

fn binding(daemon: &Daemon, agent: &str) -> Value {
    daemon.ok(&["workspace", "list", "--agent", agent, "--json"]).json()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

#[test]
fn an_operator_says_where_an_agent_works() {
    let (place, _) = files();
    let (one, two) = (folder(place.path(), "one/sub"), folder(place.path(), "two"));
    let one = one.parent().expect("one").to_owned();
    let daemon = daemon();
    daemon.ok(&["agent", "create", "a", "--own-home"]);
    let home = binding(&daemon, "a");
    daemon.ok(&["workspace", "attach", text(&one), "--agent", "a"]);
    let shown = daemon.ok(&["workspace", "attach", text(&one), "--agent", "a"]);
    assert!(shown.stdout.contains("already"), "{shown:?}");
    let known = binding(&daemon, "a")["attached_workspaces"].clone();
    let id = known.as_array().expect("some").iter().find(|known| known["workspace_anchor"] == text(&one));
    let id = id.expect("it is known")["workspace_id"].as_str().expect("a name").to_owned();
    // To know a folder is not to work there.
    assert_eq!(binding(&daemon, "a")["execution"], home["execution"]);
    daemon.ok(&["workspace", "use", &id, "--cwd", "sub", "--agent", "a"]);
    assert!(asks(&daemon, "a", &[command("pwd")]).contains(text(&one.join("sub"))));
    daemon.ok(&["workspace", "use", text(&two), "--agent", "a"]);
    let list = daemon.ok(&["workspace", "list", "--agent", "a"]).stdout;
    assert!(list.lines().any(|line| line.contains('*') && line.contains(text(&two))), "{list}");
    assert!(list.contains("agents/a"), "its home is told, too: {list}");
    let own = daemon.ok(&["workspace", "list"]).stdout;
    assert!(own.lines().count() == 3 && own.contains("agent_home") && own.contains("agents/main"), "{own}");
    assert!(own.contains("commands: host_local (writes not_enforced"), "{own}");
    assert!(asks(&daemon, "a", &[command("pwd")]).contains(text(&two)));
    // What can't be done says why, and changes nothing.
    let refused = |arguments: &[&str], code: i32, says: &[&str]| {
        daemon.0.run(&[arguments, &["--agent", "a"]].concat()).refused(code, says);
    };
    let active = binding(&daemon, "a")["active_workspace_id"].as_str().expect("a name").to_owned();
    refused(&["workspace", "detach", &active], 4, &["works in", "holon workspace use"]);
    refused(&["workspace", "detach", "agent_home"], 4, &["a keeps agent_home", "only others"]);
    refused(
        &["workspace", "detach", "nothing-00000000"],
        3,
        &["nothing-00000000", "holon workspace list --agent a"],
    );
    refused(&["workspace", "use", "nowhere"], 2, &["nowhere"]);
    refused(&["workspace", "use", &id, "--cwd", "../two"], 2, &["two", text(&one)]);
    refused(&["workspace", "attach", text(&daemon.0.file("notes", "x"))], 2, &["notes", "is a file"]);
    assert!(asks(&daemon, "a", &[command("pwd")]).contains(text(&two)));
    daemon.ok(&["workspace", "detach", &id, "--agent", "a"]);
    let path = "/control/agents/a/workspace/exit";
    let left = http::ask(&daemon.run_file("holon.sock"), "POST", path, &[], None).expect("an answer");
    assert_eq!((left.status, &left.body["active_workspace_id"]), (200, &json!("agent_home")), "{left:?}");
    assert!(asks(&daemon, "a", &[command("pwd")]).contains(text(&daemon.0.home().join("agents/a"))));
    daemon.ok(&["daemon", "stop"]);
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn an_agent_goes_elsewhere_and_stays_there_over_restarts() {
    let (place, _) = files();
    let (plain, repo) = (folder(place.path(), "plain"), folder(place.path(), "repo/src"));
    let top = repo.parent().expect("the top").to_owned();
    git(&top, &["init", "-q"]);
    git(&top, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    daemon.ok(&["agent", "create", "a", "--own-home"]);
    // From the next call on, in the same turn.
    let here = asks(&daemon, "a", &[goes(&plain), command("pwd"), goes(&repo), command("pwd; touch made")]);
    assert!(here.contains(&format!(r#"execution_root\":\"{}\"#, text(&top))), "{here}");
    assert!(repo.join("made").exists() && here.contains(text(&plain)), "{here}");
    life.kill();
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    assert!(asks(&daemon, "a", &[command("pwd")]).contains(text(&repo)));
    // A worktree of a project that it knows is that project, elsewhere.
    let tree = place.path().join("tree");
    git(&top, &["worktree", "add", "-q", text(&tree)]);
    asks(&daemon, "a", &[goes(&tree)]);
    let at = binding(&daemon, "a")["execution"].clone();
    assert_eq!(at["projection_kind"], "git_worktree_root", "{at}");
    assert_eq!(
        (at["workspace_anchor"].as_str(), at["execution_root"].as_str()),
        (Some(text(&top)), tree.canonicalize().ok().as_deref().map(text))
    );
    let back =
        asks(&daemon, "a", &[("UseWorkspace", json!({ "workspace_id": "agent_home" })), command("pwd")]);
    assert!(back.contains(text(&daemon.0.home().join("agents/a"))), "{back}");
    for (arguments, says) in [
        (json!({}), "path"),
        (json!({ "path": "/", "workspace_id": "agent_home" }), "path"),
        (json!({ "workspace_id": "nothing-00000000" }), "nothing-00000000"),
        (json!({ "path": "nowhere" }), "nowhere"),
        (json!({ "path": plain, "cwd": "../repo" }), "execution_root_violation"),
    ] {
        let refused = asks(&daemon, "a", &[("UseWorkspace", arguments.clone())]);
        assert!(refused.contains(r#"\"ok\":false"#) && refused.contains(says), "{arguments}: {refused}");
    }
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn one_supervision_tree_at_a_time_works_in_a_folder() {
    let (place, file) = files();
    let shared = folder(place.path(), "shared");
    // The same folder by another name.
    let alias = place.path().join("alias");
    std::os::unix::fs::symlink(&shared, &alias).expect("a link");
    let provider = Provider::answering(obedient);
    let daemon = Daemon::new(&provider);
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    for agent in ["a", "b"] {
        daemon.ok(&["agent", "create", agent, "--own-home"]);
        daemon.ok(&["workspace", "use", text(&alias), "--agent", agent]);
    }
    let stays = |until: &str| [begins(until, &json!({}))];
    asks(&daemon, "a", &stays(&until(&file("over"))));
    let patch = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
    let writes = [command("touch mine"), ("ApplyPatch", json!({ "patch": patch }))];
    let kept_out = || {
        let refused = asks(&daemon, "b", &writes);
        assert_eq!(refused.matches("workspace_occupied").count(), 2, "{refused}");
        assert!(refused.contains("occupied by the agent a"), "{refused}");
        let names = fs::read_dir(&shared).expect("a folder").count();
        assert_eq!(names, 0, "nothing was written");
    };
    kept_out();
    assert_eq!(binding(&daemon, "a")["occupied_roots"], json!([shared]));
    // What a crash leaves running goes on there.
    life.kill();
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    kept_out();
    // Nor by an operator's command.
    daemon.0.run(&["task", "run", "--agent", "b", "touch mine"]).refused(4, &["occupied by the agent a"]);
    // Its own children are of its tree.
    let child = told(&[command("pwd; touch child")]);
    asks(&daemon, "a", &[("SpawnAgent", json!({ "initial_message": child }))]);
    wait_for("the child's file", || shared.join("child").exists());
    fs::remove_file(shared.join("child")).expect("the child's file");
    fs::write(file("over"), "").expect("the end");
    wait_for("the end of the command", || binding(&daemon, "a").get("occupied_roots").is_none());
    asks(&daemon, "b", &writes);
    assert!(shared.join("mine").exists() && shared.join("new").exists());
    // A stop releases what the agent has, too, with the end of its last command.
    asks(&daemon, "b", &stays("sleep 300"));
    let refused = asks(&daemon, "a", &[command("pwd")]);
    assert!(refused.contains("occupied by the agent b"), "{refused}");
    daemon.ok(&["agent", "stop", "b"]);
    wait_for("the end of the command", || binding(&daemon, "b").get("occupied_roots").is_none());
    let works = asks(&daemon, "a", &[command("pwd")]);
    assert!(!works.contains("workspace_occupied"), "{works}");
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
    let records = daemon.0.records(&daemon.ledger());
    let of = |kind: &str, root: &Path| {
        payloads(&records, kind).iter().filter(|fact| fact["execution_root"] == text(root)).count()
    };
    assert!(of("occupancy_acquired", &shared) >= of("occupancy_released", &shared));
    let causes: Vec<&Value> =
        payloads(&records, "occupancy_released").iter().map(|fact| &fact["cause"]).collect();
    assert!(causes.iter().all(|cause| **cause == json!("unused")), "{causes:?}");
}

/// A command may ignore what asks it to end: it writes until it is killed, and until then nobody else does.
#[test]
fn a_stopped_agent_has_its_folder_until_its_last_command_has_ended() {
    let (place, _) = files();
    let shared = folder(place.path(), "shared");
    let daemon = Daemon::new(&Provider::answering(obedient));
    daemon.ok(&["config", "set", "runtime.command_grace_ms", "2000"]);
    daemon.start();
    for agent in ["a", "b"] {
        daemon.ok(&["agent", "create", agent, "--own-home"]);
        daemon.ok(&["workspace", "use", text(&shared), "--agent", agent]);
    }
    let writes = "trap '' TERM; while :; do date >> log; sleep 0.05; done";
    let log = shared.join("log");
    let size = || fs::metadata(&log).map(|about| about.len()).unwrap_or_default();
    // In the middle of its call, and as a task.
    for yield_time_ms in [60_000, 200] {
        let call = json!({ "cmd": writes, "login": false, "yield_time_ms": yield_time_ms });
        let before = size();
        daemon.ok(&["prompt", "--agent", "a", &told(&[("ExecCommand", call)])]);
        wait_for("the command", || size() > before);
        if yield_time_ms < 1_000 {
            wait_for("the task", || {
                daemon.ok(&["status", "--agent", "a", "--json"]).json().get("run").is_none()
            });
        }
        let stopped = daemon.ok(&["agent", "stop", "a", "--json"]).json()["outcome"].clone();
        assert_eq!(
            (&stopped["stopping_roots"], stopped.get("released_roots")),
            (&json!([shared]), None),
            "{stopped}"
        );
        assert_eq!(stopped["cancelling_tasks"].as_array().map(Vec::len), Some(1), "{stopped}");
        let refused = asks(&daemon, "b", &[command("touch mine")]);
        assert!(refused.contains("occupied by the agent a, which is stopping"), "{refused}");
        assert_eq!(binding(&daemon, "a")["stopping_roots"], json!([shared]));
        let shown = daemon.ok(&["agent", "status", "a"]).stdout;
        assert!(shown.contains("stays occupied until its last command there has ended"), "{shown}");
        wait_for("the end of the command", || binding(&daemon, "a").get("occupied_roots").is_none());
        let written = size();
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(size(), written, "nobody writes any more");
        daemon.ok(&["agent", "start", "a"]);
        wait_for("what the start tells", || {
            daemon.ok(&["status", "--agent", "a", "--json"]).json()["status"] == json!("asleep")
        });
    }
    asks(&daemon, "b", &[command("touch mine")]);
    assert!(shared.join("mine").exists());
    daemon.ok(&["daemon", "stop"]);
    let records = daemon.0.records(&daemon.ledger());
    let stops: Vec<&Value> = payloads(&records, "control_applied");
    let stops: Vec<&Value> = stops.into_iter().filter(|fact| fact["action"] == json!("stop")).collect();
    assert_eq!(
        (&stops[0]["previous"], &stops[0]["stopping_roots"]),
        (&json!("awake_running"), &json!([shared]))
    );
    daemon.0.check_ledger(&daemon.ledger());
}
