//! `holon work`: what an agent is about, over many turns.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use holon_core::agent::work::PlanStatus;
use holon_core::ids::WorkItemId;
use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::through::{Through, incomplete, text};
use crate::client::Ask;
use crate::present;

/// Which items a list may be asked for.
const FILTERS: [&str; 8] =
    ["all", "open", "completed", "current", "queued", "blocked", "waiting_for_operator", "runnable"];

#[derive(Debug, Subcommand)]
pub(super) enum WorkCommand {
    /// Those that are open and those that were completed lately
    List(ListArgs),
    /// Give an agent something to bring about; it does not take the focus
    Add(AddArgs),
    /// One item, with its steps and the beginning of its plan
    Show(ItemArgs),
    /// Say that an item is done
    Complete(ItemArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only items of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(FILTERS))]
    filter: Option<String>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// What is to be brought about
    objective: String,
    /// One step; several may be given
    #[arg(long = "step", value_name = "TEXT")]
    steps: Vec<String>,
    /// What the file with its plan begins with
    #[arg(long, value_name = "TEXT")]
    plan: Option<String>,
    /// How far its plan is
    #[arg(long, default_value = PlanStatus::Draft.name())]
    #[arg(value_parser = PossibleValuesParser::new(PlanStatus::ALL.iter().map(|status| status.name())))]
    plan_status: String,
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ItemArgs {
    /// The item, for example work_2
    item: WorkItemId,
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

pub(super) fn work(home: Option<PathBuf>, command: WorkCommand) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        match command {
            WorkCommand::List(args) => ending.or(list(&through, args)).await,
            WorkCommand::Add(args) => ending.or(add(&through, args)).await,
            WorkCommand::Show(args) => ending.or(show(&through, args)).await,
            WorkCommand::Complete(args) => ending.or(complete(&through, args)).await,
        }
    })
}

async fn list(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let query = [("filter", args.filter), ("limit", Some("500".to_owned()))];
    let answer = through.client.ask(&Ask::get(&format!("/agents/{agent}/work-items"), &query)).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let items = answer.get("work_items").and_then(Value::as_array).ok_or_else(|| incomplete("work_items"))?;
    if items.is_empty() {
        output::line(&format!("{agent} has no such work items"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["ITEM", "STATE", "PLAN", "STEPS", "OBJECTIVE"];
    let mut rows = vec![heads.map(ToOwned::to_owned).to_vec()];
    rows.extend(items.iter().map(|item| {
        let focus = if item.get("in_focus") == Some(&Value::Bool(true)) { ", in focus" } else { "" };
        vec![
            text(item, "/work_item_id").to_owned(),
            format!("{}{focus}", text(item, "/scheduling_state")),
            text(item, "/plan_status").to_owned(),
            steps(item),
            present::one_line(text(item, "/objective")),
        ]
    }));
    output::table(&rows)?;
    Ok(Exit::Completed)
}

/// How many of the steps are done.
fn steps(item: &Value) -> String {
    let list = item.get("todo_list").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let done = list.iter().filter(|todo| text(todo, "/state") == "completed").count();
    if list.is_empty() { "-".to_owned() } else { format!("{done}/{}", list.len()) }
}

async fn add(through: &Through, args: AddArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let steps: Vec<Value> =
        args.steps.iter().map(|step| json!({ "text": step, "state": "pending" })).collect();
    let mut body = Map::new();
    body.insert("objective".to_owned(), json!(args.objective));
    body.insert("plan_status".to_owned(), json!(args.plan_status));
    body.insert("todo_list".to_owned(), json!(steps));
    if let Some(plan) = args.plan {
        body.insert("plan".to_owned(), json!(plan));
    }
    let ask = Ask::post(&format!("/control/agents/{agent}/work-items"), &body)?;
    let answer = through.client.ask(&ask).await?;
    if args.json {
        output::document(&answer)?;
    } else {
        output::line(text(&answer, "/work_item/work_item_id"))?;
    }
    Ok(Exit::Completed)
}

async fn show(through: &Through, args: ItemArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let path = format!("/agents/{agent}/work-items/{}", args.item);
    let answer = through.client.ask(&Ask::get(&path, &[])).await?;
    let item = answer.get("work_item").ok_or_else(|| incomplete("work_item"))?;
    if args.json {
        output::document(&answer)?;
    } else {
        output::table(&rows(item))?;
    }
    Ok(Exit::Completed)
}

fn rows(item: &Value) -> Vec<Vec<String>> {
    let row = |name: &str, value: &str| vec![name.to_owned(), present::whole_line(value)];
    let mut rows = vec![
        row("item", text(item, "/work_item_id")),
        row("agent", text(item, "/agent_id")),
        row("objective", text(item, "/objective")),
        row("state", text(item, "/scheduling_state")),
        row("in focus", if item.get("in_focus") == Some(&Value::Bool(true)) { "yes" } else { "no" }),
        row("plan", text(item, "/plan_status")),
    ];
    let mut more = |name: &str, pointer: &str| {
        let value = text(item, pointer);
        rows.extend(Some(value).filter(|value| !value.is_empty()).map(|value| row(name, value)));
    };
    more("plan file", "/plan_artifact/path");
    more("blocked by", "/blocked_by");
    more("waits for", "/wait/waiting_for");
    more("wait", "/wait/wait_id");
    more("looked at", "/recheck_at");
    more("stalled by", "/stall_reason");
    more("stalled at", "/stalled_at");
    more("next turn at", "/deferred_until");
    more("began", "/created_at");
    more("changed", "/updated_at");
    more("completed", "/completed_at");
    more("report", "/completion_report");
    for todo in item.get("todo_list").and_then(Value::as_array).into_iter().flatten() {
        rows.push(row("step", &format!("{}: {}", text(todo, "/state"), text(todo, "/text"))));
    }
    rows
}

async fn complete(through: &Through, args: ItemArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let path = format!("/control/agents/{agent}/work-items/{}/complete", args.item);
    let answer = through.client.ask(&Ask::post(&path, &json!({}))?).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let changed = answer.get("changed") == Some(&Value::Bool(true));
    let already = if changed { "" } else { " already" };
    output::line(&format!("{} is completed{already}", args.item))?;
    Ok(Exit::Completed)
}
