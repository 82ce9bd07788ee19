//! The output of a task: a preview, at once or when the task has ended.

use std::time::Duration;

use holon_api::rows::ReadOutput;
use holon_api::{OutputQuery, TaskOutputResult, TaskPath};
use holon_core::agent::task::Task;
use holon_core::effect::Retrieval;
use holon_facts::AgentId;
use holon_facts::ids::TaskId;
use holon_supervise::output_log;

use super::super::super::App;
use super::super::super::route::{Call, Handled};
use super::super::agents::bounded;
use super::ended::Watch;
use super::known;
use crate::runtime::Unavailable;
use crate::tasks::{self, OutputRequest};

/// Characters of a preview, where nothing else is asked for, and at most.
const PREVIEW: (u32, u32) = (8_000, output_log::PREVIEW as u32);

pub(in super::super::super) async fn output(app: App, call: Call<ReadOutput>) -> Handled<TaskOutputResult> {
    let TaskPath { agent_id: agent, task_id: id } = call.path;
    let wait = bounded("timeout_ms", call.query.timeout_ms, OutputQuery::WAIT_MS, 0)?;
    let characters = bounded("characters", call.query.characters, PREVIEW, 0)?;
    let (task, retrieval) = if call.query.block.unwrap_or(true) {
        ended(&app, &agent, id, Duration::from_millis(wait as u64)).await?
    } else {
        let task = known(&app, &agent, id).await?;
        let ended = task.status.is_terminal();
        (task, if ended { Retrieval::Success } else { Retrieval::NotReady })
    };
    app.blocking(move |app| {
        let log = tasks::log(&app.home.agent(&agent), id);
        let wanted = OutputRequest { retrieval, characters };
        Ok(tasks::output(app.runtime.texts(), &agent, &task, &log, wanted))
    })
    .await
}

/// Waits for the end of the task, or so long.
async fn ended(app: &App, agent: &AgentId, id: TaskId, wait: Duration) -> Handled<(Task, Retrieval)> {
    let mut watch = Watch::begin(app, agent, id).await?;
    let task = known(app, agent, id).await?;
    if task.status.is_terminal() {
        return Ok((task, Retrieval::Success));
    }
    tokio::select! {
        biased;
        () = app.shutdown.asked() => return Err(Unavailable::Leaving.into()),
        ended = watch.ended() => ended?,
        () = tokio::time::sleep(wait) => {}
    }
    // Looked at once more: the end may have come with the last moment.
    let task = known(app, agent, id).await?;
    let retrieval = if task.status.is_terminal() { Retrieval::Success } else { Retrieval::Timeout };
    Ok((task, retrieval))
}
