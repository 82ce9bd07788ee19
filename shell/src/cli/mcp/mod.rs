//! `holon mcp`: servers whose tools agents may use. What the commands here start ends with them; the servers of agents are
//! those of the runtime.

mod approve;
mod ask;
mod change;
#[cfg(feature = "mcp-login")]
mod login;
mod serve;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use holon_mcp::{Definition, Host, Reach, Servers, Standing};
use holon_platform::Environment;
use holon_text::nearest::did_you_mean;
use holon_text::{Secrets, variables};

use super::exit::Exit;
use super::interrupts;
use super::output::{self, Failure};
use crate::home::Home;
use crate::screen::harmless;
use crate::settings::credentials::Credentials;
use crate::settings::providers::Configured;
use crate::settings::{Settings, find_home, passed};

#[derive(Debug, Subcommand)]
pub(super) enum McpCommand {
    /// List the servers, and how each is reached
    List(Printed),
    /// Start servers, and show whether they answer
    Check(CheckArgs),
    /// List the tools that agents are offered
    Tools(CheckArgs),
    /// Call a tool, outside of any agent
    Call(CallArgs),
    /// Show what a server has written to its standard error
    Logs(ServerArgs),
    /// Add a server, or replace one
    Add(change::AddArgs),
    /// Approve a server that the `.mcp.json` of a workspace proposes, as it is defined now
    Approve(approve::ProposalArgs),
    /// Take an approval back
    Revoke(approve::ProposalArgs),
    /// Log in at a server that is reached over HTTP, in a browser
    #[cfg(feature = "mcp-login")]
    Login(login::LoginArgs),
    /// Forget the login at a server
    Logout(ServerArgs),
    /// Remove a server, and what is kept of it
    Remove(ServerArgs),
    /// Serve this runtime to another agent or an editor, on standard input and output
    Serve(serve::ServeArgs),
}

impl McpCommand {
    /// Whether programs are started that are not to see what this one was started with.
    pub(super) fn starts_servers(&self) -> bool {
        !matches!(self, Self::Serve(_))
    }
}

#[derive(Debug, Args)]
pub(super) struct Printed {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Name one server [default: all]
    server: Option<String>,
    #[command(flatten)]
    printed: Printed,
}

#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// Name the server as `holon mcp list` shows it
    server: String,
    #[command(flatten)]
    printed: Printed,
}

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// Name the server as `holon mcp list` shows it
    server: String,
    /// Name the tool as the server does
    tool: String,
    /// Give its arguments as a JSON object
    #[arg(default_value = "{}")]
    arguments: String,
    #[command(flatten)]
    printed: Printed,
}

pub(super) fn mcp(home: Option<PathBuf>, command: McpCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let flag = home.clone();
    let home = find_home(home, &environment)?;
    match command {
        McpCommand::Serve(args) => serve::serve(flag, args),
        McpCommand::Add(args) => change::add(&home, &environment, &args),
        McpCommand::Remove(args) => change::remove(&home, &environment, &args),
        #[cfg(feature = "mcp-login")]
        McpCommand::Login(args) => {
            with(&home, &environment, async |known| login::login(&home, &environment, known, &args).await)
        }
        McpCommand::Logout(args) => change::logout(&home, &environment, &args),
        McpCommand::Approve(args) => approve::approve(&home, &environment, &args),
        McpCommand::Revoke(args) => approve::revoke(&home, &environment, &args),
        McpCommand::List(printed) => Known::load(&home, &environment)?.list(&printed),
        McpCommand::Logs(args) => Known::load(&home, &environment)?.logs(&args),
        McpCommand::Check(args) => with(&home, &environment, async |known| ask::check(known, &args).await),
        McpCommand::Tools(args) => with(&home, &environment, async |known| ask::tools(known, &args).await),
        McpCommand::Call(args) => with(&home, &environment, async |known| ask::call(known, &args).await),
    }
}

/// Text of a workspace or a server on one line of its own: nothing in it acts on a terminal, or looks like another line.
fn harmless_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Does something with servers that end afterwards, however it ends.
fn with(
    home: &Home,
    environment: &Environment,
    work: impl AsyncFnOnce(&Known) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let known = Known::load(home, environment)?;
    interrupts::block_on_workers(1, |ending| async move {
        let done = ending.or(work(&known)).await;
        known.servers.close().await;
        done
    })
}

