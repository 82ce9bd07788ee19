//! `holon console`: the web console of a runtime, in a browser that is logged in with a link.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::{ConsoleLink, Control, Nothing, OpenSession};
use holon_platform::Environment;
use holon_text::moment;

use super::browser;
use super::bundle_console::look_at;
use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ConsoleArgs {
    /// Print the link instead of opening it in a browser
    #[arg(long)]
    print: bool,
    /// Print one JSON document with the link
    #[arg(long)]
    json: bool,
    /// Show what this bundle has, from this process and until it is interrupted; nothing can be changed
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<ConsoleCommand>,
}

#[derive(Debug, Subcommand)]
enum ConsoleCommand {
    /// List the browsers that are logged in
    Sessions(SessionsArgs),
    /// Log a browser out
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct SessionsArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// End this session, as `holon console sessions` shows it
    #[arg(value_name = "ID")]
    session: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn console(home: Option<PathBuf>, args: ConsoleArgs) -> Result<Exit, Failure> {
    if let Some(bundle) = &args.bundle {
        return look_at(bundle, |link, environment| give(link, args.print, args.json, environment));
    }
    ClientContext::work(home, |cli, ending| async move {
        match args.command {
            None => ending.or(open(&cli, args.print, args.json)).await,
            Some(ConsoleCommand::Sessions(args)) => ending.or(sessions(&cli, args.json)).await,
            Some(ConsoleCommand::Revoke(args)) => ending.or(revoke(&cli, args)).await,
        }
    })
}

async fn open(cli: &ClientContext, print: bool, json: bool) -> Result<Exit, Failure> {
    let link = cli.client.create_console_link(Nothing {}).await?.into_reply();
    give(&link, print, json, &cli.environment)?;
    Ok(Exit::Completed)
}

fn give(link: &ConsoleLink, print: bool, json: bool, environment: &Environment) -> Result<(), Failure> {
    if json {
        output::document(link)
    } else if print {
        Ok(output::line(&link.url)?)
    } else {
        show(link, environment)
    }
}

/// Prints a link, and opens it where somebody sees that.
pub(super) fn show(link: &ConsoleLink, environment: &Environment) -> Result<(), Failure> {
    let opened = browser::opens(&link.url, environment);
    output::line(&link.url)?;
    let how = if opened { "the console opens in your browser" } else { "open it in a browser" };
    output::prose(&format!("holon: {how}; the link works once, within a minute"));
    Ok(())
}

async fn sessions(cli: &ClientContext, json: bool) -> Result<Exit, Failure> {
    let answer = cli.client.sessions().await?;
    output::shown(&answer, json, || {
        if answer.sessions.is_empty() {
            return output::line("no browser is logged in: holon console");
        }
        let heads = ["ID", "LOGGED IN", "LAST SEEN", "BROWSER"];
        output::list(&heads, answer.sessions.iter().map(row))
    })
}

fn row(session: &OpenSession) -> Vec<String> {
    vec![
        session.session_id.clone(),
        moment::near(session.created_at),
        moment::near(session.last_seen_at),
        session.user_agent.clone().unwrap_or_default(),
    ]
}

async fn revoke(cli: &ClientContext, args: RevokeArgs) -> Result<Exit, Failure> {
    let path = holon_api::SessionPath { session_id: args.session };
    let answer = cli.client.end_session(path).await?;
    let ended = answer.session_id.as_deref().unwrap_or_default();
    output::shown(&answer, args.json, || output::line(&format!("{ended} is logged out")))
}
