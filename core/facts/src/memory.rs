//! What an agent has in mind from one turn to the next, from facts alone (contract: context.md, Working memory).

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::ids::{MessageId, TurnIndex, WorkItemId};
use crate::time::Wall;
use crate::work::PlanStatus;

/// Files in play that are kept.
pub const FILES: usize = 8;
/// Bytes of a path, a command or a step.
pub const LINE_BYTES: usize = 200;
/// Decisions that are kept.
pub const DECISIONS: usize = 4;
/// Waits that are kept.
pub const WAITS: usize = 4;
/// Open steps that are kept.
pub const FOLLOW_UPS: usize = 6;

/// As a turn left it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkingMemory {
    /// The item in focus.
    pub work_item_id: Option<WorkItemId>,
    /// At most 200 bytes of it.
    pub objective: Option<String>,
    pub plan_status: Option<PlanStatus>,
    /// Files that were changed while that item was in focus, the newest last; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The last command that builds, checks or tests, and how it ended, while that item was in focus.
    pub verification: Option<Verification>,
    /// What the agent waits for, in its own words; at most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
    /// What the operator answered while something was asked of them, the newest last; at most 4.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
    /// Open steps of the item in focus; at most 6.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
}

/// A command that shows whether the work is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// At most 200 bytes of it.
    pub command: String,
    pub exit_status: i32,
    pub turn_index: TurnIndex,
}

/// An operator's message that came while an ask was open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    pub message_id: MessageId,
    pub at: Wall,
    pub text: Text,
}

impl WorkingMemory {
    /// Every text that it names.
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        self.decisions.iter().for_each(|decision| visit(&decision.text));
    }
}

impl Verification {
    /// Words of a command that builds, checks or tests something.
    const WORDS: [&'static str; 9] =
        ["build", "check", "clippy", "ctest", "lint", "pytest", "test", "tests", "tsc"];

    /// Whether a command is one: one of its words says so.
    pub fn is_one(command: &str) -> bool {
        let words = command.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.into_iter().any(|word| Self::WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_verifies_where_one_of_its_words_says_so() {
        for command in
            ["cargo test -p core", "make check", "npm run build:web", "./Lint.sh", "python -m pytest"]
        {
            assert!(Verification::is_one(command), "{command}");
        }
        for command in ["ls", "git checkout main", "cat latest.txt", "echo attestation", ""] {
            assert!(!Verification::is_one(command), "{command}");
        }
    }
}
