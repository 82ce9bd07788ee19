//! The call with which an agent chooses where it works: a performer finds the folder, and what it found is bound here.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::call::{UseWorkspace, WorkMode};
use holon_facts::content::Text;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::workspace::{WorkspaceAttached, WorkspaceUsed};
use holon_facts::ids::{OpId, RunId};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::template::AgentTemplate;
use holon_facts::time::Millis;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind, WorkspaceId, WorkspaceKind, WorktreePlan};
use serde::Serialize;

use crate::agent::workspace::ATTACHED;
use crate::effect::{Isolated, WantedWorkspace, Work, WorkspaceTarget};
use crate::handler::task::child;
use crate::handler::turn::{request, tools};
use crate::handler::workspace::{isolate, occupancy};
use crate::tx::{Opening, Tx};

/// Looking for a folder takes no longer than this.
const FIND_TIMEOUT: Millis = Millis::seconds(60);

/// What the call brought.
#[derive(Debug, Serialize)]
struct Used<'a> {
    workspace_id: WorkspaceId,
    workspace_anchor: &'a str,
    execution_root: &'a str,
    execution_root_id: String,
    projection_kind: ProjectionKind,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<&'static str>,
}

/// Lets a performer look for the folder, or make a worktree of the repository that is there.
pub(crate) fn call(tx: &mut Tx<'_>, run_id: RunId, asked: &UseWorkspace) -> Result<(), ToolError> {
    let agent = tx.agent();
    let target = match (&asked.path, &asked.workspace_id) {
        (Some(path), _) => WorkspaceTarget::Path { path: path.clone() },
        (None, Some(id)) if id.is_agent_home() => WorkspaceTarget::AgentHome,
        (None, Some(id)) => match agent.workspaces.anchor(id) {
            Some(anchor) => WorkspaceTarget::Attached { anchor: anchor.to_string() },
            None => return Err(unknown(tx, id)),
        },
        // Checked before the call was accepted.
        (None, None) => WorkspaceTarget::AgentHome,
    };
    let isolated = match asked.mode {
        WorkMode::Direct => None,
        WorkMode::Isolated if agent.spec.supervisor.is_some() => {
            let error = ToolError::new(ToolErrorKind::PolicyDenied, "a child works where its parent says");
            return Err(error
                .field("mode")
                .hint("say so in your report: your parent can begin a child with workspace_mode worktree"));
        }
        WorkMode::Isolated => {
            let near = near(agent.execution(), &target);
            let plan = isolate::plan(tx, near, asked.isolation_label.clone())?;
            Some(Isolated { plan, own: own(tx) })
        }
    };
    let timeout = if isolated.is_some() { isolate::MAKE_TIMEOUT } else { FIND_TIMEOUT };
    let opening = Opening::of(run_id, OpKind::FindWorkspace, timeout);
    look(tx, opening, target, asked.cwd.clone(), isolated);
    Ok(())
}

/// Has a worktree made for a child with that template, of the repository that the agent works in.
pub(crate) fn isolate(
    tx: &mut Tx<'_>,
    run_id: RunId,
    template: Option<Box<AgentTemplate>>,
) -> Result<(), ToolError> {
    let at = tx.agent().execution().clone();
    let plan = isolate::plan(tx, at.execution_root.clone(), None)?;
    let target = WorkspaceTarget::Path { path: at.cwd };
    let opening = Opening { template, ..Opening::of(run_id, OpKind::FindWorkspace, isolate::MAKE_TIMEOUT) };
    look(tx, opening, target, None, Some(Isolated { plan, own: Vec::new() }));
    Ok(())
}

fn look(
    tx: &mut Tx<'_>,
    opening: Opening,
    target: WorkspaceTarget,
    cwd: Option<String>,
    isolated: Option<Isolated>,
) {
    let agent = tx.agent();
    let attached = agent.workspaces.attached().map(|(_, anchor)| anchor.to_string()).collect();
    let from = agent.execution().clone();
    let worktree = isolated.as_ref().map(|isolated| isolated.plan.clone());
    let opening = Opening { worktree, ..opening };
    let wanted = WantedWorkspace { target, cwd, from, attached, isolated };
    tx.open(opening, Work::FindWorkspace { wanted });
}

/// A folder of the repository that is meant.
fn near(from: &ExecutionBinding, target: &WorkspaceTarget) -> String {
    match target {
        WorkspaceTarget::Path { path } if path.starts_with('/') => path.clone(),
        WorkspaceTarget::Path { path } => format!("{}/{path}", from.cwd),
        WorkspaceTarget::Attached { anchor } => anchor.clone(),
        WorkspaceTarget::AgentHome => from.execution_root.clone(),
    }
}

