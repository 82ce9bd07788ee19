//! How much is shown.

use serde::Serialize;

/// From which level on a presentation is shown, the most operator-facing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The agent waits for its operator.
    ActionRequired,
    WorkDone,
    Info,
    Verbose,
    Debug,
    /// At no level: for engineers, who read events.
    Trace,
}

/// What a surface shows: everything up to a visibility. The numbers are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Messages, results and what needs the operator.
    Info,
    /// The steps of each turn, too.
    Verbose,
    /// How the runtime works, too.
    Debug,
}

impl Level {
    pub fn shows(self, visibility: Visibility) -> bool {
        let last = match self {
            Self::Info => Visibility::Info,
            Self::Verbose => Visibility::Verbose,
            Self::Debug => Visibility::Debug,
        };
        visibility <= last
    }
}
