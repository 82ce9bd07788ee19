//! `holon workspace`: the folders that an agent knows, and where it works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use holon_core::agent::workspace::AGENT_HOME;
use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::through::{Through, incomplete, text};
use crate::client::Ask;

/// How often the end of a removal is looked for, and how long in between.
const PRUNE_LOOKS: u32 = 600;
const PRUNE_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    /// The workspaces that an agent knows; the one it works in is marked
    List(ListArgs),
    /// Let an agent know a folder
    Attach(AttachArgs),
    /// Let an agent work elsewhere from its next turn on
    Use(UseArgs),
    /// The worktrees that were made for an agent and its children
    Worktrees(ListArgs),
    /// Remove worktrees that nobody works in and that have nothing new
    Prune(ListArgs),
    /// Let an agent forget a workspace; its files stay as they are
    Detach(DetachArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(super) struct AttachArgs {
    /// In a git repository its top is the workspace
    folder: PathBuf,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(super) struct UseArgs {
    /// The id of a workspace that it knows, agent_home for its own home, or a folder
    workspace: String,
    /// Where its commands start, inside the workspace
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(super) struct DetachArgs {
    /// Its id
    workspace: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
struct Whose {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

pub(super) fn workspace(home: Option<PathBuf>, command: WorkspaceCommand) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        match command {
            WorkspaceCommand::List(args) => ending.or(list(&through, args)).await,
            WorkspaceCommand::Attach(args) => ending.or(attach(&through, args)).await,
            WorkspaceCommand::Use(args) => ending.or(use_it(&through, args)).await,
            WorkspaceCommand::Worktrees(args) => ending.or(worktrees(&through, args)).await,
            WorkspaceCommand::Prune(args) => ending.or(prune(&through, args)).await,
            WorkspaceCommand::Detach(args) => ending.or(detach(&through, args)).await,
        }
    })
}

async fn list(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let answer = through.client.ask(&Ask::get(&path(agent.as_str(), ""), &[])).await?;
    if args.whose.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let active = text(&answer, "/active_workspace_id").to_owned();
    let mut rows = vec![["", "workspace", "folder"].map(str::to_owned).to_vec()];
    let known = answer.get("attached_workspaces").and_then(Value::as_array);
    let known = known.ok_or_else(|| incomplete("attached_workspaces"))?;
    let mark = |id: &str| if id == active { "*" } else { "" }.to_owned();
    rows.extend(known.iter().map(|workspace| {
        let id = text(workspace, "/workspace_id");
        vec![mark(id), id.to_owned(), text(workspace, "/workspace_anchor").to_owned()]
    }));
    rows.push(vec![mark(AGENT_HOME), AGENT_HOME.to_owned(), text(&answer, "/agent_home").to_owned()]);
    output::table(&rows)?;
    output::line(&format!("commands: {}", boundaries(&answer)))?;
    Ok(Exit::Completed)
}

/// What commands are held back from, on one line.
fn boundaries(answer: &Value) -> String {
    let profile = text(answer, "/profile");
    let of = |name: &str| format!("{name} {}", text(answer, &format!("/policy/{name}")));
    let all = ["writes", "network", "child_processes", "paths", "secrets"].map(of).join(", ");
    format!("{profile} ({all})")
}

async fn attach(through: &Through, args: AttachArgs) -> Result<Exit, Failure> {
    let body = json!({ "path": absolute(&args.folder)? });
    let (agent, answer) = ask(through, &args.whose, "attach", &body).await?;
    if args.whose.json {
        output::document(&answer)?;
    } else {
        let already = if changed(&answer) { "" } else { " already" };
        output::line(&format!("{agent} knows {}{already}", args.folder.display()))?;
        output::hint("try", &format!("holon workspace list --agent {agent}"));
    }
    Ok(Exit::Completed)
}

async fn use_it(through: &Through, args: UseArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let state = through.client.ask(&Ask::get(&path(agent.as_str(), ""), &[])).await?;
    let known = state.get("attached_workspaces").and_then(Value::as_array).into_iter().flatten();
    let is_known = known.map(|known| text(known, "/workspace_id")).any(|id| id == args.workspace);
    let mut body = Map::new();
    if is_known || args.workspace == AGENT_HOME {
        body.insert("workspace_id".to_owned(), json!(args.workspace));
    } else {
        body.insert("path".to_owned(), json!(absolute(Path::new(&args.workspace))?));
    }
    body.extend(args.cwd.clone().map(|cwd| ("cwd".to_owned(), json!(cwd))));
    let (agent, answer) = ask(through, &args.whose, "use", &Value::Object(body)).await?;
    if args.whose.json {
        output::document(&answer)?;
    } else {
        let when = if changed(&answer) { "from its next turn on" } else { "already" };
        output::line(&format!("{agent} works in {} {when}", text(&answer, "/execution/cwd")))?;
    }
    Ok(Exit::Completed)
}

async fn worktrees(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?;
    let answer = summary(through, agent.as_str()).await?;
    if args.whose.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    tell(&listed(&answer)?)?;
    if answer.get("retained").and_then(Value::as_u64).unwrap_or(0) > 0 {
        output::hint(
            "try",
            &format!("look at what is retained, then: holon workspace prune --agent {agent}"),
        );
    }
    Ok(Exit::Completed)
}

/// Waits until it is known what stays.
async fn prune(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.whose.agent.as_deref()).await?.to_string();
    let before = listed(&summary(through, &agent).await?)?.len();
    ask(through, &args.whose, "prune", &json!({})).await?;
    let mut answer = summary(through, &agent).await?;
    let mut left = PRUNE_LOOKS;
    while listed(&answer)?.iter().any(|one| text(one, "/state") == "leaving") && left > 0 {
        tokio::time::sleep(PRUNE_PAUSE).await;
        answer = summary(through, &agent).await?;
        left -= 1;
    }
    if args.whose.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let stay = listed(&answer)?;
    output::line(&format!("{} removed, {} stay", before.saturating_sub(stay.len()), stay.len()))?;
    tell(&stay)?;
    Ok(Exit::Completed)
}

async fn summary(through: &Through, agent: &str) -> Result<Value, Failure> {
    Ok(through.client.ask(&Ask::get(&format!("/agents/{agent}/worktree-summary"), &[])).await?)
}

fn listed(answer: &Value) -> Result<Vec<Value>, Failure> {
    answer.get("worktrees").and_then(Value::as_array).cloned().ok_or_else(|| incomplete("worktrees"))
}

fn tell(worktrees: &[Value]) -> Result<(), Failure> {
    if worktrees.is_empty() {
        return Ok(());
    }
    let mut rows = vec![["worktree", "state", "branch", "folder"].map(str::to_owned).to_vec()];
    rows.extend(worktrees.iter().map(|one| {
        let reason = text(one, "/retained/reason");
        let state = text(one, "/state");
        let state = if reason.is_empty() { state.to_owned() } else { format!("{state}: {reason}") };
        vec![text(one, "/worktree_id").into(), state, text(one, "/branch").into(), text(one, "/path").into()]
    }));
    output::table(&rows)?;
    Ok(())
}

async fn detach(through: &Through, args: DetachArgs) -> Result<Exit, Failure> {
    let body = json!({ "workspace_id": args.workspace });
    let (agent, answer) = ask(through, &args.whose, "detach", &body).await?;
    if args.whose.json {
        output::document(&answer)?;
    } else {
        output::line(&format!("{agent} knows {} no longer", args.workspace))?;
    }
    Ok(Exit::Completed)
}

async fn ask(
    through: &Through,
    whose: &Whose,
    change: &str,
    body: &Value,
) -> Result<(String, Value), Failure> {
    let agent = through.agent(whose.agent.as_deref()).await?.to_string();
    let answer = through.client.ask(&Ask::post(&path(&agent, change), body)?).await?;
    Ok((agent, answer))
}

fn path(agent: &str, change: &str) -> String {
    let change = if change.is_empty() { String::new() } else { format!("/{change}") };
    format!("/control/agents/{agent}/workspace{change}")
}

/// The runtime may have begun in another folder.
fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(folder).map_err(Failure::usage)
}

fn changed(answer: &Value) -> bool {
    answer.get("changed") == Some(&Value::Bool(true))
}
