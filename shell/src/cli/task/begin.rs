//! `holon task run`: a command in the background, and with `--follow` or `--wait` what becomes of it.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::super::exit::Exit;
use super::super::interrupts::Ending;
use super::super::output::{self, Failure};
use super::super::through::{Through, incomplete, text};
use super::output::{exit, follow, told};
use super::{One, RunArgs};
use crate::client::Ask;
use crate::settings::quoted;

/// The end is asked for so long at a time, in milliseconds.
const LOOK: u64 = 30_000;
/// A runtime that is restarted is waited for so long.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn run(through: &Through, args: RunArgs, ending: &Ending) -> Result<Exit, Failure> {
    let (begun, agent) = ending
        .or(async {
            let agent = through.agent(args.whose.agent.as_deref()).await?;
            let ask = Ask::post(&format!("/control/agents/{agent}/tasks"), &body(&args))?;
            Ok((through.client.ask(&ask).await?, agent))
        })
        .await?;
    let task = text(&begun, "/task/task_id").parse().map_err(|_| incomplete("task_id"))?;
    let one = One { through, agent, task, named: args.whose.agent.is_some() };
    if args.follow {
        if args.json {
            let line = json!({ "type": "task", "task": begun.get("task") });
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
        ended = ended(&one) => ended?,
    };
    let exit = exit(&ended);
    if args.json {
        output::document(&json!({
            "ok": exit == Exit::Completed, "agent_id": one.agent, "exit_code": exit.code(), "task": ended,
        }))?;
    } else {
        told(&one, &ended);
    }
    Ok(exit)
}

fn body(args: &RunArgs) -> Value {
    let mut body = Map::new();
    body.insert("cmd".to_owned(), json!(command(&args.command)));
    for (name, value) in [("workdir", &args.workdir), ("shell", &args.shell)] {
        body.extend(value.as_ref().map(|value| (name.to_owned(), json!(value))));
    }
    for (name, given, value) in
        [("login", args.no_login, false), ("tty", args.tty, true), ("accepts_input", args.input, true)]
    {
        body.extend(given.then(|| (name.to_owned(), json!(value))));
    }
    Value::Object(body)
}

/// One word is a line of the shell as it stands; of several each stays the word that it is.
fn command(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Waits for the end of the task, also while its runtime is restarted; gives the task as it stands then.
async fn ended(one: &One<'_>) -> Result<Value, Failure> {
    let query = [("timeout_ms", Some(LOOK.to_string())), ("characters", Some("0".to_owned()))];
    let look = Ask::get(&format!("{}/output", one.path()), &query);
    let client = &one.through.client;
    let mut away: Option<Instant> = None;
    loop {
        match client.ask(&look).await {
            Ok(answer) => {
                away = None;
                if text(&answer, "/retrieval_status") == "success" {
                    let answer = client.ask(&Ask::get(&one.path(), &[])).await?;
                    return answer.get("task").cloned().ok_or_else(|| incomplete("task"));
                }
            }
            Err(error) => {
                if !error.may_pass() || away.get_or_insert_with(Instant::now).elapsed() > AWAY {
                    return Err(error.into());
                }
                tokio::time::sleep(PAUSE).await;
            }
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
