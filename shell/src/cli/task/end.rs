//! `holon task stop`.

use serde_json::{Value, json};

use super::super::exit::Exit;
use super::super::output::{self, Failure};
use super::super::through::{Through, incomplete, text};
use super::{StopArgs, status_of};
use crate::client::Ask;

pub(super) async fn stop(through: &Through, args: StopArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let path = format!("/control/agents/{agent}/tasks/{}/stop", args.task);
    let answer = through.client.ask(&Ask::post(&path, &json!({ "force": args.force }))?).await?;
    let task = answer.get("task").ok_or_else(|| incomplete("task"))?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let changed = answer.get("changed") == Some(&Value::Bool(true));
    let already = if changed { "" } else { " already" };
    output::line(&format!("{} is {}{already}", args.task, text(task, "/status")))?;
    let ended = status_of(task).is_some_and(holon_core::agent::task::TaskStatus::is_terminal);
    if !ended && !args.force {
        output::note("holon: it has a few seconds to clean up; --force ends it at once");
    }
    Ok(Exit::Completed)
}
