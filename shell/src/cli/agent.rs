//! `holon agent`: who there is, and their lifecycle.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use holon_api::INSTRUCTIONS_BYTES;
use holon_api::{
    Abort, Action, AgentListEntry, Agents, ClientError, CompactReply, Control, ControlAgent, CreateAgent,
    Document, ListQuery, Listed, SetModel,
};
use holon_core::summary::SchedulingPosture;
use holon_core::view::RunVerdict;
use holon_facts::episode::Compaction;
use holon_facts::label::Description;
use holon_facts::lifecycle::ControlOutcome;
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, RunId};
use holon_platform::regular;
use holon_text::moment;

use super::bundle::{self, BundleArgs};
use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::explained::named;
use super::labels::{self, DescribeArgs, RenameArgs};
use super::output::{self, Failure};
use super::spending;
use super::status::{self, AtArgs, StatusArgs};
use super::template;
use crate::workplace;
use holon_present as present;

#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// List every public agent
    List {
        /// List archived agents as well
        #[arg(long)]
        all: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Summarize one agent
    Status(AtArgs),
    /// Create a durable agent
    Create(CreateArgs),
    /// Start a stopped or archived agent
    Start(StatusArgs),
    /// Stop an agent: end its run and refuse messages until it starts
    Stop(StatusArgs),
    /// Stop an agent and take it out of the list; `start` brings it back
    Archive(StatusArgs),
    /// Give an agent a second name; its id stays what it is
    Rename(RenameArgs),
    /// Describe in one line what an agent is for
    Describe(DescribeArgs),
    /// Put what an agent did into one file that can be replayed elsewhere
    Bundle(BundleArgs),
    /// Stop an agent (old name of `stop`)
    #[command(hide = true)]
    Pause(StatusArgs),
    /// Start an agent (old name of `start`)
    #[command(hide = true)]
    Resume(StatusArgs),
    /// Abort the run in progress; the agent continues with its queue
    Abort(AbortArgs),
    /// Replace the conversation that requests show by a digest of it
    Compact(StatusArgs),
    /// Show or set the model of an agent from its next turn on
    Model(ModelArgs),
}

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    #[command(flatten)]
    whom: Whom,
    /// Set the first model, as provider/model
    #[arg(long, value_name = "MODEL", conflicts_with = "clear")]
    set: Option<String>,
    /// Return to the runtime's own model
    #[arg(long)]
    clear: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Name the agent: a-z, 0-9 and '-'
    id: String,
    /// Work in this folder [default: the git repository around the current folder, or that folder]
    #[arg(long, visible_alias = "workspace", value_name = "FOLDER", conflicts_with = "own_home")]
    workspace_root: Option<PathBuf>,
    /// Start commands here, inside the workspace [default: the workspace]
    #[arg(long, value_name = "FOLDER", requires = "workspace_root")]
    cwd: Option<PathBuf>,
    /// Work in the agent's own home, below the home of the runtime
    #[arg(long)]
    own_home: bool,
    /// Ask this model first, as provider/model [default: the runtime's own]
    #[arg(long, value_name = "MODEL")]
    model: Option<ModelRef>,
    /// Give it the text of this file as standing instructions: it becomes AGENTS.md in its home
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Begin with this template: its id, a folder, or an address on GitHub (`holon template list`)
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "instructions")]
    template: Option<String>,
    /// Describe in one line what it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<Description>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AbortArgs {
    #[command(flatten)]
    whom: Whom,
    /// Abort only this run
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// Stop the agent as well
    #[arg(long)]
    stop: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn agent(home: Option<PathBuf>, command: AgentCommand) -> Result<Exit, Failure> {
    match command {
        AgentCommand::Status(args) => status::status(home, args),
        AgentCommand::List { all, json } => {
            ClientContext::read(home, |cli, ending| async move { ending.or(list(&cli, all, json)).await })
        }
        AgentCommand::Archive(args) => lifecycle(home, args, Action::Archive),
        AgentCommand::Rename(args) => labels::rename(home, args),
        AgentCommand::Describe(args) => labels::describe(home, args),
        AgentCommand::Create(args) => {
            ClientContext::work(home, |cli, ending| async move { ending.or(create(&cli, args)).await })
        }
        AgentCommand::Start(args) => lifecycle(home, args, Action::Start),
        AgentCommand::Stop(args) => lifecycle(home, args, Action::Stop),
        AgentCommand::Bundle(args) => bundle::agent_bundle(home, args),
        AgentCommand::Pause(args) => old_name(home, args, ("pause", Action::Pause), "stop"),
        AgentCommand::Resume(args) => old_name(home, args, ("resume", Action::Resume), "start"),
        AgentCommand::Model(args) => {
            ClientContext::work(home, |cli, ending| async move { ending.or(model(&cli, args)).await })
        }
        AgentCommand::Abort(args) => abort(home, args),
        AgentCommand::Compact(args) => compact(home, args),
    }
}

fn compact(home: Option<PathBuf>, args: StatusArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let reply = cli.client.compact(&agent).await?;
                output::shown(&reply, args.json, || output::line(&compacted(&reply)))
            })
            .await
    })
}

