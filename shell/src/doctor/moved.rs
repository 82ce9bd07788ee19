//! Agents that work in their own home as it was in another home of a runtime: this one was moved, copied or restored.

use holon_facts::event::workspace::WorkspaceFact;
use holon_facts::event::{Event, LifecycleFact};
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{AgentId, EventSeq};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{ListedAgent, Listing, Reader, Wanted};

use super::Finding;
use crate::home::Home;
use crate::workplace::has_moved;

/// Agents that are looked at.
const AGENTS: usize = 512;
/// Agents whose commands are written down.
const NAMED: usize = 8;

/// Nothing is said of a ledger that can't be read: another finding does.
pub(super) fn examine(home: &Home) -> Vec<Finding> {
    let Ok(reader) = home.ledger().reader() else { return Vec::new() };
    let moved = moved(&reader, home).unwrap_or_default();
    if moved.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = moved.iter().take(NAMED).map(|(agent, _)| agent.as_str()).collect();
    let more = if moved.len() > NAMED { format!(" and {} more", moved.len() - NAMED) } else { String::new() };
    let what = format!(
        "{}{more} would work in {}, which is not in this home: it was moved, copied or restored; each has its folder in {} now",
        names.join(", "),
        moved[0].1,
        home.root().join("agents").display()
    );
    let commands: Vec<String> =
        names.iter().map(|name| format!("holon workspace use agent_home --agent {name}")).collect();
    vec![Finding::warning("folders", what, format!("with the runtime started: {}", commands.join(" && ")))]
}

fn moved(reader: &Reader, home: &Home) -> Result<Vec<(AgentId, String)>, LedgerError> {
    let (mut moved, alone) = (Vec::new(), home.database().is_none());
    for ListedAgent { row, created, .. } in reader.agents_after(Listing::All, None, AGENTS)? {
        let wanted = Wanted {
            kinds: &["workspace_used"],
            after: EventSeq(0),
            before: EventSeq(row.event_seq.0 + 1),
            limit: 1,
            newest: true,
        };
        let used = reader.of_kinds(&row.agent, wanted)?.pop().or(created.ok().flatten());
        let execution = used.as_ref().and_then(|record| binding(&record.event));
        let moves = |execution: &&ExecutionBinding| has_moved(execution, &home.agent(&row.agent), alone);
        if let Some(execution) = execution.filter(moves) {
            moved.push((row.agent, execution.execution_root.clone()));
        }
    }
    Ok(moved)
}

fn binding(event: &Event) -> Option<&ExecutionBinding> {
    if let Event::Workspace(WorkspaceFact::WorkspaceUsed(used)) = event {
        return Some(&used.execution);
    }
    let Event::Lifecycle(LifecycleFact::AgentCreated(created)) = event else { return None };
    Some(&created.spec.execution)
}
