//! What operators do to agents: start, stop, abort, create.

use std::path::PathBuf;

use holon_api::rows::{AbortRun, ChangeAgent, CompactAgent, MakeAgent};
use holon_api::{
    Abort, Action, Code, CompactReply, ControlAgent, ControlReply, CreateAgent, Created, INSTRUCTIONS_BYTES,
    Json, Optional,
};
use holon_core::input::ControlRequest;
use holon_core::{Answer as Answered, Input};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings, Visibility};
use holon_facts::{AgentId, EventSeq, Reject};
use holon_platform::spawn;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::{models, template, workspace};
use crate::home::Home;
use crate::names::Claim;
use crate::runtime::Unavailable;
use crate::templates::instructions_of_default;

pub(in super::super) async fn control(app: App, call: Call<ChangeAgent>) -> Handled<ControlReply> {
    let Json(ControlAgent { action }) = call.body;
    let (request, deprecated) = match action {
        Action::Start => (ControlRequest::Start, None),
        Action::Stop => (ControlRequest::Stop, None),
        Action::Archive => (ControlRequest::Archive, None),
        Action::Pause => (ControlRequest::Stop, Some("`pause` means `stop`; use that instead")),
        Action::Resume => (ControlRequest::Start, Some("`resume` means `start`; use that instead")),
    };
    let mut reply = apply(&app, call.path.agent_id, request).await?;
    reply.deprecated = deprecated.map(str::to_owned);
    Ok(reply)
}

pub(in super::super) async fn abort(app: App, call: Call<AbortRun>) -> Handled<ControlReply> {
    let Optional(Abort { run_id, stop_after_abort }) = call.body;
    let request = ControlRequest::Abort { run_id, stop_after_abort };
    apply(&app, call.path.agent_id, request).await
}

pub(in super::super) async fn compact(app: App, call: Call<CompactAgent>) -> Handled<CompactReply> {
    let agent_id = call.path.agent_id;
    let agent = agent_id.clone();
    let answered = app.runtime.ask(Some(&agent_id), move |reply| Input::Compact { agent, reply }).await?;
    let Answered::Compaction { compaction } = answered else { return Err(unexpected(answered)) };
    Ok(CompactReply { ok: true, agent_id, compaction })
}

pub(in super::super) async fn create(app: App, call: Call<MakeAgent>) -> Handled<Created> {
    let (agent, Optional(wanted)) = (call.path.agent_id, call.body);
    // Asked before anything is made on the disk; the runtime decides once more.
    let known = agent.clone();
    if app.runtime.read(Some(&agent), move |view| view.agent(&known).is_some()).await? {
        let (named, full) = (agent.clone(), app.runtime.problem().is_some());
        // One that a full disk has no room for yet may still be lost.
        let stored = app.blocking(move |app| Ok(app.reader.record(&named, EventSeq(1))?.is_some())).await;
        return Err(if full && !matches!(stored, Ok(true)) {
            Unavailable::NotStoredYet.into()
        } else {
            Reject::AgentExists { agent }.into()
        });
    }
    let name = agent.clone();
    if let Some(holder) = app.blocking(move |app| Ok(app.reader.agent_named(&name)?)).await? {
        return Err(Reject::NameTaken { name: agent, agent: holder }.into());
    }
    if let Some(model) = &wanted.model {
        models::check(&app, model).await?;
    }
    // It goes on although nobody waits any more: nothing is left half done.
    spawn::task(begun(app, agent, wanted)).await.map_err(Failure::internal)?
}

