//! `holon skills`: what agents are offered, and what is installed for them.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::{
    CheckQuery, Control, InstallSkill, InstalledState, SkillRoot, SkillShown, SkillStanding, UninstallSkill,
};
use holon_text::nearest::did_you_mean;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::output::{self, Failure};
use crate::skills::install::Source;
use holon_present as present;

#[derive(Debug, Subcommand)]
pub(super) enum SkillsCommand {
    /// List the skills that an agent is offered
    List(ListArgs),
    /// Show one skill
    Show(ShowArgs),
    /// Install a skill from a folder or a repository
    Install(InstallArgs),
    /// Remove a skill that was installed
    Remove(RemoveArgs),
    /// Compare installed skills with what was installed
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whom: Whom,
    /// List skills that are not offered, too
    #[arg(long)]
    all: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Name the skill, for example pdf or user:pdf
    skill: String,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Whose skills.
#[derive(Debug, Args)]
struct Target {
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT", conflicts_with = "user")]
    agent: Option<String>,
    /// Use the folder of the user, for the default agent of every home
    #[arg(long)]
    user: bool,
}

fn root(of_user: bool) -> SkillRoot {
    if of_user { SkillRoot::User } else { SkillRoot::Agent }
}

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// Name a folder, https://github.com/OWNER/REPO/tree/REF/PATH, or the address of a repository with #REF:PATH
    source: String,
    #[command(flatten)]
    target: Target,
    /// Install it under this name [default: its own]
    #[arg(long)]
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Name the skill
    name: String,
    #[command(flatten)]
    target: Target,
    /// Remove it even if it has changed since it was installed
    #[arg(long)]
    force: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    whom: Whom,
    /// Use the folder of the user, for the default agent of every home
    #[arg(long, conflicts_with_all = ["agent", "named"])]
    user: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn skills(home: Option<PathBuf>, command: SkillsCommand) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        match command {
            SkillsCommand::List(args) => ending.or(list(&cli, args)).await,
            SkillsCommand::Show(args) => ending.or(show(&cli, args)).await,
            SkillsCommand::Install(args) => ending.or(install(&cli, args)).await,
            SkillsCommand::Remove(args) => ending.or(remove(&cli, args)).await,
            SkillsCommand::Check(args) => ending.or(check(&cli, args)).await,
        }
    })
}

async fn list(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.skills(&agent).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let offered = |skill: &&SkillShown| skill.standing == SkillStanding::Offered;
    let shown: Vec<_> = answer.skills.iter().filter(|skill| args.all || offered(skill)).collect();
    let others = answer.skills.len() - answer.skills.iter().filter(offered).count();
    if shown.is_empty() {
        output::line(&format!("{agent} is offered no skills"))?;
    } else {
        let heads = ["SKILL", "SCOPE", "STATE", "DESCRIPTION"];
        let rows = shown.iter().map(|skill| {
            let active = answer.active.iter().find(|active| active.skill_id == skill.skill_id);
            let state = active.map_or_else(|| skill.standing.name(), |active| active.state.name());
            let text = skill.problems.first().filter(|_| skill.description.is_none());
            let text = text.or(skill.description.as_ref()).map(|text| present::one_line(text));
            vec![skill.name.clone(), skill.scope.to_string(), state.to_owned(), text.unwrap_or_default()]
        });
        output::list(&heads, rows)?;
    }
    if others > 0 && !args.all {
        output::prose(&format!("holon: {others} more are not offered: holon skills list {agent} --all"));
    }
    for problem in &answer.problems {
        output::prose(&format!("holon: {problem}"));
    }
    Ok(Exit::Completed)
}

