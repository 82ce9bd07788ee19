//! `holon task run`: a command in the background, and with `--follow` or `--wait` what becomes of it.

use holon_api::{Control, Document, OutputQuery, RunTask, TaskSnapshot};
use holon_core::effect::Retrieval;
use serde_json::json;

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use super::super::patience::until_answered;
use super::output::{exit, follow, told};
use super::{One, RunArgs};
use crate::settings::quoted;

/// The end is asked for so long at a time, in milliseconds.
const LOOK: u32 = 30_000;

pub(super) async fn run(cli: &ClientContext, args: RunArgs, ending: &Ending) -> Result<Exit, Failure> {
    let (begun, agent) = ending
        .or(async {
            let agent = cli.agent(args.whose.agent.as_deref()).await?;
            Ok((cli.client.run_task(&agent, body(&args), None).await?, agent))
        })
        .await?;
    let task = begun.task.task_id;
    let one = One { cli, agent, task, named: args.whose.agent.is_some() };
    if args.follow {
        if args.json {
            let line = json!({ "type": "task", "task": begun.task });
            output::line(&output::json(&line.to_string()))?;
        } else {
            output::note(&format!("holon: {task} for {}", one.agent));
        }
        return follow(&one, 0, args.json, ending).await;
    }
    if args.json && !args.wait {
        output::document(&begun)?;
        return Ok(Exit::Completed);
    }
    if !args.json {
        output::line(&task.to_string())?;
    }
    if !args.wait {
        output::hint("look", &one.command("output", " --follow"));
        return Ok(Exit::Completed);
    }
    let ended = tokio::select! {
        biased;
        () = ending.wait() => return Err(one.goes_on()),
        ended = ended(&one, ending) => ended?,
    };
    let exit = exit(ended.status);
    if args.json {
        output::document(&json!({
            "ok": exit == Exit::Completed, "agent_id": one.agent, "exit_code": exit.code(), "task": ended,
        }))?;
    } else {
        told(&one, ended.status, ended.exit_status, ended.duration_ms);
    }
    Ok(exit)
}

fn body(args: &RunArgs) -> RunTask {
    RunTask {
        cmd: command(&args.command),
        workdir: args.workdir.clone(),
        shell: args.shell.clone(),
        login: args.no_login.then_some(false),
        tty: args.tty.then_some(true),
        accepts_input: args.input.then_some(true),
        ..RunTask::default()
    }
}

/// One word is a line of the shell as it stands; of several each stays the word that it is.
fn command(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Waits for the end of the task, also while its runtime is restarted; gives the task as it stands then.
async fn ended(one: &One<'_>, ending: &Ending) -> Result<Document<TaskSnapshot>, Failure> {
    let client = &one.cli.client;
    loop {
        let look = || async {
            let query = OutputQuery { block: None, timeout_ms: Some(LOOK), characters: Some(0) };
            let answer = client.task_output(one.path(), query).await?;
            let ended = answer.retrieval_status == Retrieval::Success;
            Ok(if ended { Some(client.task(one.path()).await?.into_reply().task) } else { None })
        };
        if let Some(task) = until_answered(ending, look).await? {
            return Ok(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_as_it_is_and_words_stay_words() {
        let command = |words: &[&str]| command(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(command(&["make test && echo ok"]), "make test && echo ok");
        assert_eq!(command(&["make", "test"]), "make test");
        assert_eq!(command(&["sh", "-c", "echo 'a b'"]), r"sh -c 'echo '\''a b'\'''");
        assert_eq!(command(&["printf", "%s", "", "$HOME"]), "printf %s '' '$HOME'");
    }
}
