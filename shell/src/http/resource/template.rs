//! What a new agent begins with.

use holon_api::{Code, CreateAgent};
use holon_facts::AgentId;
use holon_facts::identity::AgentSpec;
use holon_facts::template::AgentTemplate;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::Handled;
use super::skills;
use crate::templates::{Reach, Selector, TemplateError, make_home};

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
    Ok(Some(app.templates.keep(&selector, Reach::Everywhere).await.map_err(failure)?))
}

/// The home of an agent that is on record. Whoever dies before leaves that to the agent's first turn.
pub(super) async fn applied(app: &App, spec: &AgentSpec, agent: AgentId) -> Handled<()> {
    let Some(template) = spec.template.clone() else { return Ok(()) };
    app.blocking(move |app| {
        make_home((&app.templates, &app.home), &agent, Some(&template)).map_err(failure)?;
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
            Failure::new(code, text).hint(problem.hint())
        }
        TemplateError::Invalid { .. } | TemplateError::Remote { .. } => {
            Failure::new(Code::InvalidTemplate, text)
        }
        TemplateError::Unusable { .. } | TemplateError::Home(_) => Failure::internal(text),
    }
}
