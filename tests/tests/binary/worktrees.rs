//! Worktrees of agents and their children: made, gone back into, removed when nothing in them is new, whatever a crash
//! cuts short.

use std::fs;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::life::Life;
use end_to_end::obedient::{asks, folder, git, obedient, repository, told};
use end_to_end::provider::{Provider, command};
use end_to_end::task::files;
use end_to_end::{Holon, durable, strays, wait_for};
use serde_json::{Value, json};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

/// A runtime with an agent in that folder.
fn begun(top: &Path, agents: &[&str]) -> (Daemon, Life) {
    let daemon = Daemon::new(&Provider::answering(obedient));
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    for agent in agents {
        daemon.ok(&["agent", "create", agent, "--own-home"]);
        daemon.ok(&["workspace", "use", text(top), "--agent", agent]);
    }
    (daemon, life)
}

fn delegates(work: &[(&str, Value)]) -> (&'static str, Value) {
    ("SpawnAgent", json!({ "initial_message": told(work), "workspace_mode": "worktree" }))
}

fn isolated(top: &Path, label: &str) -> (&'static str, Value) {
    ("UseWorkspace", json!({ "path": top, "mode": "isolated", "isolation_label": label }))
}

fn worktrees(daemon: &Daemon, agent: &str) -> Vec<Value> {
    let listed = daemon.ok(&["workspace", "worktrees", "--agent", agent, "--json"]).json();
    listed["worktrees"].as_array().expect("a list").clone()
}

fn branches(top: &Path) -> String {
    git(top, &["branch", "--list", "holon/*"])
}

fn task(daemon: &Daemon, agent: &str, task: &str) -> Value {
    daemon.ok(&["task", "status", task, "--agent", agent, "--json"]).json()["task"].clone()
}

fn ends(daemon: &Daemon, agent: &str, id: &str) -> Value {
    wait_for("the end of the child", || task(daemon, agent, id)["status"] != "running");
    task(daemon, agent, id)
}

const COMMIT: &str = "git -c user.name=x -c user.email=x@x commit -q";

#[test]
fn a_child_works_on_a_branch_of_its_own_and_what_is_new_there_stays() {
    let (place, _) = files();
    let top = repository(place.path(), "repository");
    let (daemon, life) = begun(&top, &["a"]);
    // Nothing new: nothing stays.
    asks(&daemon, "a", &[delegates(&[command("pwd > where; cat where; rm where")])]);
    let over = ends(&daemon, "a", "task_1");
    let supervision = &over["child_supervision"];
    assert_eq!(supervision["workspace_mode"], "worktree");
    assert_eq!(supervision["worktree"]["state"], "removed", "{over}");
    assert!(supervision["worktree"]["path"].as_str().expect("a path").contains("/worktrees/a/"));
    assert_eq!((branches(&top).as_str(), worktrees(&daemon, "a").len()), ("", 0));
    assert!(!daemon.0.home().join("worktrees/a").exists());
    // A commit, and a file that is in none.
    let commits = format!("echo new > made && git add made && {COMMIT} -m made");
    asks(&daemon, "a", &[delegates(&[command(&commits)]), delegates(&[command("echo new > untracked")])]);
    let committed = ends(&daemon, "a", "task_2")["child_supervision"]["worktree"].clone();
    let changed = ends(&daemon, "a", "task_3")["child_supervision"]["worktree"].clone();
    assert_eq!(
        (&committed["state"], &committed["retained"]["reason"]),
        (&json!("retained"), &json!("committed"))
    );
    assert_eq!(committed["retained"]["changed_files"], json!(["made"]));
    assert_eq!(changed["retained"]["changed_files"], json!(["untracked"]));
    assert!(
        !top.join("made").exists() && !top.join("untracked").exists(),
        "the parent's folder is as it was"
    );
    // The parent is notified where to look.
    durable::wait_until_quiet(&daemon, &["a"]);
    let debug = daemon.ok(&["workspace", "worktrees", "--agent", "a"]).stdout;
    assert!(debug.contains("retained: committed") && debug.contains("retained: changed"), "{debug}");
    let branch = committed["branch"].as_str().expect("a branch");
    git(&top, &["merge", "-q", "--ff-only", branch]);
    let path = Path::new(changed["path"].as_str().expect("a path"));
    fs::remove_file(path.join("untracked")).expect("it is there");
    let pruned = daemon.ok(&["workspace", "prune", "--agent", "a"]).stdout;
    assert!(pruned.contains("2 removed, 0 stay"), "{pruned}");
    assert_eq!((branches(&top).as_str(), git(&top, &["worktree", "list"]).lines().count()), ("", 1));
    assert!(top.join("made").exists());
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
}

