//! Names that a shell offers where one is to be typed: those of the living runtime, of the home and of the settings. What
//! can't be found out at once is not offered.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use holon_api::{Client, Control, InboxQuery, ListQuery, TasksQuery, WorkItemsQuery};
use holon_facts::AgentId;
use holon_platform::Environment;
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::client_context::names as called;
use crate::client;
use crate::home::Home;
use crate::settings::{KEYS, Kind, prices};
use crate::temporary_runs;

/// A person waits for the list.
const ANSWER: Duration = Duration::from_millis(500);
/// Names that are offered.
const MOST: u32 = 200;
/// Models that answer without a network.
const SCRIPTED: [&str; 2] = ["scripted/demo", "scripted/hello"];

/// What an argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Agent,
    Task,
    WorkItem,
    Model,
    Key,
    /// What a key of the configuration can be.
    Value,
    Run,
    Ask,
    Session,
}

/// The command line with what its arguments can be.
pub(super) fn completing(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let offered = move |arg: Arg| match named(&name, &arg) {
        Some(named) => arg.add(ArgValueCandidates::new(move || candidates(named))),
        None => arg,
    };
    command.mut_args(offered).mut_subcommands(completing)
}

/// Arguments are known by their names, which one thing has everywhere.
fn named(command: &str, arg: &Arg) -> Option<Named> {
    let value = arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str);
    match (command, arg.get_id().as_str(), value) {
        ("create", ..) | ("abort", "run", _) if value != Some("MODEL") => None,
        (_, "agent" | "named" | "from", Some("AGENT" | "ID" | "FROM")) => Some(Named::Agent),
        (_, "task", _) => Some(Named::Task),
        (_, "item", _) => Some(Named::WorkItem),
        (_, "ask", _) => Some(Named::Ask),
        ("revoke", "session", _) => Some(Named::Session),
        (_, "key", Some("KEY")) if matches!(command, "get" | "set" | "unset") => Some(Named::Key),
        ("set", "value", _) => Some(Named::Value),
        (_, "continued" | "resume" | "run", Some("RUN")) => Some(Named::Run),
        (_, _, Some("MODEL")) => Some(Named::Model),
        _ => None,
    }
}

fn candidates(named: Named) -> Vec<CompletionCandidate> {
    let environment = Environment::of_process();
    let home = Home::find(typed("--home").map(PathBuf::from), &environment).ok();
    let names = match named {
        Named::Key => KEYS.iter().map(|key| key.name.to_owned()).collect(),
        Named::Value => values(),
        Named::Model => models(),
        Named::Run => home.map(|home| temporary_runs::names(&home)).unwrap_or_default(),
        Named::Agent | Named::Task | Named::WorkItem | Named::Ask | Named::Session => {
            home.and_then(|home| asked(&home, &environment, named)).unwrap_or_default()
        }
    };
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn models() -> Vec<String> {
    let known = prices::built_in().map(|known| known.model.to_string());
    SCRIPTED.map(ToOwned::to_owned).into_iter().chain(known).collect()
}

/// The values of the key that the line names, where they have names.
fn values() -> Vec<String> {
    let words = words();
    let Some(key) = KEYS.iter().find(|key| words.iter().any(|word| word == key.name)) else {
        return Vec::new();
    };
    if let Kind::Word(words) = key.kind {
        return words.iter().map(|word| (*word).to_owned()).collect();
    }
    if matches!(key.kind, Kind::Model | Kind::Models) {
        return models();
    }
    let flag = matches!(key.kind, Kind::Flag);
    ["true", "false"].iter().filter(|_| flag).map(|word| (*word).to_owned()).collect()
}

/// The line that is completed: the shell hands over all of its words.
fn words() -> Vec<String> {
    std::env::args_os().filter_map(|word| word.into_string().ok()).collect()
}

/// What the line that is completed has for an option.
fn typed(option: &str) -> Option<String> {
    let words = words();
    let next =
        words.iter().zip(words.iter().skip(1)).find(|(word, _)| *word == option).map(|(_, value)| &**value);
    let same = || words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
    next.or_else(same).map(ToOwned::to_owned)
}

/// What the runtime of a home has, if it answers at once.
fn asked(home: &Home, environment: &Environment, named: Named) -> Option<Vec<String>> {
    let client = client::of(home, environment).ok()?;
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let names = async { timeout(ANSWER, names(&client, environment, named)).await.ok()? };
    let names = runtime.block_on(names);
    runtime.shutdown_background();
    names
}

async fn names(client: &Client, environment: &Environment, named: Named) -> Option<Vec<String>> {
    match named {
        Named::Agent => {
            let query = ListQuery { limit: Some(MOST), all: true, ..ListQuery::default() };
            let agents = client.agents(query).await.ok()?;
            Some(agents.agents.iter().flat_map(|agent| called(agent)).map(ToOwned::to_owned).collect())
        }
        Named::Ask => {
            let inbox = client.inbox(InboxQuery { after: None, limit: Some(MOST) }).await.ok()?;
            Some(inbox.asks.iter().map(|ask| format!("{}/{}", ask.agent_id, ask.brief_id)).collect())
        }
        Named::Session => {
            let sessions = client.sessions().await.ok()?;
            Some(sessions.sessions.iter().map(|session| session.session_id.clone()).collect())
        }
        Named::Task => {
            let tasks = client.tasks(&agent(client, environment).await?, TasksQuery::default()).await.ok()?;
            Some(tasks.tasks.iter().map(|task| task.task_id.to_string()).collect())
        }
        Named::WorkItem => {
            let agent = agent(client, environment).await?;
            let items = client.work_items(&agent, WorkItemsQuery::default()).await.ok()?;
            Some(items.work_items.iter().map(|item| item.work_item_id.to_string()).collect())
        }
        Named::Model | Named::Key | Named::Value | Named::Run => None,
    }
}

/// The agent that the line names, or that is meant without.
async fn agent(client: &Client, environment: &Environment) -> Option<AgentId> {
    match typed("--agent").or_else(|| environment.get("HOLON_AGENT_ID").map(ToOwned::to_owned)) {
        Some(named) => AgentId::new(&named).ok(),
        None => Some(client.handshake().await.ok()?.runtime.default_agent.clone()),
    }
}
