//! Calls about tasks: what the core has decided of them is rendered, read from a log, or written to a command.

use holon_api::{TaskLine, TaskSnapshot};
use holon_core::agent::task::Task;
use holon_core::effect::{InputSource, Retrieval, TaskWork};
use holon_core::tool::{TaskInput, arguments};
use holon_facts::ids::TaskId;
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{InputReceipt, Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::{AgentId, OpId};
use holon_platform::clock;
use holon_supervise::output_log;
use holon_text::Texts;
use serde_json::{Value, json};

use super::Settings;
use super::tool::Commands;
use crate::tasks::{self, OutputRequest};

/// Characters of output that a call is shown (contract: tools.md).
const PREVIEW: usize = 8_000;
const CHARACTERS_PER_TOKEN: u64 = 4;

/// What they work with.
pub(super) struct Here<'a> {
    pub(super) texts: &'a Texts,
    pub(super) settings: &'a Settings,
    pub(super) commands: &'a Commands,
    pub(super) agent: &'a AgentId,
}

/// Does it; ends in a receipt, whatever happens.
pub(super) async fn perform(here: &Here<'_>, work: TaskWork) -> ToolOutcome {
    let started = clock::now();
    let receipt = match work {
        TaskWork::Input { task, op, source } => input(here, &task, op, source).await,
        TaskWork::Promote { task, output_tokens, tty } => {
            here.shows(&promoted(here, task, output_tokens, tty))
        }
        TaskWork::AlreadyRunning { task } => {
            let snapshot = here.snapshot(&task);
            here.shows(&json!({
                "disposition": "already_running",
                "task_handle": handle(task.id),
                "command": snapshot.command,
                "summary": "an equal command runs already: look at it with TaskStatus and TaskOutput",
            }))
        }
        TaskWork::Output { task, retrieval } => output(here, &task, retrieval),
        TaskWork::Stop { task, changed } => here.shows(&json!({
            "task": TaskLine::from(&*task),
            "changed": changed,
            "force": task.stop.as_ref().is_some_and(|stop| stop.force),
        })),
    };
    ToolOutcome { receipt, duration_ms: clock::since(started), end: None }
}

impl Here<'_> {
    fn shows(&self, json: &Value) -> Receipt {
        Receipt::success(self.texts.take(&json.to_string()), ToolFacts::default())
    }

    fn snapshot(&self, task: &Task) -> TaskSnapshot {
        tasks::snapshot(self.texts, self.agent, task, tasks::COMMAND)
    }

    fn log(&self, task: TaskId) -> std::path::PathBuf {
        tasks::log(&self.settings.agent_home(self.agent), task)
    }
}

/// The same as for a call that has waited long enough, after a start.
pub(super) fn written_so_far(here: &Here<'_>, task: TaskId, tty: bool) -> Receipt {
    here.shows(&promoted(here, task, here.settings.commands.default_tokens, tty))
}

fn handle(task: TaskId) -> Value {
    json!({ "task_id": task, "status": "running" })
}

/// A log that can't be read costs its call the preview, and nothing else.
fn promoted(here: &Here<'_>, task: TaskId, output_tokens: u64, tty: bool) -> Value {
    let tokens = output_tokens.saturating_mul(CHARACTERS_PER_TOKEN);
    let characters = usize::try_from(tokens).unwrap_or(PREVIEW).min(PREVIEW);
    let read = output_log::preview(here.texts, &here.log(task), characters, false);
    let (text, truncated) = read.map_or_else(
        |problem| (format!("[the output can't be read: {problem}]"), true),
        |read| {
            let truncated = read.truncated;
            (read.shown(tty), truncated)
        },
    );
    let mut shown = json!({
        "disposition": "promoted_to_task",
        "task_handle": handle(task),
        "initial_output_preview": text,
        "initial_output_truncated": truncated,
    });
    if truncated {
        shown["artifacts"] = json!([{ "path": here.log(task).display().to_string() }]);
    }
    shown
}

fn output(here: &Here<'_>, task: &Task, retrieval: Retrieval) -> Receipt {
    let wanted = OutputRequest { retrieval, characters: PREVIEW };
    let result = tasks::output(here.texts, here.agent, task, &here.log(task.id), wanted);
    let exit_status = result.task.exit_status;
    let truncated = result.task.output_truncated;
    let content = here.texts.take(&serde_json::to_string(&result).unwrap_or_default());
    Receipt::success(content, ToolFacts { exit_status, truncated, ..ToolFacts::default() })
}

async fn input(here: &Here<'_>, task: &Task, op: Option<OpId>, source: InputSource) -> Receipt {
    let (input, new) = match source {
        InputSource::Letter { input } => (input, false),
        InputSource::Text { .. } | InputSource::Call { .. } => {
            let text = match text(here.texts, source) {
                Ok(text) => text,
                Err(error) => return Receipt::failure(error),
            };
            let input = match task.refuses_input() {
                Some(problem) => InputReceipt { problem: Some(problem.into()), ..InputReceipt::default() },
                None => here.commands.write(here.agent, op, task, text).await,
            };
            (input, true)
        }
    };
    let result = tasks::input_result(task, input.clone());
    let content = here.texts.take(&serde_json::to_string(&result).unwrap_or_default());
    // What is on its way to a child is on record already.
    Receipt::success(content, ToolFacts { input: new.then_some(input), ..ToolFacts::default() })
}

fn text(texts: &Texts, source: InputSource) -> Result<String, ToolError> {
    let unreadable =
        |problem| ToolError::new(ToolErrorKind::ToolExecutionFailed, format!("the input: {problem}"));
    match source {
        InputSource::Letter { .. } => Ok(String::new()),
        InputSource::Text { text } => Ok(texts.resolve(&text).map_err(unreadable)?.to_string()),
        InputSource::Call { arguments } => {
            let json = texts.resolve(&arguments).map_err(unreadable)?;
            arguments::parse::<TaskInput>(&json).map(|asked| asked.input)
        }
    }
}