#[test]
fn agents_work_beside_each_other_in_worktrees() {
    let (place, _) = files();
    let top = repository(place.path(), "repository");
    let (daemon, life) = begun(&top, &["a", "b"]);
    // While one has the folder, the other one works beside it.
    asks(&daemon, "a", &[end_to_end::task::begins("sleep 300", &json!({}))]);
    let beside = asks(&daemon, "b", &[command("pwd"), isolated(&top, "mine"), command("pwd; echo b > b")]);
    assert!(beside.contains("workspace_occupied") && beside.contains("/worktrees/b/1"), "{beside}");
    let home = ("UseWorkspace", json!({ "workspace_id": "agent_home" }));
    let back = asks(&daemon, "b", &[home, isolated(&top, "mine"), command("cat b"), isolated(&top, "other")]);
    assert!(back.contains("/worktrees/b/1") && back.contains("/worktrees/b/3"), "{back}");
    let states =
        |agent: &str| worktrees(&daemon, agent).iter().map(|one| one["state"].clone()).collect::<Vec<_>>();
    assert_eq!(states("b"), ["in_use", "in_use"]);
    // It works in the second; the first has something new, and the second is its own.
    let pruned = daemon.ok(&["workspace", "prune", "--agent", "b"]).stdout;
    assert!(pruned.contains("0 removed, 2 stay") && pruned.contains("retained: changed"), "{pruned}");
    // What stays is gone back into by its label all the same.
    let again = asks(&daemon, "b", &[isolated(&top, "mine"), command("cat b")]);
    assert!(again.contains("/worktrees/b/1"), "{again}");
    for (call, says) in [
        (isolated(place.path(), "x"), "git init"),
        (
            ("UseWorkspace", json!({ "workspace_id": "agent_home", "mode": "isolated" })),
            "is for git repositories",
        ),
        (("UseWorkspace", json!({ "path": top, "isolation_label": "x" })), "isolation_label"),
    ] {
        let refused = asks(&daemon, "b", &[call]);
        assert!(refused.contains(says), "{refused}");
    }
    wait_for("nothing is left of what could not be made", || worktrees(&daemon, "b").len() == 2);
    daemon.ok(&["agent", "stop", "a"]);
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
}

/// Git is in the middle of its work when the runtime dies.
#[test]
fn what_a_crash_cuts_short_is_removed() {
    let (place, file) = files();
    let top = repository(place.path(), "repository");
    // Whoever checks it out waits for a file.
    let filter = format!("touch {}; {}; cat", text(&file("begun")), end_to_end::task::until(&file("go")));
    git(&top, &["config", "filter.slow.smudge", &filter]);
    fs::write(top.join(".gitattributes"), "slow filter=slow\n").expect("a file");
    fs::write(top.join("slow"), "x\n").expect("a file");
    git(&top, &["add", "."]);
    git(&top, &["commit", "-q", "-m", "slow"]);
    let (daemon, life) = begun(&top, &["a"]);
    daemon.ok(&["prompt", "--agent", "a", &told(&[delegates(&[command("pwd")])])]);
    wait_for("git", || file("begun").exists());
    life.kill();
    fs::write(file("go"), "").expect("a file");
    let mut life = Life::begin(&daemon, &[]);
    life.ready(&daemon);
    durable::wait_until_quiet(&daemon, &["a"]);
    wait_for("nothing is left of it", || worktrees(&daemon, "a").is_empty());
    assert_eq!((branches(&top).as_str(), git(&top, &["worktree", "list"]).lines().count()), ("", 1));
    let left = folder(place.path(), "nothing");
    assert!(fs::read_dir(left).expect("a folder").next().is_none());
    assert!(!daemon.0.home().join("worktrees/a/1").exists());
    assert!(life.leave().success());
    daemon.0.check_ledger(&daemon.ledger());
}

