//! A home with a runtime in the background, which ends with its test.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::provider::Provider;
use crate::{Ended, Holon};

/// A home whose commands go to a daemon of its own.
pub struct Daemon(pub Holon);

impl Daemon {
    /// Not started yet; models are asked at this provider.
    pub fn new(provider: &Provider) -> Self {
        Self::asking(Holon::new(), provider)
    }

    /// The same with confined commands, in a place that those can't write to because everybody can.
    pub fn confined(provider: &Provider, network: &str) -> Self {
        let holon = Holon::apart().with("HOLON_EXECUTION_PROFILE", "confined");
        Self::asking(holon.with("HOLON_EXECUTION_NETWORK", network), provider)
    }

    /// The same in that home.
    pub fn asking(holon: Holon, provider: &Provider) -> Self {
        Self::of(holon.with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url))
    }

    /// Not started yet, with the scripted model that says hello.
    pub fn hello() -> Self {
        Self::hello_with(&[])
    }

    /// The same with more variables.
    pub fn hello_with(variables: &[(&str, &str)]) -> Self {
        let holon = Holon::new().with("HOLON_MODEL", "scripted/hello");
        Self::of(variables.iter().fold(holon, |holon, (name, value)| holon.with(name, value)))
    }

    /// Not started yet, with a scripted model that says these rounds in every turn.
    pub fn scripted(rounds: &Value) -> Self {
        let holon = Holon::new();
        let model = holon.scenario(rounds);
        Self::of(holon.with("HOLON_MODEL", &model))
    }

    fn of(holon: Holon) -> Self {
        Self(holon.with("HOLON_HTTP_ADDR", "127.0.0.1:0"))
    }

    /// Runs a command that must succeed.
    pub fn ok(&self, arguments: &[&str]) -> Ended {
        let ended = self.0.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended
    }

    /// How many of the last 512 events are of a type.
    pub fn events_of(&self, kind: &str) -> usize {
        let events = self.ok(&["tail", "--events", "512", "--json"]).stdout;
        let kind = format!(r#""type":"{kind}""#);
        events.lines().filter(|line| line.contains(&kind)).count()
    }

    pub fn start(&self) -> u64 {
        let started = self.ok(&["daemon", "start", "--json"]).json();
        started["pid"].as_u64().unwrap_or_else(|| panic!("{started}"))
    }

    pub fn run_file(&self, name: &str) -> PathBuf {
        self.0.home().join("run").join(name)
    }

    /// What the runtime says of itself; none while it is not ready.
    pub fn metadata(&self) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.run_file("daemon.json")).ok()?).ok()
    }

    /// Sends a signal to the runtime.
    pub fn signal(&self, name: &str) {
        let pid = self.metadata().expect("a runtime that is ready")["pid"].to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Kills the runtime, and waits until nobody has the home.
    pub fn kill(&self) {
        self.signal("KILL");
        crate::wait_for("end of the runtime", || {
            self.0.run(&["daemon", "status", "--json"]).json()["state"] == "not_running"
        });
    }

    pub fn ledger(&self) -> PathBuf {
        self.0.home().join("ledger.sqlite3")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind; one that stopped it has nothing to stop.
        if self.0.home().exists() {
            self.0.run(&["daemon", "stop", "--wait", "20"]);
        }
    }
}
