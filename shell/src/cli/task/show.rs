//! `holon task list` and `holon task status`.

use holon_core::Millis;
use holon_text::time;
use serde_json::Value;

use super::super::exit::Exit;
use super::super::output::{self, Failure};
use super::super::through::{Through, incomplete, number, text};
use super::{ListArgs, StatusArgs};
use crate::client::Ask;
use crate::present;

pub(super) async fn list(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let query = [("status", args.status), ("limit", Some("500".to_owned()))];
    let answer = through.client.ask(&Ask::get(&format!("/agents/{agent}/tasks"), &query)).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let tasks = answer.get("tasks").and_then(Value::as_array).ok_or_else(|| incomplete("tasks"))?;
    if tasks.is_empty() {
        output::line(&format!("{agent} has no tasks"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["TASK", "STATUS", "KIND", "SINCE", "EXIT", "WHAT"];
    let mut rows = vec![heads.map(ToOwned::to_owned).to_vec()];
    rows.extend(tasks.iter().map(line));
    output::table(&rows)?;
    Ok(Exit::Completed)
}

/// A task as the list has it; a child with its name.
fn line(task: &Value) -> Vec<String> {
    let kind = [text(task, "/kind"), text(task, "/child_agent_id")].join(" ");
    vec![
        text(task, "/task_id").to_owned(),
        text(task, "/status").to_owned(),
        kind.trim_end().to_owned(),
        second(text(task, "/updated_at")),
        exit_status(task).unwrap_or_else(|| "-".to_owned()),
        present::one_line(text(task, "/summary")),
    ]
}

pub(super) async fn status(through: &Through, args: StatusArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let path = format!("/agents/{agent}/tasks/{}", args.task);
    let answer = through.client.ask(&Ask::get(&path, &[])).await?;
    let task = answer.get("task").ok_or_else(|| incomplete("task"))?;
    if args.json {
        output::document(&answer)?;
    } else {
        output::table(&rows(task))?;
    }
    Ok(Exit::Completed)
}

fn rows(task: &Value) -> Vec<Vec<String>> {
    let row = |name: &str, value: &str| vec![name.to_owned(), present::whole_line(value)];
    let mut rows = vec![
        row("task", text(task, "/task_id")),
        row("agent", text(task, "/agent_id")),
        row("status", &format!("{} since {}", text(task, "/status"), text(task, "/updated_at"))),
        row("began", text(task, "/created_at")),
    ];
    if let Some(stop) = task.get("stop").filter(|stop| stop.is_object()) {
        let force = match text(stop, "/escalated_at") {
            "" if stop.get("force") == Some(&Value::Bool(true)) => ", at once".to_owned(),
            "" => String::new(),
            at => format!(", killed at {at}"),
        };
        rows.push(row("stop", &format!("by {} at {}{force}", text(stop, "/cause"), text(stop, "/at"))));
    }
    rows.extend(exit_status(task).map(|status| row("exit status", &status)));
    if task.get("duration_ms").is_some() {
        rows.push(row("took", &time::duration(Millis(number(task, "/duration_ms")))));
    }
    let failure = text(task, "/failure_artifact/summary");
    rows.extend(Some(failure).filter(|failure| !failure.is_empty()).map(|failure| row("failed by", failure)));
    rows.extend(if task.get("command").is_some() { of_command(task) } else { of_child(task) });
    let told = Some(text(task, "/result_message_id")).filter(|id| !id.is_empty());
    rows.extend(told.map(|id| row("told by", id)));
    rows
}

fn of_command(task: &Value) -> Vec<Vec<String>> {
    let input = Some(text(task, "/command/input_target")).filter(|target| !target.is_empty());
    let rows = [
        ("command", text(task, "/command/cmd")),
        ("works in", text(task, "/command/workdir")),
        ("input", input.unwrap_or("none is taken")),
        ("output", text(task, "/command/output_path")),
    ];
    rows.map(|(name, value)| vec![name.to_owned(), present::whole_line(value)]).into()
}

/// What is known of the child, as far as there is any.
fn of_child(task: &Value) -> Vec<Vec<String>> {
    let rows = [
        ("child", "/child_agent_id"),
        ("told first", "/summary"),
        ("phase", "/child_observability/phase"),
        ("blocked by", "/child_observability/blocked_reason"),
        ("waits for", "/child_observability/waiting_reason"),
        ("works on", "/child_observability/work_summary"),
        ("said", "/child_observability/last_progress_brief"),
        ("reported", "/child_observability/last_result_brief"),
    ];
    let row = |(name, at): (&str, &str)| {
        let value = Some(text(task, at)).filter(|value| !value.is_empty())?;
        Some(vec![name.to_owned(), present::whole_line(value)])
    };
    rows.into_iter().filter_map(row).collect()
}

/// What the command itself ended with.
pub(super) fn exit_status(task: &Value) -> Option<String> {
    task.get("exit_status").and_then(Value::as_i64).map(|status| status.to_string())
}

/// A time without its fractions.
fn second(at: &str) -> String {
    at.chars().take(19).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_child_is_told_from_a_command_in_the_list() {
        let child = json!({ "task_id": "task_1", "kind": "child_agent_task", "child_agent_id": "main--1" });
        assert_eq!(line(&child)[2], "child_agent_task main--1");
        assert_eq!(line(&json!({ "task_id": "task_2", "kind": "command_task" }))[2], "command_task");
    }

    #[test]
    fn what_an_answer_lacks_is_left_out() {
        let named = |task: &Value| rows(task).iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        let running = named(&json!({ "task_id": "task_1", "status": "running" }));
        assert!(!running.iter().any(|name| ["exit status", "took", "failed by", "stop"].contains(&&**name)));
        let ended = json!({
            "status": "cancelled", "exit_status": 143, "duration_ms": 1_500,
            "stop": { "cause": "operator", "force": true, "at": "T" },
            "failure_artifact": { "summary": "ended" },
        });
        let shown = rows(&ended);
        for row in [["exit status", "143"], ["took", "1.5 s"], ["stop", "by operator at T, at once"]] {
            assert!(shown.contains(&row.map(ToOwned::to_owned).to_vec()), "{shown:?}");
        }
    }
}
