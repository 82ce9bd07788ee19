//! `holon template`: what new agents can begin with.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use holon_facts::template::TemplateOrigin;
use holon_platform::Environment;
use serde::Serialize;

use super::output::{self, Failure};
use super::{Exit, interrupts};
use crate::settings::{Settings, find_home};
use crate::templates::{Found, Listed, Selector, TemplateError, Templates};

#[derive(Debug, Subcommand)]
pub(super) enum TemplateCommand {
    /// List the templates that new agents can begin with
    List(ListArgs),
    /// Show the instructions and the skills of a template
    Show(ShowArgs),
    /// Check whether an agent can be created from a template
    Check(ShowArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Name the template by its id, by a folder, or by its address on GitHub
    #[arg(value_name = "TEMPLATE")]
    template: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// One template, in a list and by itself.
#[omit_none]
#[derive(Debug, Serialize)]
struct Shown {
    template: String,
    origin: Option<TemplateOrigin>,
    path: Option<PathBuf>,
    summary: Option<String>,
    instructions: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skill_refs: Vec<String>,
    /// Why no agent can be created from it.
    problem: Option<String>,
}

#[derive(Debug, Serialize)]
struct Templated {
    ok: bool,
    templates: Vec<Shown>,
}

pub(super) fn template(home: Option<PathBuf>, command: TemplateCommand) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    let templates = Templates::new(&home, &environment);
    // Where a creation would fetch from.
    let reaching = || {
        let (settings, _) = Settings::survey(&home.config(), &environment)?;
        Ok::<_, Failure>(templates.clone().with_github(&settings.skills.github_url))
    };
    match command {
        TemplateCommand::List(args) => list(&templates, &args),
        TemplateCommand::Show(args) => show(&reaching()?, &args, true),
        TemplateCommand::Check(args) => show(&reaching()?, &args, false),
    }
}

/// What somebody names on the command line: a relative folder is meant from here.
pub(super) fn selector(text: &str) -> Result<Selector, Failure> {
    let is_path = text.contains('/') && !text.contains("://");
    let absolute = if is_path { std::path::absolute(text).ok() } else { None };
    let named = absolute.as_deref().and_then(Path::to_str).unwrap_or(text);
    Selector::parse(named).map_err(failure)
}

fn list(templates: &Templates, args: &ListArgs) -> Result<Exit, Failure> {
    let listed = templates.list().map_err(failure)?;
    if args.json {
        let templates = listed.into_iter().map(in_list).collect();
        output::document(&Templated { ok: true, templates })?;
        return Ok(Exit::Completed);
    }
    let rows = listed.into_iter().map(in_list).map(|shown| {
        let origin = shown.origin.map_or_else(|| "broken".to_owned(), |origin| origin.to_string());
        vec![shown.template, origin, shown.summary.or(shown.problem).unwrap_or_default()]
    });
    output::list(&["TEMPLATE", "ORIGIN", "SUMMARY"], rows)?;
    output::hint("try", "holon agent create NAME --template TEMPLATE");
    Ok(Exit::Completed)
}

fn in_list(Listed { id, found }: Listed) -> Shown {
    match found {
        Ok(found) => Shown { instructions: None, ..shown(id.to_string(), found) },
        Err(problem) => Shown {
            template: id.to_string(),
            origin: None,
            path: None,
            summary: None,
            instructions: None,
            skill_refs: Vec::new(),
            problem: Some(problem.to_string()),
        },
    }
}

fn shown(template: String, Found { template: content, origin, path }: Found) -> Shown {
    let summary = Some(content.summary());
    let (instructions, skill_refs) = (Some(content.instructions), content.skill_refs);
    Shown { template, origin: Some(origin), path, summary, instructions, skill_refs, problem: None }
}

fn show(templates: &Templates, args: &ShowArgs, whole: bool) -> Result<Exit, Failure> {
    let selector = &selector(&args.template)?;
    let look = async || {
        let found = templates.look(selector).await.map_err(failure)?;
        if !whole {
            templates.check_skills(&found.template).await.map_err(failure)?;
        }
        Ok::<_, Failure>(found)
    };
    let found = interrupts::block_on(|ending| async move { ending.or(look()).await })?;
    let shown = shown(selector.to_string(), found);
    if args.json {
        output::document(&if whole { shown } else { Shown { instructions: None, ..shown } })?;
        return Ok(Exit::Completed);
    }
    if whole {
        output::line(shown.instructions.unwrap_or_default().trim_end())?;
    }
    for skill in &shown.skill_refs {
        output::line(&format!("skill: {skill}"))?;
    }
    if !whole {
        output::line(&format!("{} can be used: {} skills", shown.template, shown.skill_refs.len()))?;
    }
    Ok(Exit::Completed)
}

/// How the command ends for a template that can't be used.
pub(super) fn failure(error: TemplateError) -> Failure {
    match error {
        TemplateError::NoSelector { .. } => Failure::usage(error).hint("holon template list"),
        TemplateError::Unknown { .. } => Failure::new(Exit::NotFound, error).hint("holon template list"),
        TemplateError::Invalid { .. } | TemplateError::Remote { .. } => Failure::usage(error),
        TemplateError::Fetch { ref problem, .. } => {
            let exit = if problem.is_remote() { Exit::Failed } else { Exit::Usage };
            let hint = TemplateError::fetch_hint(problem);
            Failure::new(exit, error).hint(hint)
        }
        TemplateError::Unusable { .. } | TemplateError::Home(_) => error.into(),
    }
}