/// A temporary run is killed while its children work. The next one removes what holds nothing, and names what does.
#[test]
fn what_a_killed_run_leaves_is_recovered_by_the_next_one() {
    let provider = Provider::answering(obedient);
    let holon = Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url);
    let top = repository(holon.folder(), "repository");
    let root = ["--workspace-root", text(&top)];
    let own = isolated(&top, "own");
    let clean = delegates(&[command("touch ../../../begun-clean; exec sleep 300")]);
    let dirty = delegates(&[command("echo new > made; touch ../../../begun-dirty; exec sleep 300")]);
    // Temporary runs of builds that offered them every tool are there as such homes.
    let earlier = holon.home().join("runs/run-earlier");
    let agent = ["run", "--home", text(&earlier), "--agent", "run-earlier", "--create-agent"];
    let mut killed = holon.spawn(&[&agent[..], &root[..], &[&told(&[own, clean, dirty])]].concat());
    let runs = || fs::read_dir(holon.home().join("runs")).into_iter().flatten().flatten();
    let began = |name: &str| runs().any(|run| run.path().join(name).exists());
    wait_for("work in both", || began("begun-clean") && began("begun-dirty"));
    let run = runs().next().expect("the run").path();
    killed.kill().expect("it is there");
    killed.wait().expect("it is gone");
    let asked = provider.requests().len();
    assert_eq!(branches(&top).lines().count(), 3);
    assert!(holon.run(&["config", "doctor"]).stdout.contains("has left"));

    let next = holon.run(&[&["run"], &root[..], &["hello"]].concat());
    assert_eq!(next.code, Some(0), "{next:?}");
    assert_eq!(provider.requests().len(), asked + 1, "nobody goes on with what was killed");
    let left = branches(&top);
    assert_eq!((left.lines().count(), git(&top, &["worktree", "list"]).lines().count()), (1, 2), "{left}");
    assert!(next.stderr.contains("was killed") && next.stderr.contains("stays (changed)"), "{next:?}");
    assert!(strays::supervisors(&holon.home()).is_empty());
    holon.check_ledger(&run.join("ledger.sqlite3"));
    // It is told once, and listed as long as it is there.
    let later = holon.run(&[&["run"], &root[..], &["hello"]].concat());
    assert!(later.code == Some(0) && !later.stderr.contains("was killed"), "{later:?}");
    let doctor = holon.run(&["config", "doctor", "--json"]).json();
    let listed = doctor["findings"].as_array().expect("findings").iter();
    let listed: Vec<_> = listed.filter(|finding| finding["check"] == "worktrees").collect();
    assert_eq!(listed.len(), 1, "{doctor}");
    let kept = holon.home().join("runs").join(run.file_name().expect("a name")).join("worktrees");
    assert!(fs::read_dir(kept).expect("a folder").next().is_some());
    // Both are told how it goes.
    let (_, removal) = next.stderr.split_once("what is new there: ").expect("a command");
    let (_, listed) = listed[0]["try"].as_str().expect("a command").split_once("then: ").expect("a command");
    assert!(removal.contains("branch -D") && listed.contains("branch -D"), "{removal}, {listed}");
    let done = std::process::Command::new("sh").args(["-ec", listed]).output().expect("sh");
    assert!(done.status.success(), "{done:?}");
    assert_eq!((branches(&top).as_str(), git(&top, &["worktree", "list"]).lines().count()), ("", 1));
    assert!(!holon.run(&["config", "doctor"]).stdout.contains("has left"));
}
