//! Several commands in a row.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::call::COMMAND_BYTES;
use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{self, invalid, yes};
use super::exec_command::default_yield;
use super::{BuiltIn, Tool};

/// Most commands of one batch.
const BATCH_ITEMS: usize = 12;

/// Run several commands, one after the other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommandBatch {
    /// The commands, in order.
    #[schemars(length(min = 1, max = 12))]
    pub items: Vec<BatchItem>,
    /// Whether the first command that fails is the last one that is run.
    #[serde(default)]
    pub stop_on_error: bool,
}

impl BuiltIn for ExecCommandBatch {
    const DESCRIPTION: &'static str = "\
        Run up to 12 shell commands one after the other, each in a shell of its own and with a result \
        of its own. Use it for several short commands that don't need a look in between.";

    fn check(&self) -> Result<(), ToolError> {
        if self.items.is_empty() || self.items.len() > BATCH_ITEMS {
            let problem = format!("has {} commands, expected 1 to {BATCH_ITEMS}", self.items.len());
            return Err(invalid("items", &problem, "make several calls"));
        }
        let total: usize = self.items.iter().map(|item| item.cmd.len()).sum();
        if total > COMMAND_BYTES {
            let problem = format!("has {total} bytes of commands, the limit is {COMMAND_BYTES}");
            return Err(invalid("items", &problem, "make several calls"));
        }
        let mut commands = self.items.iter().enumerate();
        commands.try_for_each(|(at, item)| check::command(&format!("items[{at}].cmd"), &item.cmd))
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::ExecCommandBatch.into()))
    }
}

/// One command of a batch: without a terminal and without input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchItem {
    /// The command, as one would type it into a shell.
    pub cmd: String,
    /// Folder to run in, relative to the current folder and inside the execution root; the current folder
    /// when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Shell to run it with; `bash` when omitted, `sh` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether the shell is a login shell.
    #[serde(default = "yes")]
    pub login: bool,
    /// How long to wait for the end of the command, in milliseconds; past it the command is ended.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Bound on the output that is shown of this command, in estimated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}