/// A new agent; what was written for one that is refused is taken back.
async fn begun(app: App, agent: AgentId, wanted: CreateAgent) -> Handled<Created> {
    let claim = claim(&app, &agent).await?;
    let named = agent.clone();
    let missing = app.blocking(move |app| Ok(app.home.missing(&named))).await?;
    let settings = InitialSettings { model: wanted.model.clone(), description: wanted.description.clone() };
    let (home, spec) = match prepared(&app, &agent, wanted).await {
        Ok(prepared) => prepared,
        Err(failure) => {
            take_back(&app, &agent, claim, missing).await;
            return Err(failure);
        }
    };
    let (named, identity) = (agent.clone(), spec.clone());
    let ask = move |reply| Input::CreateAgent { agent: named, spec, settings, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await;
    if is_nobody(&answered) {
        take_back(&app, &agent, claim, missing).await;
    } else if answered.is_ok() {
        claim.had();
    }
    let answered = answered?;
    let Answered::Created { agent: agent_id } = answered else { return Err(unexpected(answered)) };
    template::applied(&app, &identity, agent_id.clone()).await?;
    Ok(Created { ok: true, agent_id, identity, agent_home: home.display().to_string() })
}

/// The home of a new agent, and what it begins as.
async fn prepared(app: &App, agent: &AgentId, wanted: CreateAgent) -> Handled<(PathBuf, AgentSpec)> {
    let (named, visibility) = (agent.clone(), wanted.visibility);
    let template = template::kept(app, agent, &wanted).await?;
    let (home, execution, template) = app
        .blocking(move |app| {
            let asked = workspace::asked(wanted.workspace_root.as_deref(), wanted.cwd.as_deref())?;
            let home = match &template {
                // Its files come after the record of what they are.
                Some(_) => app.home.create_folders(&named).map_err(Failure::internal)?,
                None => make_home(app, &named, wanted.instructions.as_deref())?,
            };
            let execution = asked.map_or_else(|| workspace::own(&home), Ok)?;
            Ok((home, execution, template))
        })
        .await?;
    workspace::had(app, &execution, "workspace_root").await?;
    let is_default = *agent == app.about.default_agent;
    let kind = if is_default { AgentKind::Default } else { AgentKind::Named };
    let visibility = visibility.unwrap_or(Visibility::Public);
    Ok((home, AgentSpec { visibility, template, ..AgentSpec::named(kind, execution) }))
}

/// Whether it is certain that no agent of the name came of a request, nor is there by another one.
pub(super) fn is_nobody(answered: &Result<Answered, Unavailable>) -> bool {
    match answered {
        Ok(Answered::Refused { reject }) => {
            !matches!(reject, Reject::AgentExists { .. } | Reject::NameTaken { .. })
        }
        Ok(_) => false,
        Err(unavailable) => unavailable.is_refusal(),
    }
}

/// Nobody got the name; what is not certain is left as it is.
async fn take_back(app: &App, agent: &AgentId, claim: Claim, missing: Vec<PathBuf>) {
    let named = agent.clone();
    let is_there = app.runtime.read(Some(agent), move |view| view.agent(&named).is_some()).await;
    if !matches!(is_there, Ok(false)) {
        return;
    }
    if let Err(problem) = spawn::blocking(move || Home::take_back(&missing)).await {
        tracing::warn!("files of {agent}, which was refused, may be left: {problem}");
    }
    claim.give_back().await;
}

/// Takes the name of a new agent, where agents of other cells have names, too.
pub(super) async fn claim(app: &App, name: &AgentId) -> Handled<Claim> {
    let claim = app.names.claim(name).await?;
    claim.ok_or_else(|| Reject::AgentExists { agent: name.clone() }.into())
}

/// The home of a new agent. Instructions that are there already would win over those that were given.
fn make_home(app: &App, agent: &AgentId, instructions: Option<&str>) -> Handled<PathBuf> {
    let Some(instructions) = instructions else {
        return app.home.create_agent(agent, &instructions_of_default()).map_err(Failure::internal);
    };
    let refused = |problem: String| Failure::new(Code::InvalidBody, problem).detail("field", "instructions");
    if instructions.trim().is_empty() || instructions.len() > INSTRUCTIONS_BYTES {
        return Err(refused(format!("instructions: expected 1 to {INSTRUCTIONS_BYTES} bytes of text")));
    }
    let file = app.home.agent(agent).join("AGENTS.md");
    if file.symlink_metadata().is_ok() {
        return Err(refused(format!("{} is there already, and is not overwritten", file.display())));
    }
    app.home.create_agent(agent, instructions).map_err(Failure::internal)
}

/// Stops and aborts get through whatever else waits.
async fn apply(app: &App, agent: AgentId, request: ControlRequest) -> Handled<ControlReply> {
    let named = agent.clone();
    let urgent = match request {
        ControlRequest::Start => false,
        ControlRequest::Stop | ControlRequest::Archive | ControlRequest::Abort { .. } => true,
    };
    let ask = move |reply| Input::Control { agent: named, request, reply };
    let answered = if urgent {
        app.runtime.ask_urgently(&agent, ask).await?
    } else {
        app.runtime.ask(Some(&agent), ask).await?
    };
    if let Answered::Refused { reject } = answered {
        return Err(refused(&agent, reject));
    }
    let Answered::Controlled(outcome) = answered else { return Err(unexpected(answered)) };
    Ok(ControlReply { ok: true, agent_id: agent, outcome, deprecated: None })
}

/// A refusal that is about a run says where that is seen; which agent's it is, the core leaves to whoever asked.
fn refused(agent: &AgentId, reject: Reject) -> Box<Failure> {
    let about_a_run = matches!(reject, Reject::StaleRunId { .. } | Reject::NoCurrentRun);
    let failure: Box<Failure> = reject.into();
    if about_a_run {
        failure.hint(format!("holon why {agent}")).detail("agent_id", agent.as_str())
    } else {
        failure
    }
}

/// An answer that is no success, or that belongs to another question.
pub(super) fn unexpected(answer: Answered) -> Box<Failure> {
    if let Answered::Refused { reject } = answer {
        return reject.into();
    }
    Failure::internal(format!("a request was answered with {answer:?}"))
}
