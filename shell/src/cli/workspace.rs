//! `holon workspace`: the folders that an agent knows, and where it works.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use holon_api::{AttachWorkspace, Boundaries, Control, DetachWorkspace, UseWorkspace};
use holon_facts::execution::ExecutionPolicy;
use holon_facts::workspace::{AGENT_HOME, WorkspaceId, Worktree, WorktreeState};

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::output::{self, Failure};

/// How often the end of a removal is looked for, and how long in between.
const PRUNE_LOOKS: u32 = 600;
const PRUNE_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    /// List an agent's workspaces; the active one is marked
    List(ListArgs),
    /// Attach a folder as a workspace
    Attach(AttachArgs),
    /// Switch the active workspace from the next turn on
    Use(UseArgs),
    /// List the worktrees of an agent and its children
    #[command(alias = "worktree")]
    Worktrees(ListArgs),
    /// Remove unused worktrees without changes
    Prune(ListArgs),
    /// Detach a workspace; its files stay unchanged
    Detach(DetachArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whom: Whom,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AttachArgs {
    /// Attach this folder; inside a git repository its top folder
    folder: PathBuf,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(super) struct UseArgs {
    /// Use this workspace: its id, agent_home for the agent's own home, or a folder
    workspace: String,
    /// Start commands here, inside the workspace
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<String>,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(super) struct DetachArgs {
    /// Detach the workspace with this id
    workspace: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
struct Whose {
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn workspace(home: Option<PathBuf>, command: WorkspaceCommand) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        match command {
            WorkspaceCommand::List(args) => ending.or(list(&cli, args)).await,
            WorkspaceCommand::Attach(args) => ending.or(attach(&cli, args)).await,
            WorkspaceCommand::Use(args) => ending.or(use_it(&cli, args)).await,
            WorkspaceCommand::Worktrees(args) => ending.or(worktrees(&cli, args)).await,
            WorkspaceCommand::Prune(args) => ending.or(prune(&cli, args)).await,
            WorkspaceCommand::Detach(args) => ending.or(detach(&cli, args)).await,
        }
    })
}

async fn list(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.workspaces(&agent).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let state = &answer.state;
    let mark = |id: &str| if id == state.active_workspace_id.as_str() { "*" } else { "" }.to_owned();
    let rows = state.attached_workspaces.iter().map(|known| {
        let id = known.workspace_id.as_str();
        vec![mark(id), id.to_owned(), known.workspace_anchor.clone()]
    });
    let home = vec![mark(AGENT_HOME), AGENT_HOME.to_owned(), answer.agent_home.clone()];
    output::list(&["", "WORKSPACE", "FOLDER"], rows.chain([home]))?;
    output::line(&format!("commands: {}", boundaries(&answer.boundaries)))?;
    Ok(Exit::Completed)
}

/// What commands are held back from, on one line.
fn boundaries(boundaries: &Boundaries) -> String {
    let Boundaries { profile, policy } = boundaries;
    let ExecutionPolicy { writes, network, child_processes, paths, secrets, .. } = policy;
    let processes = format!("child_processes {child_processes}");
    format!("{profile} (writes {writes}, network {network}, {processes}, paths {paths}, secrets {secrets})")
}

async fn attach(cli: &ClientContext, args: AttachArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whose.agent.as_deref()).await?;
    let folder = absolute(&args.folder)?;
    let body = AttachWorkspace { path: folder.clone() };
    let answer = cli.client.attach_workspace(&agent, body).await?;
    if args.whose.json {
        output::document(&answer)?;
    } else {
        let already = if answer.changed { "" } else { " already" };
        output::line(&format!("{folder} is attached to {agent}{already}"))?;
        output::hint("try", &format!("holon workspace list {agent}"));
    }
    Ok(Exit::Completed)
}

async fn use_it(cli: &ClientContext, args: UseArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whose.agent.as_deref()).await?;
    let known = cli.client.workspaces(&agent).await?.into_reply().state.attached_workspaces;
    let named = known.into_iter().map(|known| known.workspace_id).chain([WorkspaceId::agent_home()]);
    let workspace_id = named.into_iter().find(|id| id.as_str() == args.workspace);
    let path = match &workspace_id {
        Some(_) => None,
        None => Some(absolute(Path::new(&args.workspace))?),
    };
    let body = UseWorkspace { path, workspace_id, cwd: args.cwd };
    let answer = cli.client.use_workspace(&agent, body).await?;
    output::shown(&answer, args.whose.json, || {
        let when = if answer.changed { "from its next turn on" } else { "already" };
        output::line(&format!("{agent} works in {} {when}", answer.state.execution.cwd))
    })
}

async fn worktrees(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.worktrees(&agent).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    listed(&answer.worktrees)?;
    if answer.retained > 0 {
        output::hint("try", &format!("look at what is retained, then: holon workspace prune {agent}"));
    }
    Ok(Exit::Completed)
}

/// Waits until it is known what stays.
async fn prune(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let before = cli.client.worktrees(&agent).await?.worktrees.len();
    cli.client.prune_worktrees(&agent).await?;
    let mut answer = cli.client.worktrees(&agent).await?;
    let mut left = PRUNE_LOOKS;
    while answer.worktrees.iter().any(|one| one.state == WorktreeState::Leaving) && left > 0 {
        tokio::time::sleep(PRUNE_PAUSE).await;
        answer = cli.client.worktrees(&agent).await?;
        left -= 1;
    }
    output::shown(&answer, args.json, || {
        let stay = answer.worktrees.len();
        output::line(&format!("{} removed, {stay} stay", before.saturating_sub(stay)))?;
        listed(&answer.worktrees)
    })
}

fn listed(worktrees: &[Worktree]) -> io::Result<()> {
    if worktrees.is_empty() {
        return Ok(());
    }
    let heads = ["WORKTREE", "STATE", "BRANCH", "FOLDER"];
    let rows = worktrees.iter().map(|one| {
        let reason = one.retained.as_ref().map(|retained| format!(": {}", retained.reason));
        let state = format!("{}{}", one.state, reason.unwrap_or_default());
        vec![one.plan.worktree_id.to_string(), state, one.plan.branch.clone(), one.plan.path.clone()]
    });
    output::list(&heads, rows)
}

async fn detach(cli: &ClientContext, args: DetachArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whose.agent.as_deref()).await?;
    let workspace_id = WorkspaceId::named(&args.workspace);
    let answer = cli.client.detach_workspace(&agent, DetachWorkspace { workspace_id }).await?;
    output::shown(&answer, args.whose.json, || {
        output::line(&format!("{} is not attached to {agent} any more", args.workspace))
    })
}

/// The runtime may have begun in another folder.
fn absolute(folder: &Path) -> Result<String, Failure> {
    let folder = std::path::absolute(folder).map_err(Failure::usage)?;
    let unreadable = || Failure::usage(anyhow::anyhow!("{} is no UTF-8", folder.display()));
    folder.to_str().map(str::to_owned).ok_or_else(unreadable)
}
