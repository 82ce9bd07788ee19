//! `holon task output`: a preview of it, or all of it as it comes.

use std::time::Duration;

use holon_api::OutputPiece;
use holon_core::Millis;
use holon_core::agent::task::TaskStatus;
use holon_text::time;
use serde_json::{Value, json};

use super::super::exit::Exit;
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use super::super::through::{Through, incomplete, number, text};
use super::show::exit_status;
use super::{One, OutputArgs, status_of};
use crate::client::{Ask, FollowOutput, Written};

/// Seconds; more characters, and a longer wait, the runtime refuses.
pub(super) const LONGEST_WAIT: u32 = 600;
pub(super) const MOST_CHARACTERS: u32 = 1_000_000;
/// An answer may take so much longer than its wait.
const BEYOND: Duration = Duration::from_secs(60);

pub(super) async fn output(through: &Through, args: OutputArgs, ending: &Ending) -> Result<Exit, Failure> {
    let one = One::of(through, &args.whose, args.task, ending).await?;
    if args.follow {
        return follow(&one, args.offset.unwrap_or_default(), args.json, ending).await;
    }
    let wait = args.wait.unwrap_or_default();
    let query = [
        ("block", Some((wait > 0).to_string())),
        ("timeout_ms", Some((u64::from(wait) * 1_000).to_string())),
        ("characters", Some(args.characters.to_string())),
    ];
    let ask = Ask::get(&format!("{}/output", one.path()), &query);
    let client = through.client.clone().within(Duration::from_secs(wait.into()) + BEYOND);
    let asked = async { client.ask(&ask).await.map_err(Failure::from) };
    let answer = tokio::select! {
        biased;
        () = ending.wait() => return Err(one.goes_on()),
        answer = asked => answer?,
    };
    let task = answer.get("task").ok_or_else(|| incomplete("task"))?;
    if args.json {
        output::document(&answer)?;
    } else {
        preview(&one, task)?;
    }
    // Whoever looks has seen; whoever waits is told how it ended.
    Ok(if args.wait.is_some() { exit(task) } else { Exit::Completed })
}

fn preview(one: &One<'_>, task: &Value) -> Result<(), Failure> {
    let said = text(task, "/output_preview");
    if !said.is_empty() {
        output::text(said)?;
    }
    if let Some(problem) = task.get("output_problem").and_then(Value::as_str) {
        output::note(&format!("holon: this is not all of it: {problem}"));
    } else if task.get("output_truncated") == Some(&Value::Bool(true)) {
        output::note("holon: this is the beginning and the end of it");
        let whole = text(task, "/artifacts/0/path");
        let file = if whole.is_empty() { String::new() } else { format!(", or the file {whole}") };
        output::hint("all of it", &format!("{}{file}", one.command("output", " --follow")));
    }
    told(one, task);
    Ok(())
}

/// Prints what the task writes until it ends; ends like the task.
pub(super) async fn follow(one: &One<'_>, offset: u64, json: bool, ending: &Ending) -> Result<Exit, Failure> {
    let mut follow = FollowOutput::from(one.through.client.clone(), &one.agent, one.task, offset);
    loop {
        let next = tokio::select! {
            biased;
            () = ending.wait() => return Err(one.goes_on()),
            next = follow.next() => next?,
        };
        match next {
            Written::Piece(piece) if json => {
                let mut line = serde_json::to_value(&piece)?;
                line["type"] = json!("output");
                output::line(&output::json(&line.to_string()))?;
            }
            Written::Piece(OutputPiece { text, lost_bytes, .. }) => {
                if lost_bytes > 0 {
                    output::note(&format!(
                        "holon: {lost_bytes} bytes are missing here: the log was too long"
                    ));
                }
                output::piece(&text)?;
            }
            Written::End { task, problem } => {
                let exit = exit(&task);
                if json {
                    let code = exit.code();
                    let line = json!({ "type": "end", "task": task, "exit_code": code, "problem": problem });
                    output::line(&output::json(&line.to_string()))?;
                    return Ok(exit);
                }
                if let Some(problem) = problem {
                    output::note(&format!("holon: {problem}"));
                    output::hint("look", &one.command("output", ""));
                }
                if exit != Exit::Completed {
                    told(one, &task);
                }
                return Ok(exit);
            }
        }
    }
}

/// How the task stands, to whoever reads its output.
pub(super) fn told(one: &One<'_>, task: &Value) {
    let status = exit_status(task).map(|status| format!(", exit status {status}")).unwrap_or_default();
    let took = task.get("duration_ms").map(|_| {
        let took = time::duration(Millis(number(task, "/duration_ms")));
        format!(" after {took}")
    });
    let took = took.unwrap_or_default();
    output::note(&format!("holon: {} is {}{took}{status}", one.task, text(task, "/status")));
}

/// The code of a command that ends like its task.
pub(super) fn exit(task: &Value) -> Exit {
    match status_of(task) {
        Some(TaskStatus::Completed) => Exit::Completed,
        Some(TaskStatus::Cancelled | TaskStatus::Interrupted) => Exit::Interrupted,
        Some(TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling) => Exit::Waiting,
        // A newer runtime may have other ends; none of them is known to be good.
        Some(TaskStatus::Failed) | None => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_like_its_task() {
        for (status, code) in [
            ("completed", 0),
            ("failed", 1),
            ("cancelled", 130),
            ("interrupted", 130),
            ("running", 7),
            ("cancelling", 7),
            ("evaporated", 1),
        ] {
            assert_eq!(exit(&json!({ "status": status })).code(), code, "{status}");
        }
    }
}