fn compacted(CompactReply { agent_id, compaction, .. }: &CompactReply) -> String {
    match compaction {
        Compaction::Closed { episode_id } => {
            format!("{episode_id} of {agent_id} closed: the next request shows a digest of it")
        }
        Compaction::Requested { episode_id } => {
            format!("{agent_id} is in a turn: {episode_id} closes before its next request, or with its end")
        }
        Compaction::Nothing => format!("{agent_id} has no conversation to compact"),
    }
}

async fn list(cli: &ClientContext, all: bool, json: bool) -> Result<Exit, Failure> {
    const PAGE: u32 = 1_000;
    let mut agents: Vec<Document<Listed>> = Vec::new();
    let mut after = None;
    loop {
        let page = match cli.client.agents(ListQuery { after, limit: Some(PAGE), all }).await {
            Err(ClientError::NotReachable { .. }) if cli.is_new() => break,
            read => read?.into_reply(),
        };
        agents.extend(page.agents);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if json {
        return output::shown(&Agents { ok: true, agents, more: false, next: None }, true, || Ok(()));
    }
    if agents.is_empty() && cli.is_new() {
        output::line("no agents yet")?;
        output::hint("try", cli.first_step());
        return Ok(Exit::Completed);
    }
    let described = agents.iter().any(|agent| description(agent).is_some());
    let heads = ["AGENT", "STATE", "SINCE", "WAITS FOR", "NEXT", "TODAY", "WORKS IN"];
    let about = described.then_some("ABOUT");
    let mut rows: Vec<Vec<String>> = vec![heads.into_iter().chain(about).map(ToOwned::to_owned).collect()];
    rows.extend(agents.iter().map(|agent| {
        let about = described.then(|| description(agent).map_or_else(none, ToString::to_string));
        row(agent).into_iter().chain(about).collect()
    }));
    output::table(&rows)?;
    let waits = agents.iter().find_map(|agent| match &**agent {
        Listed::Agent(entry) => entry.ledger_waits.as_ref(),
        Listed::Damaged(_) => None,
    });
    if let Some(waits) = waits.filter(|_| !cli.stopped) {
        output::note(&format!("holon: {waits}"));
    }
    Ok(Exit::Completed)
}

fn description(agent: &Listed) -> Option<&Description> {
    agent.standing()?.label.description.as_ref()
}

/// Its id, with its second name.
fn called(entry: &AgentListEntry) -> String {
    let name = entry.standing.as_ref().and_then(|standing| standing.label.name.as_ref());
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{}{name}{}", entry.agent_id, if entry.is_default { " *" } else { "" })
}

fn row(agent: &Listed) -> Vec<String> {
    let cells = match agent {
        Listed::Agent(entry) => [
            called(entry),
            state(entry),
            entry.standing.as_ref().map_or_else(none, |standing| moment::relative(standing.since)),
            waits_for(entry),
            entry.next_deadline.map_or_else(none, moment::relative),
            spending::in_short(entry.spent_today),
            works_in(entry),
        ],
        Listed::Damaged(agent) => {
            [agent.agent_id.to_string(), "damaged".to_owned(), none(), none(), none(), none(), none()]
        }
    };
    cells.into()
}

fn none() -> String {
    "-".to_owned()
}

/// Where its commands start now; of one that an earlier build wrote, where it began.
fn works_in(entry: &AgentListEntry) -> String {
    let standing = entry.standing.as_ref();
    standing.map_or(&entry.execution.cwd, |standing| &standing.works_in).clone()
}

/// How an agent stands, in one word: its verdict, or what it is up to.
fn state(entry: &AgentListEntry) -> String {
    let Some(standing) = &entry.standing else { return entry.status.to_string() };
    if standing.label.archived {
        return "archived".to_owned();
    }
    match (standing.verdict, standing.posture) {
        (Some(RunVerdict::Completed), SchedulingPosture::Idle) => "idle".to_owned(),
        (Some(verdict), _) => verdict.to_string(),
        (None, SchedulingPosture::ActiveTurn) => "running".to_owned(),
        (None, SchedulingPosture::HasQueuedInput) => "queued".to_owned(),
        (None, posture) => posture.shown(false).to_owned(),
    }
}

/// Who or what ends its wait; an ask of the operator comes first.
fn waits_for(entry: &AgentListEntry) -> String {
    let Some(standing) = &entry.standing else { return none() };
    let waits = standing.waiting_for.as_deref().map(present::one_line);
    match standing.open_asks() {
        0 => waits.unwrap_or_else(none),
        asks => format!("you ({asks}){}", waits.map(|waits| format!(": {waits}")).unwrap_or_default()),
    }
}

async fn create(cli: &ClientContext, args: CreateArgs) -> Result<Exit, Failure> {
    let agent = AgentId::new(&args.id).map_err(Failure::usage)?;
    let named = |folder: PathBuf| -> Result<String, Failure> {
        let folder = std::path::absolute(folder).map_err(Failure::usage)?;
        let unreadable = || Failure::usage(anyhow::anyhow!("{} is no UTF-8", folder.display()));
        folder.to_str().map(str::to_owned).ok_or_else(unreadable)
    };
    let folder = match (args.workspace_root, args.own_home) {
        (Some(folder), _) => Some(folder),
        (None, true) => None,
        (None, false) => here(cli),
    };
    let wanted = CreateAgent {
        workspace_root: folder.map(named).transpose()?,
        cwd: args.cwd.map(named).transpose()?,
        visibility: None,
        model: args.model,
        instructions: args.instructions.as_deref().map(instructions).transpose()?,
        template: args
            .template
            .as_deref()
            .map(template::selector)
            .transpose()?
            .map(|named| named.to_string()),
        description: args.description,
    };
    let created = cli.client.create_agent(&agent, wanted).await?;
    if args.json {
        output::document(&created)?;
    } else {
        output::line(&format!("created {agent}; it works in {}", created.identity.execution.cwd))?;
        output::hint("try", &format!("holon prompt --agent {agent} \"…\""));
    }
    Ok(Exit::Completed)
}

/// The text of a file of instructions.
fn instructions(file: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::usage(anyhow::anyhow!("--instructions {}: {what}", file.display()));
    let text = regular::text(file, INSTRUCTIONS_BYTES as u64).map_err(|error| wrong(error.to_string()))?;
    if text.trim().is_empty() { Err(wrong("it is empty".to_owned())) } else { Ok(text) }
}

/// Where somebody works who creates an agent here: nobody's project is a home folder, the root, or the home of the
/// runtime.
fn here(cli: &ClientContext) -> Option<PathBuf> {
    let current = std::env::current_dir().ok()?.canonicalize().ok()?;
    let home = cli.environment.get("HOME").map(PathBuf::from);
    let folder = workplace::around(&current, home.as_deref());
    let is_home = home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == folder);
    let of_runtime = cli.home_root().canonicalize().is_ok_and(|root| folder.starts_with(root));
    (!is_home && !of_runtime && folder.parent().is_some()).then_some(folder)
}

