//! Where an agent works: what it knows, and what operators change about that.

use holon_api::rows::{
    AttachFolder, DetachFolder, ExitWorkspace, ListWorktrees, PruneWorktrees, ShowWorkspaces, UseFolder,
};
use holon_api::{
    AttachWorkspace, Boundaries, Code, DetachWorkspace, Json, UseWorkspace, Workspaces, WorkspacesReply,
    WorktreeSummary,
};
use holon_core::summary::workspaces::WorkspaceState;
use holon_core::{Answer as Answered, Input};
use holon_facts::execution::{ExecutionPolicy, ExecutionProfile};
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange, WorkspaceId, WorktreeState};
use holon_facts::{AgentId, Reject};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::control::unexpected;
use super::look::{Looked, look};
use super::workspace::{had, named, unusable};
use crate::workplace::{Search, WorkplaceError};

pub(in super::super) async fn show(app: App, call: Call<ShowWorkspaces>) -> Handled<Workspaces> {
    let state = state(&app, &call.path.agent_id).await?;
    let (agent_home, boundaries) =
        (home(&app, &call.path.agent_id), boundaries(&app, &call.path.agent_id, &state));
    Ok(Workspaces { ok: true, agent_home, agent_id: call.path.agent_id, boundaries, state })
}

pub(in super::super) async fn attach(app: App, call: Call<AttachFolder>) -> Handled<WorkspacesReply> {
    let (agent, Json(AttachWorkspace { path })) = (call.path.agent_id, call.body);
    named("path", &path)?;
    let execution = find(&app, &agent, "path", move |search| search.path(&path, None)).await?;
    change(&app, agent, WorkspaceChange::Attach { execution }).await
}

pub(in super::super) async fn use_it(app: App, call: Call<UseFolder>) -> Handled<WorkspacesReply> {
    let (agent, Json(UseWorkspace { path, workspace_id, cwd })) = (call.path.agent_id, call.body);
    let execution = match (path, workspace_id) {
        (Some(path), None) => {
            named("path", &path)?;
            find(&app, &agent, "path", move |search| search.path(&path, cwd.as_deref())).await?
        }
        (None, Some(id)) if id.is_agent_home() => {
            find(&app, &agent, "workspace_id", move |search| search.agent_home(cwd.as_deref())).await?
        }
        (None, Some(id)) => {
            let anchor = anchor(&app, &agent, id).await?;
            find(&app, &agent, "workspace_id", move |search| search.attached(&anchor, cwd.as_deref())).await?
        }
        (Some(_), Some(_)) | (None, None) => {
            let problem = "either `path` or `workspace_id` names where the agent works";
            return Err(Failure::new(Code::InvalidBody, problem).detail("field", "path"));
        }
    };
    change(&app, agent, WorkspaceChange::Use { execution }).await
}

/// Back to its own home.
pub(in super::super) async fn exit(app: App, call: Call<ExitWorkspace>) -> Handled<WorkspacesReply> {
    let execution = find(&app, &call.path.agent_id, "workspace_id", |search| search.agent_home(None)).await?;
    change(&app, call.path.agent_id, WorkspaceChange::Use { execution }).await
}

pub(in super::super) async fn detach(app: App, call: Call<DetachFolder>) -> Handled<WorkspacesReply> {
    let Json(DetachWorkspace { workspace_id }) = call.body;
    change(&app, call.path.agent_id, WorkspaceChange::Detach { workspace_id }).await
}

/// Tidies up; what comes of it is seen in the summary.
pub(in super::super) async fn prune(app: App, call: Call<PruneWorktrees>) -> Handled<WorkspacesReply> {
    change(&app, call.path.agent_id, WorkspaceChange::Prune).await
}

pub(in super::super) async fn worktrees(app: App, call: Call<ListWorktrees>) -> Handled<WorktreeSummary> {
    let worktrees = state(&app, &call.path.agent_id).await?.worktrees;
    let retained = worktrees.iter().filter(|one| one.state == WorktreeState::Retained).count();
    Ok(WorktreeSummary { ok: true, agent_id: call.path.agent_id, worktrees, retained })
}

async fn state(app: &App, agent: &AgentId) -> Handled<WorkspaceState> {
    let read =
        |view: holon_core::view::View<'_>, agent: &AgentId| Some(WorkspaceState::of(view.agent(agent)?));
    let Looked { seen, .. } = look(app, agent, read).await?;
    Ok(seen)
}

async fn anchor(app: &App, agent: &AgentId, id: WorkspaceId) -> Handled<String> {
    let known = state(app, agent).await?.attached_workspaces;
    let found = known.into_iter().find(|workspace| workspace.workspace_id == id);
    found
        .map(|workspace| workspace.workspace_anchor)
        .ok_or_else(|| Reject::UnknownWorkspace { agent: agent.clone(), workspace: id }.into())
}

/// Looks for a folder; one that is none is a problem of that field.
async fn find(
    app: &App,
    agent: &AgentId,
    field: &'static str,
    find: impl FnOnce(Search<'_>) -> Result<ExecutionBinding, WorkplaceError> + Send + 'static,
) -> Handled<ExecutionBinding> {
    let attached = state(app, agent).await?.attached_workspaces;
    let attached: Vec<String> = attached.into_iter().map(|workspace| workspace.workspace_anchor).collect();
    let agent = agent.clone();
    let found = app.blocking(move |app| {
        // A public agent that another one has made may have none yet.
        let home = app.home.create_folders(&agent).map_err(Failure::internal)?;
        find(Search { from: &home, home: &home, attached: &attached }).map_err(|error| unusable(error, field))
    });
    let found = found.await?;
    had(app, &found, field).await?;
    Ok(found)
}

async fn change(app: &App, agent: AgentId, change: WorkspaceChange) -> Handled<WorkspacesReply> {
    let named = agent.clone();
    let ask = move |reply| Input::ChangeWorkspace { agent: named, change, reply };
    let answered = app.runtime.ask(Some(&agent), ask).await?;
    let Answered::Workspaces { state, changed } = answered else { return Err(unexpected(answered)) };
    Ok(WorkspacesReply {
        ok: true,
        agent_home: home(app, &agent),
        boundaries: boundaries(app, &agent, &state),
        agent_id: agent,
        changed,
        state: *state,
    })
}

pub(super) fn boundaries(app: &App, agent: &AgentId, state: &WorkspaceState) -> Boundaries {
    match &app.about.confinement {
        None => Boundaries { profile: ExecutionProfile::HostLocal, policy: ExecutionPolicy::NONE },
        Some(confinement) => {
            let policy = confinement.policy(&state.execution, &app.home.agent(agent));
            Boundaries { profile: ExecutionProfile::Confined, policy: confinement.told(&policy) }
        }
    }
}

fn home(app: &App, agent: &AgentId) -> String {
    app.home.agent(agent).display().to_string()
}
