//! Skills of an agent: the list, and what operators install.

use std::path::PathBuf;

use holon_api::rows::{CheckSkills, InstallASkill, ListSkills, UninstallASkill};
use holon_api::{
    CheckedSkill, CheckedSkills, Code, InstallSkill, InstalledState, Json, SkillReply, SkillRoot, SkillShown,
    SkillStanding, Skills, UninstallSkill,
};
use holon_core::prompt::skills::unshown;
use holon_core::view::View;
use holon_facts::AgentId;
use holon_facts::message::Idempotency;
use holon_facts::skill::GivenSkill;
use holon_facts::workspace::ExecutionBinding;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::look::{Looked, look};
use crate::skills::install::{self, Destination, Entry, InstallError, Source};
use crate::skills::{Found, GiveError, Listing, Roots, Standing, may_name};

/// What stands against a skill that is offered, and that a model does not know of.
const CROWDED: &str = "the list that requests show has no space for it; holon prompt --skill names it";

pub(in super::super) async fn list(app: App, call: Call<ListSkills>) -> Handled<Skills> {
    let agent = call.path.agent_id;
    let read = |view: View<'_>, agent: &AgentId| {
        let active = view.agent(agent)?.skills.active.clone();
        Some((Looking::of(view, agent)?, active))
    };
    let Looked { seen: (looking, active), .. } = look(&app, &agent, read).await?;
    let named = agent.clone();
    let listing = app.blocking(move |app| Ok(looking.find(app, &named))).await?;
    let texts = app.runtime.texts();
    let redacted = |text: &String| texts.redact(text);
    let catalogue = listing.catalogue(texts).unwrap_or_default();
    let crowded = unshown(&catalogue);
    let Listing { found, mut problems } = listing;
    if !crowded.is_empty() {
        let count = crowded.len();
        problems.push(format!(
            "{count} skills are offered, and the list that requests show has no space for them"
        ));
    }
    let one = |found: &Found| {
        let is_crowded = crowded.iter().any(|skill| skill.skill_id == found.skill_id);
        shown(found, is_crowded.then(|| CROWDED.to_owned()), &redacted)
    };
    let skills = found.iter().map(one).collect();
    Ok(Skills { ok: true, agent_id: agent, skills, active, problems })
}

/// Where the skills of an agent are, and which of them it may be offered.
#[derive(Debug, Clone)]
struct Looking {
    at: ExecutionBinding,
    user_skills: bool,
    untrusted: bool,
}

impl Looking {
    fn of(view: View<'_>, agent: &AgentId) -> Option<Self> {
        let agent = view.agent(agent)?;
        let at = agent.workspaces.active();
        let untrusted = agent.workspaces.is_untrusted_at(at);
        Some(Self { at: at.clone(), user_skills: agent.spec.has_user_skills(), untrusted })
    }

    fn find(&self, app: &App, agent: &AgentId) -> Listing {
        let home = app.runtime.agent_home(agent);
        let readable = app.runtime.readable(agent, &self.at);
        let wanted = (self.user_skills, self.untrusted);
        app.runtime.skills().find(&home, self.at.workspace_anchor.as_ref(), wanted, &readable)
    }
}

/// The skills that a prompt names. One that was admitted before under its key needs none: it has them.
pub(super) async fn given(
    app: &App,
    agent: &AgentId,
    (text, names): (String, Vec<String>),
    idempotency: Option<Idempotency>,
) -> Handled<Vec<GivenSkill>> {
    if !may_name(&text, &names) {
        return Ok(Vec::new());
    }
    let read = move |view: View<'_>, agent: &AgentId| {
        let known = idempotency.as_ref().and_then(|key| view.admitted(agent, key));
        Some((Looking::of(view, agent)?, known.is_some()))
    };
    let Looked { seen: (looking, known), .. } = look(app, agent, read).await?;
    if known {
        return Ok(Vec::new());
    }
    let agent = agent.clone();
    app.blocking(move |app| {
        let listing = looking.find(app, &agent);
        listing.given(app.runtime.texts(), &text, &names).map_err(|error| {
            let code = match error {
                GiveError::Unknown { .. } => Code::SkillNotFound,
                GiveError::NotOffered { .. } | GiveError::TooLong { .. } => Code::SkillInvalid,
                GiveError::TooMany { .. } => Code::TooMany,
            };
            Failure::new(code, &error).hint(error.hint()).detail("field", "skills")
        })
    })
    .await
}

fn shown(found: &Found, crowded: Option<String>, redacted: &dyn Fn(&String) -> String) -> SkillShown {
    let (standing, shadowed_by, broken) = match &found.standing {
        Standing::Offered => (SkillStanding::Offered, None, None),
        Standing::Shadowed { by } => (SkillStanding::Shadowed, Some(by.clone()), None),
        Standing::Broken { problem } => (SkillStanding::Broken, None, Some(problem.clone())),
        Standing::Untrusted => (SkillStanding::Untrusted, None, None),
        Standing::LeftOut => (SkillStanding::LeftOut, None, None),
    };
    let manifest = found.manifest.as_deref();
    SkillShown {
        skill_id: found.skill_id.clone(),
        name: found.name.clone(),
        scope: found.scope,
        standing,
        shadowed_by,
        problems: broken.into_iter().chain(crowded).chain(found.problems.iter().cloned()).collect(),
        description: manifest.map(|manifest| redacted(&manifest.description)),
        entrypoint_path: found.entrypoint.display().to_string(),
        digest: manifest.map(|manifest| manifest.digest),
        bytes: manifest.map(|manifest| manifest.bytes),
        license: manifest.and_then(|manifest| manifest.license.as_ref().map(redacted)),
        compatibility: manifest.and_then(|manifest| manifest.compatibility.as_ref().map(redacted)),
        allowed_tools: manifest.and_then(|manifest| manifest.allowed_tools.as_ref().map(redacted)),
        metadata: manifest
            .map(|manifest| {
                manifest.metadata.iter().map(|(key, text)| (key.clone(), redacted(text))).collect()
            })
            .unwrap_or_default(),
    }
}

