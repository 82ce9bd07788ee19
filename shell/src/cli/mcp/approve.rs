//! `holon mcp approve` and `revoke`: which servers that workspaces propose may be used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use holon_mcp::{Approvals, Definition, PROPOSALS, Proposal, Proposed, Reach, Standing};
use holon_platform::{Environment, clock};
use holon_text::nearest::did_you_mean;

use super::Printed;
use super::change::Shown;
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::home::Home;
use crate::settings::{passed, quoted};
use crate::workplace;

#[derive(Debug, Args)]
pub(in crate::cli) struct ProposalArgs {
    /// Name a folder of the workspace
    workspace: PathBuf,
    /// Name the server as the `.mcp.json` of the workspace does
    name: String,
    #[command(flatten)]
    printed: Printed,
}

/// What the workspace around the current folder proposes, and those of which anything was approved, each with its standing.
pub(super) fn proposed(
    home: &Home,
    environment: &Environment,
) -> Result<Vec<(Definition, Standing)>, Failure> {
    let approvals = Approvals::of(&home.mcp());
    let current = std::env::current_dir()?;
    let mut workspaces: BTreeSet<PathBuf> = approvals.workspaces().into_iter().collect();
    workspaces.extend(anchor(&current, environment).ok());
    let variables = passed(environment);
    let mut all = Vec::new();
    for workspace in workspaces {
        match Proposed::of(&workspace, &variables) {
            Ok(proposed) => all.extend(proposed.into_iter().map(|proposed| {
                let standing = approvals.standing(&proposed.proposal);
                (proposed.definition(), standing)
            })),
            Err(problem) => output::prose(&format!("holon: {problem}")),
        }
    }
    Ok(all)
}

/// The folder that stands for the workspace, as agents that work there have it.
fn anchor(folder: &Path, environment: &Environment) -> Result<PathBuf, Failure> {
    let folder = folder.canonicalize().map_err(|problem| {
        Failure::usage(anyhow!("the workspace {} can't be used: {problem}", folder.display()))
    })?;
    Ok(workplace::around(&folder, environment.get("HOME").map(Path::new)))
}

pub(super) fn approve(home: &Home, environment: &Environment, args: &ProposalArgs) -> Result<Exit, Failure> {
    // Whoever may use a server is not who decides that it may be used.
    if environment.get("HOLON_RUNTIME").is_some() {
        return Err(Failure::new(
            Exit::RefusedByState,
            anyhow!("commands of agents approve no servers: an operator does"),
        ));
    }
    let workspace = anchor(&args.workspace, environment)?;
    let all = Proposed::of(&workspace, &passed(environment))
        .map_err(|problem| Failure::new(Exit::Failed, anyhow!(problem)))?;
    let Some(proposed) = all.iter().find(|proposed| proposed.proposal.name == args.name) else {
        let near = did_you_mean(&args.name, all.iter().map(|proposed| proposed.proposal.name.as_str()));
        let file = workspace.join(PROPOSALS);
        let error = anyhow!("{} proposes no server {:?}{near}", file.display(), args.name);
        return Err(Failure::new(Exit::NotFound, error).hint("holon mcp list"));
    };
    if let Reach::Nowhere { problem } = &proposed.reach {
        return Err(Failure::new(Exit::Failed, anyhow!("{} can't be used: {problem}", args.name)));
    }
    Approvals::of(&home.mcp()).approve(&proposed.proposal, clock::now().wall)?;
    let definition = proposed.definition();
    if args.printed.json {
        let shown = Shown::of(&definition, Some(Standing::Approved));
        output::document(&serde_json::json!({ "server": shown }))?;
    } else {
        output::line(&format!("approved {}", definition.name))?;
        for line in described(&proposed.reach, environment) {
            output::line(&line)?;
        }
        output::hint("try", &format!("holon mcp check {}", definition.name));
    }
    Ok(Exit::Completed)
}

/// What is started or reached; of variables and headers the names.
fn described(reach: &Reach, environment: &Environment) -> Vec<String> {
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
    let (first, second) = match reach {
        Reach::Program { command, args, environment: variables, .. } => {
            let words = std::iter::once(command).chain(args).map(|word| quoted(word));
            let passed = passed(environment);
            let own = variables.iter().filter(|(name, value)| passed.get(*name) != Some(*value));
            (
                format!("  starts {}", words.collect::<Vec<_>>().join(" ")),
                ("variables", names(own.map(|(name, _)| name).collect())),
            )
        }
        Reach::Address { url, headers } => {
            (format!("  reaches {url}"), ("headers", names(headers.keys().collect())))
        }
        Reach::Nowhere { problem } => (format!("  {problem}"), ("", String::new())),
    };
    let more = (!second.1.is_empty()).then(|| format!("  with the {} {}", second.0, second.1));
    std::iter::once(first).chain(more).collect()
}

pub(super) fn revoke(home: &Home, environment: &Environment, args: &ProposalArgs) -> Result<Exit, Failure> {
    // The folder may be gone.
    let workspace = anchor(&args.workspace, environment).unwrap_or_else(|_| args.workspace.clone());
    if !Approvals::of(&home.mcp()).revoke(&workspace, &args.name)? {
        let error = anyhow!("no server {:?} of {} is approved", args.name, workspace.display());
        return Err(Failure::new(Exit::NotFound, error).hint("holon mcp list"));
    }
    if args.printed.json {
        output::document(&serde_json::json!({ "revoked": args.name, "workspace": workspace }))?;
    } else {
        output::line(&format!("revoked {}", args.name))?;
    }
    Ok(Exit::Completed)
}

fn command(proposal: &Proposal) -> String {
    format!("holon mcp approve {} {}", quoted(&proposal.workspace.display().to_string()), proposal.name)
}

/// What makes it usable.
pub(super) fn hint(proposed: &Definition, standing: Standing) {
    if let Some(proposal) = &proposed.proposal {
        let what = if standing == Standing::Changed { "again" } else { "try" };
        output::hint(what, &command(proposal));
    }
}

pub(super) fn not_approved(proposed: &Definition, standing: Standing) -> Failure {
    let why = match standing {
        Standing::Changed => "its definition has changed since it was approved",
        Standing::Proposed | Standing::Approved => "a workspace proposes it, and nobody has approved it",
    };
    let failure = Failure::new(Exit::RefusedByState, anyhow!("{} can't be used: {why}", proposed.name));
    match &proposed.proposal {
        Some(proposal) => failure.hint(command(proposal)),
        None => failure,
    }
}
