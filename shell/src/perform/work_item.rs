//! Calls about work items: what the core has decided of them is shown, with the plan's file.

use std::path::Path;

use holon_api::WorkItemSnapshot;
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

/// Tokens that a list takes, at most: then what is left out is named.
const LIST_TOKENS: u64 = 8_000;
/// The same of one item, which all its steps fit into.
const ITEM_TOKENS: u64 = 16_000;
/// Bytes of a result that are one token.
const TOKEN_BYTES: usize = 4;

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
    let (mut result, mut truncated) = (Map::new(), false);
    match &view.shown {
        WorkShown::None => {}
        WorkShown::One { item, todo_list } => {
            if let Some(arguments) = &view.plan {
                write(here, &home, item.id, arguments)?;
            }
            let (item, cut) = within(snapshot(item, *todo_list), bytes(view.output_tokens.min(ITEM_TOKENS)));
            truncated = cut;
            result.insert("work_item".to_owned(), item);
            result.insert("changed".to_owned(), json!(view.changed));
        }
        WorkShown::Many { items, more, todo_list } => {
            let mut left = bytes(view.output_tokens.min(LIST_TOKENS));
            let mut shown = Vec::new();
            for item in items {
                let (item, cut) = within(snapshot(item, *todo_list), left);
                let size = item.to_string().len();
                if size > left && !shown.is_empty() {
                    break;
                }
                truncated |= cut;
                left = left.saturating_sub(size);
                shown.push(item);
            }
            let left_out: Vec<_> = items.iter().skip(shown.len()).map(|item| item.id).collect();
            truncated |= !left_out.is_empty();
            result.insert("work_items".to_owned(), json!(shown));
            result.insert("more".to_owned(), json!(*more || !left_out.is_empty()));
            if !left_out.is_empty() {
                result.insert("left_out".to_owned(), json!(left_out));
                result.insert(
                    "hint".to_owned(),
                    json!("the result would be too long: GetWorkItem has each of them"),
                );
            }
        }
    }
    result.insert("current_work_item_id".to_owned(), json!(view.current));
    let warning = view.warning.map(|code| json!({ "code": code, "message": code.label() }));
    result.extend(warning.map(|warning| ("warning".to_owned(), warning)));
    let content = here.texts.take(&Value::Object(result).to_string());
    Ok(Receipt::success(content, ToolFacts { truncated, ..ToolFacts::default() }))
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN_BYTES)
}

/// An item with as many of its steps as fit, and whether some are left out.
fn within(mut item: WorkItemSnapshot, bytes: usize) -> (Value, bool) {
    let steps = item.todo_list.take();
    let mut shown = json!(item);
    let Some(steps) = steps else { return (shown, false) };
    let mut left = bytes.saturating_sub(shown.to_string().len());
    let fits = |step: &Value| {
        let size = step.to_string().len() + 1;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let all = steps.len();
    let steps: Vec<_> = steps.into_iter().map(|step| json!(step)).take_while(fits).collect();
    let left_out = all - steps.len();
    shown["todo_list"] = json!(steps);
    if left_out > 0 {
        shown["todo_list_left_out"] = json!(left_out);
    }
    (shown, left_out > 0)
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

#[cfg(test)]
mod tests {
    use holon_api::ItemState;
    use holon_facts::work::Todo;

    use super::*;

    fn item(steps: usize) -> WorkItemSnapshot {
        let step = json!({ "text": "x".repeat(500), "state": "pending" });
        let step: Todo = serde_json::from_value(step).unwrap();
        let item = json!({
            "work_item_id": "work_1", "agent_id": "main", "revision": 1, "objective": "o", "state": ItemState::Open,
            "scheduling_state": "runnable", "plan_status": "draft", "in_focus": false,
            "todo_list": vec![step; steps], "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        });
        serde_json::from_value(item).unwrap()
    }

    #[test]
    fn steps_that_do_not_fit_are_counted() {
        let (shown, cut) = within(item(100), bytes(ITEM_TOKENS));
        assert_eq!(
            (shown["todo_list"].as_array().map(Vec::len), cut),
            (Some(100), false),
            "all that there may be"
        );
        let (shown, cut) = within(item(100), bytes(LIST_TOKENS));
        assert!(cut && shown.to_string().len() <= bytes(LIST_TOKENS) + 40, "{}", shown.to_string().len());
        let there = shown["todo_list"].as_array().unwrap().len() as u64;
        assert_eq!(there + shown["todo_list_left_out"].as_u64().unwrap(), 100);
    }
}
