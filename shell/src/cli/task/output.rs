//! `holon task output`: a preview of it, or all of it as it comes.

use holon_api::{Control, Follow, Output, OutputPiece, OutputQuery, TaskResult, Written};
use holon_facts::Millis;
use holon_facts::task::TaskStatus;
use holon_text::time;
use serde_json::json;

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use super::{One, OutputArgs};

/// Seconds; more characters, and a longer wait, the runtime refuses.
pub(super) const LONGEST_WAIT: u32 = 600;
pub(super) const MOST_CHARACTERS: u32 = 1_000_000;
pub(super) async fn output(cli: &ClientContext, args: OutputArgs, ending: &Ending) -> Result<Exit, Failure> {
    let one = One::of(cli, &args.whose, args.task, ending).await?;
    if args.follow {
        return follow(&one, args.offset.unwrap_or_default(), args.json, ending).await;
    }
    let wait = args.wait.unwrap_or_default();
    let query = OutputQuery {
        block: Some(wait > 0),
        timeout_ms: Some(wait.saturating_mul(1_000)),
        characters: Some(args.characters),
    };
    let asked = async { cli.client.task_output(one.path(), query).await.map_err(Failure::from) };
    let answer = tokio::select! {
        biased;
        () = ending.wait() => return Err(one.goes_on()),
        answer = asked => answer?,
    };
    if args.json {
        output::document(&answer)?;
    } else {
        preview(&one, &answer.task)?;
    }
    // Whoever looks has seen; whoever waits is shown how it ended.
    Ok(if args.wait.is_some() { exit(answer.task.status) } else { Exit::Completed })
}

fn preview(one: &One<'_>, task: &TaskResult) -> Result<(), Failure> {
    if !task.output_preview.is_empty() {
        output::text(&task.output_preview)?;
    }
    if let Some(problem) = &task.output_problem {
        output::note(&format!("holon: this is not all of it: {problem}"));
    } else if task.output_truncated {
        output::note("holon: this is the beginning and the end of it");
        let file = task.artifacts.first().map(|whole| format!(", or the file {}", whole.path));
        let file = file.unwrap_or_default();
        output::hint("all of it", &format!("{}{file}", one.command("output", " --follow")));
    }
    told(one, task.status, task.exit_status, None);
    Ok(())
}

/// Prints what the task writes until it ends; ends like the task.
pub(super) async fn follow(one: &One<'_>, offset: u64, json: bool, ending: &Ending) -> Result<Exit, Failure> {
    let mut follow = one.cli.client.follow_output(one.path(), offset);
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
            Written::End(end) => {
                let (task, problem) = (&end.task, &end.problem);
                let exit = exit(task.status);
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
                    told(one, task.status, task.exit_status, task.duration_ms);
                }
                return Ok(exit);
            }
        }
    }
}

/// How the task stands, to whoever reads its output.
pub(super) fn told(one: &One<'_>, status: TaskStatus, exit_status: Option<i32>, took: Option<Millis>) {
    let exit_status = exit_status.map(|status| format!(", exit status {status}")).unwrap_or_default();
    let took = took.map(|took| format!(" after {}", time::duration(took))).unwrap_or_default();
    output::note(&format!("holon: {} is {status}{took}{exit_status}", one.task));
}

/// The code of a command that ends like its task.
pub(super) fn exit(status: TaskStatus) -> Exit {
    match status {
        TaskStatus::Completed => Exit::Completed,
        TaskStatus::Cancelled | TaskStatus::Interrupted => Exit::Interrupted,
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => Exit::Waiting,
        TaskStatus::Failed => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_like_its_task() {
        for (status, code) in [
            (TaskStatus::Completed, 0),
            (TaskStatus::Failed, 1),
            (TaskStatus::Cancelled, 130),
            (TaskStatus::Interrupted, 130),
            (TaskStatus::Running, 7),
            (TaskStatus::Cancelling, 7),
        ] {
            assert_eq!(exit(status).code(), code, "{status}");
        }
    }
}
