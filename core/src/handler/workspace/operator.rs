//! Changes of workspaces by operators.

use holon_facts::event::workspace::{WorkspaceDetached, WorkspaceTrusted};
use holon_facts::ids::ReplyId;
use holon_facts::reject::Reject;
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange, WorkspaceId};

use crate::agent::workspace::ATTACHED;
use crate::effect::Answer;
use crate::handler::workspace::{isolate, tools};
use crate::summary::workspaces::WorkspaceState;
use crate::tx::Tx;

/// Changes what the agent knows, or where it works; what is so already records nothing.
pub(crate) fn change(tx: &mut Tx<'_>, change: WorkspaceChange, reply: ReplyId) {
    let changed = match change {
        WorkspaceChange::Attach { execution } => {
            room(tx, &execution).map(|()| tools::attach(tx, &execution) | trust(tx, &execution))
        }
        WorkspaceChange::Use { execution } => {
            room(tx, &execution).map(|()| tools::used(tx, &execution, None) | trust(tx, &execution))
        }
        WorkspaceChange::Detach { workspace_id } => detach(tx, workspace_id),
        WorkspaceChange::Prune => Ok(isolate::prune(tx)),
    };
    let answer = match changed {
        Ok(changed) => Answer::Workspaces { state: WorkspaceState::of(tx.agent()).into(), changed },
        Err(reject) => Answer::Refused { reject },
    };
    tx.reply(reply, answer);
}

/// Who names a workspace trusts it.
fn trust(tx: &mut Tx<'_>, execution: &ExecutionBinding) -> bool {
    let workspace_id = execution.workspace_id();
    let untrusted = tx.agent().workspaces.is_untrusted(&workspace_id);
    if untrusted {
        let workspace_anchor = execution.workspace_anchor.clone();
        tx.record(WorkspaceTrusted { workspace_id, workspace_anchor });
    }
    untrusted
}

fn room(tx: &Tx<'_>, execution: &ExecutionBinding) -> Result<(), Reject> {
    if tools::has_room(tx, execution) {
        return Ok(());
    }
    let limit = ATTACHED as u64;
    Err(Reject::TooMany { what: "workspaces".into(), count: limit + 1, limit })
}

/// Files stay as they are, and the folder need not be there any more.
fn detach(tx: &mut Tx<'_>, workspace_id: WorkspaceId) -> Result<bool, Reject> {
    let agent = tx.agent();
    let used = [agent.workspaces.active(), agent.execution()]
        .into_iter()
        .any(|at| at.workspace_id() == workspace_id);
    if used || workspace_id.is_agent_home() {
        return Err(Reject::WorkspaceActive { agent: agent.id.clone(), workspace: workspace_id });
    }
    let Some(workspace_anchor) = agent.workspaces.anchor(&workspace_id).map(Into::into) else {
        return Err(Reject::UnknownWorkspace { agent: agent.id.clone(), workspace: workspace_id });
    };
    tx.record(WorkspaceDetached { workspace_id, workspace_anchor });
    Ok(true)
}
