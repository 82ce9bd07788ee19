//! The child agents of an agent, and theirs, as a tree.

use holon_api::{AgentStatus, ClientError, Control as Runtime};
use holon_facts::AgentId;
use holon_text::moment;

use crate::entry::{Entry, Target};

/// Children that are listed: each one is asked for its own.
const CHILDREN: usize = 200;

/// A child that is still to be listed: what stands before it, and whether it is the last one of its parent.
struct Open {
    agent: AgentId,
    line: String,
    before: String,
    last: bool,
}

pub(super) async fn tree(client: &impl Runtime, agent: &AgentId) -> Result<Vec<Entry>, ClientError> {
    let status = client.status(agent).await?;
    let parent = status.summary.identity.lineage_parent_agent_id.clone();
    let mut entries: Vec<Entry> = parent
        .into_iter()
        .map(|parent| Entry::of(format!("{parent} (parent)"), Target::Agent(parent)))
        .collect();
    let none = if status.active_children.is_empty() { " has no children that are alive" } else { "" };
    entries.push(Entry::line(format!("{agent}{none}")));
    let mut open = opened(&status, "");
    let mut left = CHILDREN;
    while let Some(Open { agent, line, before, last }) = open.pop() {
        if left == 0 {
            entries.push(Entry::line(format!("the first {CHILDREN} are listed")));
            break;
        }
        left -= 1;
        let below = client.status(&agent).await;
        let problem = below.as_ref().err().map(|error| format!(" · {error}")).unwrap_or_default();
        let branch = if last { "└─ " } else { "├─ " };
        let text = format!("{before}{branch}{agent} {line}{problem}");
        entries.push(Entry::of(text, Target::Agent(agent)));
        if let Ok(below) = below {
            let rail = if last { "   " } else { "│  " };
            open.extend(opened(&below, &format!("{before}{rail}")));
        }
    }
    Ok(entries)
}

/// The first one at the end, where it is taken from.
fn opened(status: &AgentStatus, before: &str) -> Vec<Open> {
    let open = status.active_children.iter().rev().enumerate().map(|(at, child)| {
        let observed = child.observed.as_ref();
        let blocked = observed.and_then(|observed| observed.blocked_reason.as_ref());
        let work = || observed.and_then(|observed| observed.work_summary.as_ref());
        let parts = [
            Some(moment::relative(child.created_at)),
            observed.map(|observed| observed.phase.to_string()),
            blocked.or_else(work).map(|what| holon_present::one_line(what)),
        ];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        Open { agent: child.child_agent_id.clone(), line, before: before.to_owned(), last: at == 0 }
    });
    open.collect()
}
