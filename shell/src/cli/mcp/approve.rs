//! `holon mcp approve` and `revoke`: which servers that workspaces propose may be used.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use holon_mcp::{Approvals, Definition, PROPOSALS, Proposal, Proposed, Reach, Standing};
use holon_platform::{Environment, clock};
use holon_text::nearest::did_you_mean;

use super::change::Shown;
use super::{Printed, harmless_line};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::cli::terminal;
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
    // Whoever may use a server is not who decides that it may be used. This is against mistakes: what holds is that commands
    // that are held back can't write into the home.
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
        let problem = harmless_line(problem);
        return Err(Failure::new(Exit::Failed, anyhow!("{} can't be used: {problem}", args.name)));
    }
    let definition = proposed.definition();
    if !args.printed.json {
        output::line(&definition.name)?;
        for line in described(&proposed.reach, environment) {
            output::line(&format!("  {}", harmless_line(&line)))?;
        }
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            confirm()?;
        }
    }
    // Of what was shown: the file may have changed meanwhile.
    Approvals::of(&home.mcp()).approve(&proposed.proposal, clock::now().wall)?;
    if args.printed.json {
        let shown = Shown::of(&definition, Some(Standing::Approved));
        output::document(&serde_json::json!({ "server": shown }))?;
    } else {
        output::line(&format!("approved {}", definition.name))?;
        output::hint("try", &format!("holon mcp check {}", definition.name));
    }
    Ok(Exit::Completed)
}

/// Asks whether what was shown is approved.
fn confirm() -> Result<(), Failure> {
    let typed = terminal::line("Approve this server? [y/N]: ")?.to_lowercase();
    if typed == "y" || typed == "yes" {
        return Ok(());
    }
    Err(Failure::new(Exit::Interrupted, anyhow!("no yes: nothing was changed")))
}

/// Everything that a proposal has started or reached, a line for each part. What a workspace has in its file is no secret of the
/// operator: values are shown, since a variable may decide what runs.
fn described(reach: &Reach, environment: &Environment) -> Vec<String> {
    match reach {
        Reach::Program { command, args, environment: variables, folder } => {
            let words = std::iter::once(command).chain(args).map(|word| quoted(word));
            let starts = format!("starts {}", words.collect::<Vec<_>>().join(" "));
            let passed = passed(environment);
            let own = variables.iter().filter(|(name, value)| passed.get(*name) != Some(*value));
            let own =
                own.map(|(name, value)| format!("with the variable {}={}", quoted(name), quoted(value)));
            [starts, format!("in {}", quoted(&folder.display().to_string()))].into_iter().chain(own).collect()
        }
        Reach::Address { url, headers } => {
            let headers = headers
                .iter()
                .map(|(name, value)| format!("with the header {}: {}", quoted(name), quoted(value)));
            std::iter::once(format!("reaches {}", quoted(url))).chain(headers).collect()
        }
        Reach::Nowhere { problem } => vec![problem.clone()],
    }
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
    let workspace = quoted(&proposal.workspace.display().to_string());
    harmless_line(&format!("holon mcp approve {workspace} {}", quoted(&proposal.name)))
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
    let name = harmless_line(&proposed.name);
    let failure = Failure::new(Exit::RefusedByState, anyhow!("{name} can't be used: {why}"));
    match &proposed.proposal {
        Some(proposal) => failure.hint(command(proposal)),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_proposal_is_shown_and_nothing_in_it_acts() {
        let environment = Environment::default();
        let reach = Reach::Program {
            command: "sh\u{1b}[2K".to_owned(),
            args: vec!["-c".to_owned(), "true\n  starts nothing".to_owned()],
            environment: [("PATH".to_owned(), "/tmp/evil:/bin".to_owned())].into(),
            folder: PathBuf::from("/work"),
        };
        let lines: Vec<String> =
            described(&reach, &environment).iter().map(|line| harmless_line(line)).collect();
        assert_eq!(
            lines,
            [
                "starts 'sh\u{fffd}[2K' -c 'true\u{fffd}  starts nothing'",
                "in /work",
                "with the variable PATH=/tmp/evil:/bin",
            ]
        );
        let headers = [("x-key".to_owned(), "a b".to_owned())].into();
        let reach = Reach::Address { url: "https://x/mcp".to_owned(), headers };
        assert_eq!(
            described(&reach, &environment),
            ["reaches https://x/mcp", "with the header x-key: 'a b'"]
        );
    }
}
