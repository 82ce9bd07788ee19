//! `holon tui`: the terminal console of a runtime.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use holon_facts::AgentId;
use holon_platform::Environment;
use holon_tui::Options;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::Failure;
use super::tail::UpTo;
use crate::client;

#[derive(Debug, Args)]
pub(super) struct TuiArgs {
    #[command(flatten)]
    whom: Whom,
    /// Keep the terminal's scrollback: print finished rows, and redraw only what is below them
    #[arg(long)]
    inline: bool,
    /// Scroll with the wheel of the mouse; the terminal selects no text meanwhile
    #[arg(long, conflicts_with = "inline")]
    mouse: bool,
    /// Show events up to this level
    #[arg(long, value_enum, default_value_t = UpTo::Verbose, value_name = "LEVEL")]
    level: UpTo,
}

pub(super) fn tui(home: Option<PathBuf>, args: TuiArgs) -> Result<Exit, Failure> {
    let agent = args.whom.name().map_or_else(String::new, |agent| format!(" {agent}"));
    check_terminal(&format!("holon tail --follow{agent}"))?;
    ClientContext::work(home, |cli, ending| async move { Box::pin(shown(cli, args, ending)).await })
}

/// # Errors
/// There is none, or one that nothing can be drawn on; another command does without.
pub(super) fn check_terminal(otherwise: &str) -> Result<(), Failure> {
    let error = if Environment::of_process().get("TERM") == Some("dumb") {
        anyhow!("the console needs a terminal that moves its cursor, and TERM is dumb")
    } else if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    } else {
        anyhow!("the console needs a terminal for input and output")
    };
    Err(Failure::usage(error).hint(otherwise))
}

async fn shown(cli: ClientContext, args: TuiArgs, ending: Ending) -> Result<Exit, Failure> {
    // Who is shown where no runtime answers yet: the agent that most homes begin with.
    let agent = match ending.or(cli.agent(args.whom.name())).await {
        Ok(agent) => agent,
        Err(failure) if failure.exit == Exit::NotReachable => AgentId::new("main")?,
        Err(failure) => return Err(failure),
    };
    let options = Options {
        agent,
        level: args.level.into(),
        inline: args.inline,
        mouse: args.mouse,
        colour: cli.environment.get("NO_COLOR").is_none_or(str::is_empty),
        start: start(&cli.environment, cli.home_root()),
    };
    holon_tui::run(cli.client, options, async move { ending.wait().await }).await?;
    Ok(Exit::Completed)
}

/// How the runtime of this home is started; none where an address leads to a runtime that may be elsewhere.
fn start(environment: &Environment, home: &Path) -> Option<Vec<String>> {
    if client::named_address(environment).is_some() {
        return None;
    }
    let program = std::env::current_exe().ok()?;
    let words = [program.to_str()?, "--home", home.to_str()?, "daemon", "start"];
    Some(words.map(ToOwned::to_owned).to_vec())
}
