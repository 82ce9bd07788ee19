//! Calls that change nothing: what the core knows is shown.

use holon_api::{TaskLine, TaskSnapshot};
use holon_core::effect::{AgentView, Look};
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_platform::clock;
use serde_json::{Value, json};

use super::work_item;
use crate::tasks;

/// Shows it; ends in a receipt, whatever happens.
pub(super) fn perform(here: &work_item::Here<'_>, look: Look) -> ToolOutcome {
    let started = clock::now();
    let shown = match look {
        Look::Work { view } => return work_item::perform(here, &view),
        Look::Tasks { tasks } => json!({ "tasks": tasks.iter().map(TaskLine::from).collect::<Vec<_>>() }),
        Look::Task { task, child } => {
            let snapshot = tasks::snapshot(here.texts, here.agent, &task, tasks::COMMAND);
            let child_observability = child.map(|child| *child);
            json!({ "task": TaskSnapshot { child_observability, ..snapshot } })
        }
        Look::Agent { view } => agent(&view),
    };
    let receipt = Receipt::success(here.texts.take(&shown.to_string()), ToolFacts::default());
    ToolOutcome { receipt, duration_ms: clock::since(started), end: None }
}

/// An agent as its operators see it, or what its parent sees of it.
fn agent(view: &AgentView) -> Value {
    match &view.summary {
        Some(summary) => json!({
            "agent": summary,
            "active_children": view.active_children,
            "waits_left_out": view.waits_left_out,
        }),
        None => json!({ "child": view.active_children.first() }),
    }
}
