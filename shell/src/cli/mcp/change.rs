//! `holon mcp add` and `remove`: servers in config.toml.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_mcp::{Definition, Logins, Reach, Servers, Standing};
use holon_platform::Environment;
use holon_text::Secrets;
use holon_text::variables::without_password;
use serde::Serialize;
use toml_edit::{Array, InlineTable, Value};

use super::{Printed, ServerArgs, host};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::home::Home;
use crate::settings::credentials::Credentials;
use crate::settings::{Editor, Kind, Settings, is_server, kind_of};

#[derive(Debug, Args)]
pub(in crate::cli) struct AddArgs {
    /// Name the server: a-z, 0-9 and '-', at most 32 characters
    name: String,
    /// Start this program; it follows `--` with its arguments
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url")]
    command: Vec<String>,
    /// Reach the server at this address instead
    #[arg(long)]
    url: Option<String>,
    /// Give the program a variable, NAME=VALUE, or a secret as NAME=credential:ID
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// Start the program in this folder
    #[arg(long, conflicts_with = "url")]
    cwd: Option<String>,
    /// Send the key of this name in credentials.toml as a bearer token
    #[arg(long, requires = "url")]
    credential: Option<String>,
    #[command(flatten)]
    printed: Printed,
}

/// A server as it is listed: without what is secret.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) reached_by: String,
    /// `configured`, or how what a workspace proposes stands.
    pub(super) standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<PathBuf>,
    digest: String,
}

impl Shown {
    pub(super) fn of(definition: &Definition, standing: Option<Standing>) -> Self {
        let (kind, reached_by) = match &definition.reach {
            Reach::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                ("program", words.collect::<Vec<_>>().join(" "))
            }
            Reach::Address { url, .. } => ("address", without_password(url)),
            Reach::Nowhere { problem } => ("unusable", problem.clone()),
        };
        let proposal = definition.proposal.as_ref();
        let digest = proposal.map_or_else(|| definition.digest(), |proposal| proposal.digest);
        Self {
            name: definition.name.clone(),
            kind,
            reached_by,
            standing: standing.map_or("configured", Standing::name),
            workspace: proposal.map(|proposal| proposal.workspace.clone()),
            digest: digest.to_string(),
        }
    }
}

pub(super) fn add(home: &Home, environment: &Environment, args: &AddArgs) -> Result<Exit, Failure> {
    let name = &args.name;
    if !is_server(name) {
        let expected = Kind::Name.expected();
        return Err(Failure::usage(anyhow!("the name of a server is {expected}, and at most 32 of them")));
    }
    let mut editor = Editor::config(home)?;
    let replaced = editor.unset(&format!("mcp.servers.{name}"))?;
    for (option, value) in options(args)? {
        let key = format!("mcp.servers.{name}.{option}");
        let Some(kind) = kind_of(&key) else { continue };
        kind.check(&value).map_err(|what| Failure::usage(anyhow!("{option}: {what}")))?;
        editor.set(&key, value)?;
    }
    let (new, _) = editor.problems()?;
    if let Some(first) = new.into_iter().next() {
        return Err(Failure::usage(anyhow!("{}: {}", first.key, first.what)).hint("holon mcp add --help"));
    }
    let settings = editor.settings(environment)?;
    editor.save()?;
    let credentials = Credentials::load(&home.credentials())?;
    let definitions = settings.tool_servers.definitions(home.root(), environment, &credentials);
    let shown = definitions.iter().find(|definition| definition.name == *name);
    let shown = shown.map(|definition| Shown::of(definition, None));
    if args.printed.json {
        output::document(&serde_json::json!({ "server": shown, "replaced": replaced }))?;
    } else {
        output::line(&format!("{} {name}", if replaced { "replaced" } else { "added" }))?;
        if let Some(unusable) = shown.filter(|shown| shown.kind == "unusable") {
            output::prose(&format!("holon: {name}: {}", unusable.reached_by));
        }
        output::hint("try", &format!("holon mcp check {name}"));
    }
    Ok(Exit::Completed)
}

/// What is written of a server.
fn options(args: &AddArgs) -> Result<Vec<(&'static str, Value)>, Failure> {
    let mut options: Vec<(&'static str, Value)> = Vec::new();
    if let Some((command, rest)) = args.command.split_first() {
        options.push(("command", command.as_str().into()));
        if !rest.is_empty() {
            options.push(("args", Value::Array(rest.iter().map(String::as_str).collect::<Array>())));
        }
    }
    let mut env = InlineTable::new();
    for variable in &args.env {
        let Some((name, text)) = variable.split_once('=') else {
            return Err(Failure::usage(anyhow!("--env: expected NAME=VALUE")));
        };
        let value = match text.strip_prefix("credential:") {
            Some(id) => {
                let mut reference = InlineTable::new();
                reference.insert("credential", id.into());
                Value::InlineTable(reference)
            }
            None => text.into(),
        };
        env.insert(name, value);
    }
    if !env.is_empty() {
        options.push(("env", Value::InlineTable(env)));
    }
    let texts = [("cwd", &args.cwd), ("url", &args.url), ("credential", &args.credential)];
    options.extend(texts.into_iter().filter_map(|(option, text)| Some((option, text.as_deref()?.into()))));
    Ok(options)
}

pub(super) fn logout(home: &Home, environment: &Environment, args: &ServerArgs) -> Result<Exit, Failure> {
    let name = &args.server;
    let known = super::Known::load(home, environment)?;
    known.get(name)?;
    let was = Logins::of(&home.mcp()).forget(name)?;
    if args.printed.json {
        output::document(&serde_json::json!({ "server": name, "logged_out": was }))?;
    } else {
        let text = if was { "logged out of" } else { "nobody was logged in at" };
        output::line(&format!("{text} {name}"))?;
    }
    Ok(Exit::Completed)
}

pub(super) fn remove(home: &Home, environment: &Environment, args: &ServerArgs) -> Result<Exit, Failure> {
    let name = &args.server;
    let mut editor = Editor::config(home)?;
    if !is_server(name) || !editor.unset(&format!("mcp.servers.{name}"))? {
        let error = anyhow!("there is no server {name:?} in {}", home.config().display());
        return Err(Failure::new(Exit::NotFound, error).hint("holon mcp list"));
    }
    let settings: Settings = editor.settings(environment)?;
    let user = settings.tool_servers.agents.iter().find(|(_, named)| named.contains(name));
    if let Some((agent, _)) = user {
        let error = anyhow!("mcp.agents.{agent} names {name}");
        return Err(Failure::usage(error).hint(format!("holon config unset mcp.agents.{agent}")));
    }
    editor.save()?;
    Servers::forget(&host(home, environment, Secrets::default()), name)?;
    if args.printed.json {
        output::document(&serde_json::json!({ "removed": name }))?;
    } else {
        output::line(&format!("removed {name}"))?;
    }
    Ok(Exit::Completed)
}
