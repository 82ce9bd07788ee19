//! `holon agent`: who there is, and their lifecycle.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_core::model::ModelRef;
use holon_core::{AgentId, RunId};
use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::status::{self, StatusArgs};
use super::through::{Through, Whom, incomplete, number, text};
use crate::client::Ask;

#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// Every public agent
    List {
        #[arg(long)]
        json: bool,
    },
    /// One agent in short
    Status(StatusArgs),
    /// Make an agent that stays
    Create(CreateArgs),
    /// Let a stopped agent go on
    Start(StatusArgs),
    /// End its run, and take nothing in until it is started
    Stop(StatusArgs),
    /// The old name of `stop`
    #[command(hide = true)]
    Pause(StatusArgs),
    /// The old name of `start`
    #[command(hide = true)]
    Resume(StatusArgs),
    /// End the run in progress; the agent goes on with what is next
    Abort(AbortArgs),
    /// Show or choose the model that an agent asks from its next turn on
    Model(ModelArgs),
}

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    #[command(flatten)]
    whom: Whom,
    /// Ask this one first, as provider/model
    #[arg(long, value_name = "MODEL", conflicts_with = "clear")]
    set: Option<String>,
    /// Go back to the runtime's own model
    #[arg(long)]
    clear: bool,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Its name: a-z, 0-9 and '-'
    id: String,
    /// The folder that it works in [default: its own home]
    #[arg(long, value_name = "FOLDER")]
    workspace_root: Option<PathBuf>,
    /// Where its commands start, inside the workspace [default: the workspace]
    #[arg(long, value_name = "FOLDER", requires = "workspace_root")]
    cwd: Option<PathBuf>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AbortArgs {
    #[command(flatten)]
    whom: Whom,
    /// Only this run; another one is left alone
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// Stop the agent as well
    #[arg(long)]
    stop: bool,
    #[arg(long)]
    json: bool,
}

pub(super) fn agent(home: Option<PathBuf>, command: AgentCommand) -> Result<Exit, Failure> {
    match command {
        AgentCommand::Status(args) => status::status(home, args),
        AgentCommand::List { json } => {
            Through::work(home, |through, ending| async move { ending.or(list(&through, json)).await })
        }
        AgentCommand::Create(args) => {
            Through::work(home, |through, ending| async move { ending.or(create(&through, args)).await })
        }
        AgentCommand::Start(args) => lifecycle(home, args, "start"),
        AgentCommand::Stop(args) => lifecycle(home, args, "stop"),
        AgentCommand::Pause(args) => old_name(home, args, "pause", "stop"),
        AgentCommand::Resume(args) => old_name(home, args, "resume", "start"),
        AgentCommand::Model(args) => {
            Through::work(home, |through, ending| async move { ending.or(model(&through, args)).await })
        }
        AgentCommand::Abort(args) => {
            let mut body = json!({ "stop_after_abort": args.stop });
            if let Some(run) = args.run {
                body["run_id"] = json!(run);
            }
            control(home, args.whom, args.json, "current-run/abort", body)
        }
    }
}

async fn list(through: &Through, json: bool) -> Result<Exit, Failure> {
    let mut agents: Vec<Value> = Vec::new();
    loop {
        let after = agents.last().map(|last| text(last, "/agent_id").to_owned());
        let ask = Ask::get("/agents/list", &[("after", after), ("limit", Some("1000".to_owned()))]);
        let page = through.client.ask(&ask).await?;
        let page = page.as_array().or_else(|| page.get("agents")?.as_array()).cloned().unwrap_or_default();
        let whole = page.len() < 1_000;
        agents.extend(page);
        if whole {
            break;
        }
    }
    if json {
        output::document(&agents)?;
        return Ok(Exit::Completed);
    }
    let heads = ["AGENT", "STATUS", "KIND", "OPEN WORK", "NEXT", "WORKS IN"];
    let mut rows = vec![heads.map(ToOwned::to_owned).to_vec()];
    rows.extend(agents.iter().map(|agent| {
        let mark = if agent.get("is_default") == Some(&Value::Bool(true)) { " *" } else { "" };
        let next = Some(text(agent, "/next_deadline")).filter(|next| !next.is_empty()).unwrap_or("-");
        vec![
            format!("{}{mark}", text(agent, "/agent_id")),
            text(agent, "/status").to_owned(),
            if agent.get("damaged").is_some() { "damaged" } else { text(agent, "/kind") }.to_owned(),
            number(agent, "/open_work").to_string(),
            next.to_owned(),
            text(agent, "/execution/cwd").to_owned(),
        ]
    }));
    output::table(&rows)?;
    let waits = agents.iter().map(|agent| text(agent, "/ledger_waits")).find(|waits| !waits.is_empty());
    if let Some(waits) = waits {
        output::note(&format!("holon: {waits}"));
    }
    Ok(Exit::Completed)
}

