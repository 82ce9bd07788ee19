//! What a new agent begins with.

use std::io;
use std::time::Duration;

use holon_api::{Code, CreateAgent};
use holon_facts::AgentId;
use holon_facts::identity::AgentSpec;
use holon_facts::template::AgentTemplate;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::Handled;
use super::skills;
use crate::templates::{Reach, Selector, TemplateError, make_home};

/// What a template is made of is there within so long: clients wait for 30 seconds, and are to learn what was wrong.
const FETCHED_WITHIN: Duration = Duration::from_secs(25);

/// The template that is asked for, taken in. Nothing of the agent is there yet.
pub(super) async fn kept(app: &App, agent: &AgentId, wanted: &CreateAgent) -> Handled<Option<AgentTemplate>> {
    let Some(named) = &wanted.template else { return Ok(None) };
    let refused = |problem: String| Failure::new(Code::InvalidBody, problem).detail("field", "template");
    if wanted.instructions.is_some() {
        return Err(refused("template: leave it out, or instructions: both become AGENTS.md".to_owned()));
    }
    let own = app.home.agent(agent).join("AGENTS.md");
    if own.symlink_metadata().is_ok() {
        return Err(refused(format!("{} is there already, and is not overwritten", own.display())));
    }
    let selector = Selector::parse(named).map_err(failure)?;
    let kept = tokio::time::timeout(FETCHED_WITHIN, app.templates.keep(&selector, Reach::Everywhere)).await;
    let kept = kept.map_err(|_| {
        let seconds = FETCHED_WITHIN.as_secs();
        let text = format!("{selector} was not fetched within {seconds} s; no agent was made");
        Failure::new(Code::RemoteTimeout, text)
            .hint("try again, or fetch the repository yourself and name its folder as the template")
    })?;
    Ok(Some(kept.map_err(failure)?))
}

/// The home of an agent that is on record. Whoever dies before leaves that to the agent's first turn.
pub(super) async fn applied(app: &App, spec: &AgentSpec, agent: AgentId) -> Handled<()> {
    let Some(template) = spec.template.clone() else { return Ok(()) };
    app.blocking(move |app| {
        let confinement = app.about.confinement.as_ref();
        make_home((&app.templates, &app.home), &agent, Some(&template), confinement).map_err(failure)?;
        Ok(())
    })
    .await
}

fn failure(error: TemplateError) -> Box<Failure> {
    let text = error.to_string();
    match error {
        TemplateError::NoSelector { .. } => Failure::new(Code::InvalidBody, text).detail("field", "template"),
        TemplateError::Unknown { .. } => {
            Failure::new(Code::UnknownTemplate, text).hint("holon template list shows those that there are")
        }
        TemplateError::Fetch { problem, .. } => {
            let remote = problem.is_remote();
            let code = if remote { skills::code(&problem) } else { Code::InvalidTemplate };
            Failure::new(code, text).hint(TemplateError::fetch_hint(&problem))
        }
        TemplateError::Invalid { .. } | TemplateError::Remote { .. } => {
            Failure::new(Code::InvalidTemplate, text)
        }
        // Whoever asks has named the folder.
        TemplateError::Unusable { problem, .. } if is_of_name(&problem) => {
            Failure::new(Code::InvalidTemplate, text).hint("holon template list")
        }
        TemplateError::Unusable { .. } | TemplateError::Home(_) => Failure::internal(text),
    }
}

/// Whether there is nothing of that name, or nothing that this runtime may read.
fn is_of_name(problem: &io::Error) -> bool {
    matches!(
        problem.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::PermissionDenied
    )
}