pub(in super::super) async fn install(app: App, call: Call<InstallASkill>) -> Handled<SkillReply> {
    let (agent, Json(InstallSkill { source, name, root: of })) = (call.path.agent_id, call.body);
    let root = folder(&app, &agent, of).await?;
    let skills = app.runtime.skills();
    let source = Source::parse(&source, None, &skills.github_url).map_err(failure)?;
    let scratch = app.blocking(|app| app.templates.scratch().map_err(Failure::internal)).await?;
    let bound = bound(&app, &agent, of);
    let place = Destination { root: &root, scratch: scratch.path(), bound: bound.as_deref() };
    let installed = install::install(&skills.environment, &source, name.as_deref(), place).await;
    let installed = installed.map_err(failure)?;
    Ok(reply(agent, installed.name, &root, installed.entry))
}

pub(in super::super) async fn uninstall(app: App, call: Call<UninstallASkill>) -> Handled<SkillReply> {
    let (agent, Json(UninstallSkill { name, root: of, force })) = (call.path.agent_id, call.body);
    let root = folder(&app, &agent, of).await?;
    let (place, named, bound) = (root.clone(), name.clone(), bound(&app, &agent, of));
    let remove = move |_: &App| {
        install::within(bound.as_deref(), || install::remove(&place, &named, force)).map_err(failure)
    };
    let entry = app.blocking(remove).await?;
    Ok(reply(agent, name, &root, entry))
}

pub(in super::super) async fn check(app: App, call: Call<CheckSkills>) -> Handled<CheckedSkills> {
    let agent = call.path.agent_id;
    let root = folder(&app, &agent, call.query.root.unwrap_or_default()).await?;
    let place = root.clone();
    let checked = app.blocking(move |_| install::check(&place).map_err(failure)).await?;
    let one = |(skill_name, state, entry): (String, InstalledState, Option<Entry>)| {
        let (source, commit) = entry.map(|entry| (entry.source, entry.commit)).unzip();
        CheckedSkill { skill_name, state, source, commit: commit.flatten() }
    };
    let skills = checked.into_iter().map(one).collect();
    Ok(CheckedSkills { ok: true, agent_id: agent, root: root.display().to_string(), skills })
}

/// The folder outside of which nothing is written for skills of an agent; none for those of the user, or where nothing is held
/// back.
fn bound(app: &App, agent: &AgentId, root: SkillRoot) -> Option<PathBuf> {
    match root {
        SkillRoot::Agent if app.about.confinement.is_some() => {
            Some(app.home.real_agents().join(agent.as_str()))
        }
        SkillRoot::Agent | SkillRoot::User => None,
    }
}

/// The folder into which skills of an agent are installed, or those of the user.
async fn folder(app: &App, agent: &AgentId, root: SkillRoot) -> Handled<PathBuf> {
    look(app, agent, |view, agent| view.agent(agent).map(|_| ())).await?;
    let agent = agent.clone();
    app.blocking(move |app| {
        let home = app.runtime.agent_home(&agent);
        let folder = match root {
            SkillRoot::Agent => Roots::of_agent(&home).for_install(Some(&home)),
            SkillRoot::User => {
                let user = app.runtime.skills().user.as_ref();
                user.map_or_else(
                    || Roots::of_user(None, None).for_install(None),
                    |user| user.for_install(None),
                )
            }
        };
        folder.map_err(|problem| failure(InstallError::Invalid { problem }))
    })
    .await
}

fn reply(agent: AgentId, name: String, root: &std::path::Path, entry: Entry) -> SkillReply {
    let Entry { source, commit, digest, .. } = entry;
    let path = root.join(&name).display().to_string();
    SkillReply { ok: true, agent_id: agent, skill_name: name, path, source, commit, digest }
}

fn failure(error: InstallError) -> Box<Failure> {
    Failure::new(code(&error), &error).hint(error.hint())
}

/// The code of a skill that is not installed, or can't be fetched.
pub(super) fn code(error: &InstallError) -> Code {
    match error {
        InstallError::Source { .. } | InstallError::Invalid { .. } => Code::SkillInvalid,
        InstallError::Missing { .. } | InstallError::Unknown { .. } => Code::SkillNotFound,
        InstallError::Exists { .. } => Code::SkillInstalled,
        InstallError::Unmanaged { .. } | InstallError::Modified { .. } => Code::SkillModified,
        InstallError::Unreachable { .. } => Code::RemoteUnreachable,
        InstallError::Slow { .. } => Code::RemoteTimeout,
        InstallError::File { .. } => Code::SkillInvalid,
    }
}
