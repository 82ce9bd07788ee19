//! Checks of the whole ledger while the runtime works.

use std::time::Duration;

use holon_facts::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::word;

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerCheckKind {
    /// Hash links, texts, folds, snapshots and laws.
    Verify,
    /// Every decision that this build has recorded is made again and compared byte for byte.
    Replay,
}

/// Which check is to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckLedger {
    #[serde(deserialize_with = "word")]
    pub check: LedgerCheckKind,
}

/// How a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LedgerCheckState {
    Running,
    /// Everything is in order.
    Passed,
    /// Something is not in order, or can't be read.
    Failed,
    /// It took longer than a runtime lets a check take.
    Stopped,
}

/// One check, which begins with the ledger as it is at that moment.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerCheck {
    pub check: LedgerCheckKind,
    pub state: LedgerCheckState,
    pub started_at: Wall,
    pub ended_at: Option<Wall>,
    /// What was found in order, the first problem with its position, or why it was stopped.
    pub result: Option<String>,
}

/// A check that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerCheckReply {
    pub ok: bool,
    pub check: LedgerCheck,
}

/// How long to wait for the end of the check that runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerChecksQuery {
    /// Reply when no check runs, or after this many milliseconds; 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = Self::WAIT_MS))]
    pub wait_ms: Option<u32>,
}

impl LedgerChecksQuery {
    /// The longest wait.
    pub const WAIT_MS: u32 = 30_000;

    /// How long its reply may take.
    pub fn waits(&self) -> Duration {
        Duration::from_millis(self.wait_ms.unwrap_or(0).into())
    }
}

/// The newest check of each kind since the runtime began; at most one runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerChecks {
    pub ok: bool,
    pub checks: Vec<LedgerCheck>,
}
