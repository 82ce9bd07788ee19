//! The first request of the turn that a next prompt would begin.

use holon_api::{DebugPrompt, DebugPromptReply, Source};
use holon_core::view::{View, past};
use holon_facts::AgentId;
use holon_facts::identity::AgentSpec;
use holon_facts::message::Ingress;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_platform::clock;

use super::super::super::App;
use super::super::super::failure::Failure;
use super::super::super::route::Handled;
use super::super::look::{Looked, look};
use super::super::prompt::check_prompt;
use super::diff::diff;
use super::past::{Shown, newest};
use super::sections::PastTexts;

/// Stands for the prompt where none is given.
const PLACEHOLDER: &str = "(the next prompt)";

pub(super) async fn prompt(app: App, agent: AgentId, asked: DebugPrompt) -> Handled<DebugPromptReply> {
    let text = asked.text.as_deref().unwrap_or(PLACEHOLDER);
    check_prompt(text)?;
    let (execution, spec, untrusted) = place(&app, &agent).await?;
    let context = app.runtime.look_at_context(&agent, &execution, &spec, untrusted).await;
    let context = context.map_err(Failure::internal)?;
    let text = app.runtime.texts().take(text);
    let ingress = Ingress::prompt(text, Surface::HttpControlPrompt, AdmissionContext::ControlAuthenticated);
    let (known, window) = (context.clone(), asked.window);
    let preview = move |view: View<'_>, agent: &AgentId| {
        let config = match window {
            Some(tokens) => past::with_window(view.config(), tokens),
            None => view.config().clone(),
        };
        // The runtime keeps other agents in memory, and this one may be leaving it.
        view.agent(agent)?;
        Some(view.preview_under((&config, clock::now().wall), agent, &known, ingress.clone()))
    };
    let Looked { seen, waits } = look(&app, &agent, preview).await?;
    let rendered = seen?;
    app.blocking(move |app| {
        // Texts of now may not be stored yet.
        let texts = PastTexts::of_now(app.reader.clone(), app.runtime.texts().clone());
        let shown = Shown::new(&texts, rendered)?;
        let mut warnings: Vec<String> = waits.into_iter().collect();
        let room = shown.rendered.room;
        if room.est_tokens > room.input_limit {
            warnings.push(format!(
                "about {} tokens are more than the {} that fit: the episode would close first",
                room.est_tokens, room.input_limit
            ));
        }
        let wire = asked.wire.then(|| super::wire(app, &texts, &shown.rendered.request)).transpose()?;
        let before = if asked.diff { newest(app, &agent)? } else { None };
        let diff = before.map(|(name, old)| diff(name, &old.side(), &shown.side()));
        if asked.diff && diff.is_none() {
            warnings.push(format!("{agent} has sent no request yet: there is none to compare it with"));
        }
        let sources = context.sources.into_iter();
        let sources = sources.map(|source| Source { scope: source.scope, path: source.path }).collect();
        let reply = shown.into_reply((agent, context.execution.agent_home, execution), sources);
        Ok(DebugPromptReply { diff, wire, warnings, ..reply })
    })
    .await
}

/// Where its next turn works, what was fixed at its creation, and whether nobody trusts the workspace.
async fn place(app: &App, agent: &AgentId) -> Handled<(ExecutionBinding, AgentSpec, bool)> {
    let active = |view: View<'_>, agent: &AgentId| {
        let agent = view.agent(agent)?;
        let at = agent.workspaces.active();
        let untrusted = agent.workspaces.is_untrusted_at(at);
        Some((at.clone(), agent.spec.clone(), untrusted))
    };
    Ok(look(app, agent, active).await?.seen)
}