/// The servers that are configured, and those of workspaces that are approved.
struct Known {
    definitions: Vec<Definition>,
    /// What workspaces propose, approved or not: that of the current folder, and those of which anything was approved.
    proposed: Vec<(Definition, Standing)>,
    servers: Servers,
}

/// Where servers of a home are started.
pub(super) fn host(home: &Home, environment: &Environment, secrets: Secrets) -> Host {
    let variables = Arc::new(passed(environment));
    Host { helper: holon_supervise::program(), folder: home.mcp(), secrets: Arc::new(secrets), variables }
}

impl Known {
    fn load(home: &Home, environment: &Environment) -> Result<Self, Failure> {
        let settings = Settings::load(&home.config(), environment)?;
        let credentials = Credentials::load(&home.credentials())?;
        let mut definitions = settings.tool_servers.definitions(home.root(), environment, &credentials);
        let proposed = approve::proposed(home, environment)?;
        let approved = proposed.iter().filter(|(_, standing)| *standing == Standing::Approved);
        definitions.extend(approved.map(|(definition, _)| definition.clone()));
        let secrets = Configured::new(&settings, environment, &credentials).secrets;
        let secrets = Secrets::new(variables::secrets(environment).chain(secrets))
            .with_shapes(settings.redact_token_shapes);
        let servers = Servers::new(definitions.clone(), &host(home, environment, secrets));
        Ok(Self { definitions, proposed, servers })
    }

    /// The server of this name.
    fn get(&self, name: &str) -> Result<&Definition, Failure> {
        let found = self.definitions.iter().find(|definition| definition.name == name);
        found.ok_or_else(|| {
            if let Some((proposed, standing)) = self.proposed.iter().find(|(one, _)| one.name == name) {
                return approve::not_approved(proposed, *standing);
            }
            let near = did_you_mean(name, self.definitions.iter().map(|definition| definition.name.as_str()));
            Failure::new(Exit::NotFound, anyhow!("there is no server {name:?}{near}")).hint("holon mcp list")
        })
    }

    /// The one that is named, or all.
    fn chosen(&self, named: Option<&str>) -> Result<Vec<&Definition>, Failure> {
        match named {
            Some(name) => Ok(vec![self.get(name)?]),
            None => Ok(self.definitions.iter().collect()),
        }
    }

    fn list(&self, printed: &Printed) -> Result<Exit, Failure> {
        let configured = self.definitions.iter().filter(|definition| definition.proposal.is_none());
        let configured = configured.map(|definition| change::Shown::of(definition, None));
        let proposed = self.proposed.iter().map(|(one, standing)| change::Shown::of(one, Some(*standing)));
        let shown: Vec<_> = configured.chain(proposed).collect();
        if printed.json {
            output::document(&serde_json::json!({ "ok": true, "servers": shown }))?;
        } else if shown.is_empty() {
            output::line("no servers are configured")?;
            output::hint("try", "holon mcp add NAME -- COMMAND ARGUMENTS");
        } else {
            let heads = ["SERVER", "STANDING", "KIND", "REACHED BY"];
            let rows = shown.iter().map(|server| {
                let cells = [server.name.as_str(), server.standing, server.kind, &server.reached_by];
                cells.into_iter().map(harmless_line).collect()
            });
            output::list(&heads, rows)?;
            if let Some((waiting, standing)) = self.proposed.iter().find(|(one, standing)| {
                *standing != Standing::Approved && !matches!(one.reach, Reach::Nowhere { .. })
            }) {
                approve::hint(waiting, *standing);
            }
        }
        Ok(Exit::Completed)
    }

    fn logs(&self, args: &ServerArgs) -> Result<Exit, Failure> {
        self.get(&args.server)?;
        let text = self.servers.log(&args.server).read()?;
        if args.printed.json {
            output::document(&serde_json::json!({ "server": args.server, "text": text }))?;
        } else {
            match text {
                Some(text) if !text.is_empty() => output::text(&text)?,
                Some(_) | None => output::prose(&format!("holon: {} has written nothing", args.server)),
            }
        }
        Ok(Exit::Completed)
    }
}
