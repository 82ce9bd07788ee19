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
    /// As typed into a shell.
    pub cmd: String,
    /// Relative to the current folder.
    pub workdir: Option<String>,
    /// Default: bash, else sh.
    pub shell: Option<String>,
    /// Use a login shell.
    #[serde(default = "yes")]
    pub login: bool,
    /// Run in a terminal.
    #[serde(default)]
    pub tty: bool,
    /// Keep stdin open for TaskInput; default: as tty.
    pub accepts_input: Option<bool>,
    /// When an equal command runs already.
    #[serde(default)]
    pub duplicate_policy: DuplicatePolicy,
    /// How long to wait for its end.
    #[serde(default = "default_yield")]
    pub yield_time_ms: u64,
    /// Limit of the output shown.
    pub max_output_tokens: Option<u64>,
}

impl BuiltIn for ExecCommand {
    const DESCRIPTION: &'static str = "\
        Run a shell command in the execution root, to search, read, build and test; it returns the exit status and \
        the output. A command that runs longer than yield_time_ms goes on as a background task, whose result \
        comes as a message. Start a server or a watcher as a command of its own with a short yield_time_ms: what \
        is left behind with & or nohup ends with its command. Change files with ApplyPatch instead.";

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
