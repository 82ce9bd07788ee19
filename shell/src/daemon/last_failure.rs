//! `run/last_failure.json`: why the runtime could not start or end, for whoever looks later. A start that
//! succeeds, and a stop, take it away.

use std::io;
use std::path::PathBuf;

use holon_facts::Wall;
use holon_platform::clock;
use serde::{Deserialize, Serialize};

use super::private;
use crate::home::Home;

/// When in its life a runtime failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Startup,
    Shutdown,
    RuntimeTurn,
    /// One that a newer version knows.
    #[serde(other)]
    Unknown,
}

/// A failure, in short.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    pub occurred_at: Wall,
    pub summary: String,
    pub phase: Phase,
    pub detail_hint: Option<String>,
    /// The exit code that the process ended with, where it ended with one.
    pub exit_code: Option<u8>,
    /// The process that failed.
    pub pid: Option<u32>,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Shutdown => "shutdown",
            Self::RuntimeTurn => "runtime_turn",
            Self::Unknown => "unknown",
        }
    }
}

impl LastFailure {
    /// A failure of this process, now.
    pub fn now(phase: Phase, summary: String, detail_hint: Option<String>) -> Self {
        let pid = Some(std::process::id());
        Self { occurred_at: clock::now().wall, summary, phase, detail_hint, exit_code: None, pid }
    }

    pub fn path(home: &Home) -> PathBuf {
        home.run_file("last_failure.json")
    }

    /// The last one; none when there was none since the last success, or nobody can read it.
    pub fn read(home: &Home) -> Option<Self> {
        private::read(&Self::path(home)).ok().flatten()
    }

    /// # Errors
    /// The folder can't be written to.
    pub fn write(&self, home: &Home) -> io::Result<()> {
        private::write(&Self::path(home), self)
    }

    /// # Errors
    /// The folder can't be written to.
    pub fn clear(home: &Home) -> io::Result<()> {
        private::remove(&Self::path(home))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_kept_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.create().unwrap();
        let failure = LastFailure::now(Phase::Shutdown, "no".to_owned(), None);
        failure.write(&home).unwrap();
        assert_eq!(LastFailure::read(&home), Some(failure));
        let newer = r#"{"occurred_at":"2026-01-01T00:00:00Z","summary":"s","phase":"odd","more":1}"#;
        std::fs::write(LastFailure::path(&home), newer).unwrap();
        assert_eq!(LastFailure::read(&home).unwrap().phase, Phase::Unknown);
        LastFailure::clear(&home).unwrap();
        assert_eq!(LastFailure::read(&home), None);
    }
}
