//! Where an agent works, and what it has for itself.

use holon_facts::event::WorkspaceFact;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &WorkspaceFact) -> Rendered {
    let (visibility, summary) = match fact {
        WorkspaceFact::WorkspaceAttached(fact) => {
            (Visibility::Verbose, format!("{} is attached: {}", fact.workspace_id, fact.workspace_anchor))
        }
        WorkspaceFact::WorkspaceUsed(fact) => {
            let when = if fact.run_id.is_some() { "now" } else { "from the next turn on" };
            (Visibility::Info, format!("works in {} {when}", fact.execution.execution_root))
        }
        WorkspaceFact::WorkspaceDetached(fact) => {
            (Visibility::Verbose, format!("{} is detached", fact.workspace_id))
        }
        WorkspaceFact::WorkspaceTrusted(fact) => (
            Visibility::Verbose,
            format!("an operator trusts {}: {}", fact.workspace_id, fact.workspace_anchor),
        ),
        WorkspaceFact::OccupancyAcquired(fact) => {
            (Visibility::Debug, format!("{} is occupied", fact.execution_root))
        }
        WorkspaceFact::OccupancyReleased(fact) => {
            (Visibility::Debug, format!("{} is free: {}", fact.execution_root, fact.cause))
        }
        WorkspaceFact::WorktreeCreated(fact) => {
            (Visibility::Info, format!("{} is created: {} on {}", fact.worktree_id, fact.path, fact.branch))
        }
        WorkspaceFact::WorktreeLeft(fact) => {
            (Visibility::Debug, format!("{} is not needed any more", fact.worktree_id))
        }
        WorkspaceFact::WorktreeRemoved(fact) => {
            (Visibility::Verbose, format!("{} is removed", fact.worktree_id))
        }
        WorkspaceFact::WorktreeRetained(fact) => {
            let why = fact.retained.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            let (plan, reason) = (&fact.plan, fact.retained.reason);
            (
                Visibility::Info,
                format!("{} stays, {reason}{why}: {} on {}", plan.worktree_id, plan.path, plan.branch),
            )
        }
        WorkspaceFact::WorkspaceTreeKept(fact) => {
            let files = if fact.kept.dirty { "differ from its commit" } else { "are those of its commit" };
            let tree = fact.kept.tree.get(..12).unwrap_or(&fact.kept.tree);
            (Visibility::Debug, format!("the files are kept as tree {tree}, and {files}"))
        }
    };
    Rendered::new(visibility, Category::Workspace, "workspace", &summary)
}
