//! Answers to requests that change where an agent works.

use holon_facts::event::WorkspaceFact;
use holon_facts::{AgentId, Event, Record};

use super::{Before, Reply};

/// The answer is changed if the records show a change; the laws of the log cover what is not allowed.
pub(super) fn workspace_is_changed(before: &Before, agent: &AgentId, records: &[Record]) -> Vec<Reply> {
    if before.agent.is_none() {
        return vec![Reply::Refused("unknown_agent")];
    }
    let about = |record: &Record| {
        record.agent == *agent
            && matches!(
                record.event,
                Event::Workspace(
                    WorkspaceFact::WorkspaceAttached(_)
                        | WorkspaceFact::WorkspaceUsed(_)
                        | WorkspaceFact::WorkspaceDetached(_)
                        | WorkspaceFact::WorkspaceTrusted(_)
                        | WorkspaceFact::WorktreeLeft(_)
                )
            )
    };
    if records.iter().any(about) {
        return vec![Reply::Workspaces { changed: true }];
    }
    let refused = ["unknown_workspace", "workspace_active"].map(Reply::Refused);
    refused.into_iter().chain([Reply::Workspaces { changed: false }]).collect()
}
