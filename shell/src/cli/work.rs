//! `holon work`: what an agent is about, over many turns.

use std::fmt::Display;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use holon_api::{Control, CreateWork, WorkItemSnapshot, WorkItemsQuery};
use holon_facts::call::WorkFilter;
use holon_facts::ids::WorkItemId;
use holon_facts::work::{PlanStatus, Todo, TodoState};

use holon_text::moment::near;

use super::client_context::{ClientContext, Whom, one_of};
use super::exit::Exit;
use super::output::{self, Failure};
use holon_present as present;

/// Which items a list may be asked for.
const FILTERS: [&str; 8] =
    ["all", "open", "completed", "current", "queued", "blocked", "waiting_for_operator", "runnable"];

#[derive(Debug, Subcommand)]
pub(super) enum WorkCommand {
    /// List open and recently completed items
    List(ListArgs),
    /// Add an item; the focus does not move
    Add(AddArgs),
    /// Show one item with its steps and the start of its plan
    Show(ItemArgs),
    /// Mark an item as completed
    Complete(ItemArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whom: Whom,
    /// List only items of this kind
    #[arg(long, value_parser = filter())]
    filter: Option<WorkFilter>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// State the objective: its words are joined
    #[arg(required = true)]
    objective: Vec<String>,
    /// Add a step; repeatable
    #[arg(long = "step", value_name = "TEXT")]
    steps: Vec<String>,
    /// Start the plan file with this text
    #[arg(long, value_name = "TEXT")]
    plan: Option<String>,
    /// Set the status of the plan
    #[arg(long, default_value = PlanStatus::Draft.name(), value_parser = one_of(PlanStatus::ALL))]
    plan_status: PlanStatus,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ItemArgs {
    /// Name the item, for example work_2
    item: WorkItemId,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn work(home: Option<PathBuf>, command: WorkCommand) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        match command {
            WorkCommand::List(args) => ending.or(list(&cli, args)).await,
            WorkCommand::Add(args) => ending.or(add(&cli, args)).await,
            WorkCommand::Show(args) => ending.or(show(&cli, args)).await,
            WorkCommand::Complete(args) => ending.or(complete(&cli, args)).await,
        }
    })
}

async fn list(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let query = WorkItemsQuery { filter: args.filter, limit: Some(500) };
    let answer = cli.client.work_items(&agent, query).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    if answer.work_items.is_empty() {
        let such = if args.filter.is_some() { "such " } else { "" };
        output::line(&format!("{agent} has no {such}work items"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["ITEM", "STATE", "PLAN", "STEPS", "OBJECTIVE"];
    let rows = answer.work_items.iter().map(|item| {
        let focus = if item.in_focus { ", in focus" } else { "" };
        vec![
            item.work_item_id.to_string(),
            format!("{}{focus}", item.scheduling_state),
            item.plan_status.to_string(),
            steps(item.todo_list.as_deref().unwrap_or_default()),
            present::one_line(&item.objective),
        ]
    });
    output::list(&heads, rows)?;
    Ok(Exit::Completed)
}

fn filter() -> impl TypedValueParser<Value = WorkFilter> {
    PossibleValuesParser::new(FILTERS).try_map(|word| serde_json::from_value::<WorkFilter>(word.into()))
}

/// How many of the steps are done.
fn steps(list: &[Todo]) -> String {
    let done = list.iter().filter(|todo| todo.state == TodoState::Completed).count();
    if list.is_empty() { "-".to_owned() } else { format!("{done}/{}", list.len()) }
}

async fn add(cli: &ClientContext, args: AddArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let steps = args.steps.into_iter().map(|text| Todo { text, state: TodoState::Pending });
    let item = CreateWork {
        objective: args.objective.join(" "),
        plan_status: Some(args.plan_status),
        todo_list: steps.collect(),
        plan: args.plan,
    };
    let answer = cli.client.create_work_item(&agent, item, None).await?;
    output::shown(&answer, args.json, || output::line(&answer.work_item.work_item_id.to_string()))
}

async fn show(cli: &ClientContext, args: ItemArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let answer = cli.client.work_item((&agent, args.item)).await?;
    output::shown(&answer, args.json, || output::table(&rows(&answer.work_item)))
}

fn rows(item: &WorkItemSnapshot) -> Vec<Vec<String>> {
    let row =
        |name: &str, value: &dyn Display| vec![name.to_owned(), present::whole_line(&value.to_string())];
    let mut rows = vec![
        row("item", &item.work_item_id),
        row("agent", &item.agent_id),
        row("objective", &item.objective),
        row("state", &item.scheduling_state),
        row("in focus", &if item.in_focus { "yes" } else { "no" }),
        row("plan", &item.plan_status),
    ];
    let moments = [item.recheck_at, item.stalled_at, item.deferred_until, item.completed_at];
    let [recheck, stalled, deferred, completed] = moments.map(|at| at.map(near));
    let mut more = |name: &str, value: Option<&dyn Display>| rows.extend(value.map(|value| row(name, value)));
    more("plan file", item.plan_artifact.as_ref().map(|plan| &plan.path as _));
    more("blocked by", item.blocked_by.as_ref().map(|it| it as _));
    more("waits for", item.wait.as_ref().map(|wait| &wait.waiting_for as _));
    more("wait", item.wait.as_ref().map(|wait| &wait.id as _));
    more("looked at", recheck.as_ref().map(|it| it as _));
    more("stalled by", item.stall_reason.as_ref().map(|it| it as _));
    more("stalled at", stalled.as_ref().map(|it| it as _));
    more("next turn at", deferred.as_ref().map(|it| it as _));
    more("began", Some(&near(item.created_at)));
    more("changed", Some(&near(item.updated_at)));
    more("completed", completed.as_ref().map(|it| it as _));
    more("report", item.completion_report.as_ref().map(|it| it as _));
    for todo in item.todo_list.iter().flatten() {
        rows.push(row("step", &format!("{}: {}", todo.state, todo.text)));
    }
    rows
}

async fn complete(cli: &ClientContext, args: ItemArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let answer = cli.client.complete_work_item((&agent, args.item)).await?;
    output::shown(&answer, args.json, || {
        let already = if answer.changed { "" } else { " already" };
        output::line(&format!("{} is completed{already}", args.item))
    })
}
