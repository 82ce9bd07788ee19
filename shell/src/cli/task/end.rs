//! `holon task stop`.

use holon_api::{Control, StopTask};

use super::super::client_context::ClientContext;
use super::super::exit::Exit;
use super::super::output::{self, Failure};
use super::StopArgs;

pub(super) async fn stop(cli: &ClientContext, args: StopArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whose.agent.as_deref()).await?;
    let answer = cli.client.stop_task((&agent, args.task), StopTask { force: args.force }).await?;
    let status = answer.task.status;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let already = if answer.changed { "" } else { " already" };
    output::line(&format!("{} is {status}{already}", args.task))?;
    if !status.is_terminal() && !args.force {
        output::note("holon: it has a few seconds to clean up; --force ends it at once");
    }
    Ok(Exit::Completed)
}
