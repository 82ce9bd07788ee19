//! Several commands in a row.

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
    /// Fields as in ExecCommand.
    #[schemars(length(min = 1, max = 12))]
    pub items: Vec<BatchItem>,
    /// Skip the rest after a command that fails.
    #[serde(default)]
    pub stop_on_error: bool,
}

impl BuiltIn for ExecCommandBatch {
    const DESCRIPTION: &'static str = "\
        Run up to 12 short shell commands in order, each in its own shell with its own result: use it when no \
        command depends on reading the result before. A command that runs longer than its yield_time_ms is killed. \
        Example: {\"items\":[{\"cmd\":\"git status --short\"},{\"cmd\":\"ls\",\"workdir\":\"src\"}]}";

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

// One command of a batch: without a terminal and without input. Its fields are those of ExecCommand, which describes them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchItem {
    pub cmd: String,
    pub workdir: Option<String>,
    pub shell: Option<String>,
    #[serde(default = "yes")]
    pub login: bool,
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    pub max_output_tokens: Option<u64>,
}
