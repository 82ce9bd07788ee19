//! What the end-to-end tests share: the real binary in a home of its own, and a real provider of models.

pub mod collector;
pub mod confined;
pub mod daemon;
pub mod durable;
pub mod editor_laws;
pub mod fences;
pub mod http;
pub mod https;
pub mod life;
pub mod lines;
pub mod load;
pub mod machine;
pub mod mounts;
pub mod obedient;
pub mod pictures;
pub mod provider;
pub mod strays;
pub mod task;
pub mod terminal;
pub mod tool_server;
pub mod trial;
pub mod user;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

static BINARY: OnceLock<PathBuf> = OnceLock::new();

/// Another binary is under test than the one that is built with the tests; to be said before anything else.
///
/// # Panics
/// When one was used already.
pub fn use_binary(path: PathBuf) {
    BINARY.set(path).expect("nobody used a binary yet");
}

/// The binary under test, built once per test process.
pub fn binary() -> &'static Path {
    BINARY.get_or_init(build)
}

/// Names a folder with binaries that are built already, for whoever may not build where the sources are, or has just done so.
/// What is not there is built.
const BINARIES: &str = "HOLON_TEST_BINARIES";

fn build() -> PathBuf {
    let built = std::env::var_os(BINARIES).map(|folder| PathBuf::from(folder).join("holon"));
    if let Some(built) = built.filter(|built| built.is_file()) {
        return built;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "-p", "holon", "--bin", "holon"]).current_dir(root);
    // What cargo tells this test of its own package makes build scripts of dependencies run again, and everything
    // after them.
    let own = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(own)) {
        cargo.env_remove(name);
    }
    assert!(cargo.status().expect("cargo runs").success(), "the binary builds");
    let tests = std::env::current_exe().expect("a test has a path");
    tests.ancestors().nth(2).expect("target/debug/deps").join("holon")
}

/// Tests that run under `nohup`, or in the background of a script, ignore signals, and their children would, too. What is
/// handled is no more ignored in a child; here nothing happens.
pub fn signals_as_in_a_terminal() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").expect("the process has a status");
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
        let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
        for signal in
            [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|it| ignored & (1 << (it - 1)) != 0)
        {
            flag::register(signal, Arc::default()).expect("a signal can be handled");
        }
    });
}

/// A home and a folder to work in, both temporary.
pub struct Holon {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Default for Holon {
    fn default() -> Self {
        Self::new()
    }
}

impl Holon {
    pub fn new() -> Self {
        Self::at(tempfile::tempdir().expect("a temporary folder"))
    }

    /// In no folder that everybody may write to: beside this program, or else in the home of whoever runs it.
    pub fn apart() -> Self {
        let program = std::env::current_exe().expect("a test has a path");
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let places = program.parent().map(Path::to_owned).into_iter().chain(home);
        let shared =
            |place: &PathBuf| ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|tmp| place.starts_with(tmp));
        let mut apart = places.filter_map(|place| place.canonicalize().ok()).filter(|place| !shared(place));
        let folder = apart.find_map(|place| tempfile::tempdir_in(place).ok());
        let folder = folder.expect("a place for tests that is not temporary: set HOME or CARGO_TARGET_DIR");
        Self::at(folder).with("TMPDIR", "/tmp")
    }

    fn at(folder: tempfile::TempDir) -> Self {
        signals_as_in_a_terminal();
        std::fs::create_dir(folder.path().join("work")).expect("a folder to work in");
        Self { folder, variables: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What a variable is for its commands.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let last = self.variables.iter().rev().find(|(known, _)| known == name);
        last.map(|(_, value)| value.as_str())
    }

    /// Where everything of this test is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file into the working folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.work().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    }

    /// Writes a scenario, and says how it is named as a model.
    pub fn scenario(&self, rounds: &Value) -> String {
        let path = self.folder.path().join("scenario.json");
        let scenario = serde_json::json!({ "version": 1, "name": "test", "rounds": rounds });
        std::fs::write(&path, scenario.to_string()).expect("a scenario can be written");
        format!("scripted/{}", path.display())
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("HOLON_HOME", self.home())
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("TZ", "UTC")
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().expect("the binary starts").into()
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // One that answers while it is asked may wait until its answers are read.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // A program that refuses early closes the pipe: that is its right.
                stdin.write_all(input).ok();
            });
            child.wait_with_output().expect("the binary ends").into()
        })
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the binary starts")
    }

    /// `holon ledger verify` and `replay` on a ledger must both be content.
    pub fn check_ledger(&self, path: &Path) {
        let path = path.display().to_string();
        for check in ["verify", "replay"] {
            let ended = self.run(&["ledger", check, &path]);
            assert_eq!(ended.code, Some(0), "ledger {check}: {ended:?}");
        }
    }

    /// The records of a ledger, as exported.
    pub fn records(&self, path: &Path) -> Vec<Value> {
        let ended = self.run(&["ledger", "export", &path.display().to_string()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

impl Drop for Holon {
    fn drop(&mut self) {
        // Commands outlive their runtime, not their test.
        strays::end(self.folder(), &self.home());
    }
}

impl Ended {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that it failed with this code, and that the error says each of these.
    pub fn refused(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for text in says {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// For what is about to happen, on a machine that does much else.
const ENOUGH: std::time::Duration = std::time::Duration::from_secs(90);

/// Waits for something that is about to happen.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while began.elapsed() < ENOUGH {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("within {} s there was no {what}", ENOUGH.as_secs());
}

/// Sends a signal to a child, by its name.
pub fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
}

/// How many records are of this type.
pub fn count(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["type"] == kind).count()
}

/// The payloads of the records of this type.
pub fn payloads<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).map(|record| &record["payload"]).collect()
}