async fn show(cli: &ClientContext, args: ShowArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let answer = cli.client.skills(&agent).await?;
    let named = |skill: &&SkillShown| skill.skill_id == args.skill || skill.name == args.skill;
    let offered = answer.skills.iter().filter(named).find(|skill| skill.standing == SkillStanding::Offered);
    let Some(skill) = offered.or_else(|| answer.skills.iter().find(named)) else {
        let near = did_you_mean(&args.skill, answer.skills.iter().map(|skill| skill.name.as_str()));
        let error = anyhow::anyhow!("{agent} has no skill named {}{near}", present::one_line(&args.skill));
        let hint = format!("holon skills list {agent} --all");
        return Err(Failure::new(Exit::NotFound, error).hint(hint));
    };
    output::shown(skill, args.json, || {
        let mut lines = vec![format!("{} ({})", skill.skill_id, skill.standing.name())];
        let shadowed = skill.shadowed_by.as_ref().map(|by| format!("shadowed by {by}"));
        lines.extend(shadowed);
        lines.extend(skill.description.clone());
        lines.push(format!("file: {}", skill.entrypoint_path));
        let more = [
            ("license", &skill.license),
            ("compatibility", &skill.compatibility),
            ("allowed tools, which it does not grant", &skill.allowed_tools),
        ];
        lines.extend(more.iter().filter_map(|(name, text)| Some(format!("{name}: {}", text.as_ref()?))));
        lines.extend(skill.metadata.iter().map(|(key, text)| format!("{key}: {text}")));
        lines.extend(skill.problems.iter().map(|problem| format!("problem: {problem}")));
        let lines: Vec<_> = lines.iter().map(|line| present::whole_line(line)).collect();
        output::line(&lines.join("\n"))
    })
}

async fn install(cli: &ClientContext, args: InstallArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.target.agent.as_deref()).await?;
    // The runtime stands somewhere else.
    let cwd = std::env::current_dir().ok();
    let source = match Source::parse(&args.source, cwd.as_deref(), "https://github.com") {
        Ok(source) => source.to_string(),
        Err(error) => {
            let hint = error.hint();
            return Err(Failure::usage(error).hint(hint));
        }
    };
    let asked = InstallSkill { source, name: args.name, root: root(args.target.user) };
    let answer = cli.client.install_skill(&agent, asked).await?;
    output::shown(&answer, args.json, || {
        let commit = answer.commit.as_ref().map_or_else(String::new, |commit| format!(" at {commit}"));
        let (name, source) = (&answer.skill_name, &answer.source);
        output::line(&format!("installed {name} from {source}{commit}: {}", answer.path))
    })
}

async fn remove(cli: &ClientContext, args: RemoveArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.target.agent.as_deref()).await?;
    let asked = UninstallSkill { name: args.name, root: root(args.target.user), force: args.force };
    let answer = cli.client.uninstall_skill(&agent, asked).await?;
    output::shown(&answer, args.json, || {
        output::line(&format!("removed {}: {}", answer.skill_name, answer.path))
    })
}

async fn check(cli: &ClientContext, args: CheckArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let root = root(args.user);
    let answer = cli.client.check_skills(&agent, CheckQuery { root: Some(root) }).await?;
    let good = |state| matches!(state, InstalledState::Ok | InstalledState::Unmanaged);
    let exit =
        if answer.skills.iter().all(|skill| good(skill.state)) { Exit::Completed } else { Exit::Failed };
    if args.json {
        output::document(&answer)?;
        return Ok(exit);
    }
    if answer.skills.is_empty() {
        output::line(&format!("there are no skills in {}", answer.root))?;
        return Ok(exit);
    }
    let heads = ["SKILL", "STATE", "COMMIT", "SOURCE"];
    let rows = answer.skills.iter().map(|skill| {
        let commit = skill.commit.as_ref().map_or("", |commit| commit.get(..12).unwrap_or(commit));
        let source = skill.source.as_deref().map(present::one_line).unwrap_or_default();
        vec![skill.skill_name.clone(), skill.state.name().to_owned(), commit.to_owned(), source]
    });
    output::list(&heads, rows)?;
    Ok(exit)
}
