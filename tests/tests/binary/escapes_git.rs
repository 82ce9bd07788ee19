//! Git that the runtime itself runs where a confined agent works: what a repository names as a filter is held back as a command
//! of the agent is. It reaches no server, and reads nothing of the runtime.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use end_to_end::confined::text;
use end_to_end::daemon::Daemon;
use end_to_end::obedient::{asks, git, obedient, repository, told};
use end_to_end::provider::{Provider, command};
use end_to_end::wait_for;
use serde_json::{Value, json};

const SECRET: &str = "# what no command reads\n";

/// A repository with a filter that an agent has put there, and what that tries to get at.
struct Filtered {
    daemon: Daemon,
    top: PathBuf,
    server: TcpListener,
}

impl Filtered {
    fn new(trees: bool) -> Self {
        let daemon = Daemon::confined(&Provider::answering(obedient), "off");
        fs::create_dir_all(daemon.0.home()).expect("a home");
        let settings = format!("{SECRET}[runtime]\nworkspace_trees = {trees}\n");
        fs::write(daemon.0.home().join("config.toml"), settings).expect("a configuration");
        let top = repository(daemon.0.folder(), "repository");
        Self { daemon, top, server: TcpListener::bind("127.0.0.1:0").expect("a server") }
    }

    /// A command that names a filter, and changes a file but not its size, so that git has to compare what is in it. The
    /// filter notes that it ran in the only folder that all of git's runs may write to.
    fn names_filter(&self) -> String {
        let script = self.top.join(".git/leak.sh");
        let port = self.server.local_addr().expect("an address").port();
        let lines = format!(
            "cat '{}' > read\n(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo x > reached\necho x > ran\nexec cat\n",
            text(&self.secret())
        );
        fs::write(&script, format!("cd '{}'\n{lines}", text(&self.top.join(".git")))).expect("a script");
        let filter = format!("bash {}", text(&script));
        format!(
            "git config filter.leak.clean '{filter}'; git config filter.leak.smudge '{filter}'; \
             echo '* filter=leak' > .git/info/attributes; echo other > README"
        )
    }

    fn secret(&self) -> PathBuf {
        self.daemon.0.home().join("config.toml")
    }

    fn has(&self, name: &str) -> bool {
        self.top.join(".git").join(name).exists()
    }

    /// The filter has run since the last look, and got at nothing.
    fn ran_in_vain(&self, when: &str) {
        wait_for(when, || self.has("ran"));
        let read = fs::read_to_string(self.top.join(".git/read")).unwrap_or_default();
        assert!(!self.has("reached") && read.is_empty(), "{when}: {read}");
        fs::remove_file(self.top.join(".git/ran")).expect("a note");
    }
}

/// What is below a folder and begins like that.
fn holding(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if entry.file_type().expect("a file").is_dir() {
            found.extend(holding(&path, beginning));
        } else if entry.file_type().expect("a file").is_file()
            && fs::read_to_string(&path).is_ok_and(|read| read.starts_with(beginning))
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn files_of_a_turn_are_kept_without_a_way_out() {
    let scene = Filtered::new(true);
    scene.daemon.start();
    scene.daemon.ok(&["agent", "create", "a", "--workspace-root", text(&scene.top)]);
    asks(&scene.daemon, "a", &[command(&scene.names_filter())]);
    scene.ran_in_vain("the end of a turn");
    // What git would have read is copied by the runtime itself.
    let index = "rm -rf .git/holon .git/index; ln -s '{}' .git/index; echo third > README";
    asks(&scene.daemon, "a", &[command(&index.replace("{}", text(&scene.secret())))]);
    asks(&scene.daemon, "a", &[command("rm .git/index; git reset -q")]);
    assert_eq!(holding(&scene.top, SECRET), [""; 0].map(PathBuf::from));
    scene.ran_in_vain("an index of another file");
    let forked = scene.daemon.ok(&["ledger", "fork", "a", "b", "--files", "--json"]).json();
    let root = PathBuf::from(forked["execution_root"].as_str().expect("a folder"));
    assert!(root.join("README").exists(), "{forked}");
    scene.ran_in_vain("the worktree of a fork");
    scene.daemon.ok(&["daemon", "stop"]);
    scene.daemon.ok(&["ledger", "verify"]);
}

#[test]
fn changed_files_are_counted_without_a_way_out() {
    let scene = Filtered::new(false);
    scene.daemon.start();
    for agent in ["a", "b"] {
        scene.daemon.ok(&["agent", "create", agent, "--workspace-root", text(&scene.top)]);
    }
    asks(&scene.daemon, "a", &[command(&scene.names_filter())]);
    assert!(!scene.has("ran"), "nobody has looked yet");
    scene.daemon.ok(&["prompt", "--wait", "--agent", "b", "hello"]);
    scene.ran_in_vain("the beginning of an episode");
    let prompt = scene.daemon.ok(&["debug", "prompt", "--agent", "b"]).stdout;
    assert!(prompt.contains("1 changed file"), "{prompt}");
}

/// Also where the run goes to a runtime that was started with another profile than the one this process would have.
#[test]
fn a_run_reports_changed_files_without_a_way_out() {
    let scene = Filtered::new(false);
    let reports = |arguments: &[&str], text: &str, profile: bool| -> Value {
        let prompt = told(&[command(&format!("echo {text} > README; echo x > made"))]);
        let mut run = scene.daemon.0.command(&[arguments, &["--json", &prompt]].concat());
        if !profile {
            run.env_remove("HOLON_EXECUTION_PROFILE").env_remove("HOLON_EXECUTION_NETWORK");
        }
        let ended = run.current_dir(&scene.top).output().expect("the binary starts");
        serde_json::from_slice(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
    };
    let changed = |report: &Value| {
        assert_eq!(report["changed_files"], json!(["README", "made"]), "{report}");
        fs::remove_file(scene.top.join("made")).expect("a file");
        git(&scene.top, &["-c", "filter.leak.clean=cat", "commit", "-qam", "more"]);
    };
    fs::write(scene.top.join("filter.sh"), scene.names_filter()).expect("a script");
    let named = told(&[command("sh filter.sh")]);
    scene.daemon.0.command(&["run", &named]).current_dir(&scene.top).output().expect("the binary starts");
    fs::remove_file(scene.top.join("filter.sh")).expect("a script");
    scene.ran_in_vain("the end of a run");
    git(&scene.top, &["-c", "filter.leak.clean=cat", "commit", "-qam", "more"]);
    changed(&reports(&["run"], "newer", true));
    scene.ran_in_vain("a run of its own");
    scene.daemon.start();
    scene.daemon.ok(&["agent", "create", "a", "--workspace-root", text(&scene.top)]);
    changed(&reports(&["run", "--agent", "a"], "later", false));
    scene.ran_in_vain("a run of the runtime's");
}
