//! Calls about work items: what the core has decided of them is shown, with the plan's file.

use std::path::Path;

use holon_core::agent::work::WorkItem;
use holon_core::effect::{WorkShown, WorkView};
use holon_core::tool::{CreateWorkItem, arguments};
use holon_facts::ids::WorkItemId;
use holon_facts::outcome::ToolOutcome;
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::{AgentId, Text};
use holon_platform::clock;
use holon_text::Texts;
use serde_json::{Map, Value, json};

use super::Settings;
use crate::work_items::{self, Shown};

/// What it works with.
pub(super) struct Here<'a> {
    pub(super) texts: &'a Texts,
    pub(super) settings: &'a Settings,
    pub(super) agent: &'a AgentId,
}

/// Shows it; ends in a receipt, whatever happens.
pub(super) fn perform(here: &Here<'_>, view: &WorkView) -> ToolOutcome {
    let started = clock::now();
    let receipt = shown(here, view).unwrap_or_else(Receipt::failure);
    ToolOutcome { receipt, duration_ms: clock::since(started), end: None }
}

fn shown(here: &Here<'_>, view: &WorkView) -> Result<Receipt, ToolError> {
    let home = here.settings.agent_home(here.agent);
    let snapshot = |item: &WorkItem, todo_list| {
        let shown = Shown { in_focus: view.current == Some(item.id), todo_list };
        work_items::snapshot(here.texts, here.agent, &home, item, shown)
    };
    let mut result = Map::new();
    match &view.shown {
        WorkShown::None => {}
        WorkShown::One { item, todo_list } => {
            if let Some(arguments) = &view.plan {
                write(here, &home, item.id, arguments)?;
            }
            result.insert("work_item".to_owned(), json!(snapshot(item, *todo_list)));
            result.insert("changed".to_owned(), json!(view.changed));
        }
        WorkShown::Many { items, more, todo_list } => {
            let items: Vec<_> = items.iter().map(|item| snapshot(item, *todo_list)).collect();
            result.insert("work_items".to_owned(), json!(items));
            result.insert("more".to_owned(), json!(more));
        }
    }
    result.insert("current_work_item_id".to_owned(), json!(view.current));
    let warning = view.warning.map(|code| json!({ "code": code, "message": code.label() }));
    result.extend(warning.map(|warning| ("warning".to_owned(), warning)));
    let content = here.texts.take(&Value::Object(result).to_string());
    Ok(Receipt::success(content, ToolFacts::default()))
}

/// Writes the plan of a new item. The item is there whatever becomes of it.
fn write(here: &Here<'_>, home: &Path, item: WorkItemId, arguments: &Text) -> Result<(), ToolError> {
    let failed = |problem: String| {
        let message = format!("{item} was created, and its plan was not written: {problem}");
        ToolError::new(ToolErrorKind::ToolExecutionFailed, message)
            .hint("write the plan into its file yourself; don't create the item again")
    };
    let json = here.texts.resolve(arguments).map_err(|problem| failed(problem.to_string()))?;
    let Some(plan) = arguments::parse::<CreateWorkItem>(&json)?.plan else { return Ok(()) };
    let write = || work_items::write_plan(home, item, &plan);
    let written =
        here.settings.within_home(here.agent, write).map_err(|problem| failed(problem.to_string()))?;
    written.map_err(|problem| failed(problem.to_string()))
}