/// Worktrees that the agent may go back into.
fn own(tx: &Tx<'_>) -> Vec<WorktreePlan> {
    tx.agent()
        .worktrees()
        .filter(|worktree| worktree.is_own())
        .map(|worktree| worktree.plan.clone())
        .collect()
}

fn unknown(tx: &Tx<'_>, id: &WorkspaceId) -> ToolError {
    let known: Vec<&str> = tx.agent().workspaces.attached().map(|(id, _)| id.as_str()).collect();
    let hint = format!("name its path, or one of: agent_home {}", known.join(" "));
    let error = ToolError::new(ToolErrorKind::InvalidToolInput, format!("you know no workspace {id}"));
    error.field("workspace_id").hint(hint.trim_end())
}

/// The folder is there: the agent works in it from now on, or its child does.
pub(crate) fn found(tx: &mut Tx<'_>, op: OpId, execution: &ExecutionBinding, base: Option<String>) {
    let new = isolate::made(tx, op, execution, base);
    let template = tx.agent().ops.get(&op).and_then(|open| open.template.clone());
    tx.settle(op, Settlement::Done);
    let run_id = tx.agent().run.as_ref().map(|run| run.id);
    let result = match (tools::open_spawn(tx), new, run_id) {
        (Some(asked), Some(new), Some(run_id)) => {
            child::spawn_isolated(tx, run_id, &asked, (execution, new), template)
        }
        (Some(_), _, _) => Err(ToolError::new(ToolErrorKind::ToolExecutionFailed, "no worktree was made")),
        (None, _, _) => bind(tx, execution),
    };
    match result {
        Ok(receipt) => tools::record_result(tx, receipt, Millis(0)),
        Err(error) => {
            new.into_iter().for_each(|new| isolate::leave(tx, new));
            tools::record_failure(tx, error, Millis(0));
        }
    }
    request::advance(tx);
}

fn bind(tx: &mut Tx<'_>, execution: &ExecutionBinding) -> Result<Receipt, ToolError> {
    let run_id = tx.agent().run.as_ref().map(|run| run.id);
    if !has_room(tx, execution) {
        let error = ToolError::new(
            ToolErrorKind::LimitReached,
            format!("you know {ATTACHED} workspaces, which is as many as you may"),
        );
        return Err(error.hint("use one of them; the operator can detach others"));
    }
    occupancy::take(tx, &execution.execution_root, run_id)?;
    used(tx, execution, run_id);
    let guidance = match execution.kind {
        WorkspaceKind::AgentHome => None,
        WorkspaceKind::Project => Some("its AGENTS.md is part of your instructions from your next turn on"),
    };
    let used = Used {
        workspace_id: execution.workspace_id(),
        workspace_anchor: &execution.workspace_anchor,
        execution_root: &execution.execution_root,
        execution_root_id: execution.execution_root_id(),
        projection_kind: execution.projection_kind,
        cwd: &execution.cwd,
        guidance,
    };
    let json = serde_json::to_string(&used).unwrap_or_default();
    Ok(Receipt::success(Text::whole(json), ToolFacts::default()))
}

/// Whether the agent knows the workspace, or may know another one.
pub(super) fn has_room(tx: &Tx<'_>, execution: &ExecutionBinding) -> bool {
    let workspaces = &tx.agent().workspaces;
    execution.kind == WorkspaceKind::AgentHome
        || workspaces.anchor(&execution.workspace_id()).is_some()
        || workspaces.attached().count() < ATTACHED
}

/// Records what is known and chosen now; what is so already is not recorded again. Whether anything changed.
pub(super) fn used(tx: &mut Tx<'_>, execution: &ExecutionBinding, run_id: Option<RunId>) -> bool {
    attach(tx, execution);
    let changed = tx.agent().workspaces.active() != execution
        || (run_id.is_some() && tx.agent().execution() != execution);
    if changed {
        tx.record(WorkspaceUsed {
            workspace_id: execution.workspace_id(),
            execution: execution.clone(),
            execution_root_id: execution.execution_root_id(),
            run_id,
        });
    }
    changed
}

/// Whether the workspace is new to the agent.
pub(super) fn attach(tx: &mut Tx<'_>, execution: &ExecutionBinding) -> bool {
    let id = execution.workspace_id();
    let new = execution.kind == WorkspaceKind::Project && tx.agent().workspaces.anchor(&id).is_none();
    if new {
        tx.record(WorkspaceAttached {
            workspace_id: id,
            workspace_anchor: execution.workspace_anchor.clone(),
        });
    }
    new
}
