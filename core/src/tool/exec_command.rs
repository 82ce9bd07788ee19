//! A command.

use alloc::string::String;

use holon_facts::call::DuplicatePolicy;
use holon_facts::receipt::{ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{self, yes};
use super::{BuiltIn, Tool};

/// Run a command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecCommand {
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
    /// Whether the command gets a terminal; its output is then one stream.
    #[serde(default)]
    pub tty: bool,
    /// Whether input may be written to the command while it runs; as with a terminal when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts_input: Option<bool>,
    /// What happens when the same command is running already.
    #[serde(default)]
    pub duplicate_policy: DuplicatePolicy,
    /// How long to wait for the end of the command, in milliseconds; past it the command goes on as a
    /// background task.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Bound on the output that is shown, in estimated tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

impl BuiltIn for ExecCommand {
    const DESCRIPTION: &'static str = "\
        Run a shell command in the execution root. One that takes longer than yield_time_ms goes on as a \
        background task: you get its task_id, and its result comes as a message when it ends. Use it to \
        inspect the repository (rg --files, rg -n, sed -n, head, tail), to build and to test.";

    fn check(&self) -> Result<(), ToolError> {
        check::command("cmd", &self.cmd)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::Accepted(Tool::ExecCommand.into()))
    }
}

impl ExecCommand {
    /// Whether input may be written to the command while it runs: with a terminal, unless it says otherwise.
    pub fn takes_input(&self) -> bool {
        self.accepts_input.unwrap_or(self.tty)
    }
}

pub(super) fn default_yield() -> u64 {
    10_000
}
