//! Background tasks as agents and operators see them (contract: tasks.md, Projections): how the shapes of `holon_api` are
//! filled for the results of tools and over HTTP.

mod output;
mod partial;

use std::path::{Path, PathBuf};

use holon_api::{CommandSnapshot, TaskInputResult, TaskSnapshot};
use holon_core::agent::task::Task;
use holon_core::summary::supervision::ChildSupervision;
use holon_facts::AgentId;
use holon_facts::ids::TaskId;
use holon_facts::outcome::CommandSpec;
use holon_facts::receipt::InputReceipt;
use holon_text::Texts;

use holon_present as present;

pub use output::{OutputRequest, output};
pub(crate) use partial::PartialOutput;

/// Characters of a command that a call is shown.
pub(crate) const COMMAND: usize = 4_000;

/// A task, its command whole unless that is longer than `characters`.
pub fn snapshot(texts: &Texts, agent: &AgentId, task: &Task, characters: usize) -> TaskSnapshot {
    let end = task.end.as_ref();
    TaskSnapshot {
        task_id: task.id,
        agent_id: agent.clone(),
        kind: task.kind,
        status: task.status,
        created_at: task.created_at,
        updated_at: task.updated_at,
        parent_message_id: task.parent_message_id,
        summary: task.summary.clone(),
        wait_policy: task.wait_policy,
        command: task.command().map(|command| command_snapshot(texts, command, characters)),
        child_agent_id: task.child().map(|child| child.child_agent_id.clone()),
        child_supervision: ChildSupervision::of(agent, task),
        child_observability: None,
        stop: task.stop.clone(),
        exit_status: end.and_then(|end| end.exit_status),
        duration_ms: end.and_then(|end| end.duration_ms),
        failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
        result_message_id: end.and_then(|end| end.delivered_by),
    }
}

fn command_snapshot(texts: &Texts, command: &CommandSpec, characters: usize) -> CommandSnapshot {
    let whole = texts.resolve(&command.cmd);
    let cmd = whole.map_or_else(|_| command.cmd.preview().to_owned(), |whole| whole.to_string());
    CommandSnapshot {
        cmd: holon_facts::content::clip_middle(&cmd, characters),
        cmd_digest: command.cmd_digest,
        workdir: command.workdir.clone(),
        shell: command.shell.clone(),
        login: command.login,
        tty: command.tty,
        accepts_input: command.accepts_input,
        input_target: command.input_target(),
        terminal_reentry: true,
        output_path: command.output_path.clone(),
    }
}

/// What became of text for a task.
pub fn input_result(task: &Task, input: InputReceipt) -> TaskInputResult {
    let summary_text = match (&input.problem, input.accepted_input) {
        (Some(problem), _) => format!("{} written: {problem}", present::bytes(input.bytes_written)),
        (None, true) => format!("{} written", present::bytes(input.bytes_written)),
        (None, false) => "nothing was written".to_owned(),
    };
    TaskInputResult { task: task.into(), input, summary_text }
}

/// Where the output of an agent's task goes.
pub fn log(agent_home: &Path, task: TaskId) -> PathBuf {
    outputs(agent_home).join(format!("{task}.log"))
}

/// Where the output of an agent's commands is kept.
pub fn outputs(agent_home: &Path) -> PathBuf {
    agent_home.join("task-output")
}
