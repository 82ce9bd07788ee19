//! The tools that agents are offered: their names, argument types, and results (contract: tools.md).

pub mod arguments;
pub mod receipt;
pub mod schema;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arguments::{ApplyPatch, ExecCommand, ExecCommandBatch};
pub use receipt::{Details, Receipt, ToolError, ToolErrorKind, ToolFacts, Verdict};

/// A tool of the catalogue. The order of the variants is the order in which they are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Tool {
    ExecCommand,
    ExecCommandBatch,
    ApplyPatch,
}

impl Tool {
    pub const ALL: &'static [Self] = &[Self::ExecCommand, Self::ExecCommandBatch, Self::ApplyPatch];

    pub fn name(self) -> &'static str {
        match self {
            Self::ExecCommand => "ExecCommand",
            Self::ExecCommandBatch => "ExecCommandBatch",
            Self::ApplyPatch => "ApplyPatch",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// What the model is told about the tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::ExecCommand => {
                "Run a shell command in the execution root and wait for its end. Use it to inspect the \
                 repository (rg --files, rg -n, sed -n, head, tail), to build and to test."
            }
            Self::ExecCommandBatch => {
                "Run up to 12 shell commands one after the other, each in a shell of its own and with a result \
                 of its own. Use it for several short commands that don't need a look in between."
            }
            Self::ApplyPatch => {
                "Create, change, rename or delete files with one unified diff (---/+++ headers with paths \
                 relative to the execution root; /dev/null for a file that is created or deleted; git's \
                 rename and mode headers). All files of the patch change, or none does."
            }
        }
    }

    /// Judges a call before it is accepted. Arguments too large to come along are judged by the performer,
    /// with the same types.
    pub fn check(self, json: &str) -> Result<(), ToolError> {
        match self {
            Self::ExecCommand => arguments::parse::<ExecCommand>(json).map(drop),
            Self::ExecCommandBatch => arguments::parse::<ExecCommandBatch>(json).map(drop),
            Self::ApplyPatch => arguments::parse::<ApplyPatch>(json).map(drop),
        }
    }

    /// Whether it executes commands, each under a supervisor.
    pub fn is_command(self) -> bool {
        match self {
            Self::ExecCommand | Self::ExecCommandBatch => true,
            Self::ApplyPatch => false,
        }
    }
}

impl core::fmt::Display for Tool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of all tools, for an error that lists them.
pub fn names() -> String {
    let names: alloc::vec::Vec<_> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    names.join(", ")
}