async fn create(through: &Through, args: CreateArgs) -> Result<Exit, Failure> {
    let agent = AgentId::new(&args.id).map_err(Failure::usage)?;
    let mut body = Map::new();
    for (name, folder) in [("workspace_root", args.workspace_root), ("cwd", args.cwd)] {
        if let Some(folder) = folder {
            let folder = std::path::absolute(folder).map_err(Failure::usage)?;
            body.insert(name.to_owned(), json!(folder));
        }
    }
    let ask = Ask::post(&format!("/control/agents/{agent}/create"), &body)?;
    let created = through.client.ask(&ask).await?;
    if args.json {
        output::document(&created)?;
    } else {
        output::line(&format!("created {agent}; it works in {}", text(&created, "/identity/execution/cwd")))?;
        output::hint("try", &format!("holon prompt --agent {agent} \"…\""));
    }
    Ok(Exit::Completed)
}

async fn model(through: &Through, args: ModelArgs) -> Result<Exit, Failure> {
    let wanted = args.set.as_deref().map(ModelRef::new).transpose();
    let wanted = wanted.map_err(|error| Failure::usage(error).hint("holon config providers list"))?;
    let agent = through.agent(args.whom.name()).await?;
    let ask = match (wanted, args.clear) {
        (Some(model), _) => Ask::post(&format!("/control/agents/{agent}/model"), &json!({ "model": model }))?,
        (None, true) => Ask::post(&format!("/control/agents/{agent}/model/clear"), &json!({}))?,
        (None, false) => Ask::get(&format!("/agents/{agent}/status"), &[]),
    };
    let reply = through.client.ask(&ask).await?;
    let state = reply.get("model").ok_or_else(|| incomplete("model"))?;
    if args.json {
        output::document(state)?;
        return Ok(Exit::Completed);
    }
    let fallbacks: Vec<&str> = state
        .get("effective_fallback_models")
        .and_then(Value::as_array)
        .map(|models| models.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fallbacks = if fallbacks.is_empty() { "none".to_owned() } else { fallbacks.join(", ") };
    output::table(&[
        vec!["agent".to_owned(), agent.to_string()],
        vec!["model".to_owned(), text(state, "/effective_model").to_owned()],
        vec!["chosen by".to_owned(), text(state, "/source").to_owned()],
        vec!["fallbacks".to_owned(), fallbacks],
        vec!["runtime's own".to_owned(), text(state, "/runtime_default_model").to_owned()],
    ])?;
    Ok(Exit::Completed)
}

fn lifecycle(home: Option<PathBuf>, args: StatusArgs, action: &'static str) -> Result<Exit, Failure> {
    control(home, args.whom, args.json, "control", json!({ "action": action }))
}

/// The runtime gets the old word, too: its reply says so in `deprecated`.
fn old_name(
    home: Option<PathBuf>,
    args: StatusArgs,
    old: &'static str,
    new: &'static str,
) -> Result<Exit, Failure> {
    output::note(&format!("holon: `{old}` is an old name of `holon agent {new}`; say that instead"));
    lifecycle(home, args, old)
}

fn control(
    home: Option<PathBuf>,
    whom: Whom,
    json: bool,
    what: &'static str,
    body: Value,
) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        ending
            .or(async {
                let agent = through.agent(whom.name()).await?;
                let ask = Ask::post(&format!("/control/agents/{agent}/{what}"), &body)?;
                let reply = through.client.ask(&ask).await?;
                if json {
                    output::document(&reply)?;
                } else {
                    output::line(&told(&agent, &reply))?;
                }
                Ok(Exit::Completed)
            })
            .await
    })
}

/// What a control request did.
fn told(agent: &AgentId, reply: &Value) -> String {
    let next = text(reply, "/outcome/next");
    let changed = reply.pointer("/outcome/changed") == Some(&Value::Bool(true));
    let run = text(reply, "/outcome/aborted_run_id");
    let aborted = if run.is_empty() { String::new() } else { format!(", {run} was aborted") };
    let children = reply.pointer("/outcome/stopped_children").and_then(Value::as_array);
    let children: Vec<&str> = children.into_iter().flatten().filter_map(Value::as_str).collect();
    let family = match children.join(", ") {
        names if names.is_empty() => names,
        names => format!(", and with it {names}"),
    };
    let stopping = reply.pointer("/outcome/stopping_roots").and_then(Value::as_array);
    let stopping: Vec<&str> = stopping.into_iter().flatten().filter_map(Value::as_str).collect();
    let stopping = match stopping.join(", ") {
        roots if roots.is_empty() => roots,
        roots => format!("; {roots} stays occupied until its last command there has ended"),
    };
    if changed || !run.is_empty() {
        format!("{agent} is {next}{aborted}{family}{stopping}")
    } else {
        format!("{agent} is {next} already")
    }
}
