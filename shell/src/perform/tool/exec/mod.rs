//! `ExecCommand` in the foreground: runs one command to its end, or kills it (contract: tasks.md, tools.md).
//!
//! The command leads a process group of its own, with `/dev/null` as its input. Past `yield_time_ms` the
//! whole group is killed and the call is `command_timed_out`. After the command has ended, its pipes are read
//! for at most two seconds more, then what is left of its group is killed: nothing runs on in the
//! background. Equal results are equal bytes: nothing in them varies from run to run.

mod environment;
mod output;
mod process;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use holon_core::AgentId;
use holon_core::effect::ToolCall;
use holon_core::tool::{ExecCommand, ToolErrorKind, ToolFacts, arguments};
use serde::Serialize;

pub use environment::CommandEnvironment;

use super::root::Root;
use super::{Refusal, Success};
use output::Capture;
use process::{End, Run};

const DEFAULT_TOKENS: u64 = 8_000;
const MAX_TOKENS: u64 = 64_000;
const MIN_TOKENS: u64 = 64;
const CHARACTERS_PER_TOKEN: u64 = 4;

/// What the model reads of a command that ended.
#[derive(Serialize)]
struct Completed<'a> {
    disposition: &'static str,
    exit_status: i32,
    stdout_preview: String,
    stderr_preview: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

pub(super) async fn run(
    environment: &CommandEnvironment,
    agent: &AgentId,
    agent_home: &Path,
    call: &ToolCall,
    arguments: &str,
) -> Result<Success, Refusal> {
    let asked: ExecCommand = arguments::parse(arguments)?;
    let root = Root::open(&call.execution.execution_root)?;
    let folder = root.folder(&call.execution.cwd, asked.workdir.as_deref())?;
    let shell = environment.shell(asked.shell.as_deref())?;
    let mut command = tokio::process::Command::new(&shell);
    command
        .arg(if asked.login { "-lc" } else { "-c" })
        .arg(&asked.cmd)
        .current_dir(&folder)
        .env_clear()
        .envs(environment.variables())
        .env("HOLON_RUNTIME", "1")
        .env("HOLON_AGENT_ID", agent.as_str())
        .env("HOLON_AGENT_HOME", agent_home);
    let window = asked.yield_time_ms.min(call.timeout.0);
    let run = process::run(command, Duration::from_millis(window)).await.map_err(|problem| {
        let message = format!("{} can't be started in {}: {problem}", shell.display(), folder.display());
        Refusal::new(ToolErrorKind::CommandSpawnFailed, message)
    })?;
    let tokens = asked.max_output_tokens.unwrap_or(DEFAULT_TOKENS).clamp(MIN_TOKENS, MAX_TOKENS);
    let tokens = tokens.min(call.output_tokens);
    let budget = usize::try_from(tokens * CHARACTERS_PER_TOKEN).unwrap_or(usize::MAX);
    match run.end {
        End::Exited(exit_status) => Ok(completed(&run, exit_status, budget)),
        End::TimedOut => Err(timed_out(&run, window, asked.yield_time_ms, budget)),
    }
}

fn completed(run: &Run, exit_status: i32, budget: usize) -> Success {
    let (stdout, stderr) = output::share(&run.stdout, &run.stderr, budget);
    let truncated = stdout.truncated || stderr.truncated;
    let note = run.held_open.then_some(
        "processes that the command left in the background still held its output; its process group was ended",
    );
    let result = Completed {
        disposition: "completed",
        exit_status,
        stdout_preview: stdout.text,
        stderr_preview: stderr.text,
        truncated,
        note,
    };
    let content = serde_json::to_string(&result).unwrap_or_default();
    let facts = ToolFacts { exit_status: Some(exit_status), truncated, changed_files: Vec::new() };
    Success { content, facts }
}

fn timed_out(run: &Run, window: u64, asked: u64, budget: usize) -> Refusal {
    let (stdout, stderr) = output::share(&run.stdout, &run.stderr, budget);
    let mut message =
        format!("the command did not end within {window} ms; it was killed with its whole process group");
    for (name, shown, capture) in [("stdout", stdout, &run.stdout), ("stderr", stderr, &run.stderr)] {
        if !capture.is_empty() {
            message.push_str(&format!("\n{name} so far:\n{}", shown.text));
        }
    }
    let hint = if asked > window {
        format!("{window} ms is the most that a call may take here; split the work into shorter commands")
    } else {
        "raise yield_time_ms if it needs longer, or start less; what it did until then stays done".to_owned()
    };
    Refusal::new(ToolErrorKind::CommandTimedOut, message).hint(hint).field("yield_time_ms")
}
