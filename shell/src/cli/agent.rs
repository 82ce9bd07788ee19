//! `holon agent`: who there is, and their lifecycle.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_core::AgentId;
use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::status::{self, StatusArgs};
use super::through::{Through, Whom, number, text};
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
    #[command(alias = "resume")]
    Start(StatusArgs),
    /// End its run, and take nothing in until it is started
    #[command(alias = "pause")]
    Stop(StatusArgs),
    /// End the run in progress; the agent goes on with what is next
    Abort(AbortArgs),
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
    run: Option<String>,
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
        AgentCommand::Start(args) => {
            control(home, args.whom, args.json, "control", json!({ "action": "start" }))
        }
        AgentCommand::Stop(args) => {
            control(home, args.whom, args.json, "control", json!({ "action": "stop" }))
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
            text(agent, "/kind").to_owned(),
            number(agent, "/open_work").to_string(),
            next.to_owned(),
            text(agent, "/execution/cwd").to_owned(),
        ]
    }));
    output::table(&rows)?;
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
        output::note(&format!("  try: holon prompt --agent {agent} \"…\""));
    }
    Ok(Exit::Completed)
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
    if changed || !run.is_empty() {
        format!("{agent} is {next}{aborted}")
    } else {
        format!("{agent} is {next} already")
    }
}
