//! Children of agents: begun by a turn, told more, ended with everything that they have, over crashes.

use std::fs;
use std::path::Path;

use end_to_end::daemon::Daemon;
use end_to_end::obedient::{self, git, repository, round};
use end_to_end::provider::{Provider, calls, says};
use end_to_end::{count, payloads, strays, wait_for};
use serde_json::{Value, json};

/// The last thing that was said to the model in a request.
fn last(request: &Value) -> String {
    let messages = request["messages"].as_array().expect("messages");
    messages.last().expect("one")["content"].to_string()
}

/// What the turn is for, as it is written.
fn input(request: &Value) -> String {
    json!(obedient::input(request)).to_string()
}

fn spawn(message: &str) -> (&'static str, Value) {
    ("SpawnAgent", json!({ "initial_message": message }))
}

fn states(daemon: &Daemon, task: &str) -> Value {
    daemon.ok(&["task", "status", task, "--json"]).json()["task"].clone()
}

#[test]
fn a_child_works_and_its_report_comes_once() {
    let provider = Provider::answering(|request| match (round(request), input(request)) {
        // Its result names the task, and with it what the child was shown.
        (_, asked) if asked.contains("the cable is cut") => says("so it is the cable"),
        (0, asked) if asked.contains("delegate") => calls(&[spawn("look into the cable")]),
        (0, asked) if asked.contains("look into the cable") => {
            calls(&[("ExecCommand", json!({ "cmd": "pwd; echo $HOLON_AGENT_ID > who" }))])
        }
        (1, asked) if asked.contains("look into the cable") => says("the cable is cut"),
        _ => says("delegated"),
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    // Whoever waits for the agent waits for its child, too.
    daemon.ok(&["prompt", "--wait=settled", "delegate"]);
    let told = daemon.ok(&["transcript"]).stdout;
    assert!(told.contains("so it is the cable"), "{told}");
    let task = states(&daemon, "task_1");
    assert_eq!((&task["kind"], &task["status"]), (&json!("child_agent_task"), &json!("completed")));
    assert_eq!(task["child_agent_id"], "main--1");
    let output = daemon.ok(&["task", "output", "task_1"]).stdout;
    assert!(output.contains("the cable is cut"), "{output}");
    let shown = daemon.ok(&["task", "status", "task_1"]).stdout;
    assert!(shown.contains("main--1") && shown.contains("look into the cable"), "{shown}");
    // A child works where its parent does, and has a home of its own.
    let home = daemon.0.home().join("agents");
    assert!(home.join("main--1/AGENTS.md").exists());
    let who = fs::read_to_string(home.join("main/who")).expect("what the command wrote");
    assert_eq!(who.trim(), "main--1");
    // It is in no list, and nobody tells it anything; whoever knows its name sees what it did.
    let list = daemon.ok(&["agent", "list", "--json"]).stdout;
    assert!(!list.contains("main--1"), "{list}");
    let refused = daemon.0.run(&["prompt", "--agent", "main--1", "psst"]);
    assert!(refused.code == Some(4) && refused.stderr.contains("child of main"), "{refused:?}");
    assert!(daemon.ok(&["transcript", "--agent", "main--1"]).stdout.contains("the cable is cut"));
    let refused = daemon.0.run(&["agent", "create", "a--b"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("two hyphens"), "{refused:?}");
    daemon.ok(&["daemon", "stop"]);
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!(count(&records, "task_result_queued"), 1);
    assert_eq!(count(&records, "agent_archived"), 1);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

/// The parent is its operator.
#[test]
fn a_child_that_waits_asks_its_parent_who_answers() {
    let provider = Provider::answering(|request| match (round(request), input(request)) {
        (_, asked) if asked.contains("mended the red one") => says("all is mended"),
        (0, asked) if asked.contains("can't go on by itself") => {
            calls(&[("TaskInput", json!({ "task_id": "task_1", "input": "the red one" }))])
        }
        (0, asked) if asked.contains("the red one") => says("mended the red one"),
        (0, asked) if asked.contains("delegate") => calls(&[spawn("mend the cable")]),
        (0, asked) if asked.contains("mend the cable") => {
            calls(&[("WaitFor", json!({ "reason": "which cable?", "wake": "operator_input" }))])
        }
        _ => says("well"),
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "delegate"]);
    let told = daemon.ok(&["transcript"]).stdout;
    assert!(told.contains("all is mended"), "{told}");
    daemon.ok(&["daemon", "stop"]);
    let records = daemon.0.records(&daemon.ledger());
    assert_eq!(count(&records, "child_need_told"), 1, "one tick for one wait");
    assert_eq!(payloads(&records, "task_input_delivered")[0]["input_target"], "child_followup");
    daemon.ok(&["ledger", "verify"]);
}

/// Eight children, each with eight of its own, each of those with a command: one that would go on for ever, or where it is
/// to be brief, one that ends. One of those in worktrees leaves something there.
fn family(folder: &Path) -> Provider {
    let marks = folder.display().to_string();
    Provider::answering(move |request| {
        let asked = input(request);
        let brief = if asked.contains("brief") { "brief " } else { "" };
        // Some of them in worktrees of their own.
        let eight = |what: &str, isolated: u32| {
            let one = |number| {
                let (tool, mut arguments) = spawn(&format!("{brief}{what} {number}"));
                if number < isolated {
                    arguments["workspace_mode"] = json!("worktree");
                }
                (tool, arguments)
            };
            calls(&(0..8).map(one).collect::<Vec<_>>())
        };
        match round(request) {
            // It names what was told to whom.
            _ if asked.contains("kind task_result") || asked.contains("kind system_tick") => says("noted"),
            0 if asked.contains("delegate") => eight("branch", 2),
            0 if asked.contains("branch") => eight("leaf", 1),
            0 if asked.contains("leaf") => {
                let dirty = format!("case $HOLON_AGENT_ID in {DIRTY}) echo new > made;; esac");
                let last = if brief.is_empty() { "exec sleep 1000" } else { "sleep 0.1" };
                let cmd = format!("{dirty}; echo $$ >> {marks}/{}begun; {last}", brief.trim());
                calls(&[("ExecCommand", json!({ "cmd": cmd, "login": false }))])
            }
            // A child that has nothing left to do would end its command.
            1 if asked.contains("leaf") && brief.is_empty() => {
                let wait = json!({ "reason": "it goes on", "wake": "task_result", "resource": "task_1" });
                calls(&[("WaitFor", wait)])
            }
            // What a crash has cut short is not begun again.
            _ if last(request).contains("child_agent_id") || asked.contains("branch") => says("delegated"),
            _ => says("well"),
        }
    })
}

/// Who leaves a file in its worktree.
const DIRTY: &str = "main--3--1";
const LEAVES: usize = 64;

/// The processes that commands have written down.
fn begun(folder: &Path, name: &str) -> Vec<u32> {
    let written = fs::read_to_string(folder.join(name)).unwrap_or_default();
    // The last line may be on its way.
    written.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect()
}

fn alive(daemon: &Daemon) -> usize {
    strays::executing(&daemon.0.home()).len()
}

/// Whether it is still the command that it was.
fn sleeps(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words == b"sleep\x001000\x00")
}

/// Waits until no child is left, and of the tasks from that number on none that goes on.
fn wait_for_the_end(daemon: &Daemon, first: u32) -> Vec<Value> {
    let archived = || {
        let records = daemon.0.records(&daemon.ledger());
        let children = payloads(&records, "agent_created");
        let children = children.iter().filter(|fact| fact["spec"]["supervisor"].is_object()).count();
        count(&records, "agent_archived") == children
    };
    wait_for("the end of every child", archived);
    // The task of a child outlives it by the look at its worktree.
    let ends = || (first..first + 8).map(|task| states(daemon, &format!("task_{task}"))["status"].clone());
    wait_for("the end of every task", || ends().all(|end| end == "cancelled" || end == "completed"));
    ends().collect()
}

/// Of all worktrees the one is left that something is in, and it is named.
fn only_work_is_left(daemon: &Daemon, top: &Path) {
    let branches = git(top, &["branch", "--list", "holon/*"]);
    assert_eq!(
        (branches.lines().count(), git(top, &["worktree", "list"]).lines().count()),
        (1, 2),
        "{branches}"
    );
    let listed = daemon.ok(&["workspace", "worktrees", "--json"]).json()["worktrees"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let left = &listed[0];
    assert_eq!((&left["state"], &left["retained"]["reason"]), (&json!("retained"), &json!("changed")));
    assert_eq!(left["retained"]["changed_files"], json!(["made"]));
    assert!(branches.contains(left["branch"].as_str().expect("a branch")), "{branches}");
    let made = Path::new(left["path"].as_str().expect("a path")).join("made");
    assert_eq!(fs::read_to_string(made).expect("what the child wrote"), "new\n");
}

#[test]
fn a_stop_leaves_nothing_of_a_family_over_crashes() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = family(folder.path());
    let daemon = Daemon::new(&provider);
    fs::create_dir_all(daemon.0.home()).expect("a home");
    fs::write(daemon.0.home().join("config.toml"), "[limits]\nconcurrent_turns = 80\n")
        .expect("a configuration");
    daemon.start();
    let top = repository(folder.path(), "repository");
    daemon.ok(&["workspace", "use", top.to_str().expect("a path of letters")]);
    daemon.ok(&["prompt", "delegate"]);
    wait_for("all of the leaves", || begun(folder.path(), "begun").len() == LEAVES);
    let leaves = begun(folder.path(), "begun");
    wait_for("their commands", || leaves.iter().all(|&pid| sleeps(pid)));
    daemon.kill();
    assert!(leaves.iter().all(|&pid| sleeps(pid)), "nobody has asked for their end");
    daemon.start();
    daemon.ok(&["task", "stop", "task_1"]);
    daemon.kill();
    daemon.start();
    let stopped = daemon.ok(&["agent", "stop", "main", "--json"]).json()["outcome"].clone();
    let children = stopped["stopped_children"].as_array().expect("children");
    assert!((7..=8).contains(&children.len()), "the one that was told before may be gone: {stopped}");
    daemon.kill();
    daemon.start();
    wait_for("the end of every command", || alive(&daemon) == 0);
    let left: Vec<u32> = leaves.into_iter().filter(|&pid| sleeps(pid)).collect();
    assert!(left.is_empty(), "processes of leaves: {left:?}");
    let ends = wait_for_the_end(&daemon, 1);
    assert!(ends.iter().all(|end| end == "cancelled"), "{ends:?}");
    only_work_is_left(&daemon, &top);

    // Another one in the same place, which nobody stops.
    daemon.ok(&["agent", "start", "main"]);
    daemon.ok(&["prompt", "delegate, be brief"]);
    wait_for("some of the leaves", || begun(folder.path(), "briefbegun").len() >= 8);
    daemon.kill();
    daemon.start();
    let eighth = || daemon.0.run(&["task", "status", "task_16", "--json"]).code == Some(0);
    wait_for("all of the branches", eighth);
    let ends = wait_for_the_end(&daemon, 9);
    assert!(ends.iter().all(|end| end == "completed"), "{ends:?}");
    wait_for("the end of every command", || alive(&daemon) == 0);
    only_work_is_left(&daemon, &top);
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

/// A child is one private agent: what is public stays, and answers to operators.
#[test]
fn a_public_agent_is_made_for_good() {
    let provider = Provider::answering(|request| match (round(request), input(request)) {
        (0, asked) if asked.contains("hire somebody") => calls(&[(
            "SpawnAgent",
            json!({ "preset": "public_named", "agent_id": "clerk", "initial_message": "keep the books" }),
        )]),
        (_, asked) if asked.contains("keep the books") => says("the books are kept"),
        _ => says("hired"),
    });
    let daemon = Daemon::new(&provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "hire somebody"]);
    wait_for("what the new one says", || {
        daemon.0.run(&["transcript", "--agent", "clerk"]).stdout.contains("the books are kept")
    });
    assert!(daemon.ok(&["agent", "list"]).stdout.contains("clerk"));
    daemon.kill();
    daemon.start();
    daemon.ok(&["prompt", "--wait=settled", "--agent", "clerk", "well?"]);
    let again = daemon.0.run(&["agent", "create", "clerk"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    daemon.ok(&["daemon", "stop"]);
    daemon.ok(&["ledger", "verify"]);
}
