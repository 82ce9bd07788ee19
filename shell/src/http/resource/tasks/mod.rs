//! Background tasks: the list, one task, and what operators do to them.

mod ended;
pub(in super::super) mod output;
pub(in super::super) mod stream;

use holon_api::rows::{EndTask, FeedTask, ListTasks, ShowTask, StartTask};
use holon_api::{
    Code, Json, Optional, StopTask, TaskInputReply, TaskLine, TaskPath, TaskReply, TaskShown, TaskSnapshot,
    Tasks, WriteTask,
};
use holon_core::agent::task::Task;
use holon_core::{Answer as Answered, Input};
use holon_facts::call::{COMMAND_BYTES, INPUT_BYTES};
use holon_facts::ids::TaskId;
use holon_facts::{AgentId, Reject};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::control::unexpected;
use super::ingress::{key, keyed};
use super::look::{Looked, look};
use crate::tasks;

/// Tasks of one reply, where nothing else is asked for, and at most.
const LISTED: (u32, u32) = (100, 500);

pub(in super::super) async fn list(app: App, call: Call<ListTasks>) -> Handled<Tasks> {
    let limit = bounded("limit", call.query.limit, LISTED, 1)?;
    let wanted = call.query.status;
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        let known = &view.agent(agent)?.tasks;
        let shown = known.active().chain(known.ended());
        let mut lines: Vec<TaskLine> = shown
            .filter(|task| wanted.is_none_or(|status| task.status == status))
            .map(TaskLine::from)
            .collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.task_id));
        Some(lines)
    };
    let Looked { seen: mut tasks, .. } = look(&app, &call.path.agent_id, read).await?;
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok(Tasks { ok: true, tasks, more })
}

pub(in super::super) async fn show(app: App, call: Call<ShowTask>) -> Handled<TaskShown> {
    let TaskPath { agent_id: agent, task_id: id } = call.path;
    let task = known(&app, &agent, id).await?;
    Ok(TaskShown { ok: true, task: snapshot(&app, agent, task).await?.into() })
}

pub(in super::super) async fn run(app: App, call: Call<StartTask>) -> Handled<TaskReply> {
    let key = key(&call.from.headers)?;
    let (agent, Json(command)) = (call.path.agent_id, call.body);
    if command.cmd.trim().is_empty() {
        let failure = Failure::new(Code::InvalidBody, "cmd: there is nothing to execute");
        return Err(failure.detail("field", "cmd"));
    }
    sized("cmd", &command.cmd, COMMAND_BYTES)?;
    let arguments = serde_json::to_string(&command).map_err(Failure::internal)?;
    let arguments = app.runtime.texts().take(&arguments);
    let key = keyed(key, "task", &command)?;
    let named = agent.clone();
    let ask = move |reply| Input::RunTask { agent: named, arguments, key, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    reply(&app, agent, answered).await
}

/// Gets through whatever else waits.
pub(in super::super) async fn stop(app: App, call: Call<EndTask>) -> Handled<TaskReply> {
    let TaskPath { agent_id: agent, task_id: task } = call.path;
    let Optional(StopTask { force }) = call.body;
    let named = agent.clone();
    let ask = move |reply| Input::StopTask { agent: named, task, force, reply };
    let answered = app.runtime.ask_urgently(&agent, ask).await?;
    reply(&app, agent, answered).await
}

pub(in super::super) async fn input(app: App, call: Call<FeedTask>) -> Handled<TaskInputReply> {
    let TaskPath { agent_id: agent, task_id: task } = call.path;
    let Json(WriteTask { input }) = call.body;
    if input.is_empty() {
        let failure = Failure::new(Code::InvalidBody, "input: there is nothing to write");
        return Err(failure.detail("field", "input"));
    }
    sized("input", &input, INPUT_BYTES)?;
    let text = app.runtime.texts().take(&input);
    let named = agent.clone();
    let ask = move |reply| Input::WriteTask { agent: named, task, text, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    let Answered::TaskInput { task, input } = answered else { return Err(refused(&agent, answered)) };
    let result = tasks::input_result(&task, input);
    Ok(TaskInputReply { ok: true, agent_id: agent, result })
}

/// The task as it is now.
async fn known(app: &App, agent: &AgentId, id: TaskId) -> Handled<Task> {
    let read = move |view: holon_core::view::View<'_>, agent: &AgentId| {
        Some(view.agent(agent)?.tasks.get(id).cloned())
    };
    let Looked { seen, .. } = look(app, agent, read).await?;
    seen.ok_or_else(|| unknown(agent, id))
}

/// With its command whole, which may have to be read from the ledger, or with how its child stands now.
async fn snapshot(app: &App, agent: AgentId, task: Task) -> Handled<TaskSnapshot> {
    let child_observability = if task.child().is_some() {
        let of = task.clone();
        let read = move |view: holon_core::view::View<'_>, _: &AgentId| Some(view.observed_by(&of));
        look(app, &agent, read).await?.seen
    } else {
        None
    };
    app.blocking(move |app| {
        let whole = tasks::snapshot(app.runtime.texts(), &agent, &task, usize::MAX);
        Ok(TaskSnapshot { child_observability, ..whole })
    })
    .await
}

async fn reply(app: &App, agent: AgentId, answered: Answered) -> Handled<TaskReply> {
    let Answered::Task { task, changed } = answered else { return Err(refused(&agent, answered)) };
    let task = snapshot(app, agent.clone(), *task).await?;
    Ok(TaskReply { ok: true, agent_id: agent, changed, task: task.into() })
}

/// Whose task it was, the core leaves to whoever asked.
fn refused(agent: &AgentId, answer: Answered) -> Box<Failure> {
    if let Answered::Refused { reject: Reject::UnknownTask { task } } = answer {
        return unknown(agent, task);
    }
    unexpected(answer)
}

fn unknown(agent: &AgentId, task: TaskId) -> Box<Failure> {
    let failure: Box<Failure> = Reject::UnknownTask { task }.into();
    failure.hint(format!("holon task list --agent {agent}")).detail("agent_id", agent.as_str())
}

fn sized(field: &str, text: &str, limit: usize) -> Handled<()> {
    if text.len() <= limit {
        return Ok(());
    }
    let said = format!("{field}: {} bytes are more than the limit of {limit}", text.len());
    Err(Failure::new(Code::TooLarge, said)
        .hint("write it to a file, and let the command read that")
        .detail("field", field)
        .detail("bytes", text.len())
        .detail("limit", limit))
}
