//! The home of a new agent, from a template that was taken in. What is there already stays as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_facts::AgentId;
use holon_facts::template::AgentTemplate;
use holon_supervise::confine::{self, Confinement};
use serde::Serialize;

use super::content::{invalid, unusable};
use super::store::{SKILLS, make_folder, replace};
use super::{TemplateError, Templates, built_in};
use crate::home::Home;
use crate::skills::install;

/// What follows the instructions of every template.
pub(super) const GUIDANCE: &str = "
## Your home

Everything in this file is part of each of your prompts. You and your operator may change it.

- `memory/self.md`: what you learned and want to keep.
- `memory/operator.md`: what you know about your operator.
- `notes/`, `work/`: yours to use.
";

/// What an agent begins with that another one has begun without a template: its first message has its task.
const BARE: &str = "# Standing instructions of this agent";

/// Where the home of an agent states what it was made from, once all of it is there.
const PROVENANCE: &str = ".holon/state/template.json";
const STATE: &str = ".holon/state";

#[derive(Serialize)]
struct Provenance<'a> {
    #[serde(flatten)]
    template: &'a AgentTemplate,
    /// The build that made the home.
    build: &'a str,
}

/// What an agent begins with that an operator makes without a template.
pub fn instructions_of_default() -> String {
    with_guidance(built_in::DEFAULT)
}

fn with_guidance(instructions: &str) -> String {
    format!("{}\n{GUIDANCE}", instructions.trim_end())
}

/// Makes the home of an agent, or what of it is missing: as often as it takes, whenever a process dies. Where agents are
/// confined, links that this one has put into its home lead nowhere else.
///
/// # Errors
/// When it can't be written, or the copy of its template is gone and nothing stands in its place.
pub fn make_home(
    (templates, home): (&Templates, &Home),
    agent: &AgentId,
    template: Option<&AgentTemplate>,
    confinement: Option<&Confinement>,
) -> Result<PathBuf, TemplateError> {
    // It has to be there before its links are held back.
    let path = home.create_folders(agent)?;
    let policy = confinement.map(|confinement| {
        let copy = template.map(|template| templates.kept(&template.hash));
        confinement.for_home(&home.real_agents().join(agent.as_str()), copy.as_deref())
    });
    let filled = confine::under(policy.as_ref(), || fill((templates, home), agent, template));
    filled.map_err(|problem| unusable(&path, io::Error::other(problem)))?
}

fn fill(
    (templates, home): (&Templates, &Home),
    agent: &AgentId,
    template: Option<&AgentTemplate>,
) -> Result<PathBuf, TemplateError> {
    let Some(template) = template else {
        return Ok(home.create_agent(agent, &with_guidance(BARE))?);
    };
    let path = home.agent(agent);
    let provenance = path.join(PROVENANCE);
    if provenance.is_file() {
        return Ok(path);
    }
    let instructions = instructions(templates, template, &path)?;
    home.create_agent(agent, &instructions)?;
    if !is_behind_link(&path, SKILLS) {
        copy_skills(&templates.kept(&template.hash).join(SKILLS), &path.join(SKILLS))?;
    }
    if is_behind_link(&path, STATE) {
        return Ok(path);
    }
    let text =
        serde_json::to_string_pretty(&Provenance { template, build: holon_platform::build::version() })
            .map_err(|problem| unusable(&provenance, problem))?;
    if let Some(folder) = provenance.parent() {
        make_folder(folder)?;
    }
    replace(&provenance, text.as_bytes())?;
    Ok(path)
}

/// Whether a folder of the home is a link, or in one: what that leads to is the agent's own business.
fn is_behind_link(home: &Path, folder: &str) -> bool {
    Path::new(folder).ancestors().any(|part| part != Path::new("") && home.join(part).is_symlink())
}

/// The instructions in the copy of a template; those that an operator has put in the agent's home stand for a copy that
/// is gone.
fn instructions(
    templates: &Templates,
    template: &AgentTemplate,
    home: &Path,
) -> Result<String, TemplateError> {
    let kept = templates.kept(&template.hash);
    let own = home.join("AGENTS.md");
    match fs::read_to_string(kept.join("AGENTS.md")) {
        Ok(text) => Ok(with_guidance(&text)),
        Err(_) if own.is_file() => Ok(String::new()),
        Err(problem) => {
            let what = format!(
                "the copy of the template {} is gone ({problem}): write {} yourself, then try again",
                template.selector,
                own.display()
            );
            Err(invalid(&kept, &what))
        }
    }
}

/// The skills of a copy, each whole or not at all, where none of its name is.
fn copy_skills(from: &Path, to: &Path) -> Result<(), TemplateError> {
    if !from.is_dir() {
        return Ok(());
    }
    let failed =
        |problem| TemplateError::Fetch { what: format!("the skills in {}", from.display()), problem };
    install::copy_root(from, to).map_err(failed)
}
