//! `holon task list` and `holon task status`.

use std::fmt::Display;

use holon_api::{CommandSnapshot, Control, TaskLine, TaskSnapshot, TasksQuery};
use holon_facts::receipt::InputTarget;
use holon_text::moment::near;
use holon_text::{moment, time};

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::output::{self, Failure};
use super::{ListArgs, StatusArgs};
use holon_present as present;

pub(super) async fn list(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let query = TasksQuery { status: args.status, limit: Some(500) };
    let answer = cli.client.tasks(&agent, query).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    if answer.tasks.is_empty() {
        output::line(&format!("{agent} has no tasks"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["TASK", "STATUS", "KIND", "SINCE", "EXIT", "WHAT"];
    let rows = answer.tasks.iter().map(line);
    output::list(&heads, rows)?;
    Ok(Exit::Completed)
}

/// A task as the list has it.
fn line(task: &TaskLine) -> Vec<String> {
    vec![
        task.task_id.to_string(),
        task.status.to_string(),
        task.kind.to_string(),
        moment::relative(task.updated_at),
        task.exit_status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
        present::one_line(&task.summary),
    ]
}

pub(super) async fn status(cli: &ClientContext, args: StatusArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whose.agent.as_deref()).await?;
    let answer = cli.client.task((&agent, args.task)).await?;
    output::shown(&answer, args.json, || output::table(&rows(&answer.task)))
}

fn rows(task: &TaskSnapshot) -> Vec<Vec<String>> {
    let mut rows = vec![
        row("task", task.task_id),
        row("agent", &task.agent_id),
        row("status", format!("{} since {}", task.status, near(task.updated_at))),
        row("began", near(task.created_at)),
    ];
    if let Some(stop) = &task.stop {
        let force = match stop.escalated_at {
            None if stop.force => ", at once".to_owned(),
            None => String::new(),
            Some(at) => format!(", killed at {}", near(at)),
        };
        rows.push(row("stop", format!("by {} at {}{force}", stop.cause, near(stop.at))));
    }
    rows.extend(task.exit_status.map(|status| row("exit status", status)));
    rows.extend(task.duration_ms.map(|took| row("took", time::duration(took))));
    rows.extend(task.failure_artifact.as_ref().map(|failure| row("failed by", failure.summary.preview())));
    rows.extend(task.command.as_ref().map_or_else(|| of_child(task), of_command));
    rows.extend(task.result_message_id.map(|id| row("shown by", id)));
    rows
}

fn of_command(command: &CommandSnapshot) -> Vec<Vec<String>> {
    let input = command.input_target.map_or("none is taken", InputTarget::name);
    vec![
        row("command", &command.cmd),
        row("works in", &command.workdir),
        row("input", input),
        row("output", &command.output_path),
    ]
}

/// What is known of the child, as far as there is any.
fn of_child(task: &TaskSnapshot) -> Vec<Vec<String>> {
    let seen = task.child_observability.as_ref();
    let child = task.child_agent_id.as_ref().map(|child| row("child", child));
    let summary = Some(&task.summary).filter(|summary| !summary.is_empty());
    let rows = [
        child,
        summary.map(|summary| row("first prompt", summary)),
        seen.map(|it| row("phase", it.phase)),
        seen.and_then(|it| Some(row("blocked by", it.blocked_reason.as_ref()?))),
        seen.and_then(|it| Some(row("waits for", it.waiting_reason?))),
        seen.and_then(|it| Some(row("works on", it.work_summary.as_ref()?))),
        seen.and_then(|it| Some(row("progress", it.last_progress_brief.as_ref()?))),
        seen.and_then(|it| Some(row("reported", it.last_result_brief.as_ref()?))),
    ];
    rows.into_iter().flatten().collect()
}

fn row(name: &str, value: impl Display) -> Vec<String> {
    vec![name.to_owned(), present::whole_line(&value.to_string())]
}

#[cfg(test)]
mod tests {
    use holon_facts::Wall;
    use serde_json::{Value, json};

    use super::*;

    fn shown(of_end: Value) -> Vec<Vec<String>> {
        let mut task = json!({
            "task_id": "task_1", "agent_id": "main", "kind": "command_task", "status": "running",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
            "summary": "make", "wait_policy": "background",
        });
        task.as_object_mut().unwrap().extend(of_end.as_object().cloned().unwrap());
        rows(&serde_json::from_value(task).unwrap())
    }

    #[test]
    fn what_a_task_lacks_is_left_out() {
        let running = shown(json!({}));
        let absent = ["exit status", "took", "failed by", "stop"];
        assert!(!running.iter().any(|row| absent.contains(&&*row[0])), "{running:?}");
        let ended = shown(json!({
            "status": "cancelled", "exit_status": 143, "duration_ms": 1_500,
            "stop": { "cause": "operator", "force": true, "at": "2026-01-01T00:00:00Z" },
        }));
        let at = near(Wall::parse("2026-01-01T00:00:00Z").unwrap());
        let stop = ["stop", &*format!("by operator at {at}, at once")];
        for row in [["exit status", "143"], ["took", "1.5 s"], stop] {
            assert!(ended.contains(&row.map(ToOwned::to_owned).to_vec()), "{ended:?}");
        }
    }
}