async fn model(cli: &ClientContext, args: ModelArgs) -> Result<Exit, Failure> {
    let wanted = args.set.as_deref().map(ModelRef::new).transpose();
    let wanted = wanted.map_err(|error| Failure::usage(error).hint("holon config providers list"))?;
    let agent = cli.agent(args.whom.name()).await?;
    let client = &cli.client;
    let state = match (wanted, args.clear) {
        (Some(model), _) => client.set_model(&agent, SetModel { model }).await?.into_reply().model,
        (None, true) => client.clear_model(&agent).await?.into_reply().model,
        (None, false) => client.status(&agent).await?.into_reply().summary.model.into(),
    };
    output::shown(&state, args.json, || {
        let fallbacks: Vec<String> =
            state.effective_fallback_models.iter().map(ToString::to_string).collect();
        let fallbacks = if fallbacks.is_empty() { "none".to_owned() } else { fallbacks.join(", ") };
        output::table(&[
            vec!["agent".to_owned(), agent.to_string()],
            vec!["model".to_owned(), named(state.effective_model.as_ref())],
            vec!["chosen by".to_owned(), state.source.to_string()],
            vec!["fallbacks".to_owned(), fallbacks],
            vec!["runtime's own".to_owned(), named(state.runtime_default_model.as_ref())],
        ])
    })
}

fn lifecycle(home: Option<PathBuf>, args: StatusArgs, action: Action) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let reply = cli.client.control(&agent, ControlAgent { action }).await?;
                output::shown(&reply, args.json, || output::line(&in_words(&agent, &reply.outcome)))
            })
            .await
    })
}

fn abort(home: Option<PathBuf>, args: AbortArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let wanted = Abort { run_id: args.run, stop_after_abort: args.stop };
                let reply = cli.client.abort(&agent, wanted).await?;
                output::shown(&reply, args.json, || output::line(&in_words(&agent, &reply.outcome)))
            })
            .await
    })
}

/// The runtime gets the old word, too: its reply says so in `deprecated`.
fn old_name(
    home: Option<PathBuf>,
    args: StatusArgs,
    (old, action): (&'static str, Action),
    new: &'static str,
) -> Result<Exit, Failure> {
    output::note(&format!("holon: `{old}` is an old name of `holon agent {new}`; use that instead"));
    lifecycle(home, args, action)
}

/// What a control request did.
fn in_words(agent: &AgentId, outcome: &ControlOutcome) -> String {
    let names = |ids: &[AgentId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let ControlOutcome { next, changed, archived, aborted_run_id, stopped_children, stopping_roots, .. } =
        outcome;
    let next = if *archived { "archived".to_owned() } else { next.to_string() };
    let aborted = aborted_run_id.map(|run| format!(", {run} was aborted")).unwrap_or_default();
    let children = match names(stopped_children) {
        names if names.is_empty() => names,
        names => format!(", and with it {names}"),
    };
    let stopping = match stopping_roots.join(", ") {
        roots if roots.is_empty() => roots,
        roots => format!("; {roots} stays occupied until its last command there has ended"),
    };
    if *changed || aborted_run_id.is_some() {
        format!("{agent} is {next}{aborted}{children}{stopping}")
    } else {
        format!("{agent} is {next} already")
    }
}
